"""The tolerances of event-driven runs: one record, dimensionless, scaled by the machine.

Problem: a bound in newtons or metres decides differently for the same machine in other units, or for a
machine of another size. Method: every bound is a pure number (the default of its field) times a unit
that is made of the machine's own mass, length and time. The machine's time is that of half a swing of a
pendulum of its length, pi sqrt(length / g): for 1 m on Earth it is 1.003 s, so that lengths, times and
speeds of a machine of ordinary size are nearly those in SI units.

A routine reads the scaled values from `Dynamics.tol`.
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
    """Powers of mass, length and time in a unit."""

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
    """Units of mass (kg), length (m) and time (s) that belong to a machine."""

    mass: float
    length: float
    time: float

    def value(self, dimension: Dimension) -> float:
        """Return a unit in SI units."""
        mass, length, time = dimension
        return self.mass**mass * self.length**length * self.time**time


class Tolerances(Record):
    """Bounds that decide in a run; the defaults are in machine units, `scale_tolerances` makes them SI.

    A unit of force is mass * length / time^2, about a tenth of the weight.
    """

    # --- gaps. Gaps of wheels on features are exact to about 1e-16 of the coordinates; projection and the
    # location of events leave some 1e-13.

    # A guard on a gap may be negative by so much: rounding of the dense output. Below `gap_event`.
    gap_guard: LengthBound = 1e-12
    # Contacts that close together belong to one event: the bound is `gap_event` plus what the approach
    # does within `event_resolution`. Above `gap_guard`, below `gap_penetration`.
    gap_event: LengthBound = 1e-10
    event_resolution: TimeBound = 1e-10
    # No accepted state penetrates deeper; otherwise an event was missed and the step is repeated.
    # Above `gap_event`, or contacts that touch would count as missed.
    gap_penetration: LengthBound = 5e-10
    # A gap at the start of an arc up to this belongs to a contact that has just opened: if it closes, it
    # does so at once. Above `gap_penetration`.
    gap_opened: LengthBound = 1e-9
    # A gap that falls, rises again and stays below this is reported as grazing: a change of the start
    # by the integration tolerance (1e-10) would have been an impact, or none.
    gap_grazing: LengthBound = 1e-9
    # A start may be so deep in the ground and is lifted; deeper starts are refused. Above the
    # 1e-9 that solving for an initial state leaves.
    gap_start: LengthBound = 1e-8
    # Contacts with larger gaps (or deeper ones) are not evaluated at an event, and features are searched
    # so much further than a wheel reaches. Above `gap_event` for approaches up to 1e4 length / time.
    gap_search: LengthBound = 1e-6
    # Two contacts of one wheel closer than this, with normals that agree as well, are one: a face and
    # its edge, coplanar faces. Above the rounding of contact points, below `gap_search`.
    same_point: LengthBound = 1e-8
    same_normal: RatioBound = 1e-8
    # A feature lies in another one (an edge in a face's plane) if it is as close and as parallel;
    # terrains are exact to rounding.
    same_feature: LengthBound = 1e-9
    parallel: RatioBound = 1e-9
    # Shortest step along an edge while its distance from a wheel is bounded; a shorter one counts as
    # near. Only a matter of cost.
    edge_trace: LengthBound = 1e-4

    # --- borders of features: distance from the border over the length of the machine, or a component
    # of the normal.

    # A contact may lie so far beyond a border of the feature that it touches. Hysteresis: after a wheel
    # left a feature, it must be as far inside again; otherwise the same edge event repeats. Larger than
    # the motion within `lookahead` at the speeds of interest.
    border: RatioBound = 1e-7
    # A guard on a border may be negative by so much. Below `border`.
    border_guard: RatioBound = 1e-10
    # A penetrating contact counts as missed only if it is so far inside its borders: near a border the
    # neighbouring feature decides. Above `border`.
    border_inside: RatioBound = 1e-6
    # A guard on the lean or on a turned-over base may be negative by so much.
    fall_guard: RatioBound = 1e-12

    # --- normal velocities

    # Slower approach is none: no impact. It is the resolution of gap rates, 1e-12 length over 1e-3 time.
    no_approach: SpeedBound = 1e-9
    # A contact that separates more slowly while it is pressed stays closed, because its gap would
    # stay below `gap_event`; the impulse dissipates. With 3e-7 carts repeat lift-off and touch-down
    # without end, with 3e-5 they make no progress.
    separation: SpeedBound = 3e-6

    # --- slip velocities

    # A contact that begins to slide gets this slip, because the direction of friction is undefined at
    # rest: along the acceleration of its point. It is a hundred times the default rtol, and follows rtol
    # (`follow_accuracy`), so that the jump of speeds, and the energy of its square, stay below the
    # error of integration. With 1e-10 friction turns slips too fast for steps of ordinary length.
    slip_onset: SpeedBound = 1e-8
    # A faster tangential velocity at an event is slip; for slower ones the law of friction decides whether
    # the contact rolls or begins to slip. Above `slip_end`, or a contact that sticks would still slip.
    slip_detected: SpeedBound = 5e-6
    # A sliding contact that becomes slower sticks; the impulse dissipates. A contact that begins to slip is
    # slower at first, and its guard waits until it has been faster.
    slip_end: SpeedBound = 1e-6
    # The guard on the end of slip, on the square of the slip, may be negative by so much; below
    # slip_end^2.
    slip_guard: Annotated[float, Dimension(length=2, time=-2)] = 1e-14

    # --- accelerations

    # An open contact whose gap accelerates towards the ground by no more separates; a slip that begins
    # to grow more slowly has no direction. It is the solver's residual, 1e-13 of some 1e3 of forces over
    # the smallest effective masses (1e-3).
    no_acceleration: AccelerationBound = 1e-7
    # Redundant rows that demand accelerations which differ by more contradict each other. Above what
    # the drift of projected states leaves.
    contradiction: AccelerationBound = 1e-4
    # A contact without force stays closed if its gap accelerates by no more.
    no_separation: AccelerationBound = 1e-9

    # --- forces. The solver's residual is about 1e-13 of the largest force.

    # A guard on a normal force or on the friction cone may be negative by so much.
    force_guard: ForceBound = 1e-9
    # A smaller normal force carries nothing. Equal to `force_guard`, so that a contact whose guard fired
    # is released.
    no_load: ForceBound = 1e-9
    # A state with a larger pull is not accepted. Above `force_guard`.
    pull: ForceBound = 2e-9
    # A set of closed contacts with a larger pull is not admissible. Above `pull`, or an accepted
    # state could have no admissible set.
    set_pull: ForceBound = 5e-9
    # The same for impulses.
    set_pull_impulse: ImpulseBound = 1e-9
    # An ideal contact that still slips takes part in an impact if it is pressed by more. Above
    # `set_pull`.
    pressed: ForceBound = 1e-8
    # A normal force that falls from more than this to a pull within the resolution of time jumps: a
    # sliding contact locks (Painleve paradox).
    force_jump: ForceBound = 1e-2
    # The load about which a tyre is linearised is at least `least_load`, and changes by a factor
    # plus `load_step` in one iteration.
    least_load: ForceBound = 1e-5
    load_step: ForceBound = 1e-2

    # --- times

    # No step is shorter than this part of the time reached, or of the unit: rounding of t.
    shortest_step: TimeBound = 1e-14
    # The instant of an event is refined until it changes by less.
    event_time: TimeBound = 1e-15
    # Friction on a contact that creeps in shorter steps grows without bound: the contact sticks.
    creep_step: TimeBound = 1e-10
    # A penetration that remains in steps as short is an error.
    penetration_step: TimeBound = 1e-8
    # At an event the motion is extrapolated by so much, to find the feature onto which a wheel moves.
    # Gaps change by less than `same_point` at ordinary speeds.
    lookahead: TimeBound = 1e-7
    # First step of an arc; the error estimate corrects it.
    first_step: TimeBound = 1e-3


DIMENSIONS: dict[str, Dimension] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Tolerances, include_extras=True).items()
}
"""The dimension of each tolerance."""


def machine_units(model: Model) -> MachineUnits:
    """Return mass, length and time of a machine.

    The length is the largest distance between centres of mass and centres of wheels, the largest wheel
    or the largest radius of gyration. Nothing in a machine without gravity sets a time: one second.
    """
    mass = float(sum(body.mass for body in model.bodies)) or 1.0
    points = [np.asarray(body.com, float) for body in model.bodies]
    points += [np.asarray(contact.centre, float) for contact in model.contacts]
    sizes = [float(np.linalg.norm(a - b)) for a, b in combinations(points, 2)]
    sizes += [float(contact.surface.reach) for contact in model.contacts]
    sizes += [sqrt(float(np.trace(b.inertia)) / float(b.mass)) for b in model.bodies if b.mass]
    length = max(sizes, default=0.0) or 1.0
    gravity = float(np.linalg.norm(np.asarray(model.gravity, float)))
    return MachineUnits(mass, length, pi * sqrt(length / gravity) if gravity else 1.0)


def units_of(machine: Generic) -> MachineUnits:
    """Return the units of a machine, which are computed once."""
    shared: dict[Any, Any] = machine.shared
    if MachineUnits not in shared:
        shared[MachineUnits] = machine_units(machine.system.model)
    units: MachineUnits = shared[MachineUnits]
    return units


def scale_tolerances(units: MachineUnits) -> Tolerances:
    """Return the tolerances of a machine in SI units."""
    numbers = Tolerances()
    return Tolerances(
        **{n: units.value(dimension) * getattr(numbers, n) for n, dimension in DIMENSIONS.items()}
    )


def follow_accuracy(tol: Tolerances, units: MachineUnits, rtol: float) -> None:
    """Let the slip with which contacts begin to slide follow the tolerance of integration, within limits: a
    tenth for smaller ones, and up to `slip_end` for larger ones.
    """
    factor = min(max(rtol / 1e-10, 0.1), 100.0)
    tol.slip_onset = factor * scale_tolerances(units).slip_onset


def scale_states(model: Model, units: MachineUnits, states: int) -> Floats:
    """Return the unit of each entry of a state (q, p, r, v, z). Those of the `states` entries of z are not
    known; they are one.
    """
    by_name = {"m": Dimension(length=1), "m/s": Dimension(length=1, time=-1)}
    by_name |= {"rad": Dimension(), "rad/s": Dimension(time=-1)}
    names = ["rad"] * 4 + ["m"] * 3
    names += [joint.unit for joint in model.joints]
    names += label_units(model, "speeds").values()
    return np.array([units.value(by_name[name]) for name in names] + [1.0] * states)
