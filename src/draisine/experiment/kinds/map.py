"""Scenarios of the kind `map`: quantities over a grid of two coordinates, with all contacts closed.

The configurations of all grid points are solved at once in the SIMD lanes of the compiled code. With a
locked joint, the yaw is integrated along a path in the plane of the two coordinates by Gauss-Legendre
quadrature of the yaw rate, since the constraints are nonholonomic: yaw depends on the path.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.variation import vary
from draisine.errors import ConfigurationError
from draisine.results.bodies import Bodies
from draisine.results.queries import evaluate_series, series_unit
from draisine.scenario.schema import Grid
from draisine.simulation.trajectory import BilateralArc, Trajectory
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import find_configurations
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


def compute_contact_map(system: System, grid: Grid) -> "Dataset":
    """Return the outputs of a map scenario as a dataset over the grid of two coordinates."""
    import xarray

    machine = system.machine()
    x, y = (np.linspace(a.low, a.high, a.count) for a in (grid.x, grid.y))
    xs, ys = (a.ravel() for a in np.meshgrid(x, y, indexing="ij"))
    states = _solve_configurations(machine, {grid.x.name: xs, grid.y.name: ys})
    # The program `observe` computes outputs along runs. Here each grid point takes the place of a
    # time sample.
    inputs = np.zeros((len(xs), len(system.model.inputs)))
    arc = BilateralArc(machine, np.arange(len(xs), dtype=float), states, inputs)
    data = Trajectory((arc,), "completed").to_xarray()
    bodies = Bodies(data, system.model)
    dims = (grid.x.name, grid.y.name)
    units = {name: series_unit(name, system.model) for name in (*dims, *grid.outputs)}
    out = {
        name: (dims, evaluate_series(name, bodies).reshape(len(x), len(y)), {"units": units[name]})
        for name in grid.outputs
    }
    if grid.locked is not None:
        yaw = _integrate_yaw(machine, grid, x, y)
        note = f"yaw after the path {grid.path!r}, {grid.locked} locked"
        out["yaw"] = (dims, yaw, {"units": "rad", "long_name": note})
    coords = {
        name: (name, values, {"units": units[name]})
        for name, values in zip(dims, (x, y), strict=True)
    }
    return xarray.Dataset(out, coords, {k: data.attrs[k] for k in ("vehicle", "parameters")})


def _solve_configurations(machine: ClosedForm, values: Mapping[str, Floats]) -> Floats:
    """Return states at rest with closed contacts and prescribed coordinates, (points, states)."""
    try:
        return find_configurations(machine, values)
    except ConfigurationError as error:
        raise ConfigurationError(
            "Some points of the map have no configuration with closed contacts. Choose smaller "
            f"ranges. {error}"
        ) from error


def _compute_yaw_rates(
    machine: ClosedForm, states: Floats, rates: Mapping[str, Floats], locked_joint: str
) -> Floats:
    """Return the yaw rates (n,) at states with prescribed coordinate rates while one joint is locked."""
    derivatives = vary(machine, states, seeds=("du",))
    rows = derivatives.observation_derivatives(
        [*(f"{name}_rate" for name in rates), f"{locked_joint}_rate"], "du"
    )
    prescribed = np.array([*rates.values(), np.zeros(len(states))]).T
    u = np.linalg.solve(rows, prescribed[:, :, None])
    return (derivatives.observation_derivatives(["yaw_rate"], "du") @ u)[:, 0, 0]


def _integrate_yaw(
    machine: ClosedForm, grid: Grid, first_values: Floats, second_values: Floats
) -> Floats:
    """Return the yaw (rad) at the grid points, integrated along the path from the zero
    configuration.
    """
    names = (grid.x.name, grid.y.name)
    if grid.path == "straight":
        return _integrate_yaw_along_rays(machine, grid, first_values, second_values)
    first, second = (0, 1) if grid.path == f"{names[0]}, {names[1]}" else (1, 0)
    sides = (first_values, second_values)
    # Path: the first coordinate moves while the second one is zero, then the second one moves.
    leg1 = _integrate_yaw_along_axis(
        machine, grid, names[first], names[second], sides[first], np.zeros(1)
    )
    leg2 = _integrate_yaw_along_axis(
        machine, grid, names[second], names[first], sides[second], sides[first]
    )
    total = leg1[:, :1] + leg2.T
    return total if first == 0 else total.T


def _integrate_yaw_along_axis(
    machine: ClosedForm,
    grid: Grid,
    moving_name: str,
    fixed_name: str,
    ends: Floats,
    offsets: Floats,
) -> Floats:
    """Return the changes of yaw (rad), (ends, offsets), while one coordinate moves from zero to each end.

    The other coordinate is fixed at one of the offsets.
    """
    stops = np.unique(np.concatenate([ends, [0.0]]))
    panels = list(pairwise(stops))
    widest = max(b - a for a, b in panels)
    # Four Gauss nodes are exact to round-off for intervals below 0.1 rad; wider intervals need ten
    # nodes.
    nodes, weights = np.polynomial.legendre.leggauss(4 if widest < 0.1 else 10)
    points = np.array([(a + b) / 2 + (b - a) / 2 * nodes for a, b in panels])
    moving_values = np.repeat(points.ravel(), len(offsets))
    fixed_values = np.tile(offsets, points.size)
    states = _solve_configurations(machine, {moving_name: moving_values, fixed_name: fixed_values})
    ones = np.ones(len(moving_values))
    yaw_rates = _compute_yaw_rates(
        machine, states, {moving_name: ones, fixed_name: 0.0 * ones}, str(grid.locked)
    )
    half_widths = np.array([(b - a) / 2 for a, b in panels])
    by_panel = yaw_rates.reshape(len(panels), len(nodes), len(offsets))
    steps = np.einsum("pna,n,p->pa", by_panel, weights, half_widths)
    yaw = np.vstack([np.zeros(len(offsets)), np.cumsum(steps, axis=0)])
    yaw = yaw - yaw[np.searchsorted(stops, 0.0)]
    return yaw[np.searchsorted(stops, ends)]


def _integrate_yaw_along_rays(
    machine: ClosedForm, grid: Grid, first_values: Floats, second_values: Floats
) -> Floats:
    """Return the changes of yaw (rad) along the straight lines from zero to the grid points."""
    # One interval of quadrature covers the whole line, which requires many nodes.
    nodes, weights = np.polynomial.legendre.leggauss(24)
    fractions = (nodes + 1.0) / 2.0
    xs, ys = (a.ravel() for a in np.meshgrid(first_values, second_values, indexing="ij"))
    points = {
        grid.x.name: np.outer(fractions, xs).ravel(),
        grid.y.name: np.outer(fractions, ys).ravel(),
    }
    states = _solve_configurations(machine, points)
    rates = {grid.x.name: np.tile(xs, fractions.size), grid.y.name: np.tile(ys, fractions.size)}
    yaw_rates = _compute_yaw_rates(machine, states, rates, str(grid.locked))
    yaw = (weights / 2.0) @ yaw_rates.reshape(fractions.size, xs.size)
    return yaw.reshape(len(first_values), len(second_values))
