/* @{n}: a machine on its ground, with contacts that open, close, slide and collide; written by draisine.

       @{n} *m = @{n}_new();
       @{n}_begin(m, 0.0, @{n}_start, @{n}_given);
       do { status = @{n}_advance(m, 1.5); ... read samples and events ... } while (status == @{n}_more);
       @{n}_free(m);

   All quantities are in SI units and rad. Parameters and ground are those of the export. */
#ifndef @{n}_h
#define @{n}_h

#include <stdint.h>

enum { @{n}_states = @{states}, @{n}_inputs = @{inputs}, @{n}_observed = @{observed} };

/* Results of @{n}_advance. All others are the reasons why a run ends: @{n}_reason. */
enum { @{n}_more = 0, @{n}_reached = @{reached}, @{n}_fell = @{fell} };

/* Where @{n}_observe writes each quantity. */
enum {
@{places}
};

typedef struct @{n} @{n};

/* An event. */
typedef struct {
    double time;
    const char *kind; /* collision, lift-off, hand-over, slip, stick, input, time-stepping, event-location */
    const char *contact; /* name of the wheel or joint, or "" */
    const char *feature; /* name of the feature of the ground, or "" */
    int side; /* 1 or -1 for one of two contacts of a torus with an edge */
    double energy_before, energy_after; /* J */
    const double *before, *after; /* states */
} @{n}_event;

/* The state: quaternion (scalar first) and position of the drawing's frame, joints, speeds, memory. Its
   entries are
@{names}
/* Of the quantities that @{n}_observe writes, position is that of the drawing's origin; outputs are
@{outputs}

/* State and inputs at the start, time of the start and of the end, and time between samples. */
extern const double @{n}_start[@{states}];
extern const double @{n}_given[@{given}];
extern const double @{n}_from, @{n}_until, @{n}_dt;

/* Allocate a machine; return NULL without memory. */
@{n} *@{n}_new(void);
void @{n}_free(@{n} *m);

/* Begin a run at a time in a state. Return 0, or 1 if too much of the ground is near the wheels. */
int @{n}_begin(@{n} *m, double t, const double *y, const double *inputs);

/* Change the inputs at the present time. */
void @{n}_set_inputs(@{n} *m, const double *inputs);

/* Advance towards a time. Return @{n}_reached at that time, @{n}_more if the call is to be repeated, or
   another number if the run has ended before. The samples and events of a call are valid until the next. */
int @{n}_advance(@{n} *m, double until);

/* Let @{n}_advance return after each event, at its time. */
void @{n}_stop_at_events(@{n} *m, int stop);

/* Whether a wheel, by its number, touches the ground. */
int @{n}_touches(const @{n} *m, int wheel);

/* Why a run ended. */
const char *@{n}_reason(int status);

/* Present time and state. */
double @{n}_time(const @{n} *m);
const double *@{n}_state(const @{n} *m);

/* Samples of the last call. */
int64_t @{n}_sample_count(const @{n} *m);
double @{n}_sample_time(const @{n} *m, int64_t k);
const double *@{n}_sample(const @{n} *m, int64_t k);

/* Events of the last call. */
int64_t @{n}_event_count(const @{n} *m);
@{n}_event @{n}_event_at(const @{n} *m, int64_t k);

/* Number of events of earlier calls that the last call withdrew, the latest ones: time steps, which begin
   with the first event of the last call, replace them. They also replace later samples of earlier calls. */
int64_t @{n}_withdrawn(const @{n} *m);

/* Write the outputs of a state; rates of outputs, which need accelerations, are undefined. */
void @{n}_observe(@{n} *m, double t, const double *y, double *out);

#endif
