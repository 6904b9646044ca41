"""Whole runs by time stepping (`solver="time_stepping"`)."""

import math

from draisine.errors import ParameterError, SimulationError
from draisine.simulation.contact.query import look_back
from draisine.simulation.contact.run import place_on_terrain
from draisine.simulation.contact.stepping.arc import DEFAULT_STEP, SampledSteps, TimeStepper
from draisine.simulation.options import Task
from draisine.simulation.trajectory import Trajectory


def run_time_stepping(task: Task) -> Trajectory:
    """Return the motion of a task in equal time steps, eq. [moreau-jean]: first-order accurate, with
    any number of contacts, impacts and changes between stick and slip in a step.

    Forces and accelerations of a sample are means over the interval that ends there.
    """
    restitution = dict(task.contact.restitution)
    restitution.pop("normal", None)
    if restitution:
        raise ParameterError("Time stepping has one restitution, 'normal'.")
    start, until, dt = task.numerics.start, task.until, task.numerics.dt
    look, y = place_on_terrain(task)
    samples = max(1, math.ceil((until - start) / dt - 1e-9))
    spacing = (until - start) / samples
    each = max(1, math.ceil(spacing / DEFAULT_STEP - 1e-9))
    stepper = TimeStepper(look, task.contact, start, y, spacing / each)
    steps = SampledSteps(stepper)
    made = {"solver": "time_stepping", "dt": dt, "step": stepper.h}

    def motion(outcome: str) -> Trajectory:
        return Trajectory((steps.arc(),), outcome, made, contact=task.contact)

    try:
        for number in range(samples):
            steps.advance(each)
            if task.progress is not None:
                task.progress((number + 1) / samples)
            if stepper.outcome:
                break
    except KeyboardInterrupt:
        raise SimulationError(
            f"the run was interrupted after {stepper.t:.6g} s of {until:.6g} s. "
            "The part before is in the error's `partial`.",
            motion("interrupted"),
        ) from None
    except SimulationError as error:
        if error.partial is None:
            error.partial = motion(str(error))
        raise
    finally:
        look_back(look)
    return motion(stepper.outcome or "completed")
