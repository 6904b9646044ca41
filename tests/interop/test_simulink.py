"""S-functions, compiled against a stand-in for Simulink's headers, move as the package does."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.interop.simulink import export_sfunction

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")

# What a level-2 S-function uses of simstruc.h, with the meanings that The MathWorks documents.
SIMSTRUC = """
#include <stddef.h>
typedef int int_T;
typedef struct { const double *numbers; size_t count; } mxArray;
typedef struct {
    int params, given, states, inputs, outputs, width_in, width_out, through, contiguous, times;
    double period, offset, t;
    const mxArray *arguments[2];
    void *pwork[1];
    double *u, *y;
    const char *error;
    unsigned options;
} SimStruct;
#define SS_OPTION_EXCEPTION_FREE_CODE 1u
#define ssSetNumSFcnParams(S, n) ((S)->params = (n))
#define ssGetNumSFcnParams(S) ((S)->params)
#define ssGetSFcnParamsCount(S) ((S)->given)
#define ssSetNumContStates(S, n) ((S)->states = (n))
#define ssSetNumDiscStates(S, n) ((S)->states += (n))
#define ssSetNumInputPorts(S, n) ((S)->inputs = (n), 1)
#define ssSetNumOutputPorts(S, n) ((S)->outputs = (n), 1)
#define ssSetInputPortWidth(S, k, n) ((S)->width_in = (n))
#define ssSetInputPortRequiredContiguous(S, k, n) ((S)->contiguous = (n))
#define ssSetInputPortDirectFeedThrough(S, k, n) ((S)->through = (n))
#define ssSetOutputPortWidth(S, k, n) ((S)->width_out = (n))
#define ssSetNumSampleTimes(S, n) ((S)->times = (n))
#define ssSetNumPWork(S, n) ((S)->pwork[0] = NULL)
#define ssSetOptions(S, n) ((S)->options = (n))
#define ssSetSampleTime(S, k, x) ((S)->period = (x))
#define ssSetOffsetTime(S, k, x) ((S)->offset = (x))
#define ssGetSFcnParam(S, k) ((S)->arguments[k])
#define ssGetPWork(S) ((S)->pwork)
#define ssGetT(S) ((S)->t)
#define ssSetErrorStatus(S, text) ((S)->error = (text))
#define ssGetInputPortRealSignal(S, k) ((const double *)(S)->u)
#define ssGetOutputPortRealSignal(S, k) ((S)->y)
#define mxGetScalar(a) ((a)->numbers[0])
#define mxGetPr(a) ((a)->numbers)
#define mxGetNumberOfElements(a) ((a)->count)
"""

# The main loop of a model with this block alone.
SIMULINK = """
const char *simulate(
    double period, const double *parameters, size_t count, int steps, double *u, double *y
)
{
    static SimStruct S;
    const mxArray first = {&period, 1}, second = {parameters, count};
    S.given = 2, S.error = NULL, S.t = 0.0;
    S.arguments[0] = &first, S.arguments[1] = &second;
    mdlInitializeSizes(&S);
    mdlInitializeSampleTimes(&S);
    mdlStart(&S);
    for (int k = 0; k < steps && S.error == NULL; ++k) {
        S.t = k * S.period, S.u = u + k * S.width_in, S.y = y + k * S.width_out;
        mdlOutputs(&S, 0);
        mdlUpdate(&S, 0);
    }
    mdlTerminate(&S);
    return S.error;
}
"""
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-comment", "-O2"]


def numbers(values):
    return values.ctypes.data_as(ctypes.c_void_p)


def test_the_block_is_the_machine(tmp_path):
    system = draisine.compile("whipple")
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5)
    made = export_sfunction(system, start, tmp_path)
    (tmp_path / "simstruc.h").write_text(SIMSTRUC)
    (tmp_path / "simulink.c").write_text(SIMULINK)
    subprocess.run(
        ["cc", *STRICT, "-DMATLAB_MEX_FILE", "-shared", "-fPIC", "sfunction.c", "whipple.c",
         "-o", "block.so", "-lm"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    text = made[-1].read_text()
    listed = text[text.index("outputs = {") :]
    names = [line.split("'")[1] for line in listed.splitlines() if line.startswith("    '")]
    steps = 33
    period = 1.0 / 32.0
    heavy = system.with_parameters(mB=90.0)
    torques = np.zeros((steps, 3))
    torques[:, 0] = np.sin(np.arange(steps))
    outputs = np.full((steps, len(names)), np.nan)
    simulate = ctypes.CDLL(str(tmp_path / "block.so")).simulate
    simulate.restype = ctypes.c_char_p
    argument = ctypes.c_double(period), numbers(heavy.values), ctypes.c_size_t(len(heavy.values))
    assert simulate(*argument, steps, numbers(torques), numbers(outputs)) is None
    ride = draisine.Stepper(heavy, start)
    for k in range(steps):
        if k % 8 == 0:
            ride.hold({"steer": torques[k, 0]})
            here = ride.values()
            for name in ("lean", "steer", "steer_rate", "forward_speed", "x"):
                found = outputs[k, names.index(name)]
                assert_allclose(found, here[name], rtol=1e-10, atol=1e-10, err_msg=name)
            force = ride.observe()["forces"][0]
            assert_allclose(outputs[k, names.index("contact_force.rear.normal")], force, rtol=1e-9)
        ride.step(period, {"steer": torques[k, 0]})
    wrong = ctypes.c_double(period), numbers(heavy.values), ctypes.c_size_t(3)
    assert b"give all parameters" in simulate(*wrong, 1, numbers(torques), numbers(outputs))
