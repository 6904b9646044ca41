/* A machine for co-simulation by FMI 2.0 (https://fmi-standard.org, Modelica Association). */
#define RESET fmi2Reset
#define GET_STATE fmi2GetFMUstate
#define SET_STATE fmi2SetFMUstate
#define FREE_STATE fmi2FreeFMUstate
#define STATE_SIZE fmi2SerializedFMUstateSize
#define STATE_TO_BYTES fmi2SerializeFMUstate
#define STATE_FROM_BYTES fmi2DeSerializeFMUstate

#include "fmi.c"

typedef void Logger(void *, Text, Status, Text, Text, ...);
typedef struct {
    void (*logger)(void);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, Status);
    void *environment;
} Callbacks;

static Status fail(Instance *c, Text message)
{
    if (c->logger != NULL) {
        ((Logger *)c->logger)(c->environment, c->name, ERROR, "logStatusError", "%s", message);
    }
    return ERROR;
}

EXPORT Text fmi2GetTypesPlatform(void) { return "default"; }
EXPORT Text fmi2GetVersion(void) { return "2.0"; }

EXPORT Status fmi2SetDebugLogging(Instance *c, int on, size_t n, Text const categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Instance *fmi2Instantiate(
    Text name, int type, Text guid, Text resources, const Callbacks *callbacks,
    int visible, int logging
)
{
    (void)resources, (void)visible, (void)logging;
    Instance *c = type == 1 ? create(guid) : NULL;
    if (c != NULL && callbacks != NULL) {
        c->logger = callbacks->logger;
        c->environment = callbacks->environment;
        strncpy(c->name, name, sizeof c->name - 1);
    }
    return c;
}

EXPORT void fmi2FreeInstance(Instance *c)
{
    if (c != NULL) {
        unit_free(&c->unit);
    }
    free(c);
}

EXPORT Status fmi2SetupExperiment(
    Instance *c, int tolerant, double tolerance, double start, int limited, double stop
)
{
    (void)tolerant, (void)tolerance, (void)limited, (void)stop;
    c->start = start;
    return OK;
}

EXPORT Status fmi2EnterInitializationMode(Instance *c)
{
    unit_begin(&c->unit, c->start);
    return OK;
}

EXPORT Status fmi2ExitInitializationMode(Instance *c)
{
    unit_begin(&c->unit, c->start);
    return OK;
}

EXPORT Status fmi2Terminate(Instance *c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2GetReal(Instance *c, References at, size_t n, double values[])
{
    return read_numbers(c, at, n, values);
}

EXPORT Status fmi2SetReal(Instance *c, References at, size_t n, const double values[])
{
    return write_numbers(c, at, n, values);
}

#define NO_VALUES(NAME, TYPE)                                                                   \
    EXPORT Status fmi2Get##NAME(Instance *c, References at, size_t n, TYPE values[])           \
    {                                                                                           \
        (void)at, (void)values;                                                                 \
        return n == 0 ? OK : fail(c, "there are real variables only");                          \
    }                                                                                           \
    EXPORT Status fmi2Set##NAME(Instance *c, References at, size_t n, const TYPE values[])     \
    {                                                                                           \
        (void)at, (void)values;                                                                 \
        return n == 0 ? OK : fail(c, "there are real variables only");                          \
    }
NO_VALUES(Integer, int)
NO_VALUES(Boolean, int)
NO_VALUES(String, Text)

EXPORT Status fmi2GetDirectionalDerivative(
    Instance *c, References unknown, size_t unknowns, References known, size_t knowns,
    const double seeds[], double values[]
)
{
    (void)unknown, (void)unknowns, (void)known, (void)knowns, (void)seeds, (void)values;
    return fail(c, "no derivatives are provided");
}

EXPORT Status fmi2SetRealInputDerivatives(
    Instance *c, References at, size_t n, const int orders[], const double values[]
)
{
    (void)at, (void)n, (void)orders, (void)values;
    return fail(c, "inputs are held");
}

EXPORT Status fmi2GetRealOutputDerivatives(
    Instance *c, References at, size_t n, const int orders[], double values[]
)
{
    (void)at, (void)n, (void)orders, (void)values;
    return fail(c, "no derivatives are provided");
}

EXPORT Status fmi2DoStep(Instance *c, double time, double step, int kept)
{
    (void)kept;
    int event;
    const int status = unit_advance(&c->unit, time + step, 0, &event);
    return status == 0 ? OK : fail(c, unit_reason(status));
}

EXPORT Status fmi2CancelStep(Instance *c) { return fail(c, "a step cannot be cancelled"); }

EXPORT Status fmi2GetStatus(Instance *c, int kind, Status *value)
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}

EXPORT Status fmi2GetRealStatus(Instance *c, int kind, double *value)
{
    if (kind != 2) {
        return DISCARD;
    }
    *value = c->unit.time;
    return OK;
}

EXPORT Status fmi2GetIntegerStatus(Instance *c, int kind, int *value)
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}

EXPORT Status fmi2GetBooleanStatus(Instance *c, int kind, int *value)
{
    (void)c, (void)kind;
    *value = 0;
    return kind == 3 ? OK : DISCARD;
}

EXPORT Status fmi2GetStringStatus(Instance *c, int kind, Text *value)
{
    (void)c, (void)kind, (void)value;
    return DISCARD;
}
