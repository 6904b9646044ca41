"""What follows from a stored run by computation: motions of wheels, curvatures, drifts."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model.names import BASE_ANGLES
from draisine.results.bodies import Bodies, restore_system
from draisine.system.state import State


@dataclass(frozen=True)
class DerivedQuantity:
    """A quantity that follows from a dataset: of each wheel or of the machine, with axes or without."""

    compute: Callable[[Bodies, str], Floats]
    unit: str
    meaning: str
    per_wheel: bool = True
    vector: bool = False


def _at_centre(bodies: Bodies, name: str, what: str) -> Floats:
    """Return position, velocity or acceleration of a wheel's centre."""
    wheel = bodies.wheels[name]
    found: Floats = getattr(bodies.carrier(wheel), what)(np.asarray(wheel.centre, float))
    return found


_centre = partial(_at_centre, what="position")
_centre_velocity = partial(_at_centre, what="velocity")
_centre_acceleration = partial(_at_centre, what="acceleration")


def _in_base(bodies: Bodies, x: Floats) -> Floats:
    R = bodies.motions[bodies.model.bodies[0].name].R
    return cast(Floats, np.einsum("tji,tj->ti", R, x))


def _curvature(bodies: Bodies, name: str) -> Floats:
    """Return the curvature of the wheel centre's path seen from above, positive to the left."""
    v, a = _centre_velocity(bodies, name), _centre_acceleration(bodies, name)
    speed = np.hypot(v[:, 0], v[:, 1])
    turning = v[:, 0] * a[:, 1] - v[:, 1] * a[:, 0]
    return cast(Floats, turning / np.where(speed > 0.0, speed, np.nan) ** 3)


def _track_curvature(bodies: Bodies, name: str) -> Floats:
    """Return the curvature of the track that a rolling wheel draws on the ground: the rate of its
    heading over the speed of its contact point.
    """
    wheel = bodies.wheels[name]
    carrier = bodies.carrier(wheel)
    a = carrier.R @ (np.asarray(wheel.axle, float) / np.linalg.norm(np.asarray(wheel.axle, float)))
    rate = np.cross(carrier.w, a)
    turning = (a[:, 0] * rate[:, 1] - a[:, 1] * rate[:, 0]) / (a[:, 0] ** 2 + a[:, 1] ** 2)
    flat = np.sqrt(1.0 - a[:, 2:] ** 2)
    down = a[:, 2:] * a - np.array([0.0, 0.0, 1.0])
    sinking = rate[:, 2:] * a + a[:, 2:] * rate + down * a[:, 2:] * rate[:, 2:] / flat**2
    v = _centre_velocity(bodies, name) + float(wheel.surface.ring) * sinking / flat
    ahead = np.stack([a[:, 1], -a[:, 0]], axis=1) / flat
    speed = np.einsum("ti,ti->t", ahead, v[:, :2])
    return cast(Floats, turning / np.where(speed != 0.0, speed, np.nan))


def _angle_acceleration(bodies: Bodies, _: str, which: int) -> Floats:
    """Return the second rate of yaw, lean or pitch, from R = Rz(yaw) Rx(lean) Ry(pitch)."""
    dW = _in_base(bodies, bodies.motions[bodies.model.bodies[0].name].dw)
    lean, pitch = bodies.data["lean"].values, bodies.data["pitch"].values
    rates = np.stack([bodies.data[f"{n}_rate"].values for n in BASE_ANGLES], axis=1)
    sl, cl, sp, cp = np.sin(lean), np.cos(lean), np.sin(pitch), np.cos(pitch)
    zero, one = np.zeros_like(sl), np.ones_like(sl)
    E = np.array([[-sp * cl, cp, zero], [sl, zero, one], [cp * cl, sp, zero]])
    dl, dp = rates[:, 1], rates[:, 2]
    dE = np.array(
        [
            [sp * sl * dl - cp * cl * dp, -sp * dp, zero],
            [cl * dl, zero, zero],
            [-sp * cl * dp - cp * sl * dl, cp * dp, zero],
        ]
    )
    rest = dW - np.einsum("ijt,tj->ti", dE, rates)
    solved = np.linalg.solve(np.moveaxis(E, 2, 0), rest[:, :, None])
    return cast(Floats, solved[:, which, 0])


def _energy_drift(bodies: Bodies, _: str) -> Floats:
    """Return the change of energy since the start, relative to the kinetic energy and the change of
    the potential one.
    """
    E, T, U = (bodies.data[n].values for n in ("energy", "kinetic_energy", "potential_energy"))
    scale = np.abs(T).max() + np.abs(U - U[0]).max()
    return cast(Floats, (E - E[0]) / (scale if scale > 0.0 else 1.0))


def _formulation_difference(bodies: Bodies, _: str) -> Floats:
    """Return how far the accelerations are from those by multipliers, relative to their size."""
    system, data = restore_system(bodies.data), bodies.data
    mode = json.loads(data.attrs["mode"])
    if not isinstance(mode, dict):
        raise ParameterError("formulation_difference is not told of runs on a terrain.")
    parts = (data[n].values for n in ("orientation", "position", "shape", "speeds"))
    states = list(zip(*parts, strict=True))
    none = np.zeros((len(states), 0))
    elements = data["element_state"].values if "element_state" in data else none
    times, ours = data["time"].values, data["accelerations"].values
    out = np.zeros(len(times))
    for k, (at, given) in enumerate(zip(states, data["inputs"].values, strict=True)):
        inputs = dict(zip(system.model.inputs, given, strict=True))
        q, p, r, v = at
        state = State(q, p, r, v, element_state=elements[k])
        other, _forces = system.accelerate(state, inputs, mode, float(times[k]))
        out[k] = np.abs(ours[k] - other).max() / max(1.0, float(np.abs(other).max()))
    return out


DERIVED: dict[str, DerivedQuantity] = {
    "wheel_centre": DerivedQuantity(_centre, "m", "position of a wheel's centre", vector=True),
    "wheel_centre_velocity": DerivedQuantity(
        _centre_velocity, "m/s", "velocity of a wheel's centre, world axes", vector=True
    ),
    "wheel_centre_acceleration": DerivedQuantity(
        _centre_acceleration, "m/s2", "acceleration of a wheel's centre, world axes", vector=True
    ),
    "wheel_centre_velocity_base": DerivedQuantity(
        lambda bodies, name: _in_base(bodies, _centre_velocity(bodies, name)),
        "m/s",
        "velocity of a wheel's centre, the base body's axes",
        vector=True,
    ),
    "path_curvature": DerivedQuantity(
        _curvature, "1/m", "curvature of a wheel centre's path seen from above, left positive"
    ),
    "track_curvature": DerivedQuantity(
        _track_curvature, "1/m", "curvature of a wheel's track on the ground, left positive"
    ),
    "energy_drift": DerivedQuantity(
        _energy_drift, "", "change of energy, relative to what moves", per_wheel=False
    ),
    "formulation_difference": DerivedQuantity(
        _formulation_difference, "", "accelerations against those by multipliers", per_wheel=False
    ),
} | {
    f"{angle}_acceleration": DerivedQuantity(
        partial(_angle_acceleration, which=k), "rad/s2", f"second rate of {angle}", False
    )
    for k, angle in enumerate(BASE_ANGLES)
}
"""What follows from a dataset and its model."""
