/* A machine on its ground behind a table of numbered values: time, inputs, outputs, events. An event value
   tells whether a wheel touches the ground. unit.h, written for each machine, has the numbers. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "unit.h"

enum {
    FIRST_PARAMETER = 1,
    FIRST_INPUT = FIRST_PARAMETER + PARAMETERS,
    FIRST_OUTPUT = FIRST_INPUT + INPUTS,
    FIRST_EVENT = FIRST_OUTPUT + OUTPUTS,
    VALUES = FIRST_EVENT + EVENTS
};

enum { UNIT_COPIES = 0 }; /* a machine holds addresses of its own memory */

typedef struct {
    Machine *machine;
    double time;
    double inputs[TAIL + 1];
    double seen[OBSERVED + 1];
    int has_new_inputs;
    int touching[EVENTS + 1]; /* for each wheel, whether it touched the ground at the last event */
} Unit;

static void unit_look(Unit *u)
{
    machine_observe(u->machine, u->time, machine_state(u->machine), u->seen);
}

static void unit_update(Unit *u)
{
    for (int k = 0; k < EVENTS; ++k) {
        u->touching[k] = machine_touches(u->machine, FORCE_AT[k]);
    }
}

/* Put the machine at its start, with the inputs that it has now. */
static void unit_begin(Unit *u, double time)
{
    u->time = time;
    u->has_new_inputs = 0;
    machine_begin(u->machine, time, machine_start, u->inputs);
    /* At the start the closed contacts are found. */
    machine_advance(u->machine, time);
    unit_look(u);
    unit_update(u);
}

static void unit_free(Unit *u)
{
    machine_free(u->machine);
    u->machine = NULL;
}

/* Make a machine as it was written; return whether there is memory. */
static int unit_create(Unit *u)
{
    memset(u, 0, sizeof *u);
    u->machine = machine_new();
    if (u->machine == NULL) {
        return 0;
    }
    memcpy(u->inputs, machine_given, TAIL * sizeof(double));
    unit_begin(u, 0.0);
    return 1;
}

/* Go on to a time; where events are watched, only to the first one that changes what touches. Return 0, or
   the reason why the run ended. */
static int unit_advance(Unit *u, double until, int watch, int *event)
{
    int status = machine_more;
    *event = 0;
    if (u->has_new_inputs) {
        machine_set_inputs(u->machine, u->inputs);
        u->has_new_inputs = 0;
    }
    machine_stop_at_events(u->machine, watch);
    while (status == machine_more && !*event) {
        status = machine_advance(u->machine, until);
        for (int k = 0; watch && k < EVENTS; ++k) {
            *event = *event || machine_touches(u->machine, FORCE_AT[k]) != u->touching[k];
        }
    }
    u->time = machine_time(u->machine);
    unit_look(u);
    return status == machine_more || status == machine_reached ? 0 : status;
}

static double unit_get(const Unit *u, uint32_t k)
{
    if (k < FIRST_INPUT) {
        return u->time;
    }
    if (k < FIRST_OUTPUT) {
        return u->inputs[k - FIRST_INPUT];
    }
    if (k < FIRST_EVENT) {
        const int at = OUTPUT_AT[k - FIRST_OUTPUT];
        return at < OBSERVED ? u->seen[at] : machine_state(u->machine)[at - OBSERVED];
    }
    return u->touching[k - FIRST_EVENT];
}

/* Set an input; return whether it is one. */
static int unit_set(Unit *u, uint32_t k, double value)
{
    if (k < FIRST_INPUT || k >= FIRST_OUTPUT) {
        return 0;
    }
    u->has_new_inputs = u->has_new_inputs || u->inputs[k - FIRST_INPUT] != value;
    u->inputs[k - FIRST_INPUT] = value;
    return 1;
}

static const char *unit_reason(int status)
{
    return machine_reason(status);
}
