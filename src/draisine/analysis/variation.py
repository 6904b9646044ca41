"""Exact derivatives of a machine at many states at once, one seed per SIMD lane.

A displacement of the configuration is written like the speeds, in the inner base frame: `g' = g
exp(eps xi)` for the pose, `r' = r + eps rho` for the shape. Nothing here is a difference quotient.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError
from draisine.mechanics.tree import spinning_joints
from draisine.model.names import observation_names, paced_speed_names
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import independent
from draisine.system.layout import Layout

SEEDS = ("dt", "dx", "du", "dz", "dw")
PARTS = ("force", "zdot", "conditions", "seen", "paced")


@dataclass(frozen=True, eq=False)
class Variation:
    """What the program `variation` tells of N states; the first axis counts the states.

    `mass` (N, m, m) and `force` (N, m) are those of `M udot = f`; `zdot` are the rates of the law's
    states, `conditions` the gaps, `seen` what `names` name, `paced` how fast the speeds that
    `speeds` name change. `d[part][seed]` is the derivative of a part (N, entries, seeds), for the
    seeds `dt`, `dx` (displacements), `du`, `dz`, `dw`.
    """

    machine: ClosedForm
    mass: Floats
    values: dict[str, Floats]
    d: dict[str, dict[str, Floats]]

    def __len__(self) -> int:
        return len(self.mass)

    @cached_property
    def names(self) -> list[str]:
        """The names of what is seen."""
        return observation_names(self.machine.system.model)

    @cached_property
    def speeds(self) -> list[str]:
        """The names of the speeds."""
        return paced_speed_names(self.machine.system.model)

    def value(self, name: str) -> Floats:
        """Return what is seen under a name, one value per state."""
        return self.values["seen"][:, self.names.index(name)]

    def rows(self, names: Iterable[str], seed: str) -> Floats:
        """Return the derivatives of what is seen under some names, (N, names, seeds)."""
        return self.d["seen"][seed][:, [self.names.index(name) for name in names], :]

    def pace(self, names: Iterable[str]) -> Floats:
        """Return the rates of some speeds, (N, names)."""
        return self.values["paced"][:, [self.speeds.index(name) for name in names]]

    def pace_rows(self, names: Iterable[str], seed: str) -> Floats:
        """Return the derivatives of the rates of some speeds, (N, names, seeds)."""
        return self.d["paced"][seed][:, [self.speeds.index(name) for name in names], :]

    def check_time_invariant(self, tolerance: float = 1e-7) -> None:
        """Raise if the rates of speeds depend on time itself, relative to the largest observation.

        A motion may look steady at one instant only because a prescribed joint or a law passes through zero.

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
                "the motion is not steady: the equations depend on time (a prescribed joint, a law or "
                f"moving ground); the rate of {self.speeds[worst]} changes by {drift[worst]:.3g} per "
                "second. linearise(..., form='frozen') linearises at one instant."
            )


def vary(
    machine: ClosedForm,
    y: Floats,
    w: Floats | None = None,
    *,
    t: Floats | float = 0.0,
    anchors: Floats | None = None,
    parameters: Floats | None = None,
    seeds: Sequence[str] = SEEDS,
) -> Variation:
    """Return values and derivatives at N states y (N, entries) under inputs w (N, inputs) at times t (s).

    `parameters` (N, parameters) gives each state its own set of them; `seeds` are those whose
    derivatives are wanted.
    """
    program, count = machine.variation, len(y)
    at, wanted = program.inputs, _seed_lanes(machine, seeds)
    x = np.zeros((at.size, count, wanted.size))
    x[at.t] = np.broadcast_to(t, count)[:, None]
    x[at.span("q", "z")] = y.T[:, :, None]
    for where, value in ((at.w, w), (at.anchors, anchors)):
        if value is not None:
            x[where] = np.atleast_2d(value).T[:, :, None]
    for name in seeds:
        x[getattr(at, name), :, getattr(wanted, name)] = np.eye(at.count(name))[:, None, :]
    lanes = wanted.size
    tables = None
    if parameters is not None:
        tables = np.repeat(program.tables(parameters.T), lanes, axis=1)
    out = program.batch(x.reshape(len(x), -1), tables)
    return sort_lanes(machine, out, count, seeds)


def sort_lanes(
    machine: ClosedForm, out: dict[str, Floats], count: int, seeds: Sequence[str] = SEEDS
) -> Variation:
    """Return outputs of the program `variation` (entries, lanes), taken apart by state and seed."""
    at, speeds = _seed_lanes(machine, seeds), machine.layout.count("u")
    lanes = {name: value.reshape(len(value), count, at.size) for name, value in out.items()}
    d = {
        part: {
            seed: lanes[f"d{part}"][:, :, getattr(at, seed)].transpose(1, 0, 2) for seed in seeds
        }
        for part in PARTS
    }
    values = {part: lanes[part][:, :, 0].T for part in PARTS}
    mass = lanes["mass"][:, :, 0].T.reshape(count, speeds, speeds)
    return Variation(machine, mass, values, d)


def _seed_lanes(machine: ClosedForm, seeds: Sequence[str]) -> Layout:
    """Return which lanes belong to which seed: one for each of its entries."""
    return Layout({name: machine.variation.inputs.count(name) for name in seeds})


def anchors_of(machine: ClosedForm, y: Floats) -> Floats:
    """Return where the pins hold their points: where they are in the state y."""
    contacts = machine.system.model.contacts
    pins = [k for k, contact in enumerate(contacts) if contact.anchored]
    if not pins:
        return np.zeros(0)
    return machine.observation(y)["points"].reshape(-1, 3)[pins].ravel()


@dataclass(frozen=True, eq=False)
class Chart:
    """Named coordinates on the constraint manifold about N states, and named independent speeds.

    `X` (N, n, k) are the displacements that change one coordinate each and keep the contacts
    closed; `P` (N, m, n) and `G` (N, m, m) the derivatives of the speeds by displacement and by u.
    Coordinates x and y count along and across the heading.
    """

    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    X: Floats
    P: Floats
    G: Floats


def chart(found: Variation) -> Chart:
    """Return coordinates and speeds that are independent at every state, preferred ones first.

    Lean and joints come first, wheels' angles, place and heading last; of the speeds, the rates of
    these.
    """
    model = found.machine.system.model
    spinning = spinning_joints(model)
    firm = [j.name for k, j in enumerate(model.joints) if k not in spinning]
    loose = [j.name for k, j in enumerate(model.joints) if k in spinning]
    coordinates = ["lean", *firm, "pitch", "yaw", *loose, "x", "y", "z"]
    hard = found.d["conditions"]["dx"]
    rows = heading_rows(found, coordinates)
    kept = np.flatnonzero(independent(hard, rows, in_all_cases=True)[0])
    if hard.shape[1] + len(kept) != rows.shape[2]:
        raise ConfigurationError(
            "the coordinates lean, pitch, yaw, x, y, z and the joints do not tell neighbouring "
            "configurations apart here: a wheel lies flat, or the base points straight up."
        )
    rates = [f"{name}_rate" for name in ("lean", *firm, *loose, "pitch", "yaw")]
    rates += [name for name in model.speeds if name not in rates]
    none = np.zeros((len(found), 0, rows.shape[2]))
    fast = np.flatnonzero(independent(none, found.rows(rates, "du"), in_all_cases=True)[0])
    return chart_of(found, [coordinates[k] for k in kept], [rates[k] for k in fast])


def chart_of(found: Variation, coordinates: Sequence[str], speeds: Sequence[str]) -> Chart:
    """Return the chart of given coordinates and speeds."""
    hard = found.d["conditions"]["dx"]
    whole = np.linalg.inv(np.concatenate([hard, heading_rows(found, coordinates)], axis=1))
    return Chart(
        tuple(coordinates),
        tuple(speeds),
        whole[:, :, hard.shape[1] :],
        found.rows(speeds, "dx"),
        found.rows(speeds, "du"),
    )


def heading_rows(found: Variation, names: Sequence[str]) -> Floats:
    """Return derivatives by displacement of what is seen, those of x and y turned into the axes of
    the heading.
    """
    return to_heading(found, names, found.rows(names, "dx"))


def to_heading(found: Variation, names: Sequence[str], rows: Floats) -> Floats:
    """Return rows (N, names, ...) with those of x and y turned into the axes of the heading."""
    if "x" not in names or "y" not in names:
        return rows
    i, j = names.index("x"), names.index("y")
    c, s = np.cos(found.value("yaw"))[:, None], np.sin(found.value("yaw"))[:, None]
    turned = np.array(rows)
    turned[:, i] = c * rows[:, i] + s * rows[:, j]
    turned[:, j] = c * rows[:, j] - s * rows[:, i]
    return turned
