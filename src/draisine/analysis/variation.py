"""Exact derivatives of the equations of motion at many states at once, one direction per SIMD lane.

The derivatives are computed by a differentiated program, not by difference quotients. A displacement (xi,
rho) of the configuration has the same components as the speeds, in the frame fixed to the base:
`g' = g exp(eps xi)` for the pose g, `r' = r + eps rho` for the joint coordinates r.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError
from draisine.mechanics.constraints import Statuses
from draisine.mechanics.readings import law_states
from draisine.mechanics.tree import spinning_joints
from draisine.model.names import observation_names, paced_speed_names
from draisine.simulation.options import memory_start
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import choose_independent_rows
from draisine.system.layout import Layout
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law

# Names in the program `variation`: sets of directions of differentiation (time, displacement,
# speeds, element states, inputs), and outputs with derivatives.
SEEDS = ("dt", "dx", "du", "dz", "dw")
VARIED_OUTPUTS = ("force", "zdot", "conditions", "seen", "paced")


@dataclass(frozen=True, eq=False)
class Variation:
    """Values and derivatives of the equations of motion at N states.

    Outputs by name: `force` f (N, m) of `M udot = f`; `zdot`, the rates of the states of tyres and
    control law; `conditions`, the gaps of the contacts (m); `seen`, the observations called
    `names`; `paced`, the time derivatives of the speeds called `speeds`. On a terrain `force` is empty, and
    there is also `drift`, the velocity across the symmetries of the ground. The sets of directions of
    differentiation are time `dt`, displacements `dx`, speeds `du`, element states `dz` and inputs `dw`.
    """

    machine: Any  # a `ClosedForm`, or on a terrain a `grounded.GroundedMachine`
    mass: Floats  # mass matrix M, (N, m, m)
    values: dict[str, Floats]  # output values by name, (N, entries)
    # Derivatives by name of the output and of the set of directions, (N, entries, directions)
    d: dict[str, dict[str, Floats]]

    def __len__(self) -> int:
        return len(self.mass)

    @cached_property
    def names(self) -> list[str]:
        """Names of the observations (coordinates and outputs), in order."""
        return observation_names(self.machine.system.model)

    @cached_property
    def speeds(self) -> list[str]:
        """Names of the speeds, in order."""
        return paced_speed_names(self.machine.system.model)

    def observation(self, name: str) -> Floats:
        """Return one observation by name at each state, (N,)."""
        return self.values["seen"][:, self.names.index(name)]

    def observation_derivatives(self, names: Iterable[str], seed: str) -> Floats:
        """Return the derivatives of named observations along the directions of the set `seed` ("dx", ...).

        The result has the shape (N, names, directions).
        """
        return self.d["seen"][seed][:, [self.names.index(name) for name in names], :]

    def speed_rates(self, names: Iterable[str]) -> Floats:
        """Return the time derivatives of named speeds, (N, names)."""
        return self.values["paced"][:, [self.speeds.index(name) for name in names]]

    def speed_rate_derivatives(self, names: Iterable[str], seed: str) -> Floats:
        """Return the derivatives of the time derivatives of named speeds, (N, names, directions)."""
        return self.d["paced"][seed][:, [self.speeds.index(name) for name in names], :]

    def check_time_invariant(self, tolerance: float = 1e-7) -> None:
        """Raise an error if the accelerations depend explicitly on time.

        A motion may appear steady at one instant only because a prescribed joint motion or a control law
        passes through zero. The tolerance is relative to the largest observation.

        Raises
        ------
        ConfigurationError
            If the equations depend on time.
        """
        drift = np.abs(self.d["paced"]["dt"]).max(axis=(0, 2), initial=0.0)
        scale = 1.0 + np.abs(self.values["seen"]).max(initial=0.0)
        if drift.max(initial=0.0) > tolerance * scale:
            worst = int(drift.argmax())
            raise ConfigurationError(
                "The motion is not steady: the equations depend on time (a prescribed joint, a law or "
                f"moving ground); the rate of {self.speeds[worst]} changes by {drift[worst]:.3g} per "
                "second. linearise(..., form='frozen') linearises at one instant."
            )


def vary(
    machine: Any,
    y: Floats,
    w: Floats | None = None,
    *,
    t: Floats | float = 0.0,
    anchors: Floats | None = None,
    parameters: Floats | None = None,
    seeds: Sequence[str] = SEEDS,
) -> Variation:
    """Evaluate the equations of motion and their derivatives at N states y (N, entries).

    The inputs are w (N, inputs), zero by default, and the times t (s).

    `parameters` (N, parameters) has one parameter set per state; `seeds` names the direction sets
    whose derivatives are computed. On a terrain `anchors` and `parameters` are not used.
    """
    if not isinstance(machine, ClosedForm):
        variation: Variation = machine.vary(y, w, t=t, seeds=seeds)
        return variation
    program = machine.variation
    count = len(y)
    inputs = program.inputs
    lanes_by_seed = _lane_ranges(machine, seeds)
    x = np.zeros((inputs.size, count, lanes_by_seed.size))
    x[inputs.t] = np.broadcast_to(t, count)[:, None]
    x[inputs.span("q", "z")] = y.T[:, :, None]
    for where, value in ((inputs.w, w), (inputs.anchors, anchors)):
        if value is not None:
            x[where] = np.atleast_2d(value).T[:, :, None]
    for name in seeds:
        x[getattr(inputs, name), :, getattr(lanes_by_seed, name)] = np.eye(inputs.count(name))[
            :, None, :
        ]
    lanes = lanes_by_seed.size
    tables = None
    if parameters is not None:
        tables = np.repeat(program.tables(parameters.T), lanes, axis=1)
    out = program.batch(x.reshape(len(x), -1), tables)
    return sort_lanes(machine, out, count, seeds)


def sort_lanes(
    machine: ClosedForm, out: dict[str, Floats], count: int, seeds: Sequence[str] = SEEDS
) -> Variation:
    """Rearrange outputs of the program `variation` (entries, lanes) by state and direction."""
    lanes_by_seed = _lane_ranges(machine, seeds)
    speeds = machine.layout.count("u")
    lanes = {
        name: value.reshape(len(value), count, lanes_by_seed.size) for name, value in out.items()
    }
    d = {
        output: {
            seed: lanes[f"d{output}"][:, :, getattr(lanes_by_seed, seed)].transpose(1, 0, 2)
            for seed in seeds
        }
        for output in VARIED_OUTPUTS
    }
    values = {output: lanes[output][:, :, 0].T for output in VARIED_OUTPUTS}
    mass = lanes["mass"][:, :, 0].T.reshape(count, speeds, speeds)
    return Variation(machine, mass, values, d)


def _lane_ranges(machine: ClosedForm, seeds: Sequence[str]) -> Layout:
    """Return the range of SIMD lanes of each direction set, one lane per direction."""
    return Layout({name: machine.variation.inputs.count(name) for name in seeds})


def machine_at(
    system: System, motion: State, mode: Statuses, law: Law | None
) -> tuple[ClosedForm, Floats]:
    """Return the equations of motion in a contact mode, and the state vector y of a state.

    The independent speeds have large pivots at this state. A control law starts with its initial states.
    """
    states = law_states(law)
    z = memory_start(system, motion, law, states)
    machine = system.machine(mode, law, states)
    return machine.renewed(machine.enter(motion, z=z))


@dataclass(frozen=True, eq=False)
class Chart:
    """Named coordinates on the constraint manifold about N states, and named independent speeds.

    Coordinates x and y are measured along and across the heading.
    """

    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    X: Floats  # displacements (N, n, k) that change one coordinate each and keep contacts closed
    P: Floats  # derivatives of the named speeds by displacements, (N, m, n)
    G: Floats  # derivatives of the named speeds by the independent speeds u, (N, m, m)


def chart(variation: Variation) -> Chart:
    """Choose coordinates and speeds that are independent at every state, preferred ones first.

    Lean and joints are preferred; angles of wheels, position and heading come last. The speeds are
    the rates of the chosen coordinates.
    """
    model = variation.machine.system.model
    spinning = spinning_joints(model)
    shape_joints = [j.name for k, j in enumerate(model.joints) if k not in spinning]
    spinning_joint_names = [j.name for k, j in enumerate(model.joints) if k in spinning]
    coordinates = ["lean", *shape_joints, "pitch", "yaw", *spinning_joint_names, "x", "y", "z"]
    conditions = variation.d["conditions"]["dx"]
    # On a terrain, lean and pitch may be functions of heading and position. Therefore prefer
    # heading and position as coordinates.
    on_terrain = "drift" in variation.values
    preferred = sorted(coordinates, key=lambda name: on_terrain and name not in ("yaw", "x", "y"))
    rows = heading_derivatives(variation, preferred)
    chosen = choose_independent_rows(conditions, rows, in_all_cases=True)[0]
    names = {name for name, is_chosen in zip(preferred, chosen, strict=True) if is_chosen}
    kept = [k for k, name in enumerate(coordinates) if name in names]
    if conditions.shape[1] + len(kept) != rows.shape[2]:
        raise ConfigurationError(
            "The coordinates lean, pitch, yaw, x, y, z and the joints are singular here: a wheel lies "
            "flat, or the base points straight up. Start from another configuration."
        )
    rates = [
        f"{name}_rate" for name in ("lean", *shape_joints, *spinning_joint_names, "pitch", "yaw")
    ]
    rates += [name for name in model.speeds if name not in rates]
    preferred = list(rates)
    if on_terrain:
        preferred.remove("pitch_rate")
        preferred.insert(preferred.index("yaw_rate") + 1, "pitch_rate")
    no_conditions = np.zeros((len(variation), 0, rows.shape[2]))
    chosen = choose_independent_rows(
        no_conditions, variation.observation_derivatives(preferred, "du"), in_all_cases=True
    )[0]
    names = {name for name, is_chosen in zip(preferred, chosen, strict=True) if is_chosen}
    return chart_of(
        variation, [coordinates[k] for k in kept], [name for name in rates if name in names]
    )


def chart_of(variation: Variation, coordinates: Sequence[str], speeds: Sequence[str]) -> Chart:
    """Return the chart whose coordinates and speeds have the given names."""
    conditions = variation.d["conditions"]["dx"]
    inverse = np.linalg.inv(
        np.concatenate([conditions, heading_derivatives(variation, coordinates)], axis=1)
    )
    return Chart(
        tuple(coordinates),
        tuple(speeds),
        inverse[:, :, conditions.shape[1] :],
        variation.observation_derivatives(speeds, "dx"),
        variation.observation_derivatives(speeds, "du"),
    )


def heading_derivatives(variation: Variation, names: Sequence[str]) -> Floats:
    """Return the derivatives of named observations by displacements, (N, names, n).

    x and y are measured along and across the heading.
    """
    complete = add_missing_axis(names)
    rows = rotate_to_heading(variation, complete, variation.observation_derivatives(complete, "dx"))
    return rows[:, : len(names)]


def add_missing_axis(names: Sequence[str]) -> list[str]:
    """Return the names; if only one of x and y is among them, append the other.

    Both are needed because a rotation into heading axes mixes them.
    """
    missing = {"x", "y"} - set(names)
    return [*names, *(sorted(missing) if len(missing) == 1 else ())]


def rotate_to_heading(variation: Variation, names: Sequence[str], rows: Floats) -> Floats:
    """Rotate the entries of x and y in an array (N, names, ...) into axes along and across the heading."""
    if "x" not in names or "y" not in names:
        return rows
    i = names.index("x")
    j = names.index("y")
    c = np.cos(variation.observation("yaw"))[:, None]
    s = np.sin(variation.observation("yaw"))[:, None]
    turned = np.array(rows)
    turned[:, i] = c * rows[:, i] + s * rows[:, j]
    turned[:, j] = c * rows[:, j] - s * rows[:, i]
    return turned
