"""Curves of steady motions by pseudo-arclength continuation.

A curve is the solution set of a system with one equation fewer than unknowns. It is either a family
of motions with some quantities kept constant, or a homotopy: the prescribed values change from `base`
(s = 0) to `target` (s = 1). The homotopy parameter s is one more unknown, so that the curve can pass a
fold, at which s reverses. Each step predicts along the tangent (the null space of the exact Jacobian) and
corrects in the plane perpendicular to it.
"""

from collections.abc import Mapping

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.equilibrium.balance import Balance
from draisine.errors import ConfigurationError
from draisine.system.tracing import Law

MAX_BEND = 0.2
"""Largest corrector step, as a fraction of the predictor step; above it the continuation step is halved."""

GROW_BEND = 0.05
"""Corrector step, as a fraction of the predictor step, below which the next continuation step is 50 %
longer."""


class Curve:
    """Current point of a continuation curve of steady motions, with the tangent of the curve."""

    def __init__(
        self,
        balance: Balance,
        y: Floats,
        w: Floats,
        law: Law | None,
        base: Mapping[str, float],
        target: Mapping[str, float] | None = None,
    ) -> None:
        self.balance = balance
        self.y = y
        self.w = w
        self.s = 0.0
        self.law = law
        self.base = dict(base)
        self.target = None if target is None else dict(target)
        self.along = np.zeros(len(balance.scale) + (target is not None))

    def prescribed_values(self, homotopy_parameter: float) -> dict[str, float]:
        """Return the prescribed values by name at the homotopy parameter."""
        if self.target is None:
            return self.base
        return {
            name: x + homotopy_parameter * (self.target[name] - x) for name, x in self.base.items()
        }

    def equations(
        self, state: Floats, inputs: Floats, homotopy_parameter: float
    ) -> tuple[Floats, Floats]:
        """Return residuals and their Jacobian by the scaled unknowns; the homotopy parameter is the
        last one.
        """
        variation = self.balance.evaluate(state, inputs)
        residual, J = self.balance.equations(
            state, inputs, self.prescribed_values(homotopy_parameter), variation
        )
        if self.target is None:
            return residual, J
        # The equations are affine in the prescribed values. Therefore this difference is their
        # exact derivative by the homotopy parameter.
        ahead, _ = self.balance.equations(
            state, inputs, self.prescribed_values(homotopy_parameter + 1.0), variation
        )
        return residual, np.column_stack([J, ahead - residual])

    def null_directions(self, tolerance: float) -> Floats:
        """Return a basis (k, unknowns) of the Jacobian's null space; k is at least 1.

        Singular values below `tolerance` times the largest one count as zero.
        """
        _, J = self.equations(self.y, self.w, self.s)
        _, sizes, rows = np.linalg.svd(J)
        small = np.append(sizes, np.zeros(len(rows) - len(sizes))) < tolerance * sizes[0]
        return rows[small] if small.any() else rows[-1:]

    def set_direction(self, wanted_direction: Floats, tolerance: float = 1e-7) -> bool:
        """Set the tangent to the direction in the Jacobian's null space nearest to `wanted_direction`
        (unknowns,).

        Return whether such a direction exists.
        """
        null = self.null_directions(tolerance)
        along = null.T @ (null @ wanted_direction)
        length = float(np.linalg.norm(along))
        if length < 1e-6 * np.linalg.norm(wanted_direction):
            return False
        self.along = along / length
        return True

    def compute_next_point(self, size: float) -> tuple[Floats, Floats, float, float]:
        """Predict and correct the next point of the curve, at a scaled distance `size`.

        Return y, w, s and the length of the corrector step as a fraction of `size`.

        Raises
        ------
        ConfigurationError
            If the correction does not converge.
        """
        n = len(self.balance.scale)
        move = self.balance.move
        first = size * self.along
        y, w = move(self.y, self.w, first[:n])
        s = self.s + float(np.sum(first[n:]))
        total = np.zeros(len(first))
        last = np.inf
        for _ in range(12):
            residual, J = self.equations(y, w, s)
            residual = np.append(residual, self.along @ total)
            J = np.vstack([J, self.along])
            if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(J))):
                break
            step = -np.linalg.lstsq(J, residual, rcond=self.balance.rank_tolerance)[0]
            length = float(np.abs(step).max())
            y, w = move(y, w, step[:n])
            s += float(np.sum(step[n:]))
            total = total + step
            # The iteration has converged if the step is tiny, or small and no longer shrinking (as
            # in `Balance.solve`).
            if length < 1e-14 or (length < 1e-9 and length >= 0.5 * last):
                if np.abs(residual).max() < self.balance.residual_tolerance:
                    return y, w, s, float(np.linalg.norm(total)) / size
                break
            last = length
        raise ConfigurationError("The correction of a continuation step does not converge.")

    def accept_point(self, state: Floats, inputs: Floats, homotopy_parameter: float) -> None:
        """Make state, inputs and homotopy parameter the current point; choose other independent speeds
        if their pivots are small.
        """
        last = self.along
        machine, point = self.balance.machine.renewed(state)
        if machine is not self.balance.machine:
            self.balance = Balance(machine, point, inputs, self.balance.free)
            # The components of the tangent change with the choice of independent speeds. To keep
            # the orientation of the tangent, compare the displacements of the configuration only.
            k = np.arange(len(last))
            same = (k < len(machine.columns)) | (k >= len(self.balance.scale))
            last = np.where(same, last, 0.0)
        self.y = point
        self.w = inputs
        self.s = homotopy_parameter
        self.set_direction(last, 1e-9)
