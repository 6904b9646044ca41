"""Which parameter moves which critical speed: derivatives by every parameter, by differentiation.

The canonical matrices are differentiated by the parameters, with the upright bicycle following them
(contacts closed, running straight at the same speed). At a critical speed the characteristic
polynomial P(s, v) vanishes; `P_v dv + P_s ds + P_p dp = 0` gives dv/dp: ds is zero at capsize, P_s
at a double root, and imaginary at weave.
"""

from dataclasses import dataclass, fields

import numpy as np

from draisine.algebra.lie import quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import critical_of
from draisine.analysis.bicycle.straight import (
    FAST,
    Canonical,
    Terms,
    by_speed,
    canonical_matrices,
    second_order,
    speed_names,
    stand_upright,
    straight_motion,
    sweep_parameters,
    terms,
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
    values: Floats
    weave: Floats
    capsize: Floats
    double_root: Floats

    def relative(self, which: str) -> Floats:
        """Return p dv/dp, in m/s: what a change of each parameter by its own size would add."""
        derivatives: Floats = getattr(self, which)
        return self.values * derivatives


def sensitivities(system: System) -> Sensitivities:
    """Return the derivatives of weave, capsize and double-root speed by every parameter.

    >>> from draisine import compile
    >>> moved = sensitivities(compile("whipple"))
    >>> print(f"{moved.weave[moved.parameters.index('c')]:.4f} m/s per m of trail")
    11.4800 m/s per m of trail
    """
    matrices, changes = canonical_matrices(system), canonical_changes(system)
    at = critical_of(matrices)
    roots = {
        "weave": (float(at.weave), 1j * float(at.weave_frequency)),
        "capsize": (float(at.capsize), 0.0j),
        "double_root": (float(at.double_root), complex(at.double_value)),
    }
    moved = {
        name: np.array([_moved(matrices, changes[k], v, s) for k in range(len(changes.M))])
        for name, (v, s) in roots.items()
    }
    return Sensitivities(tuple(system.parameters), system.values, **moved)


def stable_range(system: System) -> tuple[float, dict[str, float]]:
    """Return how wide the range of speeds is in which a bicycle steadies itself, from weave to capsize,
    in m/s, and its derivatives by every parameter.

    >>> from draisine import compile
    >>> width, slopes = stable_range(compile("whipple"))
    >>> print(f"{width:.6f} m/s, {slopes['c']:.4f} m/s per m of trail")
    1.731879 m/s, 17.4087 m/s per m of trail
    """
    at, moved = critical_of(canonical_matrices(system)), sensitivities(system)
    width = float(at.capsize - at.weave)
    if np.isnan(width):
        raise ConfigurationError("this bicycle has no range of speeds in which it steadies itself.")
    slopes = (moved.capsize - moved.weave).tolist()
    return width, dict(zip(moved.parameters, slopes, strict=True))


def _moved(matrices: Canonical, change: Canonical, v: float, s: complex) -> float:
    """Return dv/dp of a critical speed v with eigenvalue s, nan where there is no such speed."""
    if np.isnan(v):
        return np.nan
    N = matrices.M * s * s + matrices.damping(v) * s + matrices.stiffness(v)
    adjugate = np.array([[N[1, 1], -N[0, 1]], [-N[1, 0], N[0, 0]]])

    def along(dN: Floats) -> complex:
        return complex(np.trace(adjugate @ dN))

    by_v = along(matrices.C1 * s + 2 * v * matrices.K2)
    by_p = along(change.M * s * s + change.damping(v) * s + change.stiffness(v))
    if s.imag == 0.0:
        return -by_p.real / by_v.real
    by_omega = 1j * along(2 * s * matrices.M + matrices.damping(v))
    rows = np.array([[by_v.real, by_omega.real], [by_v.imag, by_omega.imag]])
    return float(np.linalg.solve(rows, [-by_p.real, -by_p.imag])[0])


def canonical_changes(system: System) -> Canonical:
    """Return the derivatives of the canonical matrices by every parameter, (parameters, 2, 2)."""
    machine = system.machine()
    parameters, _ = sweep_parameters(system, {})
    y, at = stand_upright(machine, parameters, {})
    slow, fast = (
        [part.rate for part in second_order(_moving_terms(machine, y, parameters, at, v))]
        for v in (0.0, FAST)
    )
    springs = np.zeros_like(slow[2])  # changes of springs and of weight are not told apart
    return by_speed(slow, fast, np.ones(parameters.shape[1]), springs)


def straight_changes(
    system: System, speed: Floats, law: Law | None = None
) -> list[tuple[MatrixJet, MatrixJet, MatrixJet]]:
    """Return M, C and K of straight running at each speed with their derivatives by every parameter,
    under a control law without states.
    """
    if getattr(law, "states", 0):
        raise ConfigurationError(
            "derivatives by parameters: the control law has states of its own."
        )
    machine = system.machine(None, law)
    parameters, _ = sweep_parameters(system, {})
    y, at = stand_upright(machine, parameters, {})
    return [second_order(_moving_terms(machine, y, parameters, at, float(v))) for v in speed]


def _moving_terms(
    machine: ClosedForm, y: Floats, parameters: Floats, at: Chart, speed: float
) -> Terms:
    """Return the terms of straight running with their derivatives by every parameter, as jets.

    The bicycle follows its parameters: contacts stay closed, its coordinates and its speed stay.
    """
    moving, found = straight_motion(machine, y, parameters, at, speed)
    here = terms(found, at)
    count, seeds = parameters.shape[1], machine.variation.inputs.count(*SEEDS)
    _, first = _by_parameters(machine, moving, parameters, np.zeros((0, 0)), {})
    left = {name: first[name] for name in ("seen", "conditions")}
    places = [found.names.index(name) for name in at.coordinates]
    speeds = [found.names.index(name) for name in speed_names(at)]
    moved = np.concatenate([left["seen"][places], left["conditions"]])
    dx = -np.linalg.solve(here.shape_x[0], moved)
    du = -np.linalg.solve(here.speed_u[0], left["seen"][speeds] + here.speed_x[0] @ dx)
    values, rates = _by_parameters(machine, moving, parameters, np.eye(seeds), {"x": dx, "u": du})
    pair = [terms(sort_lanes(machine, out, count), at) for out in (values, rates)]
    return Terms(
        *[MatrixJet(getattr(pair[0], f.name), getattr(pair[1], f.name)) for f in fields(Terms)]
    )


def _by_parameters(
    machine: ClosedForm, y: Floats, parameters: Floats, seeds: Floats, moved: dict[str, Floats]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return outputs of the program `variation` and their derivatives, one lane per parameter and
    seed, while the state moves along.
    """
    program, count = machine.variation.program, parameters.shape[1]
    each = max(1, len(seeds))
    lanes = count * each
    inputs = {name: np.zeros((size, lanes)) for name, size in program.inputs.items()}
    inputs["parameters"] = np.repeat(parameters.T, lanes, axis=1)
    state = machine.layout.split(y[0])
    inputs |= {name: np.repeat(part[:, None], lanes, axis=1) for name, part in state.items()}
    if len(seeds):
        rows = Layout({name: program.inputs[name] for name in SEEDS}).split(seeds)
        inputs |= {name: np.tile(part, (1, count)) for name, part in rows.items()}
    rates = {"parameters": np.repeat(np.eye(count), each, axis=1)}
    if moved:
        whole = np.zeros((6 + program.inputs["r"], lanes))
        whole[machine.columns] = np.repeat(moved["x"], each, axis=1)
        rates["q"] = quaternion_rate(inputs["q"], whole[3:6])
        rates["p"] = rotation(state["q"]) @ whole[:3]
        rates["r"], rates["u"] = whole[6:], np.repeat(moved["u"], each, axis=1)
    return run_tangent(program, inputs, rates)
