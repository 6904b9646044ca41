"""Force elements at a contact of a wheel with a ground feature (face, edge, vertex or patch): tyre and
rolling resistance.

An element reads slip, camber and spin in the axes of the contact. Its force depends on the load, a
multiplier that the contact problem solves for. Therefore the force is split, eq. [loads], into

    force(load) = force_at_zero_load + load * force_per_load

If an element is not linear in the load, both parts are those of its tangent about a load that Newton's
method improves (`is_nonlinear`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, atan2, is_zero
from draisine.algebra.trace import Expr, tangent
from draisine.errors import ModelError
from draisine.mechanics.applied import stored_energy
from draisine.mechanics.contact.features import ContactRows
from draisine.mechanics.kinematics import spin_matrix
from draisine.mechanics.readings import Readings, Slip
from draisine.model import Blade, Contact, ForceElement, Model, Wheel, Wrench

ROW_NAMES = ("normal", "along", "across")
"""Names of the constraint rows of a wheel, in order: components of the contact velocity."""

# Values that are reported for the force elements at a contact, in this order: force (normal, along,
# across) in N, power in W, stored energy in J.
POWER = 3  # index of the power of the tyre (W) in the reported values
ENERGY = 4  # index of the energy stored in the tyre (J) in the reported values
REPORTED = 5  # number of values reported per contact


def contact_elements(model: Model, contact: Contact) -> list[tuple[int, ForceElement]]:
    """Return the force elements that act at a contact, each with the index of its first state."""
    elements = []
    first = 0
    for element in model.elements:
        if getattr(element, "contact", None) == contact.name:
            elements.append((first, element))
        first += element.states
    return elements


def tyre_rows(wheel: Wheel) -> int:
    """Return the number of constraint rows of a wheel with a tyre.

    The rows are the first ones in the order normal, along, across. The tyre generates the forces in the
    remaining directions.
    """
    names = wheel.rows["tyre"]
    if names != ROW_NAMES[: len(names)]:
        raise ModelError(
            f"Wheel {wheel.name!r}: its tyre constrains {' and '.join(names)}, which a terrain does not "
            "support. Possible are no rows, normal, or normal and along: use a tyre without `sprung`, or "
            "one that does not constrain the motion along."
        )
    return len(names)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FeatureReadings(Readings):
    """Quantities that the force elements of a wheel on a ground feature read."""

    wheel: str
    touch: ContactRows  # contact of the wheel with the ground feature
    # Velocity of the material point relative to the ground (normal, along, across), m/s, (3,)
    relative: Array
    # Velocity of the contact point relative to the ground, world axes, m/s, (3,)
    travel_velocity: Array

    def gap(self, name: str) -> Scalar:
        """Return the gap (m) between the wheel and its ground feature."""
        return self._check_contact(name).meeting.gap

    def slip(self, name: str) -> Slip:
        """Return the velocity of the material point of the wheel relative to the ground (m/s)."""
        self._check_contact(name)
        return Slip(*self.relative)

    def travel(self, name: str) -> Scalar:
        """Return the velocity of the contact point along the heading of the wheel (m/s)."""
        return self._check_contact(name).axes[1] @ self.travel_velocity

    def camber(self, name: str) -> Scalar:
        """Return the lean of a wheel relative to the normal of the ground feature, rad, positive to
        the right.
        """
        contact = self._check_contact(name)
        normal = contact.axes[0]
        return atan2(normal @ contact.surface.axle, contact.surface.slope(normal))

    def rolling_radius(self, name: str) -> Scalar:
        """Return the distance of a wheel's contact point from its axle, m."""
        contact = self._check_contact(name)
        return contact.surface.rolling_radius(contact.axes[0])

    def spin(self, name: str) -> Scalar:
        """Return the angular velocity of a wheel about the normal of the ground feature, rad/s,
        positive to the left.
        """
        return self._check_contact(name).axes[0] @ (self.angular_jacobian @ self.speeds)

    @property
    def angular_jacobian(self) -> Array:
        """Jacobian J (3, 6 + n) whose product `J v` is the angular velocity of the wheel in world
        axes.
        """
        return self.world.R @ spin_matrix(self.tree, self.geo, self.touch.at)

    def _check_contact(self, name: str) -> ContactRows:
        """Return the constraint rows of the wheel's own contact; raise an error if `name` is the
        name of another contact.
        """
        if name != self.wheel:
            raise ModelError(
                f"A force element of wheel {self.wheel!r} uses quantities of contact {name!r}. On a "
                "terrain a force element can use those of its own contact only."
            )
        return self.touch


def read_feature_quantities(
    readings: Readings,
    wheel: Wheel | Blade,
    contact: ContactRows,
    relative: Array,
    travel_velocity: Array,
) -> FeatureReadings:
    """Return the quantities that the force elements of a wheel on a ground feature read.

    `relative` (3) are the components (normal, along, across) of the velocity of the material point relative
    to the ground, `travel_velocity` (3) is that of the contact point in world axes; both in m/s.
    """
    inherited = {field.name: getattr(readings, field.name) for field in fields(Readings)}
    return FeatureReadings(
        **inherited,
        wheel=wheel.name,
        touch=contact,
        relative=relative,
        travel_velocity=travel_velocity,
    )


@dataclass(frozen=True, slots=True, eq=False)
class FeatureForces:
    """Forces of the force elements at a contact, split into a constant part and a part proportional
    to the load.
    """

    force_at_zero_load: Array  # generalised force at zero load, (n,)
    force_per_load: Array  # generalised force per newton of load, (n,)
    # Force, power and stored energy that are reported at zero load, (REPORTED,)
    reported_at_zero_load: Array
    reported_per_load: Array  # reported values per newton of load, (REPORTED,)
    # Time derivatives of the states of all force elements of the model; zero for force elements at
    # other contacts
    rates: list[Scalar]
    # Whether the force depends nonlinearly on the load, so that `force_per_load` is valid near the
    # load of the linearisation only
    is_nonlinear: bool


def feature_forces(
    readings: FeatureReadings, elements: Sequence[tuple[int, ForceElement]], z: Array, load: Expr
) -> FeatureForces:
    """Return the forces of the force elements at a contact, linearised about a load.

    `elements` contains each element with the index of its first state, z all element states; `load` is the
    symbol of the load (N).
    """
    n = len(readings.speeds)
    ends = [n, n + REPORTED]
    tyres = [wheel.tyre for wheel in readings.tree.model.wheels]

    def evaluate_elements(load: Scalar) -> Array:
        """Return generalised force, reported values and state rates, concatenated."""
        total = np.zeros(ends[1] + len(z), dtype=object)
        loaded = replace(readings, loads={readings.wheel: load})
        for first, element in elements:
            states = slice(first, first + element.states)
            wrenches, total[ends[1] :][states] = element(loaded, z[states])
            force = _sum_wrenches(readings, element, wrenches)
            total[: n + 3] += force
            if element in tyres:
                total[n + POWER] += force[:n] @ readings.speeds
                total[n + ENERGY] += stored_energy(element, loaded, z[states])
        return total

    along_load = {load.graph.ops[load.index][1]: 1.0}
    values = evaluate_elements(load)
    slopes = tangent(list(values), along_load)
    if not all(map(is_zero, slopes[ends[1] :])):
        raise ModelError(
            f"Wheel {readings.wheel!r}: the rates of its tyre's states depend on the load, which a terrain "
            "supports only for tyres with a vertical spring (`sprung = True`)."
        )
    is_nonlinear = not all(map(is_zero, tangent(slopes, along_load)))
    at_zero_load = values - load * array(slopes) if is_nonlinear else evaluate_elements(0.0)
    force_0, reported_0, rates = np.split(array(at_zero_load), ends)
    force_1, reported_1, _ = np.split(array(slopes), ends)
    return FeatureForces(force_0, force_1, reported_0, reported_1, list(rates), is_nonlinear)


def _sum_wrenches(
    readings: FeatureReadings, element: ForceElement, wrenches: Mapping[str, Any]
) -> Array:
    """Return the generalised force of an element for its wrenches by contact, followed by its
    contact force (normal, along, across).
    """
    total = np.zeros(len(readings.speeds) + 3, dtype=object)
    normal, along, across = readings.touch.axes
    for name, wrench in wrenches.items():
        if name != readings.wheel or not isinstance(wrench, Wrench):
            raise ModelError(
                f"Force element {element.name!r} acts on {name!r}. On a terrain a force element of a "
                "wheel can act on the contact of this wheel only."
            )
        force = array([wrench.normal, wrench.along, wrench.across])
        moment = wrench.overturning * along + wrench.rolling * across + wrench.aligning * normal
        generalised = readings.touch.C.T @ force + readings.angular_jacobian.T @ moment
        total = total + np.concatenate([generalised, force])
    return total
