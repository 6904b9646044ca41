"""Force elements at a wheel that meets a feature of the terrain: its tyre, its rolling resistance.

They read the contact in the feature's own directions, and what they do is taken apart by the load,
eq. [loads]: what each newton of it adds, and what they push without it. Where they do not grow evenly
with the load, both are those about a load to be found, by Newton's method.
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

HELD = ("normal", "along", "across")

POWER, ENERGY, REPORTED = 3, 4, 5
"""Where power (W) and stored energy (J) of a tyre are among the numbers that are reported of a contact's
elements, after the forces (normal, along, across), and how many numbers these are.
"""


def contact_elements(model: Model, contact: Contact) -> list[tuple[int, ForceElement]]:
    """Return the elements that act at a contact, each with where its states begin."""
    out, first = [], 0
    for element in model.elements:
        if getattr(element, "contact", None) == contact.name:
            out.append((first, element))
        first += element.states
    return out


def tyre_rows(wheel: Wheel) -> int:
    """Return how many rows a wheel on its tyre holds on a terrain: of normal, along and across the
    first ones.
    """
    names = wheel.rows["tyre"]
    if names != HELD[: len(names)]:
        raise ModelError(
            f"wheel {wheel.name!r}: its tyre holds {' and '.join(names)}; on a terrain one that holds "
            "along is carried by the ground, too (no `sprung`), and none holds across alone."
        )
    return len(names)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FeatureReadings(Readings):
    """A machine at one instant, its wheel on a feature: `relative` is how fast the wheel's material
    point moves over the ground (normal, along, across), `moving` how fast the touching point does.
    """

    wheel: str
    met: ContactRows
    relative: Array
    moving: Array

    def gap(self, name: str) -> Scalar:
        """Return the distance of a contact from its feature."""
        return self._own(name).meeting.gap

    def slip(self, name: str) -> Slip:
        """Return how fast a contact's material point moves over the ground."""
        self._own(name)
        return Slip(*self.relative)

    def travel(self, name: str) -> Scalar:
        """Return how fast the touching point itself travels over the ground, along the heading."""
        return self._own(name).axes[1] @ self.moving

    def camber(self, name: str) -> Scalar:
        """Return how far a wheel leans against the feature's normal, positive to the right."""
        met = self._own(name)
        normal, surface = met.axes[0], met.surface
        return atan2(normal @ surface.axle, surface.slope(normal))

    def rolling_radius(self, name: str) -> Scalar:
        """Return the distance of a wheel's touching point from its axle, m."""
        met = self._own(name)
        return met.surface.rolling_radius(met.axes[0])

    def spin(self, name: str) -> Scalar:
        """Return how fast a wheel turns about the feature's normal, positive to the left."""
        return self._own(name).axes[0] @ (self.turning @ self.speeds)

    @property
    def turning(self) -> Array:
        """J with `J v` the wheel's angular velocity in world axes."""
        return self.world.R @ spin_matrix(self.tree, self.geo, self.met.at)

    def _own(self, name: str) -> ContactRows:
        if name != self.wheel:
            raise ModelError(
                f"contact {name!r} is read at wheel {self.wheel!r}; on a terrain an element that acts "
                "at a contact reads that one alone."
            )
        return self.met


def read_feature(
    readings: Readings, wheel: Wheel | Blade, met: ContactRows, relative: Array, moving: Array
) -> FeatureReadings:
    """Return what the elements of a wheel read where it meets a feature."""
    known = {one.name: getattr(readings, one.name) for one in fields(Readings)}
    own = {"wheel": wheel.name, "met": met, "relative": relative, "moving": moving}
    return FeatureReadings(**known | own)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureForces:
    """What the elements of a contact do: generalised forces without load and per newton of it, the
    forces (normal, along, across) and the tyre's power and stored energy likewise, the rates of all
    elements' states, zero for others, and whether all that is true about one load alone.
    """

    push: Array
    lift: Array
    forces: Array
    lifted: Array
    rates: list[Scalar]
    uneven: bool


def feature_forces(
    readings: FeatureReadings, elements: Sequence[tuple[int, ForceElement]], z: Array, load: Expr
) -> FeatureForces:
    """Return what elements do at a contact about a load, which is a symbol."""
    n = len(readings.speeds)
    ends = [n, n + REPORTED]
    tyres = [wheel.tyre for wheel in readings.tree.model.wheels]

    def act(pressed: Scalar) -> Array:
        """Return Q, forces, power, stored energy and rates, one after the other."""
        total = np.zeros(ends[1] + len(z), dtype=object)
        loaded = replace(readings, loads={readings.wheel: pressed})
        for first, element in elements:
            own = slice(first, first + element.states)
            done, total[ends[1] :][own] = element(loaded, z[own])
            pushed = _generalised(readings, element, done)
            total[: n + 3] += pushed
            if element in tyres:
                total[n + POWER] += pushed[:n] @ readings.speeds
                total[n + ENERGY] += stored_energy(element, loaded, z[own])
        return total

    along = {load.graph.ops[load.index][1]: 1.0}
    there = act(load)
    slopes = tangent(list(there), along)
    if not all(map(is_zero, slopes[ends[1] :])):
        raise ModelError(
            f"wheel {readings.wheel!r}: the states of its tyre change with the load; on a terrain let it "
            "carry its wheel by a vertical spring (`sprung = True`)."
        )
    uneven = not all(map(is_zero, tangent(slopes, along)))
    start = there - load * array(slopes) if uneven else act(0.0)
    (push, forces, rates), (lift, lifted, _) = (np.split(array(x), ends) for x in (start, slopes))
    return FeatureForces(push, lift, forces, lifted, list(rates), uneven)


def _generalised(
    readings: FeatureReadings, element: ForceElement, done: Mapping[str, Any]
) -> Array:
    """Return the generalised force of what an element does at its contact, and the force (normal,
    along, across).
    """
    total = np.zeros(len(readings.speeds) + 3, dtype=object)
    for name, wrench in done.items():
        if name != readings.wheel or not isinstance(wrench, Wrench):
            raise ModelError(
                f"force {element.name!r}: on a terrain it pushes its own contact alone."
            )
        force = array([wrench.normal, wrench.along, wrench.across])
        normal, along, across = readings.met.axes
        moment = wrench.overturning * along + wrench.rolling * across + wrench.aligning * normal
        pushed = readings.met.C.T @ force + readings.turning.T @ moment
        total = total + np.concatenate([pushed, force])
    return total
