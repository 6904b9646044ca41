/* What units of FMI 2 and 3 share: an instance, and how its state is kept and restored. The including
   file says what the functions are called, and how a failure is told. */
#include <stdlib.h>

#include "unit.c"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef enum { OK, WARNING, DISCARD, ERROR, FATAL } Status;
typedef const char *Text;
typedef const uint32_t References[];
typedef struct {
    Unit unit;
    double start;
    int watch;
    void *environment;
    void (*logger)(void);
    char name[256];
} Instance;

static Status fail(Instance *c, Text message);

static Instance *create(Text token)
{
    Instance *c = token != NULL && strcmp(token, TOKEN) == 0 ? calloc(1, sizeof *c) : NULL;
    if (c != NULL && !unit_create(&c->unit)) {
        free(c);
        return NULL;
    }
    return c;
}

static Status read_numbers(Instance *c, References at, size_t n, double values[])
{
    unit_look(&c->unit);
    for (size_t k = 0; k < n; ++k) {
        if (at[k] >= FIRST_EVENT) {
            return fail(c, "no number has this reference");
        }
        values[k] = unit_get(&c->unit, at[k]);
    }
    return OK;
}

static Status write_numbers(Instance *c, References at, size_t n, const double values[])
{
    for (size_t k = 0; k < n; ++k) {
        if (!unit_set(&c->unit, at[k], values[k])) {
            return fail(c, "only parameters and inputs can be set");
        }
    }
    return OK;
}

EXPORT Status RESET(Instance *c)
{
    unit_free(&c->unit);
    c->start = 0.0;
    return unit_create(&c->unit) ? OK : fail(c, "no memory");
}

EXPORT Status GET_STATE(Instance *c, void **state)
{
    if (!UNIT_COPIES) {
        return fail(c, "the state of this machine cannot be kept");
    }
    if (*state == NULL) {
        *state = malloc(sizeof(Instance));
    }
    if (*state == NULL) {
        return fail(c, "no memory");
    }
    memcpy(*state, c, sizeof *c);
    return OK;
}

EXPORT Status SET_STATE(Instance *c, const Instance *state)
{
    c->unit = state->unit;
    c->start = state->start;
    return OK;
}

EXPORT Status FREE_STATE(Instance *c, void **state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT Status STATE_SIZE(Instance *c, void *state, size_t *size)
{
    (void)c, (void)state;
    *size = sizeof(Instance);
    return OK;
}

EXPORT Status STATE_TO_BYTES(Instance *c, void *state, uint8_t bytes[], size_t size)
{
    if (size < sizeof(Instance)) {
        return fail(c, "too few bytes for a state");
    }
    memcpy(bytes, state, sizeof(Instance));
    return OK;
}

EXPORT Status STATE_FROM_BYTES(Instance *c, const uint8_t bytes[], size_t size, void **state)
{
    const Status found = GET_STATE(c, state);
    if (found != OK || size < sizeof(Instance)) {
        return fail(c, "these bytes are no state");
    }
    memcpy(*state, bytes, sizeof(Instance));
    return OK;
}
