/* One machine behind a table of numbered values: time, parameters, inputs, outputs, events.
   unit.h, written for each machine, says how many there are and where they stand. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "unit.h"
#include "sensors.c"

enum {
    FIRST_PARAMETER = 1,
    FIRST_INPUT = FIRST_PARAMETER + PARAMETERS,
    FIRST_OUTPUT = FIRST_INPUT + INPUTS,
    FIRST_EVENT = FIRST_OUTPUT + OUTPUTS,
    VALUES = FIRST_EVENT + EVENTS
};

enum { UNIT_COPIES = 1 }; /* the state of a machine is a copy of its memory */

typedef struct {
    Machine machine;
    double time;
    double parameters[PARAMETERS + 1];
    double inputs[TAIL + 1];
    double seen[OBSERVED + 1];
    double began; /* time of the start, from which readings of sensors are counted */
    int64_t ticks[SENSORS + 1]; /* number of the latest reading of each sensor */
    double readings[SIGNALS + 1];
    int pulled[EVENTS + 1]; /* for each contact, whether the ground would have to pull */
} Unit;

static void unit_look(Unit *u)
{
    for (int k = 0; k < TAIL; ++k) {
        u->machine.x[1 + STATES + k] = u->inputs[k];
    }
    machine_observe(&u->machine, u->time, u->seen);
}

/* Return whether a sensor takes a reading at the present time. */
static int unit_is_due(const Unit *u)
{
    for (int s = 0; s < SENSORS; ++s) {
        if (SENSOR_RATE[s] > 0.0 && sensor_tick(s, u->time - u->began) != u->ticks[s]) {
            return 1;
        }
    }
    return 0;
}

/* Take the readings that are due at the present time, after unit_look. */
static void unit_sense(Unit *u)
{
    for (int s = 0; s < SENSORS; ++s) {
        const int64_t tick = sensor_tick(s, u->time - u->began);
        if (SENSOR_RATE[s] > 0.0 && tick != u->ticks[s]) {
            for (int k = SENSOR_FIRST[s]; k < SENSOR_FIRST[s + 1]; ++k) {
                u->readings[k] = sensor_reading(s, k, u->seen[SIGNAL_AT + k], tick);
            }
            u->ticks[s] = tick;
        }
    }
}

/* Return the latest reading of a signal; that of a sensor without a rate follows the signal. */
static double unit_reading(const Unit *u, int signal)
{
    int s = 0;
    while (SENSOR_FIRST[s + 1] <= signal) {
        ++s;
    }
    if (SENSOR_RATE[s] > 0.0) {
        return u->readings[signal];
    }
    return sensor_reading(s, signal, u->seen[SIGNAL_AT + signal], 0);
}

static int unit_pulls(const Unit *u, int k)
{
    return u->seen[FORCE_AT[k]] < 0.0;
}

static void unit_update(Unit *u)
{
    for (int k = 0; k < EVENTS; ++k) {
        u->pulled[k] = unit_pulls(u, k);
    }
}

/* Put the machine at its start, with the parameters and inputs that it has now. */
static void unit_begin(Unit *u, double time)
{
    u->time = time;
    u->began = time;
    for (int s = 0; s < SENSORS; ++s) {
        u->ticks[s] = -1;
    }
    machine_begin(&u->machine, u->parameters, machine_start, u->inputs);
    unit_look(u);
    unit_sense(u);
    unit_update(u);
}

static void unit_free(Unit *u)
{
    (void)u;
}

/* Make a machine as it was written; return whether there is memory. */
static int unit_create(Unit *u)
{
    memset(u, 0, sizeof *u);
    memcpy(u->parameters, machine_nominal, PARAMETERS * sizeof(double));
    memcpy(u->inputs, machine_given, TAIL * sizeof(double));
    unit_begin(u, 0.0);
    return 1;
}

static int unit_event(Unit *u)
{
    unit_look(u);
    for (int k = 0; k < EVENTS; ++k) {
        if (unit_pulls(u, k) != u->pulled[k]) {
            return 1;
        }
    }
    return 0;
}

/* Go from a machine before an event to the first instant behind it, by bisection of the step. */
static void unit_locate(Unit *u, const Machine *before, double time, double h)
{
    double low = 0.0, high = h;
    for (int k = 0; k < 60 && high - low > 1e-13; ++k) {
        const double middle = 0.5 * (low + high);
        u->machine = *before;
        machine_step(&u->machine, time, middle);
        u->time = time + middle;
        if (unit_event(u)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    u->machine = *before;
    machine_step(&u->machine, time, high);
    u->time = time + high;
    unit_look(u);
}

/* Go on to a time in equal steps; where events are watched, only to the first. Return how it ended,
   0 if all is well. */
static int unit_advance(Unit *u, double until, int watch, int *event)
{
    const double start = u->time;
    const double steps = ceil((until - start) / LONGEST_STEP - 1e-9);
    *event = 0;
    for (double k = 0.0; k < steps; k += 1.0) {
        const double time = start + k * ((until - start) / steps);
        const double next = k + 1.0 < steps ? start + (k + 1.0) * ((until - start) / steps) : until;
        const Machine before = u->machine;
        const int status = machine_step(&u->machine, time, next - time);
        if (status != 0) {
            u->machine = before;
            u->time = time;
            return status;
        }
        u->time = next;
        if (watch && unit_event(u)) {
            unit_locate(u, &before, time, next - time);
            unit_sense(u);
            *event = 1;
            return 0;
        }
        if (unit_is_due(u)) {
            unit_look(u);
            unit_sense(u);
        }
    }
    unit_look(u);
    return 0;
}

static double unit_get(const Unit *u, uint32_t k)
{
    if (k < FIRST_PARAMETER) {
        return u->time;
    }
    if (k < FIRST_INPUT) {
        return u->parameters[k - FIRST_PARAMETER];
    }
    if (k < FIRST_OUTPUT) {
        return u->inputs[k - FIRST_INPUT];
    }
    if (k < FIRST_EVENT) {
        const int at = OUTPUT_AT[k - FIRST_OUTPUT];
        if (at >= OBSERVED + STATES) {
            return unit_reading(u, at - OBSERVED - STATES);
        }
        return at < OBSERVED ? u->seen[at] : u->machine.x[1 + at - OBSERVED];
    }
    return u->pulled[k - FIRST_EVENT];
}

/* Set a parameter or an input; return whether it is one. */
static int unit_set(Unit *u, uint32_t k, double value)
{
    if (k >= FIRST_INPUT && k < FIRST_OUTPUT) {
        u->inputs[k - FIRST_INPUT] = value;
    } else if (k >= FIRST_PARAMETER && k < FIRST_INPUT) {
        u->parameters[k - FIRST_PARAMETER] = value;
    } else {
        return 0;
    }
    return 1;
}

static const char *unit_reason(int status)
{
    static const char *const reasons[] = {
        "", "a value is no longer a number: smaller steps may help",
        "the constraints need other pivots than those that this code was written for",
        "no step is small enough", "a wheel fell flat"
    };
    return reasons[status];
}
