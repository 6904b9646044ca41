"""Generalised forces Q of inputs (joint torques, forces at points) and of force elements.

A force F at a point with the Jacobian P contributes `P' F`; a moment contributes `J' M` with the angular
Jacobian J.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array
from draisine.errors import ModelError, did_you_mean
from draisine.mechanics.constraints import Ground, Mode, contact_directions, contact_point
from draisine.mechanics.kinematics import Geometry, body_point, point_matrix, spin_matrix
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import Tree
from draisine.model import ForceElement, Model, Tyre, Wrench


def limit_motor_torques(model: Model, inputs: Array, joint_rates: Array) -> Array:
    """Return the inputs (n + 3 k,) with the torques of n joints limited by their motors, eq. [motor-limits].

    `joint_rates` are the joint rates (n,), rad/s or m/s.
    """
    if all(joint.motor is None for joint in model.joints):
        return inputs
    limited = list(inputs)
    for k, joint in enumerate(model.joints):
        if joint.motor is not None:
            limited[k] = joint.motor.limit(inputs[k], joint_rates[k])
    return array(limited)


def limited_joints(model: Model) -> list[int]:
    """Return the indices of the joints whose motor limits their torque."""
    return [
        k
        for k, joint in enumerate(model.joints)
        if joint.motor is not None
        and np.isfinite([joint.motor.torque, joint.motor.stall_torque]).any()
    ]


def generalised_input_force(
    tree: Tree, geo: Geometry, world: Ground, inputs: Array, ref: Array
) -> Array:
    """Return the generalised force Q (6 + n,) of the model's inputs, for v = (V at ref, W, rdot).

    `inputs` contains the joint torques after limitation by their motors (N m or N), then three
    components (N) of each external force.
    """
    n = len(tree.model.joints)
    Q = np.zeros(6 + n, dtype=object)
    Q[6:] = inputs[:n]
    for k, force in enumerate(tree.model.pushes):
        point = body_point(tree, geo, force.body, force.point)
        f = inputs[n + 3 * k : n + 3 * k + 3]
        if force.frame == "world":
            force_base = world.R.T @ f
        else:
            force_base = geo.R0[point.link] @ (tree.axes_in_link(force.body) @ f)
        Q = Q + point_matrix(tree, geo, point, ref).T @ force_base
    return array(Q)


@dataclass(frozen=True, slots=True, eq=False)
class ElementForces:
    """Forces of all force elements at one state."""

    Q: Array  # generalised force for v = (V at ref, W, rdot), (6 + n,)
    rates: list[Scalar]  # time derivatives of the states of all force elements
    # Force (N) of the force elements on each contact, by name of the contact, in the base's axes,
    # (3,)
    pushes: dict[str, Array]


def element_forces(readings: Readings, mode: Mode | None, z: Array) -> ElementForces:
    """Return the forces of all force elements, eq. [elements]; z contains their concatenated
    states.

    A tyre acts if its contact has the status `tyre`; any other element at a contact acts if the
    contact is closed. Elements that do not act have constant states. Without a contact mode all
    contacts are open.
    """
    model = readings.tree.model
    statuses = {} if mode is None else dict(mode)
    tyres = [wheel.tyre for wheel in model.wheels]
    Q: Any = np.zeros(6 + len(model.joints), dtype=object)
    rates: list[Scalar] = []
    pushes: dict[str, Array] = {}
    first = 0
    for element in model.elements:
        states = z[first : first + element.states]
        first += element.states
        status = statuses.get(getattr(element, "contact", ""), "open")
        inactive = status != "tyre" if element in tyres else status == "open"
        if hasattr(element, "contact") and inactive:
            rates += [0.0] * element.states
            continue
        forces, state_rates = element(readings, states)
        if len(state_rates) != element.states:
            raise ModelError(
                f"Force element {element.name!r} returns {len(state_rates)} rates; it has {element.states} "
                "states. Return one rate per state."
            )
        rates += list(state_rates)
        for name, value in forces.items():
            Q = Q + _sum_element_force(readings, element, name, value, pushes)
    return ElementForces(array(Q), rates, pushes)


def tyre_powers(readings: Readings, mode: Mode, z: Array) -> dict[str, list[Scalar]]:
    """Return for each tyre the power (W) that it exerts on the multibody system, and its stored
    energy (J).

    Both are zero for tyres without contact. z contains the states of all elements, tyres first.
    """
    columns: dict[str, list[Scalar]] = {"tyre_powers": [], "tyre_energies": []}
    first = 0
    statuses = dict(mode)
    for tyre in (wheel.tyre for wheel in readings.tree.model.wheels if wheel.tyre is not None):
        states = z[first : first + tyre.states]
        first += tyre.states
        power: Scalar = 0.0
        energy: Scalar = 0.0
        if statuses[tyre.name] == "tyre":
            forces, _ = tyre(readings, states)
            Q = sum(
                (_sum_element_force(readings, tyre, name, x, {}) for name, x in forces.items()), 0.0
            )
            power = Q @ readings.speeds
            energy = stored_energy(tyre, readings, states)
        columns["tyre_powers"].append(power)
        columns["tyre_energies"].append(energy)
    return columns


def stored_energy(tyre: Tyre, readings: Readings, z: Array) -> Scalar:
    """Return the energy stored in a tyre (J); zero if the tyre has no method `stored_energy`."""
    stored = getattr(tyre, "stored_energy", None)
    return 0.0 if stored is None else stored(readings, z)


def _sum_element_force(
    readings: Readings,
    element: ForceElement,
    target: str,
    force_value: Any,
    pushes: dict[str, Array],
) -> Array:
    """Return the generalised force (6 + n,) of a force element that acts on the named contact,
    joint or body with the force `force_value`.

    The type of the value determines where it acts: a wrench on a contact, a scalar on a joint, a force vector
    on the mass centre of a body. Forces on contacts are added to `pushes`.
    """
    tree = readings.tree
    model = readings.tree.model
    names: list[str]
    if isinstance(force_value, Wrench):
        names = [c.name for c in model.contacts]
        if target in names:
            Q, push = _apply_contact_wrench(readings, names.index(target), force_value)
            pushes[target] = pushes.get(target, np.zeros(3)) + push
            return Q
    elif np.ndim(force_value) == 0:
        names = [j.name for j in model.joints]
        if target in names:
            return force_value * np.eye(6 + len(names))[6 + names.index(target)]
    else:
        names = [b.name for b in model.bodies]
        if target in names:
            point = body_point(tree, readings.geo, target, model.body(target).com)
            P = point_matrix(tree, readings.geo, point, readings.ref)
            return P.T @ (readings.world.R.T @ array(force_value))
    raise ModelError(
        f"Force element {element.name!r} acts on {target!r}, which does not exist. A wrench acts "
        f"on a contact, a number on a joint, a vector on a body. {did_you_mean(target, names)}"
    )


def _apply_contact_wrench(
    readings: Readings, contact_index: int, wrench: Wrench
) -> tuple[Array, Array]:
    """Return the generalised force of a wrench on the contact with this index, and its force in the
    base's axes (N).
    """
    tree = readings.tree
    geo = readings.geo
    world = readings.world
    contact = tree.model.contacts[contact_index]
    point, _ = contact_point(tree, geo, world, contact)
    normal, along, across = contact_directions(tree, geo, world, contact, point).values()
    push = wrench.normal * normal + wrench.along * along + wrench.across * across
    moment = wrench.overturning * along + wrench.rolling * across + wrench.aligning * normal
    P = point_matrix(tree, geo, point, readings.ref)
    J = spin_matrix(tree, geo, point)
    return P.T @ push + J.T @ moment, push
