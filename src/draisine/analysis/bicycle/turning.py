"""Maps of steady turning: at every lean and steer the speed, the steer torque and the friction that
a circle needs.

At a given lean and steer all velocities grow with the speed v, so the unbalanced forces are `f0 +
v^2 f2`: two evaluations give v and the torque of every circle at once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.eigenmodes import growth_beside
from draisine.analysis.linear import linear_systems
from draisine.analysis.variation import vary
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import configurations
from draisine.system.system import System

_HIGHEST = 100.0
"""Circles that need more than this, m/s, are left out: the steer is as good as zero there."""

_CHUNK = 2000
"""How many circles are worked on at once; more would only fill memory."""


@dataclass(frozen=True, eq=False)
class TurningMap:
    """Steady circles over a grid (leans, steers); nan where no speed balances the lean.

    `speed` is that of the rear wheel in m/s, `torque` what the rider must apply to the handlebar in
    N m (steer torque, positive to the left), `radius` that of the rear contact's path in m,
    `friction` (leans, steers, contacts) the share of the normal force that each contact needs
    sideways, `growth` the largest real part of the eigenvalues, the torque held, in 1/s; nan where
    a contact pulls.
    """

    lean: Floats
    steer: Floats
    speed: Floats
    torque: Floats
    radius: Floats
    friction: Floats
    growth: Floats
    contacts: tuple[str, ...]


def turning_map(system: System, lean: Any, steer: Any) -> TurningMap:
    """Return the circles of a bicycle at all combinations of leans and steers, in rad.

    >>> from draisine import compile
    >>> turns = turning_map(compile("whipple"), [0.1, 0.2], [-0.05])
    >>> print(turns.speed.round(3).ravel(), turns.torque.round(3).ravel())
    [4.594 6.471] [ 0.139 -0.063]
    """
    machine = system.machine()
    lean, steer = np.atleast_1d(np.asarray(lean, float)), np.atleast_1d(np.asarray(steer, float))
    grid = np.array([x.ravel() for x in np.meshgrid(lean, steer, indexing="ij")])
    parts = [_circles(machine, grid[:, k : k + _CHUNK]) for k in range(0, grid.shape[1], _CHUNK)]
    shape = (len(lean), len(steer))
    speed, torque, radius, friction, growth = (
        np.concatenate(column) for column in zip(*parts, strict=True)
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


def _circles(machine: ClosedForm, grid: Floats) -> tuple[Floats, ...]:
    """Return speed, torque, radius, friction and growth at (leans; steers)."""
    y = configurations(machine, {"lean": grid[0], "steer": grid[1]})
    still = vary(machine, y, seeds=("du", "dw"))
    rows = still.rows(["lean_rate", "steer_rate", "rear_wheel_speed"], "du")
    u = np.linalg.solve(rows, np.array([[0.0], [0.0], [1.0]]))[:, :, 0]
    moving, fast = y.copy(), machine.layout.u
    moving[:, fast] = u
    rolled = vary(machine, moving, seeds=("du",))
    place_steer = list(machine.system.model.inputs).index("steer")
    push = still.d["force"]["dw"][:, :, place_steer]
    f0, f2 = still.values["force"], rolled.values["force"] - still.values["force"]
    squared, torque, left = _balanced(f0, f2, push)
    turns = np.linalg.norm(f2, axis=1) > 1e-9 * np.linalg.norm(f2, axis=1).max()
    found = turns & (left < 1e-6) & (squared >= 0) & (squared < _HIGHEST**2)
    speed = np.sqrt(np.where(found, squared, np.nan))
    moving[:, fast] *= np.nan_to_num(speed)[:, None]
    w = np.zeros((len(y), len(machine.system.model.inputs)))
    w[:, place_steer] = np.where(np.isnan(speed), 0.0, torque)
    torque = np.where(np.isnan(speed), np.nan, torque)
    radius = speed / np.abs(rolled.value("yaw_rate") * speed)
    friction = np.where(np.isnan(speed)[:, None], np.nan, _friction(machine, moving, w))
    growth = np.full(len(y), np.nan)
    good = np.all(np.isfinite(friction), axis=1)
    if good.any():
        values = linear_systems(machine, moving[good], w[good]).eigenvalues()
        growth[good] = growth_beside(values)
    return speed, torque, radius, friction, growth


def _balanced(f0: Floats, f2: Floats, push: Floats) -> tuple[Floats, Floats, Floats]:
    """Return v^2 and w of `f0 + v^2 f2 + w push = 0`, and what is left of the forces."""
    A = np.stack([f2, push], axis=2)
    x = -np.linalg.pinv(A) @ f0[:, :, None]
    left = np.linalg.norm((A @ x)[:, :, 0] + f0, axis=1)
    return x[:, 0, 0], x[:, 1, 0], left / (1.0 + np.linalg.norm(f0, axis=1))


def _friction(machine: ClosedForm, y: Floats, w: Floats) -> Floats:
    """Return the share of the normal force that each contact needs sideways, nan where it pulls."""
    forces = machine.observations(y, w=w.T)["forces"].reshape(-1, 3, len(y))
    share = np.hypot(forces[:, 1], forces[:, 2]) / forces[:, 0]
    return np.where(forces[:, 0] > 0, share, np.nan).T
