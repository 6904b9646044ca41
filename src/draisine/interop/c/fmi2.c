/* A machine for co-simulation by FMI 2.0 (https://fmi-standard.org, Modelica Association). */
#include <stdlib.h>

#include "unit.c"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING } Status;
typedef void Logger(void *, const char *, Status, const char *, const char *, ...);
typedef struct {
    Logger *logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, Status);
    void *environment;
} Callbacks;
typedef struct {
    Unit unit;
    const Callbacks *callbacks;
    double start, last;
    char name[256];
} Component;
typedef const uint32_t References[];

static Status fail(Component *c, const char *message)
{
    if (c->callbacks != NULL && c->callbacks->logger != NULL) {
        c->callbacks->logger(
            c->callbacks->environment, c->name, ERROR, "logStatusError", "%s", message
        );
    }
    return ERROR;
}

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT Status fmi2SetDebugLogging(Component *c, int on, size_t n, const char *const categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Component *fmi2Instantiate(
    const char *name, int type, const char *guid, const char *resources, const Callbacks *callbacks,
    int visible, int logging
)
{
    (void)resources, (void)visible, (void)logging;
    if (type != 1 || guid == NULL || strcmp(guid, TOKEN) != 0) {
        return NULL;
    }
    Component *c = calloc(1, sizeof *c);
    if (c != NULL) {
        c->callbacks = callbacks;
        strncpy(c->name, name, sizeof c->name - 1);
        unit_create(&c->unit);
    }
    return c;
}

EXPORT void fmi2FreeInstance(Component *c) { free(c); }

EXPORT Status fmi2SetupExperiment(
    Component *c, int tolerant, double tolerance, double start, int limited, double stop
)
{
    (void)tolerant, (void)tolerance, (void)limited, (void)stop;
    c->start = start;
    return OK;
}

EXPORT Status fmi2EnterInitializationMode(Component *c)
{
    unit_begin(&c->unit, c->start);
    return OK;
}

EXPORT Status fmi2ExitInitializationMode(Component *c)
{
    unit_begin(&c->unit, c->start);
    c->last = c->start;
    return OK;
}

EXPORT Status fmi2Terminate(Component *c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2Reset(Component *c)
{
    unit_create(&c->unit);
    c->start = 0.0;
    return OK;
}

EXPORT Status fmi2GetReal(Component *c, References at, size_t n, double values[])
{
    unit_look(&c->unit);
    for (size_t k = 0; k < n; ++k) {
        if (at[k] >= FIRST_EVENT) {
            return fail(c, "no real variable has this reference");
        }
        values[k] = unit_get(&c->unit, at[k]);
    }
    return OK;
}

EXPORT Status fmi2SetReal(Component *c, References at, size_t n, const double values[])
{
    for (size_t k = 0; k < n; ++k) {
        if (!unit_set(&c->unit, at[k], values[k])) {
            return fail(c, "only parameters and inputs can be set");
        }
    }
    return OK;
}

#define NO_VALUES(NAME, TYPE)                                                                   \
    EXPORT Status fmi2Get##NAME(Component *c, References at, size_t n, TYPE values[])           \
    {                                                                                           \
        (void)at, (void)values;                                                                 \
        return n == 0 ? OK : fail(c, "there are real variables only");                          \
    }                                                                                           \
    EXPORT Status fmi2Set##NAME(Component *c, References at, size_t n, const TYPE values[])     \
    {                                                                                           \
        (void)at, (void)values;                                                                 \
        return n == 0 ? OK : fail(c, "there are real variables only");                          \
    }
typedef const char *Text;
NO_VALUES(Integer, int)
NO_VALUES(Boolean, int)
NO_VALUES(String, Text)

EXPORT Status fmi2GetFMUstate(Component *c, void **state)
{
    if (*state == NULL) {
        *state = malloc(sizeof(Component));
    }
    if (*state == NULL) {
        return fail(c, "no memory");
    }
    memcpy(*state, c, sizeof *c);
    return OK;
}

EXPORT Status fmi2SetFMUstate(Component *c, const Component *state)
{
    c->unit = state->unit;
    c->start = state->start;
    c->last = state->last;
    return OK;
}

EXPORT Status fmi2FreeFMUstate(Component *c, void **state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT Status fmi2SerializedFMUstateSize(Component *c, void *state, size_t *size)
{
    (void)c, (void)state;
    *size = sizeof(Component);
    return OK;
}

EXPORT Status fmi2SerializeFMUstate(Component *c, void *state, char bytes[], size_t size)
{
    if (size < sizeof(Component)) {
        return fail(c, "too few bytes for a state");
    }
    memcpy(bytes, state, sizeof(Component));
    return OK;
}

EXPORT Status fmi2DeSerializeFMUstate(Component *c, const char bytes[], size_t size, void **state)
{
    const Status found = fmi2GetFMUstate(c, state);
    if (found != OK || size < sizeof(Component)) {
        return fail(c, "these bytes are no state");
    }
    memcpy(*state, bytes, sizeof(Component));
    return OK;
}

EXPORT Status fmi2GetDirectionalDerivative(
    Component *c, References unknown, size_t unknowns, References known, size_t knowns,
    const double seeds[], double values[]
)
{
    (void)unknown, (void)unknowns, (void)known, (void)knowns, (void)seeds, (void)values;
    return fail(c, "no derivatives are provided");
}

EXPORT Status fmi2SetRealInputDerivatives(
    Component *c, References at, size_t n, const int orders[], const double values[]
)
{
    (void)at, (void)n, (void)orders, (void)values;
    return fail(c, "inputs are held");
}

EXPORT Status fmi2GetRealOutputDerivatives(
    Component *c, References at, size_t n, const int orders[], double values[]
)
{
    (void)at, (void)n, (void)orders, (void)values;
    return fail(c, "no derivatives are provided");
}

EXPORT Status fmi2DoStep(Component *c, double time, double step, int kept)
{
    (void)kept;
    int event;
    const int status = unit_advance(&c->unit, time + step, 0, &event);
    c->last = c->unit.time;
    return status == 0 ? OK : fail(c, UNIT_REASONS[status]);
}

EXPORT Status fmi2CancelStep(Component *c) { return fail(c, "a step cannot be cancelled"); }

EXPORT Status fmi2GetStatus(Component *c, int kind, Status *value)
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}

EXPORT Status fmi2GetRealStatus(Component *c, int kind, double *value)
{
    if (kind != 2) {
        return DISCARD;
    }
    *value = c->last;
    return OK;
}

EXPORT Status fmi2GetIntegerStatus(Component *c, int kind, int *value)
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}

EXPORT Status fmi2GetBooleanStatus(Component *c, int kind, int *value)
{
    (void)c, (void)kind;
    *value = 0;
    return kind == 3 ? OK : DISCARD;
}

EXPORT Status fmi2GetStringStatus(Component *c, int kind, Text *value)
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}
