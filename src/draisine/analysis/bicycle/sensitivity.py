"""Sensitivities of critical speeds: exact derivatives of weave, capsize and double-root speed by
parameters.

The canonical matrices are differentiated by the parameters. The upright configuration depends on
them, too (contacts closed, running straight at the same speed). At a critical speed the
characteristic polynomial P(s, v) vanishes; `P_v dv + P_s ds + P_p dp = 0` gives dv/dp: ds is zero
at capsize, P_s at a double root, and imaginary at weave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from draisine.algebra.lie import quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import critical_speeds_of
from draisine.analysis.bicycle.straight import (
    PROBE_SPEED,
    Canonical,
    Terms,
    canonical_matrices,
    second_order,
    second_order_terms,
    separate_speed_powers,
    speed_names,
    stand_upright,
    straight_motion,
    sweep_parameters,
)
from draisine.analysis.differentiate import MatrixJet, run_tangent
from draisine.analysis.variation import SEEDS, Chart, sort_lanes
from draisine.errors import ConfigurationError
from draisine.system.closed_form import ClosedForm
from draisine.system.layout import Layout
from draisine.system.system import System
from draisine.system.tracing import Law


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of the critical speeds by each of the named parameters, m/s per unit of it."""

    parameters: tuple[str, ...]
    values: Floats  # values of the parameters
    weave: Floats  # derivatives of the weave speed, (parameters,)
    capsize: Floats
    double_root: Floats

    def relative(self, speed_name: str) -> Floats:
        """Return p dv/dp (m/s) of "weave", "capsize" or "double_root" for each parameter p."""
        derivatives: Floats = getattr(self, speed_name)
        return self.values * derivatives


def sensitivities(system: System) -> Sensitivities:
    """Return the derivatives of weave, capsize and double-root speed by every parameter.

    Parameters
    ----------
    system
        The ideal bicycle.

    Returns
    -------
    Sensitivities
        Derivatives of the critical speeds, m/s per unit of each parameter.

    Examples
    --------
    >>> from draisine import compile
    >>> slopes = sensitivities(compile("whipple"))
    >>> print(f"{slopes.weave[slopes.parameters.index('c')]:.4f} m/s per m of trail")
    11.4800 m/s per m of trail
    """
    matrices = canonical_matrices(system)
    changes = canonical_changes(system)
    critical = critical_speeds_of(matrices)
    roots = {
        "weave": (float(critical.weave), 1j * float(critical.weave_frequency)),
        "capsize": (float(critical.capsize), 0.0j),
        "double_root": (float(critical.double_root), complex(critical.double_value)),
    }
    moved = {
        name: np.array(
            [_critical_speed_derivative(matrices, changes[k], v, s) for k in range(len(changes.M))]
        )
        for name, (v, s) in roots.items()
    }
    return Sensitivities(tuple(system.parameters), system.values, **moved)


def stable_range(system: System) -> tuple[float, dict[str, float]]:
    """Return the width of the self-stable speed range of a bicycle, and its derivatives.

    Parameters
    ----------
    system
        The ideal bicycle.

    Returns
    -------
    width
        Capsize speed minus weave speed (m/s).
    derivatives
        By the name of each parameter, m/s per unit of it.

    Raises
    ------
    ConfigurationError
        If weave or capsize speed does not exist.

    Examples
    --------
    >>> from draisine import compile
    >>> width, slopes = stable_range(compile("whipple"))
    >>> print(f"{width:.6f} m/s, {slopes['c']:.4f} m/s per m of trail")
    1.731879 m/s, 17.4087 m/s per m of trail
    """
    critical = critical_speeds_of(canonical_matrices(system))
    change = sensitivities(system)
    width = float(critical.capsize - critical.weave)
    if np.isnan(width):
        raise ConfigurationError(
            "This bicycle is not self-stable at any speed, so that it has no stable range."
        )
    slopes = (change.capsize - change.weave).tolist()
    return width, dict(zip(change.parameters, slopes, strict=True))


def _critical_speed_derivative(
    matrices: Canonical, change: Canonical, speed: float, eigenvalue: complex
) -> float:
    """Return dv/dp of a critical speed v (m/s) and its eigenvalue (1/s); nan if v is nan."""
    if np.isnan(speed):
        return np.nan
    N = (
        matrices.M * eigenvalue * eigenvalue
        + matrices.damping(speed) * eigenvalue
        + matrices.stiffness(speed)
    )
    adjugate = np.array([[N[1, 1], -N[0, 1]], [-N[1, 0], N[0, 0]]])

    def determinant_derivative(dN: Floats) -> complex:
        """Return the derivative of det N along a change dN of the matrix N, tr(adj N dN)."""
        return complex(np.trace(adjugate @ dN))

    by_v = determinant_derivative(matrices.C1 * eigenvalue + 2 * speed * matrices.K2)
    by_p = determinant_derivative(
        change.M * eigenvalue * eigenvalue
        + change.damping(speed) * eigenvalue
        + change.stiffness(speed)
    )
    if eigenvalue.imag == 0.0:
        return -by_p.real / by_v.real
    by_omega = 1j * determinant_derivative(2 * eigenvalue * matrices.M + matrices.damping(speed))
    rows = np.array([[by_v.real, by_omega.real], [by_v.imag, by_omega.imag]])
    return float(np.linalg.solve(rows, [-by_p.real, -by_p.imag])[0])


def canonical_changes(system: System) -> Canonical:
    """Return the derivatives of the canonical matrices by every parameter, (parameters, 2, 2) each."""
    machine = system.machine()
    parameters, _ = sweep_parameters(system, {})
    y, frame = stand_upright(machine, parameters, {})
    slow, fast = (
        [
            matrix.rate
            for matrix in second_order(_terms_with_derivatives(machine, y, parameters, frame, v))
        ]
        for v in (0.0, PROBE_SPEED)
    )
    # Do not separate the derivatives of springs from those of the weight: only their sum is needed.
    springs = np.zeros_like(slow[2])
    return separate_speed_powers(slow, fast, np.ones(parameters.shape[1]), springs)


def straight_changes(
    system: System, speed: Floats, law: Law | None = None
) -> list[tuple[MatrixJet, MatrixJet, MatrixJet]]:
    """Return M, C and K of straight running at each speed (m/s) with derivatives by every
    parameter.

    The control law must not have states.
    """
    if getattr(law, "states", 0):
        raise ConfigurationError(
            "Derivatives by parameters need a control law without states. Use `spread` for laws with states."
        )
    machine = system.machine(None, law)
    parameters, _ = sweep_parameters(system, {})
    y, frame = stand_upright(machine, parameters, {})
    return [
        second_order(_terms_with_derivatives(machine, y, parameters, frame, float(v)))
        for v in speed
    ]


def _terms_with_derivatives(
    machine: ClosedForm, states: Floats, parameters: Floats, frame: Chart, speed: float
) -> Terms:
    """Return the derivatives of forces and speeds in straight running, each with its derivatives by
    every parameter.

    The state depends on the parameters: contacts stay closed while coordinates and speed are
    constant.
    """
    moving, variation = straight_motion(machine, states, parameters, frame, speed)
    here = second_order_terms(variation, frame)
    count = parameters.shape[1]
    seeds = machine.variation.inputs.count(*SEEDS)
    _, first = vary_parameters(machine, moving, parameters, np.zeros((0, 0)), {})
    residuals = {name: first[name] for name in ("seen", "conditions")}
    indices = [variation.names.index(name) for name in frame.coordinates]
    speeds = [variation.names.index(name) for name in speed_names(frame)]
    moved = np.concatenate([residuals["seen"][indices], residuals["conditions"]])
    dx = -np.linalg.solve(here.shape_x[0], moved)
    du = -np.linalg.solve(here.speed_u[0], residuals["seen"][speeds] + here.speed_x[0] @ dx)
    values, rates = vary_parameters(machine, moving, parameters, np.eye(seeds), {"x": dx, "u": du})
    pair = [second_order_terms(sort_lanes(machine, out, count), frame) for out in (values, rates)]
    return Terms(
        *[MatrixJet(getattr(pair[0], f.name), getattr(pair[1], f.name)) for f in fields(Terms)]
    )


def vary_parameters(
    machine: ClosedForm,
    states: Floats,
    parameters: Floats,
    seeds: Floats,
    state_changes: dict[str, Floats],
    w: Floats | None = None,
    varied: Sequence[int] | None = None,
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return outputs of the program `variation` with their derivatives by parameters.

    There is one SIMD lane per state (N, entries), parameter and direction of differentiation. `state_changes`
    contains the derivatives of the displacement x, of the speeds u and of the states z of tyres and control
    law, one column per state and parameter. `varied` are the indices of the parameters; by default all.
    """
    program = machine.variation.program
    directions = np.eye(parameters.shape[1])
    if varied is not None:
        directions = directions[:, varied]
    count = directions.shape[1]
    each = max(1, len(seeds))
    lanes = len(states) * count * each
    inputs = {name: np.zeros((size, lanes)) for name, size in program.inputs.items()}
    inputs["parameters"] = np.repeat(parameters.T, lanes, axis=1)
    state = machine.layout.split(states.T)
    inputs |= {name: np.repeat(block, count * each, axis=1) for name, block in state.items()}
    if w is not None:
        inputs["w"] = np.repeat(w[:, None], lanes, axis=1)
    if len(seeds):
        rows = Layout({name: program.inputs[name] for name in SEEDS}).split(seeds)
        inputs |= {name: np.tile(block, (1, len(states) * count)) for name, block in rows.items()}
    rates = {"parameters": np.tile(np.repeat(directions, each, axis=1), (1, len(states)))}
    if state_changes:
        displacement = np.zeros((6 + program.inputs["r"], lanes))
        displacement[machine.columns] = np.repeat(state_changes["x"], each, axis=1)
        rates["q"] = quaternion_rate(inputs["q"], displacement[3:6])
        turned = np.array([rotation(q) for q in state["q"].T])
        velocity = displacement[:3].reshape(3, len(states), count * each)
        rates["p"] = np.einsum("nij,jnl->inl", turned, velocity).reshape(3, lanes)
        rates["r"] = displacement[6:]
        rates["u"] = np.repeat(state_changes["u"], each, axis=1)
        if "z" in state_changes:
            rates["z"] = np.repeat(state_changes["z"], each, axis=1)
    return run_tangent(program, inputs, rates)
