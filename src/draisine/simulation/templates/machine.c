#include <math.h>
#include <stdint.h>

#include "@{n}.h"

typedef void Program(double *x, double *table, double *out, int64_t count);

@{tables}
@{helpers}
@{programs}
@{record}
@{take_steps}
static Workspace @{n}_workspace(@{n} *m, int64_t keep)
{
    Workspace p = {
@{fields}
    };
    return p;
}

void @{n}_begin(@{n} *m, const double *parameters, const double *y, const double *inputs)
{
@{prologues}
    for (int k = 0; k < @{n}_states; ++k) {
        m->x[1 + k] = y[k];
    }
    for (int k = 0; k < @{n}_inputs; ++k) {
        m->x[1 + @{n}_states + k] = inputs[k];
    }
    for (int k = 0; k < @{headings}; ++k) {
        m->headings[k] = NAN;
    }
    m->wrong[0] = 0.0;
}

int @{n}_step(@{n} *m, double t, double h)
{
    const Workspace p = @{n}_workspace(m, 0);
    @{n}_take_steps(&p, t, h, t + h, 0, 1, m->x);
    return (int)m->wrong[0];
}

int @{n}_simulate(@{n} *m, double t0, double t1, int64_t steps, double *samples, int64_t *done)
{
    const Workspace p = @{n}_workspace(m, 1);
    for (int k = 0; k < @{n}_states; ++k) {
        samples[k] = m->x[1 + k];
    }
    *done = @{n}_take_steps(&p, t0, (t1 - t0) / (double)steps, t1, 0, steps, samples);
    return (int)m->wrong[0];
}

void @{n}_observe(@{n} *m, double t, double *out)
{
    m->x[0] = t;
    @{n}_observe_flat(m->x, m->observe_table, out);
}
