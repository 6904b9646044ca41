"""C programs of exports: strict compilation, and runs under the sanitizers or valgrind."""

import subprocess
from pathlib import Path

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
"""Flags with which all exported C code compiles without a warning."""

TOOL_FLAGS = {
    "sanitizers": ("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "valgrind": ("-O1", "-g"),
}
"""Flags of the compiler by the tool under which a program runs."""

VALGRIND = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all")

FMI_3_MAIN = """
#include <stdio.h>

#include "fmi3.c"

static void print_message(void *environment, Status status, Text category, Text message)
{
    (void)environment, (void)status, (void)category;
    fprintf(stderr, "%s\\n", message);
}

static double numbers[VALUES];
static bool flags[EVENTS + 1];
static uint32_t at[VALUES];

static int simulate(Instance *c)
{
    const double until = UNTIL;
    double time = 0.0, last, next;
    bool event, ends, early, again, nominals, values, clock;
    int events = 0;
    while (time < until) {
        const double step = until - time < STEP ? until - time : STEP;
        if (fmi3DoStep(c, time, step, true, &event, &ends, &early, &last) != OK) {
            return -1;
        }
        time = last;
        if (event) {
            ++events;
            fmi3EnterEventMode(c);
            fmi3UpdateDiscreteStates(c, &again, &ends, &nominals, &values, &clock, &next);
            fmi3EnterStepMode(c);
        }
        /* The inputs stay; to set them is a jump of the inputs for the machine only if they change. */
        fmi3GetFloat64(c, at, FIRST_EVENT, numbers, FIRST_EVENT);
        fmi3GetBoolean(c, at + FIRST_EVENT, EVENTS, flags, EVENTS);
        fmi3SetFloat64(c, at + FIRST_INPUT, INPUTS, numbers + FIRST_INPUT, INPUTS);
    }
    return events;
}

int main(void)
{
    Instance *c = fmi3InstantiateCoSimulation(
        "unit", TOKEN, "", false, true, true, true, NULL, 0, NULL, print_message, NULL
    );
    int events = -1;
    for (uint32_t k = 0; k < VALUES; ++k) {
        at[k] = k;
    }
    /* Twice, with a reset between them. */
    for (int k = 0; c != NULL && k < 2; ++k) {
        fmi3EnterInitializationMode(c, false, 0.0, 0.0, true, UNTIL);
        fmi3ExitInitializationMode(c);
        events = simulate(c);
        fmi3Reset(c);
    }
    if (c != NULL && UNIT_COPIES) {
        void *state = NULL, *copy = NULL;
        uint8_t *bytes;
        size_t size;
        fmi3GetFMUState(c, &state);
        fmi3SerializedFMUStateSize(c, state, &size);
        bytes = malloc(size);
        fmi3SerializeFMUState(c, state, bytes, size);
        fmi3DeserializeFMUState(c, bytes, size, &copy);
        fmi3SetFMUState(c, copy);
        fmi3FreeFMUState(c, &state);
        fmi3FreeFMUState(c, &copy);
        free(bytes);
    }
    printf("%d", events);
    for (uint32_t k = FIRST_OUTPUT; k < FIRST_EVENT; ++k) {
        printf(" %.17g", numbers[k]);
    }
    fmi3FreeInstance(c);
    return events < 0;
}
"""
"""Program that simulates a unit of FMI 3.0 in event mode up to UNTIL (s) in steps of at most STEP (s) and
prints the number of events and all outputs at the end.
"""

FMI_2_MAIN = """
#include <stdio.h>

#include "fmi2.c"

static double numbers[VALUES];
static uint32_t at[VALUES];

int main(void)
{
    const double until = UNTIL;
    const Callbacks callbacks = { NULL, NULL, NULL, NULL, NULL };
    Instance *c = fmi2Instantiate("unit", 1, TOKEN, "", &callbacks, 0, 0);
    Status status = c == NULL ? ERROR : OK;
    for (uint32_t k = 0; k < VALUES; ++k) {
        at[k] = k;
    }
    if (status == OK) {
        fmi2SetupExperiment(c, 0, 0.0, 0.0, 1, until);
        fmi2EnterInitializationMode(c);
        fmi2ExitInitializationMode(c);
    }
    for (double time = 0.0; status == OK && time < until; time += STEP) {
        status = fmi2DoStep(c, time, STEP, 1);
        fmi2GetReal(c, at, FIRST_EVENT, numbers);
        fmi2SetReal(c, at + FIRST_INPUT, INPUTS, numbers + FIRST_INPUT);
    }
    printf("0");
    for (uint32_t k = FIRST_OUTPUT; k < FIRST_EVENT; ++k) {
        printf(" %.17g", numbers[k]);
    }
    fmi2FreeInstance(c);
    return status != OK;
}
"""
"""Program that simulates a unit of FMI 2.0 in steps and prints zero and all outputs at the end."""

FMI_MAINS = {"fmi2": FMI_2_MAIN, "fmi3": FMI_3_MAIN}
"""Programs that simulate a unit, by its interface."""


def compile_program(folder: Path, files: dict[str, str], sources: list[str], flags=()) -> Path:
    """Write files into a folder and compile some of them; return the path of the program."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = ["cc", *STRICT, *flags, *sources, "-o", "program", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def compile_simulator(folder: Path, files: dict[str, str], flags=()) -> Path:
    """Compile a simulator with its main program."""
    sources = [name for name in files if name.endswith(".c")]
    return compile_program(folder, files, sources, flags)


def compile_unit(folder: Path, unit, until: float, step: float, flags=()) -> Path:
    """Compile a unit of FMI with a program that simulates it."""
    interface = unit.source.removesuffix(".c")
    files = unit.files | {"program.c": FMI_MAINS[interface]}
    times = [f"-DUNTIL={until!r}", f"-DSTEP={step!r}"]
    return compile_program(folder, files, ["program.c", f"{unit.name}.c"], [*flags, *times])


def run_under(
    tool: str, program: Path, *words: str, seconds: float | None = None
) -> subprocess.CompletedProcess:
    """Run a program that was compiled with the flags of a tool for at most `seconds`; the exit code is not 0
    if it finds an error.
    """
    command = [*(VALGRIND if tool == "valgrind" else ()), str(program), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)
