"""Maps over configurations: many closed loops solved at once, in the lanes of the compiled code."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.variation import vary
from draisine.errors import ConfigurationError
from draisine.results.bodies import Bodies
from draisine.results.queries import evaluate_series, unit_of
from draisine.scenario.schema import Grid
from draisine.simulation.trajectory import BilateralArc, Trajectory
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import configurations
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


def contact_map(system: System, grid: Grid) -> "Dataset":
    """Return the outputs of a map over its grid."""
    import xarray

    machine = system.machine()
    x, y = (np.linspace(a.low, a.high, a.count) for a in (grid.x, grid.y))
    xs, ys = (a.ravel() for a in np.meshgrid(x, y, indexing="ij"))
    places = _configurations(machine, {grid.x.name: xs, grid.y.name: ys})
    still = np.zeros((len(system.model.inputs), len(xs)))
    arc = BilateralArc(machine, np.arange(len(xs), dtype=float), places, still)
    data = Trajectory((arc,), "completed").to_xarray()
    bodies = Bodies(data, system.model)
    dims = (grid.x.name, grid.y.name)
    units = {name: unit_of(name, system.model) for name in (*dims, *grid.outputs)}
    out = {
        name: (dims, evaluate_series(name, bodies).reshape(len(x), len(y)), {"units": units[name]})
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


def _configurations(machine: ClosedForm, asked: Mapping[str, Floats]) -> Floats:
    """Return states at rest with closed contacts in which coordinates have the values asked for, one
    row for each.
    """
    try:
        return configurations(machine, asked)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"some points of the map have no configuration with closed contacts ({error}). Take a "
            "smaller range."
        ) from error


def _yaw_rates(machine: ClosedForm, y: Floats, moving: Mapping[str, Floats], locked: str) -> Floats:
    """Return the rate of yaw while coordinates move at given rates and a joint stands still."""
    found = vary(machine, y, seeds=("du",))
    rows = found.rows([*(f"{name}_rate" for name in moving), f"{locked}_rate"], "du")
    rates = np.array([*moving.values(), np.zeros(len(y))]).T
    u = np.linalg.solve(rows, rates[:, :, None])
    return (found.rows(["yaw_rate"], "du") @ u)[:, 0, 0]


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
    found = _configurations(machine, {moving: full, held: others})
    ones = np.ones(len(full))
    rates = _yaw_rates(machine, found, {moving: ones, held: 0.0 * ones}, str(grid.locked))
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
    found = _configurations(machine, full)
    moving = {grid.x.name: np.tile(xs, parts.size), grid.y.name: np.tile(ys, parts.size)}
    rates = _yaw_rates(machine, found, moving, str(grid.locked))
    summed = (weights / 2.0) @ rates.reshape(parts.size, xs.size)
    return summed.reshape(len(x), len(y))
