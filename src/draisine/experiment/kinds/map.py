"""Maps over configurations: many closed loops solved at once, in the lanes of the compiled code."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError
from draisine.model.names import state_names
from draisine.results.bodies import Bodies
from draisine.results.questions import series, unit_of
from draisine.scenario.schema import Grid
from draisine.simulation.trajectory import SmoothArc, Trajectory
from draisine.system.closed_form import ClosedForm
from draisine.system.state import PLACED
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

STRIDE = 0.15
"""How far (rad, m) a configuration is moved at once."""


class Configurations:
    """Many configurations of a machine on their way to what is asked of them, one per column."""

    def __init__(self, machine: ClosedForm, count: int) -> None:
        self.machine, self.count = machine, count
        model = machine.system.model
        self.names = state_names(model)
        self.columns = len(machine.columns)
        q, p = machine.inner_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
        self.q, self.p = np.repeat(q[:, None], count, 1), np.repeat(p[:, None], count, 1)
        self.r = np.zeros((len(model.joints), count))
        self.soft = [*(j.name for j in model.joints), *PLACED]

    def look(self) -> dict[str, Floats]:
        """Return what the program `initial` tells of all configurations."""
        initial = self.machine.initial
        return initial.batch(initial.inputs.pack(q=self.q, p=self.p, r=self.r))

    def reach(self, asked: Mapping[str, Floats]) -> None:
        """Bring every configuration to what is asked of it, in strides, contacts closed."""
        begin = self.look()["values"]
        start = {name: begin[self.names.index(name)] for name in asked}
        far = max(float(np.abs(asked[name] - start[name]).max()) for name in asked)
        steps = max(1, int(np.ceil(far / STRIDE)))
        kept = self._kept(list(asked))
        fixed = {name: begin[self.names.index(name)] for name in kept}
        for k in range(1, steps + 1):
            goal = {name: start[name] + k / steps * (asked[name] - start[name]) for name in asked}
            self._newton(goal | fixed, 4 if k < steps else 12)
        out = self.look()
        worst = np.abs(out["conditions"]).max(initial=0.0)
        for name, value in asked.items():
            worst = max(worst, np.abs(out["values"][self.names.index(name)] - value).max())
        if not worst < 1e-11:
            raise ConfigurationError(
                f"some points of the map have no configuration with closed contacts: an error of "
                f"{worst:.3g} remains. Take a smaller range."
            )

    def _kept(self, asked: list[str]) -> list[str]:
        """Return what stays as it is, so that equations and unknowns are equally many."""
        out = self.look()
        jacobian = out["by_pose"][:, 0].reshape(self.columns, -1).T
        rows = [jacobian[self.names.index(name)] for name in asked]
        rows += list(jacobian[len(self.names) :])
        kept = []
        for name in self.soft:
            row = jacobian[self.names.index(name)]
            if name not in asked and len(rows) < self.columns:
                rank = np.linalg.matrix_rank(np.array([*rows, row]), 1e-6)
                if rank > len(rows):
                    rows.append(row)
                    kept.append(name)
        if len(rows) != self.columns:
            raise ConfigurationError("what the map asks for does not decide the configuration.")
        return kept

    def _newton(self, goal: Mapping[str, Floats], iterations: int) -> None:
        index = [self.names.index(name) for name in goal]
        model = self.machine.system.model
        for _ in range(iterations):
            out = self.look()
            wrong = np.vstack([out["values"][index] - np.array(list(goal.values()))])
            residual = np.vstack([wrong, out["conditions"]])
            whole = out["by_pose"].reshape(self.columns, -1, self.count)
            rows = [*index, *range(len(self.names), whole.shape[1])]
            jacobian = np.transpose(whole[:, rows], (2, 1, 0))
            step = -np.linalg.solve(jacobian, residual.T[:, :, None])[:, :, 0].T
            if np.abs(step).max(initial=0.0) < 1e-15:
                return
            full = np.zeros((6 + len(model.joints), self.count))
            full[self.machine.columns] = step
            self.p = self.p + _turned(self.q, full[:3])
            self.q = _turned_on(self.q, full[3:6])
            self.r = self.r + full[6:]

    def dataset(self) -> "Dataset":
        """Return all that is known of the configurations at rest, one after the other."""
        y = self.machine.layout.pack(q=self.q, p=self.p, r=self.r).T
        still = np.zeros((len(self.machine.system.model.inputs), self.count))
        arc = SmoothArc(self.machine, np.arange(self.count, dtype=float), y, still)
        return Trajectory((arc,), "completed").to_xarray()

    def yaw_rates(self, moving: Mapping[str, Floats], locked: str) -> Floats:
        """Return the rate of yaw while coordinates move at given rates and a joint stands still."""
        names, count = self.names, self.count
        rows = self.machine.rows
        found = rows.batch(rows.inputs.pack(q=self.q, p=self.p, r=self.r))
        size = 6 + len(self.machine.system.model.joints)
        C = np.transpose(found["C"].reshape(-1, size, count), (2, 0, 1)).copy()
        C[:, :, 3:6] += np.cross(found["ref"].T[:, None, :], C[:, :, :3])
        by_speed = self.look()["by_speed"].reshape(self.columns, -1, count)
        rates = [f"{name}_rate" for name in moving] + [f"{locked}_rate"]
        asked = np.transpose(by_speed[:, [names.index(n) for n in rates]], (2, 1, 0))
        A = np.concatenate([C[:, :, self.machine.columns], asked], axis=1)
        right = np.zeros((count, A.shape[1]))
        for k, value in enumerate(moving.values()):
            right[:, C.shape[1] + k] = value
        s = np.linalg.solve(A, right[:, :, None])[:, :, 0]
        return np.einsum("cn,nc->n", by_speed[:, names.index("yaw_rate")], s)


def _turned_on(q: Floats, W: Floats) -> Floats:
    """Return unit quaternions after a small turn W about their own axes, one per column."""
    w, v = q[0], q[1:]
    rate = 0.5 * np.vstack([-(v * W).sum(axis=0), w * W + np.cross(v, W, axis=0)])
    moved = q + rate
    return cast(Floats, moved / np.linalg.norm(moved, axis=0))


def _turned(q: Floats, x: Floats) -> Floats:
    """Return vectors turned by unit quaternions, one per column."""
    w, v = q[0], q[1:]
    t = 2.0 * np.cross(v, x, axis=0)
    return x + w * t + np.cross(v, t, axis=0)


def contact_map(system: System, grid: Grid) -> "Dataset":
    """Return the outputs of a map over its grid."""
    import xarray

    machine = system.machine()
    x, y = (np.linspace(a.low, a.high, a.count) for a in (grid.x, grid.y))
    xs, ys = (a.ravel() for a in np.meshgrid(x, y, indexing="ij"))
    found = Configurations(machine, len(xs))
    found.reach({grid.x.name: xs, grid.y.name: ys})
    data = found.dataset()
    bodies = Bodies(data, system.model)
    dims = (grid.x.name, grid.y.name)
    units = {name: unit_of(name, system.model) for name in (*dims, *grid.outputs)}
    out = {
        name: (dims, series(name, bodies).reshape(len(x), len(y)), {"units": units[name]})
        for name in grid.outputs
    }
    if grid.locked is not None:
        turned = _yaw(machine, grid, x, y)
        note = f"yaw after the path {grid.path!r}, {grid.locked} locked"
        out["yaw"] = (dims, turned, {"units": "rad", "long_name": note})
    coords = {
        name: (name, values, {"units": units[name]})
        for name, values in zip(dims, (x, y), strict=True)
    }
    return xarray.Dataset(out, coords, {k: data.attrs[k] for k in ("vehicle", "parameters")})


def _yaw(machine: ClosedForm, grid: Grid, x: Floats, y: Floats) -> Floats:
    """Return yaw at the points of the grid, integrated along the path from the drawing."""
    names = (grid.x.name, grid.y.name)
    if grid.path == "straight":
        return _along_rays(machine, grid, x, y)
    first, second = (0, 1) if grid.path == f"{names[0]}, {names[1]}" else (1, 0)
    sides = (x, y)
    one = _legs(machine, grid, names[first], names[second], sides[first], np.zeros(1))
    two = _legs(machine, grid, names[second], names[first], sides[second], sides[first])
    total = one[:, :1] + two.T
    return total if first == 0 else total.T


def _legs(
    machine: ClosedForm, grid: Grid, moving: str, held: str, ends: Floats, at: Floats
) -> Floats:
    """Return the change of yaw while one coordinate goes from zero to each end, for each value of
    the other.
    """
    stops = np.unique(np.concatenate([ends, [0.0]]))
    panels = list(pairwise(stops))
    wide = max(b - a for a, b in panels)
    nodes, weights = np.polynomial.legendre.leggauss(4 if wide < 0.1 else 10)
    places = np.array([(a + b) / 2 + (b - a) / 2 * nodes for a, b in panels])
    full, others = np.repeat(places.ravel(), len(at)), np.tile(at, places.size)
    found = Configurations(machine, len(full))
    found.reach({moving: full, held: others})
    ones = np.ones(len(full))
    rates = found.yaw_rates({moving: ones, held: 0.0 * ones}, str(grid.locked))
    halves = np.array([(b - a) / 2 for a, b in panels])
    shaped = rates.reshape(len(panels), len(nodes), len(at))
    steps = np.einsum("pna,n,p->pa", shaped, weights, halves)
    reached = np.vstack([np.zeros(len(at)), np.cumsum(steps, axis=0)])
    reached = reached - reached[np.searchsorted(stops, 0.0)]
    return reached[np.searchsorted(stops, ends)]


def _along_rays(machine: ClosedForm, grid: Grid, x: Floats, y: Floats) -> Floats:
    """Return the change of yaw along the straight way from zero to each point."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    parts = (nodes + 1.0) / 2.0
    xs, ys = (a.ravel() for a in np.meshgrid(x, y, indexing="ij"))
    full = {grid.x.name: np.outer(parts, xs).ravel(), grid.y.name: np.outer(parts, ys).ravel()}
    found = Configurations(machine, parts.size * xs.size)
    found.reach(full)
    rates = found.yaw_rates(
        {grid.x.name: np.tile(xs, parts.size), grid.y.name: np.tile(ys, parts.size)},
        str(grid.locked),
    )
    summed = (weights / 2.0) @ rates.reshape(parts.size, xs.size)
    return summed.reshape(len(x), len(y))
