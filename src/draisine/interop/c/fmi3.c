/* A machine for co-simulation by FMI 3.0 (https://fmi-standard.org, Modelica Association). Its events
   are the instants from which on the ground would have to pull at a contact, or no longer would. */
#include <stdbool.h>

#define RESET fmi3Reset
#define GET_STATE fmi3GetFMUState
#define SET_STATE fmi3SetFMUState
#define FREE_STATE fmi3FreeFMUState
#define STATE_SIZE fmi3SerializedFMUStateSize
#define STATE_TO_BYTES fmi3SerializeFMUState
#define STATE_FROM_BYTES fmi3DeserializeFMUState

#include "fmi.c"

typedef const uint8_t *Bytes;
typedef void Logger(void *environment, Status status, Text category, Text message);

static Status fail(Instance *c, Text message)
{
    if (c->logger != NULL) {
        ((Logger *)c->logger)(c->environment, ERROR, "logStatusError", message);
    }
    return ERROR;
}

EXPORT Text fmi3GetVersion(void) { return "3.0"; }

EXPORT Status fmi3SetDebugLogging(Instance *c, bool on, size_t n, const Text categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Instance *fmi3InstantiateCoSimulation(
    Text name, Text token, Text resources, bool visible, bool logging, bool event_mode, bool early,
    References between, size_t n, void *environment, Logger *logger, void *update
)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)between, (void)n, (void)update;
    Instance *c = create(token);
    if (c != NULL) {
        c->logger = (void (*)(void))logger;
        c->environment = environment;
        c->watch = event_mode && early;
    }
    return c;
}

EXPORT Instance *fmi3InstantiateModelExchange(
    Text name, Text token, Text resources, bool visible, bool logging, void *environment, Logger *logger
)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment;
    (void)logger;
    return NULL;
}

EXPORT Instance *fmi3InstantiateScheduledExecution(
    Text name, Text token, Text resources, bool visible, bool logging, void *environment, Logger *logger,
    void *update, void *lock, void *unlock
)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment;
    (void)logger, (void)update, (void)lock, (void)unlock;
    return NULL;
}

EXPORT void fmi3FreeInstance(Instance *c)
{
    if (c != NULL) {
        unit_free(&c->unit);
    }
    free(c);
}

EXPORT Status fmi3EnterInitializationMode(
    Instance *c, bool tolerant, double tolerance, double start, bool limited, double stop
)
{
    (void)tolerant, (void)tolerance, (void)limited, (void)stop;
    c->start = start;
    unit_begin(&c->unit, start);
    return OK;
}

EXPORT Status fmi3ExitInitializationMode(Instance *c)
{
    unit_begin(&c->unit, c->start);
    return OK;
}

#define NOTHING_TO_DO(NAME)           \
    EXPORT Status fmi3##NAME(Instance *c) \
    {                                 \
        (void)c;                      \
        return OK;                    \
    }
NOTHING_TO_DO(EnterEventMode)
NOTHING_TO_DO(EnterStepMode)
NOTHING_TO_DO(Terminate)
NOTHING_TO_DO(EvaluateDiscreteStates)

EXPORT Status fmi3UpdateDiscreteStates(
    Instance *c, bool *again, bool *terminate, bool *nominals, bool *values, bool *next, double *time
)
{
    unit_look(&c->unit);
    unit_update(&c->unit);
    *again = *terminate = *nominals = *values = *next = false;
    *time = 0.0;
    return OK;
}

EXPORT Status fmi3DoStep(
    Instance *c, double time, double step, bool kept, bool *event, bool *terminate, bool *early,
    double *last
)
{
    (void)kept;
    int found;
    const int status = unit_advance(&c->unit, time + step, c->watch, &found);
    if (!c->watch) {
        unit_update(&c->unit);
    }
    *event = found;
    *early = found && c->unit.time < time + step;
    *terminate = false;
    *last = c->unit.time;
    return status == 0 ? OK : fail(c, unit_reason(status));
}

EXPORT Status fmi3GetFloat64(Instance *c, References at, size_t n, double values[], size_t count)
{
    return count < n ? fail(c, "too little room for the values") : read_numbers(c, at, n, values);
}

EXPORT Status fmi3SetFloat64(Instance *c, References at, size_t n, const double values[], size_t count)
{
    return count < n ? fail(c, "too few values") : write_numbers(c, at, n, values);
}

EXPORT Status fmi3GetBoolean(Instance *c, References at, size_t n, bool values[], size_t count)
{
    for (size_t k = 0; k < n; ++k) {
        if (at[k] < FIRST_EVENT || at[k] >= VALUES || k >= count) {
            return fail(c, "no truth value has this reference");
        }
        values[k] = unit_get(&c->unit, at[k]) != 0.0;
    }
    return OK;
}

#define NONE_SET(NAME, TYPE)                                                                         \
    EXPORT Status fmi3Set##NAME(Instance *c, References at, size_t n, const TYPE values[], size_t m) \
    {                                                                                                \
        (void)at, (void)values, (void)m;                                                             \
        return n == 0 ? OK : fail(c, "no such variable can be set");                                 \
    }
#define NONE_THERE(NAME, TYPE)                                                                       \
    NONE_SET(NAME, TYPE)                                                                             \
    EXPORT Status fmi3Get##NAME(Instance *c, References at, size_t n, TYPE values[], size_t m)       \
    {                                                                                                \
        (void)at, (void)values, (void)m;                                                             \
        return n == 0 ? OK : fail(c, "there are numbers and truth values only");                     \
    }
NONE_SET(Boolean, bool)
NONE_THERE(Float32, float)
NONE_THERE(Int8, int8_t)
NONE_THERE(UInt8, uint8_t)
NONE_THERE(Int16, int16_t)
NONE_THERE(UInt16, uint16_t)
NONE_THERE(Int32, int32_t)
NONE_THERE(UInt32, uint32_t)
NONE_THERE(Int64, int64_t)
NONE_THERE(UInt64, uint64_t)
NONE_THERE(String, Text)

/* What belongs to capabilities that this machine does not have. */
#define NOT_HERE(NAME, ...)                               \
    EXPORT Status fmi3##NAME(Instance *c, __VA_ARGS__)    \
    {                                                     \
        return fail(c, "fmi3" #NAME " is not provided");  \
    }
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
NOT_HERE(GetBinary, References at, size_t n, size_t sizes[], Bytes values[], size_t m)
NOT_HERE(SetBinary, References at, size_t n, const size_t sizes[], const Bytes values[], size_t m)
NOT_HERE(GetClock, References at, size_t n, bool values[])
NOT_HERE(SetClock, References at, size_t n, const bool values[])
NOT_HERE(GetNumberOfVariableDependencies, uint32_t at, size_t *n)
NOT_HERE(
    GetVariableDependencies, uint32_t at, size_t elements[], uint32_t of[], size_t their[], int kinds[],
    size_t n
)
NOT_HERE(
    GetDirectionalDerivative, References unknown, size_t n, References known, size_t m,
    const double seeds[], size_t ns, double values[], size_t nv
)
NOT_HERE(
    GetAdjointDerivative, References unknown, size_t n, References known, size_t m,
    const double seeds[], size_t ns, double values[], size_t nv
)
NOT_HERE(GetIntervalDecimal, References at, size_t n, double intervals[], int qualifiers[])
NOT_HERE(
    GetIntervalFraction, References at, size_t n, uint64_t counters[], uint64_t resolutions[],
    int qualifiers[]
)
NOT_HERE(GetShiftDecimal, References at, size_t n, double shifts[])
NOT_HERE(GetShiftFraction, References at, size_t n, uint64_t counters[], uint64_t resolutions[])
NOT_HERE(SetIntervalDecimal, References at, size_t n, const double intervals[])
NOT_HERE(
    SetIntervalFraction, References at, size_t n, const uint64_t counters[],
    const uint64_t resolutions[]
)
NOT_HERE(SetShiftDecimal, References at, size_t n, const double shifts[])
NOT_HERE(
    SetShiftFraction, References at, size_t n, const uint64_t counters[], const uint64_t resolutions[]
)
NOT_HERE(CompletedIntegratorStep, bool kept, bool *event, bool *terminate)
NOT_HERE(SetTime, double time)
NOT_HERE(SetContinuousStates, const double states[], size_t n)
NOT_HERE(GetContinuousStateDerivatives, double rates[], size_t n)
NOT_HERE(GetEventIndicators, double indicators[], size_t n)
NOT_HERE(GetContinuousStates, double states[], size_t n)
NOT_HERE(GetNominalsOfContinuousStates, double nominals[], size_t n)
NOT_HERE(GetNumberOfEventIndicators, size_t *n)
NOT_HERE(GetNumberOfContinuousStates, size_t *n)
NOT_HERE(
    GetOutputDerivatives, References at, size_t n, const int32_t orders[], double values[], size_t m
)
NOT_HERE(ActivateModelPartition, uint32_t clock, double time)
EXPORT Status fmi3EnterConfigurationMode(Instance *c) { return fail(c, "nothing to configure"); }
EXPORT Status fmi3ExitConfigurationMode(Instance *c) { return fail(c, "nothing to configure"); }
EXPORT Status fmi3EnterContinuousTimeMode(Instance *c) { return fail(c, "steps only"); }
