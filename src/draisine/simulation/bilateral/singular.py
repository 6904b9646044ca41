"""Steps through singular shapes, in which the constraint rows lose rank (thesis, remark 1.11).

Problem: prescribed joints may lead a system through a shape (joint coordinates) in which constraint rows that
are otherwise independent become linearly dependent; an example is a snake whose joint angles become equal.
Let w be the left null vector of the constraint rows there, and b their right-hand side. If `w' b = 0`, the
speeds have a limit, eq. [singular-shape]; otherwise they grow without bound, and the run stops. Method: one
step of Gauss collocation centred on the singular instant, none of whose nodes is close to this instant.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import SingularityError
from draisine.mechanics import constraints
from draisine.mechanics.formulations._rank import NumericalConfiguration, make_zero_configuration
from draisine.model import Model
from draisine.system.closed_form import ClosedForm

SEARCHED_TIME = 0.5
"""Length (s) of the time interval after a degenerate pivot in which a singular shape is searched."""

SINGULAR_STEP_LENGTH = 0.04
"""Length (s) of the Gauss collocation step through a singular shape."""

SINGULAR_ROW_VALUE = 1e-7
"""Constraint rows of unit length with a smaller singular value (dimensionless) have lost rank.

The value is above the accuracy, about 1e-8, to which the minimum over time is located.
"""


@dataclass(frozen=True, eq=False)
class SingularShape:
    """A shape in which constraint rows lose rank."""

    t: float  # s, time at which the prescribed joints reach the shape
    shape: Floats  # joint coordinates
    rows: tuple[str, ...]  # labels of the linearly dependent constraint rows
    removable: bool  # whether the speeds have a limit at the shape

    def __str__(self) -> str:
        angles = ", ".join(f"{x:.6g}" for x in self.shape)
        return (
            f"the constraints {', '.join(self.rows)} are linearly dependent in the shape ({angles}) at "
            f"{self.t:.9g} s, where they require unbounded speeds. Prescribe motions that avoid that "
            "shape, or leave one joint free"
        )


def find_singular_shape(machine: ClosedForm, t: float) -> SingularShape | None:
    """Return the first singular shape of the prescribed motion in `SEARCHED_TIME` after time t (s).

    Return None if there is no such shape, or if a joint is not prescribed.
    """
    model = machine.system.model
    mode = machine.mode
    labels = constraints.row_labels(model, mode)
    keep = [k for k, label in enumerate(labels) if label not in machine.choice.spare]
    if not keep or any(joint.motion is None for joint in model.joints):
        return None
    drawing = make_zero_configuration(model, mode)

    def place(time: float) -> NumericalConfiguration:
        return replace(drawing, r=prescribed_shape(model, time), t=time)

    def smallest_singular_value(time: float) -> float:
        return float(np.linalg.svd(place(time).C[keep], compute_uv=False)[-1])

    from scipy.optimize import minimize_scalar

    times = np.linspace(t, t + SEARCHED_TIME, 51)
    values = [smallest_singular_value(x) for x in times]
    for k in range(len(times)):
        neighbours = (values[max(k - 1, 0)], values[min(k + 1, 50)])
        if values[k] > min(neighbours) or values[k] > 0.5:
            continue
        span = (times[max(k - 1, 0)], times[min(k + 1, 50)])
        minimum = minimize_scalar(
            smallest_singular_value, bounds=span, method="bounded", options={"xatol": 1e-13}
        )
        if minimum.fun < SINGULAR_ROW_VALUE:
            singular = place(float(minimum.x))
            U, _, _ = np.linalg.svd(singular.C[keep])
            w = U[:, -1]
            rows = tuple(labels[i] for i, x in zip(keep, w, strict=True) if abs(x) > 1e-6)
            # The speeds have a limit if the dependent rows have consistent right-hand sides.
            scale = max(1.0, float(np.abs(singular.b).max()))
            is_removable = abs(float(w @ singular.b[keep])) < 1e-6 * scale
            return SingularShape(singular.t, singular.r, rows, is_removable)
    return None


def prescribed_shape(model: Model, t: float) -> Floats:
    """Return the prescribed joint coordinates (joints,), rad or m, at time t (s)."""
    return np.array([float(j.motion(t)[0]) for j in model.joints if j.motion is not None])


def take_gauss_step(
    machine: ClosedForm, y: Floats, span: tuple[float, float], w: Floats, anchors: Floats
) -> Callable[[float], Floats]:
    """Take one step of Gauss collocation from state y over the interval `span` (s).

    Return the state as a function of time: a polynomial that satisfies the equations of motion at eight Gauss
    nodes. `w` are the inputs (N m or N) and `anchors` the anchor points of pins (m).
    """
    nodes, _ = np.polynomial.legendre.leggauss(8)
    c = (nodes + 1) / 2
    h = span[1] - span[0]
    basis = np.linalg.inv(np.vander(c, increasing=True)).T  # Lagrange polynomials by their powers

    def integrals(s: float) -> Floats:
        return basis @ (s ** np.arange(1, 9) / np.arange(1, 9))

    def rate(t: float, x: Floats) -> Floats:
        return machine.rate(t=[t], **machine.layout.split(x), w=w, anchors=anchors)["rate"]

    A = np.array([integrals(s) for s in c])
    slopes = np.zeros((8, len(y)))
    for _ in range(100):
        stages = y + h * A @ slopes
        fresh = np.array([rate(span[0] + h * s, x) for s, x in zip(c, stages, strict=True)])
        change = np.abs(fresh - slopes).max()
        slopes = fresh
        if change <= 1e-13 * max(1.0, float(np.abs(fresh).max())):
            break
    else:
        if not change <= 1e-9 * max(1.0, float(np.abs(slopes).max())):
            raise SingularityError(
                f"the step through the singular shape from {span[0]:.9g} s to {span[1]:.9g} s does "
                "not converge."
            )
    return lambda t: y + h * integrals((t - span[0]) / h) @ slopes
