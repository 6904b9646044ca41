"""What pushes, as generalised forces: joint torques and forces at points, which are inputs, and force
elements, which read the state.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array
from draisine.errors import ModelError, did_you_mean
from draisine.mechanics.constraints import Ground, Mode, contact_axes, contact_point
from draisine.mechanics.kinematics import Geometry, body_point, point_matrix, spin_matrix
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import Tree
from draisine.model import ForceElement, Tyre, Wrench


def generalised(tree: Tree, geo: Geometry, world: Ground, inputs: Array, ref: Array) -> Array:
    """Return Q for the model's inputs (joint torques, then force components), for v = (V at ref, W,
    rdot).
    """
    n = len(tree.model.joints)
    out = np.zeros(6 + n, dtype=object)
    out[6:] = inputs[:n]
    for k, force in enumerate(tree.model.pushes):
        at = body_point(tree, geo, force.body, force.point)
        f = inputs[n + 3 * k : n + 3 * k + 3]
        if force.frame == "world":
            pushed = world.R.T @ f
        else:
            pushed = geo.R0[at.link] @ (tree.axes(force.body) @ f)
        out = out + point_matrix(tree, geo, at, ref).T @ pushed
    return array(out)


@dataclass(frozen=True, slots=True, eq=False)
class ElementForces:
    """What all elements do at one state: Q for v = (V at ref, W, rdot), the rates of their states,
    and their forces on contacts (in the base's axes) by name.
    """

    Q: Array
    rates: list[Scalar]
    pushes: dict[str, Array]


def element_forces(readings: Readings, mode: Mode | None, z: Array) -> ElementForces:
    """Return what the force elements do, eq. [elements]; z are their states, one after the other.

    A tyre works where its contact has the status `tyre`, another element of a contact where that is
    closed; elsewhere their states stay as they are. Without a mode all contacts are open.
    """
    model = readings.tree.model
    statuses = {} if mode is None else dict(mode)
    tyres = [wheel.tyre for wheel in model.wheels]
    Q: Any = np.zeros(6 + len(model.joints), dtype=object)
    rates: list[Scalar] = []
    pushes: dict[str, Array] = {}
    first = 0
    for element in model.elements:
        own = z[first : first + element.states]
        first += element.states
        status = statuses.get(getattr(element, "contact", ""), "open")
        idle = status != "tyre" if element in tyres else status == "open"
        if hasattr(element, "contact") and idle:
            rates += [0.0] * element.states
            continue
        done, lag = element(readings, own)
        if len(lag) != element.states:
            raise ModelError(
                f"force {element.name!r}: it returns {len(lag)} rates for {element.states} states."
            )
        rates += list(lag)
        for name, value in done.items():
            Q = Q + _generalised(readings, element, name, value, pushes)
    return ElementForces(array(Q), rates, pushes)


def tyre_powers(readings: Readings, mode: Mode, z: Array) -> dict[str, list[Scalar]]:
    """Return the powers (W) of the tyres on the machine and the energies (J) stored in them, zero for
    those that do not touch; z are the states of all elements, tyres first.
    """
    out: dict[str, list[Scalar]] = {"tyre_powers": [], "tyre_energies": []}
    first = 0
    statuses = dict(mode)
    for tyre in (wheel.tyre for wheel in readings.tree.model.wheels if wheel.tyre is not None):
        own = z[first : first + tyre.states]
        first += tyre.states
        power: Scalar = 0.0
        energy: Scalar = 0.0
        if statuses[tyre.name] == "tyre":
            done, _ = tyre(readings, own)
            Q = sum((_generalised(readings, tyre, name, x, {}) for name, x in done.items()), 0.0)
            power = Q @ readings.speeds
            energy = stored_energy(tyre, readings, own)
        out["tyre_powers"].append(power)
        out["tyre_energies"].append(energy)
    return out


def stored_energy(tyre: Tyre, readings: Readings, z: Array) -> Scalar:
    """Return the energy stored in a tyre, J; zero for a tyre without a method `stored_energy`."""
    stored = getattr(tyre, "stored_energy", None)
    return 0.0 if stored is None else stored(readings, z)


def _generalised(
    readings: Readings, element: ForceElement, name: str, value: Any, pushes: dict[str, Array]
) -> Array:
    """Return the generalised force of what an element does to the contact, joint or body of a name;
    pushes on contacts are added up.
    """
    tree = readings.tree
    model = readings.tree.model
    known: list[str]
    if isinstance(value, Wrench):
        known = [c.name for c in model.contacts]
        if name in known:
            Q, push = _on_contact(readings, known.index(name), value)
            pushes[name] = pushes.get(name, np.zeros(3)) + push
            return Q
    elif np.ndim(value) == 0:
        known = [j.name for j in model.joints]
        if name in known:
            return value * np.eye(6 + len(known))[6 + known.index(name)]
    else:
        known = [b.name for b in model.bodies]
        if name in known:
            at = body_point(tree, readings.geo, name, model.body(name).com)
            P = point_matrix(tree, readings.geo, at, readings.ref)
            return P.T @ (readings.world.R.T @ array(value))
    raise ModelError(
        f"force {element.name!r}: nothing is called {name!r} that it can push so. "
        f"{did_you_mean(name, known)}"
    )


def _on_contact(readings: Readings, k: int, wrench: Wrench) -> tuple[Array, Array]:
    """Return the generalised force of a wrench on a contact, and its force in the base's axes."""
    tree = readings.tree
    geo = readings.geo
    world = readings.world
    contact = tree.model.contacts[k]
    at, _ = contact_point(tree, geo, world, contact)
    normal, along, across = contact_axes(tree, geo, world, contact, at).values()
    push = wrench.normal * normal + wrench.along * along + wrench.across * across
    moment = wrench.overturning * along + wrench.rolling * across + wrench.aligning * normal
    P = point_matrix(tree, geo, at, readings.ref)
    J = spin_matrix(tree, geo, at)
    return P.T @ push + J.T @ moment, push
