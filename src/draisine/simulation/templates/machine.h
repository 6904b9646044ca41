/* @{n}: one mode of the machine, written by draisine. A machine needs no memory but its own. */
#ifndef @{n}_h
#define @{n}_h

#include <stdint.h>

enum {
    @{n}_states = @{states}, @{n}_inputs = @{inputs},
    @{n}_parameters = @{parameters}, @{n}_observed = @{observed}
};

/* How a run ended. */
enum { @{n}_done, @{n}_not_finite, @{n}_degenerate, @{n}_too_small, @{n}_fell_flat };

/* Where @{n}_observe writes what. */
enum {
@{places}
};

typedef struct {
@{arrays}
} @{n};

/* The state, in SI units and rad: turn (quaternion, scalar first) and place of an inner frame of the base,
   which may stand elsewhere and turned in the drawing, joints, independent speeds, memory. Its entries are
@{names}
/* What people ask for is observed: position is the place (x, y, z) of the drawing's origin, outputs are
@{outputs}

/* Parameters, state and inputs to begin with. */
extern const double @{n}_nominal[@{nominal}];
extern const double @{n}_start[@{states}];
extern const double @{n}_given[@{given}];

/* Put a machine into a state. */
void @{n}_begin(@{n} *m, const double *parameters, const double *y, const double *inputs);

/* Take one step of length h from time t; m->x + 1 is the state behind it. Return how it ended. */
int @{n}_step(@{n} *m, double t, double h);

/* Take equal steps from a time to another and write the state of each, the first one included:
   (steps + 1) * @{n}_states numbers. Return how it ended; *done is the number of steps. */
int @{n}_simulate(@{n} *m, double t0, double t1, int64_t steps, double *samples, int64_t *done);

/* Write what can be seen of the present state. */
void @{n}_observe(@{n} *m, double t, double *out);

#endif
