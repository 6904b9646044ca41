"""The linear equations of a bicycle that runs straight and upright, taken from its nonlinear model:

    M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = f        q = (lean, steer)

in the form, the axes and the signs of Meijaard, Papadopoulos, Ruina and Schwab (2007),
doi:10.1098/rspa.2007.1857: x forward, z down, so that lean and steer are positive to the right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import Matrices, inverse, transpose
from draisine.analysis.linear import cyclic_coordinates
from draisine.analysis.variation import Chart, Variation, chart, vary
from draisine.errors import ConfigurationError, ParameterError
from draisine.system.artifacts import find_invalid_machines
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import configurations
from draisine.system.system import System
from draisine.vehicles import check_numbers

FAST = 16.0
"""The speed, m/s, at which the terms in v are read off; a power of two divides out exactly."""

AXES = np.array([[1.0, -1.0], [-1.0, 1.0]])
"""Factors of the entries of our matrices in the axes of the benchmark: steer changes its sign."""

POWERS_ERROR = 1e-9
"""Allowed error of the canonical form at another speed, relative to the largest entry; round-off is some
1e-13.
"""


@dataclass(frozen=True, eq=False)
class Canonical:
    """The matrices of straight running, each (..., 2, 2), the leading axes those of a sweep.

    `Kg` is g K0. `C0` and `Ks` have the terms of dampers and springs, which depend on neither speed nor
    gravity; the bicycle of the benchmark has none. If gravity is no parameter of the vehicle, springs
    cannot be told from it: `Kg` has both.
    """

    M: Floats
    C0: Floats
    C1: Floats
    Kg: Floats
    K2: Floats
    g: Floats
    Ks: Floats = field(default_factory=lambda: np.zeros((2, 2)))

    @property
    def K0(self) -> Floats:
        """Stiffness by weight, per unit of gravity."""
        return self.Kg / np.asarray(self.g)[..., None, None]

    def damping(self, v: Any) -> Floats:
        """Return C0 + v C1 at speeds v, which follow the axes of the sweep."""
        v = np.asarray(v, float)[..., None, None]
        return self.C0 + v * self.C1

    def stiffness(self, v: Any) -> Floats:
        """Return Ks + g K0 + v^2 K2 at speeds v."""
        v = np.asarray(v, float)[..., None, None]
        return self.Ks + self.Kg + v * v * self.K2

    def A(self, v: Any) -> Floats:
        """Return the matrix of xdot = A x, x = (lean, steer, lean rate, steer rate), at speeds v."""
        forces = np.concatenate(np.broadcast_arrays(self.stiffness(v), self.damping(v)), axis=-1)
        M = np.broadcast_to(self.M, (*forces.shape[:-2], 2, 2))
        lower = -np.linalg.solve(M, forces)
        upper = np.broadcast_to(np.eye(2, 4, 2), (*forces.shape[:-2], 2, 4))
        return np.concatenate([upper, lower], axis=-2)

    def __getitem__(self, where: Any) -> "Canonical":
        """Return one element of a sweep."""
        Ks = np.broadcast_to(self.Ks, self.Kg.shape)
        M, C0, C1, Kg, K2, g, Ks = (
            part[where] for part in (self.M, self.C0, self.C1, self.Kg, self.K2, self.g, Ks)
        )
        return Canonical(M, C0, C1, Kg, K2, g, Ks)


def canonical_matrices(
    system: System, *, about: Mapping[str, float] | None = None, **sweep: Any
) -> Canonical:
    """Return the matrices of straight running; parameters given as arrays are swept together by the
    rules of broadcasting.

    `about` names coordinates that differ from the drawing, `{"steer": pi}` for a handlebar that is
    reversed.

    >>> from draisine import compile
    >>> print(f"{canonical_matrices(compile('whipple')).K2[0, 1]:.11f}")
    76.59734589573
    """
    parameters, shape = sweep_parameters(system, sweep)
    machine = system.machine()
    y, at = stand_upright(machine, parameters, about or {})

    def at_speed(v: float, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        return second_order(terms(straight_motion(machine, y, parameters, at, v)[1], at))

    slow, fast = (at_speed(v, parameters) for v in (0.0, FAST))
    named = list(system.parameters)
    springs = np.zeros_like(slow[2])
    g = np.broadcast_to(np.linalg.norm(system.model.gravity), len(parameters))
    if "g" in named:
        g = parameters[:, named.index("g")]
        weightless = np.where(np.array(named) == "g", 0.0, parameters)
        springs = at_speed(0.0, weightless)[2]
    found = by_speed(slow, fast, g, springs)
    if system.model.elements:  # joints and rolling have these powers of v, elements may have others
        _check_powers(system, found, at_speed(2.0 * FAST, parameters))
    parts = (found.M, found.C0, found.C1, found.Kg, found.K2)
    M, C0, C1, Kg, K2 = (part.reshape(*shape, 2, 2) for part in parts)
    return Canonical(M, C0, C1, Kg, K2, found.g.reshape(shape), found.Ks.reshape(*shape, 2, 2))


def _check_powers(system: System, found: Canonical, faster: Sequence[Floats]) -> None:
    """Raise if damping and stiffness at twice the speed FAST have other powers of v."""
    for wanted, matrix in ((found.damping, faster[1]), (found.stiffness, faster[2])):
        error = np.abs(wanted(2.0 * FAST) - AXES * matrix).max()
        if not error <= POWERS_ERROR * np.abs(matrix).max():
            elements = ", ".join(element.name for element in system.model.elements)
            raise ConfigurationError(
                f"{system.vehicle.__name__} has no canonical matrices: its force elements ({elements}) add "
                "other powers of the speed. eigenvalues(system, speeds) and linearise(system, motion) "
                "serve any machine."
            )


def sweep_parameters(system: System, sweep: Mapping[str, Any]) -> tuple[Floats, tuple[int, ...]]:
    """Return all parameters (sets, parameters) of a sweep, all of them of machines, and the shape of the
    sweep.
    """
    arrays = check_numbers(system.vehicle, system.parameters, sweep)
    shape = np.broadcast_shapes(*[x.shape for x in arrays.values()])
    columns = [
        np.broadcast_to(arrays.get(name, np.asarray(value)), shape).ravel()
        for name, value in system.parameters.items()
    ]
    table = np.array(columns)
    for k, text in find_invalid_machines(system.artifacts, table).items() if sweep else ():
        at = dict(zip(system.parameters, table[:, k].tolist(), strict=True))
        raise ParameterError(f"{', '.join(f'{name} = {at[name]:g}' for name in sweep)}: {text}")
    return table.T, shape


def stand_upright(
    machine: ClosedForm, parameters: Floats, about: Mapping[str, float]
) -> tuple[Floats, Chart]:
    """Return the bicycle standing upright for every set of parameters, (sets, entries), and its
    coordinates.
    """
    count, inputs = len(parameters), len(machine.system.model.inputs)
    targets = {"lean": np.zeros(count)} | {k: np.full(count, x) for k, x in about.items()}
    y = configurations(machine, targets, parameters)
    at = chart(vary(machine, y, parameters=parameters))
    cyclic = cyclic_coordinates(machine, at, y[0], np.zeros(inputs))
    essential = [name for name in at.coordinates if name not in cyclic]
    _check_ideal(machine, essential)
    return y, at


def _check_ideal(machine: ClosedForm, essential: Sequence[str]) -> None:
    """Raise where canonical matrices do not tell how a machine runs, and say why."""
    memory, speeds = machine.system.model.memory, machine.layout.count("u")
    reasons = {
        f"its tyres have {memory} states of their own": bool(memory),
        f"it has {speeds} independent speeds, not three": speeds != 3,
        "the coordinates beside the cyclic ones are not lean and steer alone, but "
        f"{', '.join(essential) or 'none'}": len(essential) != 2,
        "it has no output forward_speed": "forward_speed" not in machine.system.outputs,
    }
    told = [reason for reason, holds in reasons.items() if holds]
    if told:
        raise ConfigurationError(
            f"{machine.system.vehicle.__name__} is no bicycle that rolls without slip on level ground, and "
            f"has no canonical matrices: {'; '.join(told)}. eigenvalues(system, speeds) and linearise("
            "system, motion) serve any machine, critical_speeds(system) those on two wheels."
        )


def speed_names(at: Chart) -> list[str]:
    """Return the names of the speeds of a bicycle: the rates of its coordinates, and its own."""
    return [f"{name}_rate" for name in at.coordinates[:2]] + ["forward_speed"]


def straight_motion(
    machine: ClosedForm, y: Floats, parameters: Floats, at: Chart, speed: float
) -> tuple[Floats, Variation]:
    """Return upright bicycles that run straight at a speed, and the derivatives there."""
    rows = vary(machine, y, parameters=parameters).rows(speed_names(at), "du")
    first = y.shape[1] - rows.shape[2]
    moving = y.copy()
    moving[:, first:] = np.linalg.solve(rows, np.array([[0.0], [0.0], [speed]]))[:, :, 0]
    found = vary(machine, moving, parameters=parameters)
    if np.abs(found.values["force"]).max() > 1e-6 * (1.0 + np.abs(found.mass).max()):
        raise ConfigurationError("the bicycle does not run straight and upright by itself.")
    found.check_time_invariant()
    return moving, found


@dataclass(frozen=True, eq=False)
class Terms:
    """What the second-order form is made of: derivatives of the forces by u and by displacements,
    of the speeds likewise, and of contacts and coordinates by displacements.
    """

    mass: Matrices
    force_u: Matrices
    force_x: Matrices
    speed_u: Matrices
    speed_x: Matrices
    shape_x: Matrices


def terms(found: Variation, at: Chart) -> Terms:
    """Return the terms at every state."""
    names = speed_names(at)
    closed = found.d["conditions"]["dx"]
    return Terms(
        found.mass,
        found.d["force"]["du"],
        found.d["force"]["dx"],
        found.rows(names, "du"),
        found.rows(names, "dx"),
        np.concatenate([found.rows(at.coordinates, "dx"), closed], axis=1),
    )


def second_order(t: Terms) -> tuple[Matrices, Matrices, Matrices]:
    """Return M, C, K of `M qdd + C qd + K q = f` from `M udot = f`, eq. [second-order].

    A displacement is X q, and du = T (s - P q) for the speeds s = (qd, forward speed).
    """
    T, X = inverse(t.speed_u), inverse(t.shape_x)[:, :, :2]
    TP = T @ t.speed_x @ X
    T2 = T[:, :, :2]
    back = transpose(T2)
    M = back @ t.mass @ T2
    C = -(back @ (t.force_u @ T2 + t.mass @ TP))
    K = -(back @ (t.force_x @ X - t.force_u @ TP))
    return M, C, K


def by_speed(
    slow: Sequence[Floats], fast: Sequence[Floats], g: Floats, springs: Floats
) -> Canonical:
    """Return the canonical matrices from M, C, K at rest and at speed, and from K at rest without
    gravity, in the benchmark's axes.
    """
    M, C, K = slow
    return Canonical(
        AXES * M,
        AXES * C,
        AXES * (fast[1] - C) / FAST,
        AXES * (K - springs),
        AXES * (fast[2] - K) / (FAST * FAST),
        g,
        AXES * springs,
    )
