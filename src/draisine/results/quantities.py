"""Time series derived from a stored run: wheel-centre motion, curvatures, angular accelerations, drifts.

Each series follows from the forward kinematics of `bodies`, evaluated at all sample times together.

"""

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
    """Definition of a time series that is computed from a dataset."""

    compute: Callable[[Bodies, str], Floats]
    """Function of the bodies and a wheel name ("" if not per wheel), (times,) or (times, 3)."""
    unit: str
    """SI unit of the series; empty if dimensionless."""
    meaning: str
    """Description of the series in a few words."""
    per_wheel: bool = True
    """Whether each wheel has its own series."""
    vector: bool = False
    """Whether the series has components x, y, z."""


def _wheel_centre_motion(bodies: Bodies, name: str, quantity: str) -> Floats:
    """Return world position, velocity or acceleration of a wheel centre over time, (times, 3)."""
    wheel = bodies.wheels[name]
    values: Floats = getattr(bodies.find_carrier(wheel), quantity)(np.asarray(wheel.centre, float))
    return values


_centre = partial(_wheel_centre_motion, quantity="position")
_centre_velocity = partial(_wheel_centre_motion, quantity="velocity")
_centre_acceleration = partial(_wheel_centre_motion, quantity="acceleration")


def _rotate_to_base_axes(bodies: Bodies, vectors: Floats) -> Floats:
    """Rotate world vectors (times, 3) into the axes of the base body."""
    R = bodies.motions[bodies.model.bodies[0].name].R
    return cast(Floats, np.einsum("tji,tj->ti", R, vectors))


def _path_curvature(bodies: Bodies, name: str) -> Floats:
    """Return the curvature of the wheel centre's path in the horizontal plane, 1/m, positive to the left."""
    v = _centre_velocity(bodies, name)
    a = _centre_acceleration(bodies, name)
    speed = np.hypot(v[:, 0], v[:, 1])
    turning = v[:, 0] * a[:, 1] - v[:, 1] * a[:, 0]
    # The curvature of the path of a wheel at rest is undefined: return NaN instead of dividing by
    # zero.
    return cast(Floats, turning / np.where(speed > 0.0, speed, np.nan) ** 3)


def _track_curvature(bodies: Bodies, name: str) -> Floats:
    """Return the curvature of a rolling wheel's track on the ground, 1/m, positive to the left.

    The curvature is the rate of the wheel's heading divided by the speed of its contact point.
    """
    wheel = bodies.wheels[name]
    carrier = bodies.find_carrier(wheel)
    a = carrier.R @ (np.asarray(wheel.axle, float) / np.linalg.norm(np.asarray(wheel.axle, float)))
    rate = np.cross(carrier.w, a)
    turning = (a[:, 0] * rate[:, 1] - a[:, 1] * rate[:, 0]) / (a[:, 0] ** 2 + a[:, 1] ** 2)
    # The contact point is the lowest point of the wheel's circle, centre + radius * down / |down|.
    # There `down` is the component of -z perpendicular to the axle. The product rule yields the
    # velocity.
    flat = np.sqrt(1.0 - a[:, 2:] ** 2)
    down = a[:, 2:] * a - np.array([0.0, 0.0, 1.0])
    down_rate = rate[:, 2:] * a + a[:, 2:] * rate + down * a[:, 2:] * rate[:, 2:] / flat**2
    v = _centre_velocity(bodies, name) + float(wheel.surface.ring) * down_rate / flat
    heading = np.stack([a[:, 1], -a[:, 0]], axis=1) / flat
    speed = np.einsum("ti,ti->t", heading, v[:, :2])
    return cast(Floats, turning / np.where(speed != 0.0, speed, np.nan))


def _angle_second_derivative(bodies: Bodies, _: str, index: int) -> Floats:
    """Return the second time derivative of yaw, lean or pitch, rad/s2, (times,).

    The rotation is R = Rz(yaw) Rx(lean) Ry(pitch).

    With angle rates w, the body's angular velocity is W = E w, so that E dw/dt = dW/dt - dE/dt w.
    """
    dW = _rotate_to_base_axes(bodies, bodies.motions[bodies.model.bodies[0].name].dw)
    lean = bodies.data["lean"].values
    pitch = bodies.data["pitch"].values
    rates = np.stack([bodies.data[f"{n}_rate"].values for n in BASE_ANGLES], axis=1)
    sl, cl = np.sin(lean), np.cos(lean)
    sp, cp = np.sin(pitch), np.cos(pitch)
    zero = np.zeros_like(sl)
    ones = np.ones_like(sl)
    E = np.array([[-sp * cl, cp, zero], [sl, zero, ones], [cp * cl, sp, zero]])
    dl = rates[:, 1]
    dp = rates[:, 2]
    dE = np.array(
        [
            [sp * sl * dl - cp * cl * dp, -sp * dp, zero],
            [cl * dl, zero, zero],
            [-sp * cl * dp - cp * sl * dl, cp * dp, zero],
        ]
    )
    right_side = dW - np.einsum("ijt,tj->ti", dE, rates)
    angle_accelerations = np.linalg.solve(np.moveaxis(E, 2, 0), right_side[:, :, None])
    return cast(Floats, angle_accelerations[:, index, 0])


def _mass_centre_motion(bodies: Bodies, _: str, quantity: str) -> Floats:
    """Return world position, velocity or acceleration of the mass centre of all bodies, (times, 3)."""
    total = sum(float(body.mass) for body in bodies.model.bodies)
    if total == 0.0:
        raise ParameterError("mass_centre is not available: no body of this machine has mass.")
    values = [
        float(body.mass) * getattr(bodies.motions[body.name], quantity)(np.asarray(body.com, float))
        for body in bodies.model.bodies
        if body.mass
    ]
    return cast(Floats, sum(values) / total)


def _angular_momentum(bodies: Bodies, _: str) -> Floats:
    """Return the angular momentum of all bodies about their common mass centre, world axes, (times, 3).

    Spinning armatures of joints are not included.
    """
    centre = _mass_centre_motion(bodies, "", "position")
    velocity = _mass_centre_motion(bodies, "", "velocity")
    total = np.zeros_like(centre)
    for body in bodies.model.bodies:
        motion = bodies.motions[body.name]
        com = np.asarray(body.com, float)
        arm = motion.position(com) - centre
        total += float(body.mass) * np.cross(arm, motion.velocity(com) - velocity)
        spin = np.einsum("tji,tj->ti", motion.R, motion.w) @ np.asarray(body.inertia, float).T
        total += np.einsum("tij,tj->ti", motion.R, spin)
    return total


def _energy_drift(bodies: Bodies, _: str) -> Floats:
    """Return the energy change since the start, divided by the largest kinetic energy or |U - U(0)|."""
    # The zero of the potential energy U is arbitrary. Therefore U itself cannot scale the drift.
    E, T, U = (bodies.data[n].values for n in ("energy", "kinetic_energy", "potential_energy"))
    scale = np.abs(T).max() + np.abs(U - U[0]).max()
    return cast(Floats, (E - E[0]) / (scale if scale > 0.0 else 1.0))


def _formulation_difference(bodies: Bodies, _: str) -> Floats:
    """Return the relative difference between stored accelerations and the multiplier formulation."""
    data = bodies.data
    system = restore_system(data)
    mode = json.loads(data.attrs["mode"])
    # On a terrain the contact mode changes at events, so that no single contact mode applies to all
    # samples.
    if not isinstance(mode, dict):
        raise ParameterError("formulation_difference is not available for runs on a terrain.")
    arrays = (data[n].values for n in ("orientation", "position", "shape", "speeds"))
    states = list(zip(*arrays, strict=True))
    stateless = np.zeros((len(states), 0))
    elements = data["element_state"].values if "element_state" in data else stateless
    times = data["time"].values
    stored = data["accelerations"].values
    out = np.zeros(len(times))
    for k, ((q, p, r, v), values) in enumerate(zip(states, data["inputs"].values, strict=True)):
        inputs = dict(zip(system.model.inputs, values, strict=True))
        state = State(q, p, r, v, element_state=elements[k])
        reference, _forces = system.accelerate(state, inputs, mode, float(times[k]))
        out[k] = np.abs(stored[k] - reference).max() / max(1.0, float(np.abs(reference).max()))
    return out


DERIVED_QUANTITIES: dict[str, DerivedQuantity] = {
    "wheel_centre": DerivedQuantity(_centre, "m", "position of a wheel's centre", vector=True),
    "wheel_centre_velocity": DerivedQuantity(
        _centre_velocity, "m/s", "velocity of a wheel's centre, world axes", vector=True
    ),
    "wheel_centre_acceleration": DerivedQuantity(
        _centre_acceleration, "m/s2", "acceleration of a wheel's centre, world axes", vector=True
    ),
    "wheel_centre_velocity_base": DerivedQuantity(
        lambda bodies, name: _rotate_to_base_axes(bodies, _centre_velocity(bodies, name)),
        "m/s",
        "velocity of a wheel's centre, the base body's axes",
        vector=True,
    ),
    "path_curvature": DerivedQuantity(
        _path_curvature, "1/m", "curvature of a wheel centre's path seen from above, left positive"
    ),
    "track_curvature": DerivedQuantity(
        _track_curvature, "1/m", "curvature of a wheel's track on the ground, left positive"
    ),
    "mass_centre": DerivedQuantity(
        partial(_mass_centre_motion, quantity="position"),
        "m",
        "position of the mass centre of all bodies",
        per_wheel=False,
        vector=True,
    ),
    "mass_centre_velocity": DerivedQuantity(
        partial(_mass_centre_motion, quantity="velocity"),
        "m/s",
        "velocity of the mass centre of all bodies, world axes",
        per_wheel=False,
        vector=True,
    ),
    "mass_centre_acceleration": DerivedQuantity(
        partial(_mass_centre_motion, quantity="acceleration"),
        "m/s2",
        "acceleration of the mass centre of all bodies, world axes",
        per_wheel=False,
        vector=True,
    ),
    "angular_momentum": DerivedQuantity(
        _angular_momentum,
        "N m s",
        "angular momentum of all bodies about their mass centre, world axes",
        per_wheel=False,
        vector=True,
    ),
    "energy_drift": DerivedQuantity(
        _energy_drift, "", "energy change, relative to the energies of the motion", per_wheel=False
    ),
    "formulation_difference": DerivedQuantity(
        _formulation_difference,
        "",
        "relative difference to the accelerations with multipliers",
        per_wheel=False,
    ),
} | {
    f"{angle}_acceleration": DerivedQuantity(
        partial(_angle_second_derivative, index=k), "rad/s2", f"second derivative of {angle}", False
    )
    for k, angle in enumerate(BASE_ANGLES)
}
"""Definitions of all derived time series by name."""
