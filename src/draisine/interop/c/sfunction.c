/* A machine as a block of Simulink: a C MEX S-function of level 2 (The MathWorks). Its parameters are
   the period in s and the machine's parameters in their order, or [] for those that it was written
   with; its inputs are held from one period to the next. */
#define S_FUNCTION_LEVEL 2

#include <stdlib.h>

#include "unit.c"

#include "simstruc.h"

enum { PERIOD_AT, PARAMETERS_AT, GIVEN };

static void mdlInitializeSizes(SimStruct *S)
{
    ssSetNumSFcnParams(S, GIVEN);
    if (ssGetNumSFcnParams(S) != ssGetSFcnParamsCount(S)) {
        return;
    }
    ssSetNumContStates(S, 0);
    ssSetNumDiscStates(S, 0);
    if (!ssSetNumInputPorts(S, INPUTS > 0) || !ssSetNumOutputPorts(S, 1)) {
        return;
    }
    if (INPUTS > 0) {
        ssSetInputPortWidth(S, 0, INPUTS);
        ssSetInputPortRequiredContiguous(S, 0, 1);
        ssSetInputPortDirectFeedThrough(S, 0, 1);
    }
    ssSetOutputPortWidth(S, 0, OUTPUTS);
    ssSetNumSampleTimes(S, 1);
    ssSetNumPWork(S, 1);
    ssSetOptions(S, SS_OPTION_EXCEPTION_FREE_CODE);
}

static void mdlInitializeSampleTimes(SimStruct *S)
{
    ssSetSampleTime(S, 0, mxGetScalar(ssGetSFcnParam(S, PERIOD_AT)));
    ssSetOffsetTime(S, 0, 0.0);
}

static void hold(SimStruct *S, Unit *u)
{
    const double *given = INPUTS > 0 ? ssGetInputPortRealSignal(S, 0) : NULL;
    for (uint32_t k = 0; k < INPUTS; ++k) {
        unit_set(u, FIRST_INPUT + k, given[k]);
    }
}

#define MDL_START
static void mdlStart(SimStruct *S)
{
    const size_t given = mxGetNumberOfElements(ssGetSFcnParam(S, PARAMETERS_AT));
    Unit *u = calloc(1, sizeof *u);
    ssGetPWork(S)[0] = u;
    if (u == NULL) {
        ssSetErrorStatus(S, "no memory");
        return;
    }
    unit_create(u);
    if (given != 0 && given != PARAMETERS) {
        ssSetErrorStatus(S, "give all parameters of the machine, or []");
        return;
    }
    for (uint32_t k = 0; k < given; ++k) {
        unit_set(u, FIRST_PARAMETER + k, mxGetPr(ssGetSFcnParam(S, PARAMETERS_AT))[k]);
    }
    unit_begin(u, ssGetT(S));
}

static void mdlOutputs(SimStruct *S, int_T tid)
{
    Unit *u = ssGetPWork(S)[0];
    double *y = ssGetOutputPortRealSignal(S, 0);
    (void)tid;
    hold(S, u);
    unit_look(u);
    for (uint32_t k = 0; k < OUTPUTS; ++k) {
        y[k] = unit_get(u, FIRST_OUTPUT + k);
    }
}

#define MDL_UPDATE
static void mdlUpdate(SimStruct *S, int_T tid)
{
    Unit *u = ssGetPWork(S)[0];
    int event;
    (void)tid;
    hold(S, u);
    const double next = ssGetT(S) + mxGetScalar(ssGetSFcnParam(S, PERIOD_AT));
    const int status = unit_advance(u, next, 0, &event);
    if (status != 0) {
        ssSetErrorStatus(S, unit_reason(status));
    }
}

static void mdlTerminate(SimStruct *S)
{
    if (ssGetPWork(S)[0] != NULL) {
        unit_free(ssGetPWork(S)[0]);
    }
    free(ssGetPWork(S)[0]);
    ssGetPWork(S)[0] = NULL;
}

#ifdef MATLAB_MEX_FILE
#include "simulink.c"
#else
#include "cg_sfun.h"
#endif
