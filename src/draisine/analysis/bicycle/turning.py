"""Maps of steady turning: required speed, steer torque and friction over lean and steer angle.

At constant lean and steer all velocities are proportional to the speed v, so the unbalanced forces are
`f0 + v^2 f2`. Two evaluations yield v and the torque of every circle.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.eigenmodes import growth_beside
from draisine.analysis.linear import linear_systems
from draisine.analysis.variation import vary
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import find_configurations
from draisine.system.system import System

MAX_TURN_SPEED = 100.0
"""Largest speed (m/s) of a circle in the map; the steer angle of faster circles is practically
zero.
"""

CHUNK_SIZE = 2000
"""Number of circles per batch; larger batches use more memory and are not faster."""

BALANCE_TOLERANCE = 1e-6
"""Largest unbalanced force of a steady circle, relative; above it no speed balances the given lean and steer
angles."""


@dataclass(frozen=True, eq=False)
class TurningMap:
    """Steady circles of a bicycle over a grid (leans, steers); nan if no speed balances the lean."""

    lean: Floats  # lean angles of the grid, rad, (leans,)
    steer: Floats  # steer angles of the grid, rad, (steers,)
    speed: Floats  # speed of the rear wheel, m/s, (leans, steers)
    torque: Floats  # required steer torque, N m, positive to the left, (leans, steers)
    radius: Floats  # radius of the path of the rear contact, m, (leans, steers)
    friction: (
        Floats  # required friction coefficient, (leans, steers, contacts); nan if a contact pulls
    )
    growth: Floats  # largest real part of the eigenvalues at constant torque, 1/s, (leans, steers)
    contacts: tuple[str, ...]


def turning_map(system: System, lean: Any, steer: Any) -> TurningMap:
    """Compute the steady circles of a bicycle at all combinations of lean and steer angles.

    Parameters
    ----------
    system
        The bicycle.
    lean, steer
        Lean and steer angles (rad), numbers or arrays.

    Returns
    -------
    TurningMap
        Speed, torque, radius, friction and growth over the grid.

    Examples
    --------
    >>> from draisine import compile
    >>> turns = turning_map(compile("whipple"), [0.1, 0.2], [-0.05])
    >>> print(turns.speed.round(3).ravel(), turns.torque.round(3).ravel())
    [4.594 6.471] [ 0.139 -0.063]
    """
    machine = system.machine()
    lean = np.atleast_1d(np.asarray(lean, float))
    steer = np.atleast_1d(np.asarray(steer, float))
    grid = np.array([x.ravel() for x in np.meshgrid(lean, steer, indexing="ij")])
    starts = range(0, grid.shape[1], CHUNK_SIZE)
    chunks = [_compute_circles(machine, grid[:, k : k + CHUNK_SIZE]) for k in starts]
    shape = (len(lean), len(steer))
    speed, torque, radius, friction, growth = (
        np.concatenate(column) for column in zip(*chunks, strict=True)
    )
    return TurningMap(
        lean,
        steer,
        speed.reshape(shape),
        torque.reshape(shape),
        radius.reshape(shape),
        friction.reshape(*shape, -1),
        growth.reshape(shape),
        tuple(contact.name for contact in system.model.contacts),
    )


def _compute_circles(machine: ClosedForm, grid: Floats) -> tuple[Floats, ...]:
    """Return speed, torque, radius, friction and growth rate at N points (2, N) of lean and steer."""
    # Evaluate the unbalanced forces at rest, and at a speed of 1 m/s.
    y = find_configurations(machine, {"lean": grid[0], "steer": grid[1]})
    still = vary(machine, y, seeds=("du", "dw"))
    rows = still.observation_derivatives(["lean_rate", "steer_rate", "rear_wheel_speed"], "du")
    u = np.linalg.solve(rows, np.array([[0.0], [0.0], [1.0]]))[:, :, 0]
    moving = y.copy()
    at_u = machine.layout.u
    moving[:, at_u] = u
    rolled = vary(machine, moving, seeds=("du",))
    steer = list(machine.system.model.inputs).index("steer")
    by_torque = still.d["force"]["dw"][:, :, steer]
    f0 = still.values["force"]
    f2 = rolled.values["force"] - f0

    # Compute the speed and the steer torque that balance these forces.
    squared, torque, residual = _solve_speed_and_torque(f0, f2, by_torque)
    is_turn = np.linalg.norm(f2, axis=1) > 1e-9 * np.linalg.norm(f2, axis=1).max()
    is_speed = (squared >= 0) & (squared < MAX_TURN_SPEED**2)
    exists = is_turn & (residual < BALANCE_TOLERANCE) & is_speed
    speed = np.sqrt(np.where(exists, squared, np.nan))
    moving[:, at_u] *= np.nan_to_num(speed)[:, None]
    w = np.zeros((len(y), len(machine.system.model.inputs)))
    w[:, steer] = np.where(np.isnan(speed), 0.0, torque)
    torque = np.where(np.isnan(speed), np.nan, torque)

    # Compute radius, friction and stability of the circles.
    radius = speed / np.abs(rolled.observation("yaw_rate") * speed)
    friction = np.where(np.isnan(speed)[:, None], np.nan, _required_friction(machine, moving, w))
    growth = np.full(len(y), np.nan)
    is_valid = np.all(np.isfinite(friction), axis=1)
    if is_valid.any():
        values = linear_systems(machine, moving[is_valid], w[is_valid]).eigenvalues()
        growth[is_valid] = growth_beside(values)
    return speed, torque, radius, friction, growth


def _solve_speed_and_torque(
    force_at_rest: Floats, force_per_squared_speed: Floats, force_per_torque: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return v^2 and the steer torque w that satisfy `force_at_rest + v^2 force_per_squared_speed +
    w force_per_torque = 0`, and the relative residual.
    """
    A = np.stack([force_per_squared_speed, force_per_torque], axis=2)
    x = -np.linalg.pinv(A) @ force_at_rest[:, :, None]
    residual = np.linalg.norm((A @ x)[:, :, 0] + force_at_rest, axis=1)
    return x[:, 0, 0], x[:, 1, 0], residual / (1.0 + np.linalg.norm(force_at_rest, axis=1))


def _required_friction(machine: ClosedForm, states: Floats, inputs: Floats) -> Floats:
    """Return the required friction coefficient of each contact, (N, contacts); nan if the contact
    pulls.
    """
    forces = machine.observations(states, w=inputs.T)["forces"].reshape(-1, 3, len(states))
    share = np.hypot(forces[:, 1], forces[:, 2]) / forces[:, 0]
    return np.where(forces[:, 0] > 0, share, np.nan).T
