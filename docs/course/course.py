"""Checks and equations for the course. The checks use identities of mechanics, not stored answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.mechanics.formulations.bicycle.partitioned import Partitioned
from draisine.scenario.library import load
from draisine.view.notebook import show_inline

VERDICTS: dict[str, str] = {}
"""Verdict of each exercise that has been checked, by its number."""


def check(exercise: str, residual: Callable[[], Any], tolerance: float = 1e-12) -> None:
    """Print whether the residual of an exercise is zero within a tolerance."""
    try:
        error = float(np.max(np.abs(np.asarray(residual(), float))))
        verdict = "correct" if error <= tolerance else f"not correct yet, the error is {error:.2g}"
    except NotImplementedError:
        verdict = "not done yet"
    except Exception as problem:  # a wrong solution may fail anywhere
        verdict = f"not correct yet, {type(problem).__name__}: {problem}"
    VERDICTS[exercise] = verdict
    print(f"Exercise {exercise}: {verdict}.")


def grade() -> None:
    """Print how many of the checked exercises are correct, and the numbers of the others."""
    others = [number for number, verdict in VERDICTS.items() if verdict != "correct"]
    print(f"{len(VERDICTS) - len(others)} of {len(VERDICTS)} exercises are correct.", end="")
    print(f" Open: {', '.join(others)}." if others else "")


def rate_along(function: Callable[[Any], Any], x: Any, xdot: Any) -> Any:
    """Return the time derivative of function(x) along xdot, exact to round-off (complex step)."""
    step = 1e-30
    return np.imag(function(np.asarray(x) + 1j * step * np.asarray(xdot))) / step


def hat(v: Any) -> Any:
    """Return the matrix of the cross product with v."""
    x, y, z = v
    return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


BICYCLE = draisine.compile("whipple")
NAMES = ("x_C", "y_C", "phi", "theta", "psi", "beta", "gamma", "epsilon", "xi")
ROWS = ("front.normal", "front.tangent", "rear.x", "rear.y", "front.x", "front.y")
_PACKAGE = Partitioned(BICYCLE.model)


def equations(p: Any, pdot: Any, steer: float = 0.0, rear_wheel: float = 0.0) -> Any:
    """Return M, Q, D and c by draisine, for torques (N m) on the steer axis and on the rear wheel.

    Chapter 2 writes a file with your own function of the same name.
    """
    given = {"steer": steer, "rear_wheel": rear_wheel}
    torques = [given.get(name, 0.0) for name in BICYCLE.model.inputs]
    terms = _PACKAGE.compute_arrays(0.0, np.asarray(p, float), np.asarray(pdot, float), torques)
    return terms["M"], terms["Q"], terms["D"], terms["c"]


def constraints(p: Any) -> Any:
    """Return D and the residuals of the two contact equations by draisine."""
    terms = _PACKAGE.compute_arrays(0.0, np.asarray(p, float), np.zeros(9), np.zeros(3))
    return terms["D"], terms["contact"]


def example() -> Any:
    """Return p and pdot of a leaning, steered and rolling bicycle, and the same state for draisine."""
    state = draisine.state(
        BICYCLE, lean=0.2, steer=0.3, forward_speed=5.0, lean_rate=0.4, steer_rate=-0.5
    )
    return *_PACKAGE.enter(0.0, state), state


def driving_torque(state: Any) -> float:
    """Return the torque (N m) on the rear wheel that keeps its rate constant, by draisine."""
    driven = Partitioned(BICYCLE.model, speed=0.3 * _PACKAGE.enter(0.0, state)[1][4])
    return driven.reactions(0.0, state)["driving"]


def energy(p: Any, pdot: Any) -> float:
    """Return the total energy (J): kinetic energy by M, potential energy by draisine."""
    y = np.concatenate([p[[3, 6, 4]], p[[0, 1, 2, 7]], pdot[[3, 6, 4]]])
    found = _PACKAGE.leave(0.0, y)
    state = draisine.State(found.q, found.p, found.r, found.v)
    potential = draisine.Stepper(BICYCLE, state).observe()["potential"][0]
    return float(pdot @ equations(p, pdot)[0] @ pdot / 2 + potential)


def benchmark_matrices() -> tuple[Any, Any, Any, Any]:
    """Return M, C1, K0 (with g) and K2 of the benchmark in lean and steer, steer to the left."""
    found = canonical_matrices(BICYCLE)
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]])  # of entries that couple lean and steer
    return sign * found.M, sign * found.C1, sign * 9.81 * found.K0, sign * found.K2


def measured_weave() -> tuple[Any, Any]:
    """Return mean speeds (m/s) and weave eigenvalues (1/s) of the 26 runs of Kooijman and others."""
    names = ("eigenvalue_real[weave]", "eigenvalue_imaginary[weave]")
    parts: dict[str, dict[float, float]] = {name: {} for name in names}
    for table in load("kooijman2008/weave").scenario.expected:
        if table.origin == "measured":
            for name in names:
                parts[name] |= zip(table.at or (), table.values.get(name, ()), strict=False)
    real, imaginary = (parts[name] for name in names)
    speeds = sorted(real)
    return np.array(speeds), np.array([real[v] + 1j * imaginary[v] for v in speeds])


def power_balance(y: Any, ydot: Any, complete: Callable[[Any], Any]) -> float:
    """Return the rate of the energy (W) along ydot, by central differences."""
    h = 1e-5
    return (energy(*complete(y + h * ydot)) - energy(*complete(y - h * ydot))) / (2 * h)


def rate_with_body(y: Any, u: Any) -> Any:
    """Return the time derivative of y (12,) of the bicycle with the upper body, by draisine."""
    model = draisine.compile("whipple", mU=30.0).model
    return Partitioned(model).rate(0.0, y, np.array([u.get(name, 0.0) for name in model.inputs]))


def new_figure(columns: int = 1) -> Any:
    """Return a figure and its axes, side by side."""
    return plt.subplots(1, columns, figsize=(4.6 * columns + 0.6, 3.6), layout="constrained")


def show(figure: Figure, name: str) -> None:
    """Show a figure below the cell of a notebook, and write it to a file."""
    figure.savefig(Path(f"{name}.png"), dpi=120)
    show_inline(figure)
    plt.close(figure)
