"""Tolerances of event-driven simulation: one record of dimensionless numbers, scaled by characteristic mass,
length and time of the system.

Problem: a bound in newtons or metres has different effects for the same system in other units, or for a
system of another size. Method: every bound is a pure number (the default of its field) times a unit made of
the system's mass, length and time. The unit of time is half a period of a pendulum of the system's length,
pi sqrt(length / g). For 1 m on Earth it is 1.003 s, so that bounds of a system of ordinary size are nearly
those in SI units.

Routines read the scaled values from `Dynamics.tol`.
"""

from itertools import combinations
from math import pi, sqrt
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Record
from draisine.model import Model
from draisine.model.names import label_units
from draisine.system.generic import Generic


class Dimension(NamedTuple):
    """Dimension of a tolerance: the powers of mass, length and time in its unit."""

    mass: int = 0
    length: int = 0
    time: int = 0


RatioBound = Annotated[float, Dimension()]
LengthBound = Annotated[float, Dimension(length=1)]
TimeBound = Annotated[float, Dimension(time=1)]
SpeedBound = Annotated[float, Dimension(length=1, time=-1)]
AccelerationBound = Annotated[float, Dimension(length=1, time=-2)]
ForceBound = Annotated[float, Dimension(mass=1, length=1, time=-2)]
ImpulseBound = Annotated[float, Dimension(mass=1, length=1, time=-1)]


class MachineUnits(NamedTuple):
    """Machine units: characteristic mass, length and time of a mechanical system, in SI units."""

    mass: float  # kg, total mass
    length: float  # m, largest distance within the system
    time: float  # s, pi sqrt(length / g)

    def value(self, dimension: Dimension) -> float:
        """Return the product of powers of mass, length and time for a dimension, in SI units."""
        mass, length, time = dimension
        return self.mass**mass * self.length**length * self.time**time


class Tolerances(Record):
    """Bounds of event location. The defaults are in machine units; `scale_tolerances` converts them to SI
    units.

    The unit of force, mass * length / time^2, is about a tenth of the weight.
    """

    # --- gaps. Gaps of wheels on features are exact to about 1e-16 of the coordinates; projection
    # and the location of events leave some 1e-13.

    # A negative gap of at most this depth is a rounding error of the dense output, and its guard
    # does not fire. Smaller than `gap_event`.
    gap_guard: LengthBound = 1e-12
    # Contacts whose gap is below `gap_event` plus the approach during `event_resolution` belong to
    # the same event. Between `gap_guard` and `gap_penetration`.
    gap_event: LengthBound = 1e-10
    event_resolution: TimeBound = 1e-10
    # Largest penetration of an accepted state; if it is deeper, an event was missed and the step is
    # repeated.
    # Larger than `gap_event`, or touching contacts would count as missed.
    gap_penetration: LengthBound = 5e-10
    # A contact with a smaller gap at the start of a trajectory arc has just opened: if it closes
    # again, it does so at once. Larger than `gap_penetration`.
    gap_opened: LengthBound = 1e-9
    # A gap with a local minimum below this length is reported as grazing: a change of the initial
    # state by the integration tolerance (1e-10) decides between impact and no impact.
    gap_grazing: LengthBound = 1e-9
    # Initial states up to this depth inside the ground are lifted; deeper ones are refused. Larger
    # than the residual 1e-9 of the solver of initial states.
    gap_start: LengthBound = 1e-8
    # Largest gap (or depth) of contacts that are evaluated at an event, and distance by which
    # ground features are searched beyond the reach of a wheel. Larger than `gap_event` for
    # approaches up to 1e4 length / time.
    gap_search: LengthBound = 1e-6
    # Two contacts of one wheel whose points differ by less, and whose normals differ by less than
    # `same_normal`, are one contact: a face and its edge, coplanar faces. Larger than the rounding
    # of contact points, below `gap_search`.
    same_point: LengthBound = 1e-8
    same_normal: RatioBound = 1e-8
    # A ground feature lies in another one (an edge in the plane of a face) if distance and angle
    # are below `same_feature` and `parallel`; terrains are exact to rounding.
    same_feature: LengthBound = 1e-9
    parallel: RatioBound = 1e-9
    # Smallest step along an edge while its distance from a wheel is bounded; a smaller distance
    # counts as near. It affects the cost only.
    edge_trace: LengthBound = 1e-4

    # --- borders of ground features: distance from the border as a fraction of the length of the
    # system, or a component of the unit normal.

    # A contact may lie this far beyond a border of the feature that it touches. Hysteresis: after
    # leaving a feature, a wheel must be this far inside its border to touch it again; otherwise the
    # same edge event repeats. Larger than the motion within `lookahead` at the speeds of interest.
    border: RatioBound = 1e-7
    # Largest excess over a border at which its guard does not fire yet. Smaller than `border`.
    border_guard: RatioBound = 1e-10
    # A penetrating contact counts as a missed event only if it is this far inside its borders: near
    # a border the neighbouring feature decides. Larger than `border`.
    border_inside: RatioBound = 1e-6
    # Largest excess at which the guards on the lean angle and on a turned-over base do not fire
    # yet.
    fall_guard: RatioBound = 1e-12

    # --- normal velocities

    # An approach velocity below this bound counts as zero: no impact. It is the resolution of gap
    # rates, 1e-12 length over 1e-3 time.
    no_approach: SpeedBound = 1e-9
    # A contact that separates more slowly while it is pressed stays closed, because its gap would
    # stay below `gap_event`; the impulse dissipates. With 3e-7 carts repeat lift-off and touch-down
    # without end, with 3e-5 they make no progress.
    separation: SpeedBound = 3e-6

    # --- slip velocities

    # Initial slip of a contact that begins to slide, along the acceleration of its point, because
    # the direction of friction is undefined at rest. It is a hundred times the default rtol, and
    # proportional to rtol (`scale_slip_onset`), so that the jump of speeds, and the energy of its
    # square, stay below the integration error. With 1e-10 friction turns slip directions too fast
    # for steps of ordinary length.
    slip_onset: SpeedBound = 1e-8
    # A tangential velocity above this bound at an event is slip; below it Coulomb's law decides
    # whether the contact rolls or begins to slip. Larger than `slip_end`, or a contact that sticks
    # would still slip.
    slip_detected: SpeedBound = 5e-6
    # A sliding contact sticks when its slip falls below this speed; the impulse dissipates. A
    # contact that begins to slip is slower at first, and the guard is inactive until it has been
    # faster.
    slip_end: SpeedBound = 1e-6
    # The guard on the end of a slip depends on the squared slip speed. It fires below the negative
    # of this value, which must be smaller than the square of `slip_end`.
    slip_guard: Annotated[float, Dimension(length=2, time=-2)] = 1e-14

    # --- accelerations

    # An open contact whose gap accelerates towards the ground by less separates; a slip that begins
    # to grow more slowly has no direction. It is the solver's residual, 1e-13 of forces of order
    # 1e3 over the smallest effective masses (1e-3).
    no_acceleration: AccelerationBound = 1e-7
    # Largest difference of the target accelerations of redundant constraint rows; rows that differ
    # by more contradict each other. Larger than the drift of projected states.
    contradiction: AccelerationBound = 1e-4
    # Largest gap acceleration at which a contact without force stays closed.
    no_separation: AccelerationBound = 1e-9

    # --- forces. The solver's residual is about 1e-13 of the largest force.

    # Largest pull, or excess over the friction cone, at which the force guards do not fire yet.
    force_guard: ForceBound = 1e-9
    # A normal force below this bound counts as zero. Equal to `force_guard`, so that a contact
    # whose guard fired is released.
    no_load: ForceBound = 1e-9
    # Largest pull (negative normal force) of an accepted state. Above `force_guard`.
    pull: ForceBound = 2e-9
    # Largest pull in an admissible set of closed contacts. Larger than `pull`, or an
    # accepted state could have no admissible set.
    set_pull: ForceBound = 5e-9
    # Largest pulling impulse in an admissible set of closed contacts of an impact.
    set_pull_impulse: ImpulseBound = 1e-9
    # An ideal contact that still slips takes part in an impact if its normal force is larger.
    # Larger than `set_pull`.
    pressed: ForceBound = 1e-8
    # A normal force that falls from more than this force to a pull within the time resolution
    # jumps: a sliding contact locks (Painleve paradox).
    force_jump: ForceBound = 1e-2
    # The load about which a tyre force is linearised is at least `least_load`, and changes in one
    # iteration by at most a factor plus `load_step`.
    least_load: ForceBound = 1e-5
    load_step: ForceBound = 1e-2

    # --- times

    # No step is shorter than this fraction of the present time, or of the time unit: rounding of t.
    shortest_step: TimeBound = 1e-14
    # Change of the time of an event in one iteration below which the location has converged.
    event_time: TimeBound = 1e-15
    # Step length below which a creeping contact sticks, because its friction force grows without
    # bound.
    creep_step: TimeBound = 1e-10
    # Step length below which a remaining penetration is an error.
    penetration_step: TimeBound = 1e-8
    # At an event the motion is extrapolated over this time, to find the feature onto which a wheel
    # moves. Gaps change by less than `same_point` at ordinary speeds.
    lookahead: TimeBound = 1e-7
    # Length of the first step of a trajectory arc; the error estimate corrects it.
    first_step: TimeBound = 1e-3


DIMENSIONS: dict[str, Dimension] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Tolerances, include_extras=True).items()
}
"""Dimension of each tolerance, by the name of its field."""

MACHINE_TOLERANCES: dict[str, float] = Tolerances().values()
"""The tolerances in machine units, by name: the defaults of the fields."""


def compute_machine_units(model: Model) -> MachineUnits:
    """Return the units of mass (kg), length (m) and time (s) of a system.

    The length is the largest of the distances between centres of mass and wheel centres, the wheel radii and
    the radii of gyration. The time of a system without gravity is one second.
    """
    mass = float(sum(body.mass for body in model.bodies)) or 1.0
    points = [np.asarray(body.com, float) for body in model.bodies]
    points += [np.asarray(contact.centre, float) for contact in model.contacts]
    sizes = [sqrt(float(d @ d)) for d in (a - b for a, b in combinations(points, 2))]
    sizes += [float(contact.surface.reach) for contact in model.contacts]
    sizes += [sqrt(float(np.trace(b.inertia)) / float(b.mass)) for b in model.bodies if b.mass]
    length = max(sizes, default=0.0) or 1.0
    gravity = float(np.linalg.norm(np.asarray(model.gravity, float)))
    return MachineUnits(mass, length, pi * sqrt(length / gravity) if gravity else 1.0)


def cached_machine_units(machine: Generic) -> MachineUnits:
    """Return the units of mass, length and time of a system, computed once and then cached."""
    shared: dict[Any, Any] = machine.shared
    if MachineUnits not in shared:
        shared[MachineUnits] = compute_machine_units(machine.system.model)
    units: MachineUnits = shared[MachineUnits]
    return units


def scale_tolerances(units: MachineUnits) -> Tolerances:
    """Return all tolerances in SI units, for given units of mass, length and time."""
    values = {dimension: units.value(dimension) for dimension in set(DIMENSIONS.values())}
    return Tolerances(**{n: values[DIMENSIONS[n]] * x for n, x in MACHINE_TOLERANCES.items()})


def scale_slip_onset(tol: Tolerances, units: MachineUnits, rtol: float) -> None:
    """Scale `Tolerances.slip_onset`, the initial slip of contacts that begin to slide, with the integration
    tolerance `rtol`, between a tenth of its default and `slip_end`.
    """
    factor = min(max(rtol / 1e-10, 0.1), 100.0)
    tol.slip_onset = factor * (
        units.value(DIMENSIONS["slip_onset"]) * MACHINE_TOLERANCES["slip_onset"]
    )


def scale_states(model: Model, units: MachineUnits, states: int) -> Floats:
    """Return the machine unit of each entry of a state (q, p, r, v, z), in SI units. The `states` entries of
    z have unknown units, which are set to one.
    """
    by_name = {"m": Dimension(length=1), "m/s": Dimension(length=1, time=-1)}
    by_name |= {"rad": Dimension(), "rad/s": Dimension(time=-1)}
    names = ["rad"] * 4 + ["m"] * 3
    names += [joint.unit for joint in model.joints]
    names += label_units(model, "speeds").values()
    return np.array([units.value(by_name[name]) for name in names] + [1.0] * states)
