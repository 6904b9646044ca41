#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "@{n}.h"

typedef void Program(double *x, double *table, double *out, int64_t count);

@{helpers}
@{programs}
static Program *const programs[@{count}] = {
@{addresses}
};

@{types}
@{routines}
@{memory}
@{tables}
const double @{n}_from = @{from}, @{n}_until = @{until}, @{n}_dt = @{dt};

static const char *const @{n}_owners[] = {
@{owners}
};

static const char *const @{n}_features[] = {
@{features}
};

static const char *const @{n}_attached[] = {
@{attached}
};

struct @{n} { @{n}_memory memory; };

#define RUN(m) (&(m)->memory.record_@{root})
#define LOOP(m) (RUN(m)->loop)
#define CLOCK(m) (LOOP(m)->arc->clock)

@{n} *@{n}_new(void)
{
    @{n} *m = malloc(sizeof *m);
    if (m != NULL) {
        @{n}_reset(&m->memory);
    }
    return m;
}

void @{n}_free(@{n} *m)
{
    free(m);
}

int @{n}_begin(@{n} *m, double t, const double *y, const double *inputs)
{
    double state[@{states}], given[@{given}] = {0.0};
    memcpy(state, y, sizeof state);
    memcpy(given, inputs, @{n}_inputs * sizeof *given);
    @{n}_reset(&m->memory);
    return @{n}_begin_run(RUN(m), t, state, given) ? 0 : 1;
}

void @{n}_set_inputs(@{n} *m, const double *inputs)
{
    double given[@{given}] = {0.0};
    memcpy(given, inputs, @{n}_inputs * sizeof *given);
    @{n}_change_inputs(RUN(m), given);
}

int @{n}_advance(@{n} *m, double until)
{
    const int status = (int)@{n}_advance_run(RUN(m), until);
    return status == @{log_full} ? @{n}_more : status;
}

void @{n}_stop_at_events(@{n} *m, int stop)
{
    RUN(m)->schedule->stops_at_events = stop != 0;
}

int @{n}_touches(const @{n} *m, int wheel)
{
    return @{n}_is_touching(RUN(m), wheel);
}

const char *@{n}_reason(int status)
{
    static const char *const reasons[] = {
@{reasons}
    };
    return status >= 0 && status < (int)(sizeof reasons / sizeof *reasons) ? reasons[status] : "";
}

double @{n}_time(const @{n} *m)
{
    return CLOCK(m)->time;
}

const double *@{n}_state(const @{n} *m)
{
    return LOOP(m)->arc->stages->y;
}

int64_t @{n}_sample_count(const @{n} *m)
{
    return CLOCK(m)->samples;
}

double @{n}_sample_time(const @{n} *m, int64_t k)
{
    return LOOP(m)->arc->times[k];
}

const double *@{n}_sample(const @{n} *m, int64_t k)
{
    return LOOP(m)->arc->samples + k * @{n}_states;
}

int64_t @{n}_event_count(const @{n} *m)
{
    return LOOP(m)->progress->events;
}

int64_t @{n}_withdrawn(const @{n} *m)
{
    return RUN(m)->schedule->withdrawn;
}

@{n}_event @{n}_event_at(const @{n} *m, int64_t k)
{
    static const char *const kinds[] = {
@{kinds}
    };
    const EventLog *log = LOOP(m)->log;
    const int64_t *described = RUN(m)->described.at + k * RUN(m)->described.stride;
    @{n}_event event = {
        log->time[k], kinds[described[0]], "", "", 0, log->energy[k], log->energy_after[k],
        log->y.at + k * log->y.stride, log->y_after.at + k * log->y_after.stride
    };
    if (described[1] >= 0) {
        event.contact = @{n}_owners[described[1]];
        event.feature = described[2] < 0 ? @{n}_attached[-1 - described[2]] : @{n}_features[described[2]];
        event.side = (int)described[3];
    }
    return event;
}

void @{n}_observe(@{n} *m, double t, const double *y, double *out)
{
    double state[@{states}];
    memcpy(state, y, sizeof state);
    @{n}_observe_state(RUN(m), t, state);
    memcpy(out, LOOP(m)->observed, @{n}_observed * sizeof *out);
}
