"""The linear equations of a bicycle in straight, upright running, from its nonlinear model:

    M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = f        q = (lean, steer)

in the form, the axes and the signs of Meijaard, Papadopoulos, Ruina and Schwab (2007),
doi:10.1098/rspa.2007.1857: x forward, z down, so that lean and steer are positive to the right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import Matrices, invert_matrices, transpose
from draisine.analysis.linear import cyclic_coordinates
from draisine.analysis.variation import Chart, Variation, chart, vary
from draisine.errors import ConfigurationError, ParameterError
from draisine.system.artifacts import find_invalid_machines
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import find_configurations
from draisine.system.system import System
from draisine.vehicles import check_numbers

PROBE_SPEED = 16.0
"""Speed at which the terms in v and v^2 are evaluated, m/s; division by a power of two is exact."""

MATRIX_SIGNS = np.array([[1.0, -1.0], [-1.0, 1.0]])
"""Factors that convert the entries of draisine's matrices to the benchmark's axes: steer changes
its sign.
"""

POWERS_ERROR = 1e-9
"""Largest error of the canonical form at another speed, as a fraction of the largest matrix entry; rounding
errors are about 1e-13."""


@dataclass(frozen=True, eq=False)
class Canonical:
    """Canonical matrices of straight running, (..., 2, 2) each; the leading axes are those of a
    sweep.

    The benchmark bicycle has neither dampers nor springs: its C0 and Ks are zero. If gravity is no parameter
    of the vehicle, weight and springs cannot be separated, and `Kg` contains both.
    """

    M: Floats  # mass matrix, kg m2
    C0: Floats  # damping matrix of dampers, N m s
    C1: Floats  # damping matrix per unit of speed, N s2
    Kg: Floats  # stiffness matrix of weight, g K0, N m
    K2: Floats  # stiffness matrix per squared speed, N s2/m
    g: Floats  # gravity, m/s2
    Ks: Floats = field(default_factory=lambda: np.zeros((2, 2)))  # stiffness matrix of springs, N m

    @property
    def K0(self) -> Floats:
        """Stiffness matrix of weight per unit of gravity, kg m."""
        return self.Kg / np.asarray(self.g)[..., None, None]

    def damping(self, v: Any) -> Floats:
        """Return the damping matrix C0 + v C1 at speeds v (m/s); the axes of v follow those of the
        sweep.
        """
        v = np.asarray(v, float)[..., None, None]
        return self.C0 + v * self.C1

    def stiffness(self, v: Any) -> Floats:
        """Return the stiffness matrix Ks + g K0 + v^2 K2 at speeds v (m/s)."""
        v = np.asarray(v, float)[..., None, None]
        return self.Ks + self.Kg + v * v * self.K2

    def A(self, v: Any) -> Floats:
        """Return A of xdot = A x, x = (lean, steer, lean rate, steer rate), at speeds v (m/s)."""
        forces = np.concatenate(np.broadcast_arrays(self.stiffness(v), self.damping(v)), axis=-1)
        M = np.broadcast_to(self.M, (*forces.shape[:-2], 2, 2))
        lower = -np.linalg.solve(M, forces)
        upper = np.broadcast_to(np.eye(2, 4, 2), (*forces.shape[:-2], 2, 4))
        return np.concatenate([upper, lower], axis=-2)

    def __getitem__(self, index: Any) -> "Canonical":
        """Return one element of a sweep."""
        Ks = np.broadcast_to(self.Ks, self.Kg.shape)
        matrices = (self.M, self.C0, self.C1, self.Kg, self.K2, self.g, Ks)
        return Canonical(*(matrix[index] for matrix in matrices))


def canonical_matrices(
    system: System, *, about: Mapping[str, float] | None = None, **sweep: Any
) -> Canonical:
    """Return the canonical matrices of straight running, in the axes of the benchmark.

    Parameters
    ----------
    system
        An ideal bicycle: wheels without slip, degrees of freedom lean, steer and speed.
    about
        Coordinates (rad) that differ from the zero configuration: `{"steer": pi}` for a reversed handlebar.
    sweep
        Parameters by name; arrays are swept together by the rules of broadcasting.

    Returns
    -------
    Canonical
        Matrices (..., 2, 2) for lean and steer, with the axes of the sweep in front.

    Raises
    ------
    ConfigurationError
        If the system is not an ideal bicycle.

    Examples
    --------
    >>> from draisine import compile
    >>> print(f"{canonical_matrices(compile('whipple')).K2[0, 1]:.11f}")
    76.59734589573
    """
    parameters, shape = sweep_parameters(system, sweep)
    machine = system.machine()
    y, frame = stand_upright(machine, parameters, about or {})

    def at_speed(v: float, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return M, C and K of straight running at the speed v (m/s)."""
        return second_order(
            second_order_terms(straight_motion(machine, y, parameters, frame, v)[1], frame)
        )

    slow, fast = (at_speed(v, parameters) for v in (0.0, PROBE_SPEED))
    named = list(system.parameters)
    springs = np.zeros_like(slow[2])
    g = np.broadcast_to(np.linalg.norm(system.model.gravity), len(parameters))
    if "g" in named:
        g = parameters[:, named.index("g")]
        weightless = np.where(np.array(named) == "g", 0.0, parameters)
        springs = at_speed(0.0, weightless)[2]
    canonical = separate_speed_powers(slow, fast, g, springs)
    if system.model.elements:
        # Rolling contributes the powers 0 to 2 of v; force elements may contribute others.
        _check_powers(system, canonical, at_speed(2.0 * PROBE_SPEED, parameters))
    matrices = (canonical.M, canonical.C0, canonical.C1, canonical.Kg, canonical.K2)
    M, C0, C1, Kg, K2 = (matrix.reshape(*shape, 2, 2) for matrix in matrices)
    return Canonical(
        M, C0, C1, Kg, K2, canonical.g.reshape(shape), canonical.Ks.reshape(*shape, 2, 2)
    )


def _check_powers(system: System, canonical: Canonical, faster: Sequence[Floats]) -> None:
    """Raise an error if damping and stiffness at twice the probe speed contain other powers of v."""
    for expected, matrix in ((canonical.damping, faster[1]), (canonical.stiffness, faster[2])):
        error = np.abs(expected(2.0 * PROBE_SPEED) - MATRIX_SIGNS * matrix).max()
        if not error <= POWERS_ERROR * np.abs(matrix).max():
            elements = ", ".join(element.name for element in system.model.elements)
            raise ConfigurationError(
                f"{system.vehicle.__name__} has no canonical matrices: its force elements ({elements}) add "
                "other powers of the speed. Use eigenvalues(system, speeds) or linearise(system, motion)."
            )


def sweep_parameters(system: System, sweep: Mapping[str, Any]) -> tuple[Floats, tuple[int, ...]]:
    """Return the parameter sets (sets, parameters) of a sweep, and the shape of the sweep.

    Raises
    ------
    ParameterError
        If a set is physically invalid.
    """
    arrays = check_numbers(system.vehicle, system.parameters, sweep)
    shape = np.broadcast_shapes(*[x.shape for x in arrays.values()])
    columns = [
        np.broadcast_to(arrays.get(name, np.asarray(value)), shape).ravel()
        for name, value in system.parameters.items()
    ]
    table = np.array(columns)
    for k, text in find_invalid_machines(system.artifacts, table).items() if sweep else ():
        values = dict(zip(system.parameters, table[:, k].tolist(), strict=True))
        raise ParameterError(f"{', '.join(f'{name} = {values[name]:g}' for name in sweep)}: {text}")
    return table.T, shape


def stand_upright(
    machine: ClosedForm, parameters: Floats, about: Mapping[str, float]
) -> tuple[Floats, Chart]:
    """Return the upright state at rest for every parameter set, (sets, entries), and its chart."""
    count = len(parameters)
    inputs = len(machine.system.model.inputs)
    targets = {"lean": np.zeros(count)} | {k: np.full(count, x) for k, x in about.items()}
    y = find_configurations(machine, targets, parameters)
    frame = chart(vary(machine, y, parameters=parameters))
    cyclic = cyclic_coordinates(machine, frame, y[0], np.zeros(inputs))
    essential = [name for name in frame.coordinates if name not in cyclic]
    _check_ideal_bicycle(machine, essential)
    return y, frame


def _check_ideal_bicycle(machine: ClosedForm, essential: Sequence[str]) -> None:
    """Raise an error with the reasons if a system has no canonical matrices."""
    memory = machine.system.model.memory
    speeds = machine.layout.count("u")
    reasons = {
        f"its tyres have {memory} states of their own": bool(memory),
        f"it has {speeds} independent speeds, not three": speeds != 3,
        "the coordinates beside the cyclic ones are not lean and steer alone, but "
        f"{', '.join(essential) or 'none'}": len(essential) != 2,
        "it has no output forward_speed": "forward_speed" not in machine.system.outputs,
    }
    violated = [reason for reason, holds in reasons.items() if holds]
    if violated:
        raise ConfigurationError(
            f"{machine.system.vehicle.__name__} has no canonical matrices, because it is not a bicycle that "
            f"rolls without slip on level ground: {'; '.join(violated)}. Use eigenvalues(system, speeds) or "
            "linearise(system, motion), or critical_speeds(system) for machines on two wheels."
        )


def speed_names(frame: Chart) -> list[str]:
    """Return the names of the independent speeds of a bicycle: rates of lean and steer, forward
    speed.
    """
    return [f"{name}_rate" for name in frame.coordinates[:2]] + ["forward_speed"]


def straight_motion(
    machine: ClosedForm, y: Floats, parameters: Floats, frame: Chart, speed: float
) -> tuple[Floats, Variation]:
    """Return the states of upright bicycles running straight at a speed (m/s), and derivatives there."""
    rows = vary(machine, y, parameters=parameters).observation_derivatives(speed_names(frame), "du")
    first = y.shape[1] - rows.shape[2]
    moving = y.copy()
    moving[:, first:] = np.linalg.solve(rows, np.array([[0.0], [0.0], [speed]]))[:, :, 0]
    variation = vary(machine, moving, parameters=parameters)
    if np.abs(variation.values["force"]).max() > 1e-6 * (1.0 + np.abs(variation.mass).max()):
        raise ConfigurationError(
            "Straight, upright running is not a steady motion of this bicycle: forces are unbalanced."
        )
    variation.check_time_invariant()
    return moving, variation


@dataclass(frozen=True, eq=False)
class Terms:
    """Derivatives that make up the second-order equations of straight running."""

    mass: Matrices
    force_u: Matrices  # derivatives of the generalised forces by the independent speeds u
    force_x: Matrices  # derivatives of the generalised forces by displacements
    speed_u: Matrices  # derivatives of the named speeds by u
    speed_x: Matrices  # derivatives of the named speeds by displacements
    shape_x: Matrices  # derivatives of coordinates and contact gaps by displacements


def second_order_terms(variation: Variation, frame: Chart) -> Terms:
    """Return the derivatives that make up the second-order equations at every state of a variation."""
    names = speed_names(frame)
    closed = variation.d["conditions"]["dx"]
    return Terms(
        variation.mass,
        variation.d["force"]["du"],
        variation.d["force"]["dx"],
        variation.observation_derivatives(names, "du"),
        variation.observation_derivatives(names, "dx"),
        np.concatenate(
            [variation.observation_derivatives(frame.coordinates, "dx"), closed], axis=1
        ),
    )


def second_order(terms: Terms) -> tuple[Matrices, Matrices, Matrices]:
    """Return M, C, K of `M qdd + C qd + K q = f` from `M udot = f`, eq. [second-order].

    A displacement is X q, and du = T (s - P q) for the speeds s = (qd, forward speed).
    """
    T = invert_matrices(terms.speed_u)
    X = invert_matrices(terms.shape_x)[:, :, :2]
    TP = T @ terms.speed_x @ X
    T2 = T[:, :, :2]
    back = transpose(T2)
    M = back @ terms.mass @ T2
    C = -(back @ (terms.force_u @ T2 + terms.mass @ TP))
    K = -(back @ (terms.force_x @ X - terms.force_u @ TP))
    return M, C, K


def separate_speed_powers(
    slow: Sequence[Floats], fast: Sequence[Floats], g: Floats, springs: Floats
) -> Canonical:
    """Separate the canonical matrices by powers of the speed, in the benchmark's axes.

    The arguments are M, C, K at rest (`slow`) and at `PROBE_SPEED` (`fast`), and K at rest without
    gravity (`springs`).
    """
    M, C, K = slow
    return Canonical(
        MATRIX_SIGNS * M,
        MATRIX_SIGNS * C,
        MATRIX_SIGNS * (fast[1] - C) / PROBE_SPEED,
        MATRIX_SIGNS * (K - springs),
        MATRIX_SIGNS * (fast[2] - K) / (PROBE_SPEED * PROBE_SPEED),
        g,
        MATRIX_SIGNS * springs,
    )
