"""Assessment of the physical validity of a run from its arcs.

Ideal contacts pull if the motion requires it, and numerical solutions drift. This module finds the times at
which normal forces become negative, friction exceeds its limit, the vehicle falls, or the drift of energy or
constraints exceeds its bound.
"""

import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import SimulationError, ValidityError, ValidityWarning
from draisine.mechanics.energy import rest_speeds
from draisine.model import Model, Wheel
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.simulation.validity.fall import fall_rule, has_fallen
from draisine.simulation.validity.margins import MAX_UNDERSHOOT, crossing_time
from draisine.simulation.validity.observed import ObservedArc
from draisine.simulation.validity.record import (
    MAX_CONSTRAINT_DRIFT,
    MAX_ENERGY_DRIFT,
    MAX_ROAD_FRICTION,
    TimeStepped,
    Validity,
)

if TYPE_CHECKING:
    from draisine.simulation.trajectory import Arc, Trajectory

FORCE_RESOLUTION = 1e-9
"""Contact force, over the largest contact force of the run, below which it is a rounding error."""

CONE_RESOLUTION = 1e-6
"""Excess of a friction force over its limit, as a fraction of the largest contact force, that is ignored.

It may be a rounding error.
"""

NEGLIGIBLE_LOAD_RATIO = 0.01
"""Load of a wheel, relative to its largest load, below which its friction demand is ignored.

The ratio of tangential to normal force grows without bound as a wheel lifts off.
"""

EQUAL_CURVATURES = 0.01
"""Relative difference of the curvatures of wheel and smooth ground, eq. [patch-fold], that causes a note.

Below this difference the contact is ill-conditioned: the contact point moves a hundred times as fast as the
wheel, and depends on small errors of the ground.
"""

MAX_STEER_ANGLE = math.pi / 2
"""Largest steer angle (rad) that a handlebar can reach."""


def assess_validity(run: "Trajectory") -> Validity:
    """Assess a run; return the record of faults, with the times at which they begin, and of notes."""
    options = run.contact if run.contact is not None else CONTACT
    model = run.arcs[0].machine.system.model
    intervals = _observe(run)
    loads = [one for s in intervals if (one := s.without_instants) is not None]
    if not loads and len(run.arcs) == 1:
        loads = intervals
    if run.settings.get("dynamics") == "none":  # prescribed speeds: forces are meaningless
        loads = []
    largest = largest_force(loads)
    pull, wheel = _first_pull(loads, model, largest)
    needed, demand_from = _friction_demand(loads, model, options)
    energy, energy_from = _energy_drift(run, intervals, model)
    drift, drift_from = _constraint_drift(run, intervals, model)
    start_load, start_load_contact = _start_load(intervals[0], model)
    turned = list(_steer_angles(intervals, model))
    stop_from, stop_joint = _passed_stop(run, intervals, model)
    return Validity(
        pull_from=pull,
        pull_contact=wheel,
        friction_needed=needed,
        friction_exceeded_from=_friction_exceeded(loads, model, options, largest),
        friction_demand_from=demand_from,
        fall_from=_fall(run, model, options),
        steer_beyond=_earliest(
            one.find_first_negative(MAX_STEER_ANGLE - angle) for one, angle in turned
        ),
        steer_turns=max((float(np.nanmax(x, initial=0.0)) for _, x in turned), default=0.0)
        / (2.0 * math.pi),
        stop_from=stop_from,
        stop_joint=stop_joint,
        energy_drift=energy,
        energy_drift_from=energy_from,
        constraint_drift=drift,
        constraint_drift_from=drift_from,
        projected=run.settings.get("drift", "project") == "project",
        redundant_rows=tuple(dict.fromkeys(x for one in intervals for x in one.redundant_rows)),
        grazes=tuple(_grazes(run)),
        equal_curvatures=tuple(_equal_curvatures(intervals, model)),
        start_energy=_start_energy(run, model),
        unsupported=_is_unsupported(run, intervals, model),
        unphysical=tuple(_odd_parts(model)),
        not_finite_from=_not_finite(run),
        start_load=start_load,
        start_load_contact=start_load_contact,
        time_stepped=tuple(_time_stepped(run)),
    )


def require_valid(run: "Trajectory") -> None:
    """Raise ValidityError if a run is physically invalid; its `partial` is the valid part of the run."""
    breaks = run.validity.breaks
    if breaks:
        what, t = next(iter(breaks.items()))
        raise ValidityError(
            f"at {t:.6g} s {what}; the part before is in the error's `partial`.",
            cut_trajectory(run, t, "stopped where it would break"),
        )


def may_end_early(run: "Trajectory") -> bool:
    """Return whether the vehicle of a run falls, or may turn a joint called steer beyond its limit.

    Only states are examined, not forces. This is faster than the complete assessment.
    """
    model = run.arcs[0].machine.system.model
    options = run.contact if run.contact is not None else CONTACT
    if _fall(run, model, options) is not None:
        return True
    for k, joint in enumerate(model.joints):
        if joint.name == "steer":
            index = run.arcs[0].machine.layout.r.start + k
            parts = [x for arc in run.arcs for x in _states(arc)]
            margin = MAX_STEER_ANGLE - np.abs(np.concatenate([y[:, index] for y in parts]))
            least = margin.min()
            if not least > MAX_UNDERSHOOT * (margin.max() - least):
                return True
    return False


def _states(arc: "Arc") -> list[Floats]:
    """Return the samples of an arc and the nodes of its dense output, (times, n) each."""
    return [arc.y] if arc.dense is None else [arc.y, arc.dense.flat[1]]


def warn_invalid(run: "Trajectory", expected: Collection[str] = (), stacklevel: int = 3) -> None:
    """Issue one warning about all faults of a run, except the faults with names in `expected`."""
    text = run.validity.unexpected(expected)
    if text:
        vehicle = run.arcs[0].machine.system.vehicle.__name__
        warnings.warn(
            f"this run of {vehicle} is not physically valid: {text}."
            if run.validity.unexpected_faults(expected)
            else f"this run of {vehicle}: {text}.",
            ValidityWarning,
            stacklevel=stacklevel,
        )


def check_finite(run: "Trajectory") -> None:
    """Raise SimulationError if a state of a run is not finite; its `partial` contains the part before."""
    t = _not_finite(run)
    if t is not None:
        reason = "a value is no longer a number"
        raise SimulationError(
            f"the run stopped at {t:.6g} s: {reason}. Smaller steps may help. The part before is in the "
            "error's `partial`.",
            cut_trajectory(run, math.nextafter(t, -math.inf), reason),
        )


def cut_trajectory(run: "Trajectory", t: float, outcome: str) -> "Trajectory":
    """Return the part of a trajectory before time t (s), with at least its first sample."""
    arcs: list[Arc] = []
    for arc in run.arcs:
        count = int(np.searchsorted(arc.t, t, side="right"))
        if count == 0 and arcs:
            break
        arcs.append(arc.cut(max(count, 1), t))
    events = tuple(event for event in run.events if event.t <= t)[: len(arcs) - 1]
    between = (arc.cut(0, t) for arc in run.unsampled)
    unsampled = tuple(arc for arc in between if arc.dense is not None)
    return replace(run, arcs=tuple(arcs), events=events, outcome=outcome, unsampled=unsampled)


def _observe(run: "Trajectory") -> list[ObservedArc]:
    """Return the observed arcs of a run in order of time."""
    arcs = sorted((*run.arcs, *run.unsampled), key=_begin)
    groups = groupby(arcs, key=lambda arc: arc.__class__)
    return [one for kind, group in groups for one in kind.examine(list(group))]


def _begin(arc: "Arc") -> float:
    """Return the start time (s) of an arc."""
    return float(arc.t[0] if len(arc.t) else arc.dense.t[0, 0])  # type: ignore[union-attr]


def _earliest(times: Iterable[float | None]) -> float | None:
    """Return the smallest of several times (s), ignoring None; None if all are None."""
    return min((t for t in times if t is not None), default=None)


# --- forces of the ground


def _wheels(model: Model) -> list[tuple[int, Wheel]]:
    """Return the wheels with a normal force (`Wheel.lifts`), each with the index of its contact."""
    wheels = ((k, c) for k, c in enumerate(model.contacts) if isinstance(c, Wheel))
    return [(k, wheel) for k, wheel in wheels if wheel.lifts]


def largest_force(intervals: Sequence[ObservedArc]) -> float:
    """Return the largest absolute component (N) of a contact force."""
    return max(
        (float(np.nanmax(np.abs(s.seen["forces"]), initial=0.0)) for s in intervals), default=0.0
    )


def _first_pull(
    intervals: Sequence[ObservedArc], model: Model, largest: float
) -> tuple[float | None, str | None]:
    """Return the first time (s) at which a normal force becomes negative, and the name of the wheel.

    `largest` is the largest contact force of the run (N).
    """
    resolution = FORCE_RESOLUTION * largest
    wheels = _wheels(model)
    pulls = []
    for s in intervals:
        loads = s.pushes([k for k, _ in wheels])[0] + resolution
        for i in s.doubtful(loads):
            t = s.find_first_negative(loads[i])
            if t is not None:
                pulls.append((t, i, wheels[i][1].name))
    return min(pulls)[::2] if pulls else (None, None)


def friction_ratio(push: Floats, light: Any) -> Floats:
    """Return the largest ratio of tangential to normal force over time, while the load exceeds `light` (N).

    `push` contains the forces (3, ..., time), N: normal, along, across.
    """
    return np.asarray(_ratios(push, light).max(axis=-1, initial=0.0))


def _ratios(push: Floats, light: Any) -> Floats:
    """Return the ratio of tangential to normal force, from forces (3, ...), N; 0 for loads up to `light`."""
    sizes = np.hypot(push[1], push[2])
    loaded = push[0] > np.maximum(light, 0.0)
    return np.divide(sizes, push[0], out=np.zeros(sizes.shape), where=loaded)


def _friction_demand(
    intervals: Sequence[ObservedArc], model: Model, options: ContactOptions
) -> tuple[float, float | None]:
    """Return the largest ratio of tangential to normal force, and the time (s) of the first high demand.

    A demand is high if a wheel without a given friction coefficient needs more friction than roads provide
    (`MAX_ROAD_FRICTION`). The time is None if there is no high demand.
    """
    wheels = _wheels(model)
    pushes = [s.pushes([k for k, _ in wheels]) for s in intervals]
    loads = [np.nanmax(push[0], axis=1, initial=0.0) for push in pushes]
    light = NEGLIGIBLE_LOAD_RATIO * np.max(loads, axis=0, initial=0.0)[:, None] if loads else 0.0
    needed = 0.0
    times = []
    for s, push in zip(intervals, pushes, strict=True):
        ratios = _ratios(push, light)
        needed = max(needed, float(ratios.max(initial=0.0)))
        for i in np.flatnonzero((ratios > MAX_ROAD_FRICTION).any(axis=1)).tolist():
            above = (ratios[i] > MAX_ROAD_FRICTION) & np.isinf(_mu(options, wheels[i][1], s))
            times += s.t.ravel()[above][:1].tolist()
    return needed, min(times, default=None)


def _mu(options: ContactOptions, wheel: Wheel, interval: ObservedArc) -> Floats | float:
    """Return the friction coefficient of a wheel: one value, or one per time if `mu` is a mapping."""
    if not isinstance(options.mu, Mapping):
        return options.friction(wheel, "")
    mu_of_arcs = []
    for arc in interval.arcs:
        features = arc.touched_features(wheel.name) or [""]
        mu_of_arcs.append(max(options.friction(wheel, feature) for feature in features))
    nodes = interval.t.size // len(interval.arc_of_step)
    return np.array(mu_of_arcs)[interval.arc_of_step].repeat(nodes)


def _friction_exceeded(
    intervals: Sequence[ObservedArc], model: Model, options: ContactOptions, largest: float
) -> float | None:
    """Return the first time (s) at which a wheel needs more friction than its mu; None if it never does.

    `largest` is the largest contact force of the run (N).
    """
    wheels = _wheels(model)
    if not wheels:  # a machine in the plane: its wheels have no normal forces
        return None
    resolution = CONE_RESOLUTION * largest
    times = []
    for s in intervals:
        mu = np.array([_mu(options, wheel, s) for _, wheel in wheels])
        if not np.isfinite(mu).any():
            continue
        mu = mu.reshape(len(wheels), -1)  # one value per wheel, or per wheel and time
        push = s.pushes([k for k, _ in wheels])
        with np.errstate(invalid="ignore"):
            margins = mu * push[0] - np.hypot(push[1], push[2]) + resolution
        margins = np.where(np.isinf(mu), resolution, margins)
        times += [s.find_first_negative(margins[i]) for i in s.doubtful(margins)]
    return _earliest(times)


# --- falls and steer angles


def _fall(run: "Trajectory", model: Model, options: ContactOptions) -> float | None:
    """Return the time (s) of the fall that ends a run; None if there is no fall.

    Methods with equal steps stop at the end of the step with the fall. The time of the fall is then
    interpolated.
    """
    if not has_fallen(run.outcome) and "fell flat" not in run.outcome:
        return None
    rule = fall_rule(model, options.fall)
    arc = run.arcs[-1]
    crossing = None
    if arc.dense is None and rule.watches and not arc.stores_forces:
        crossing = crossing_time(arc.t, rule.margin(arc.pose()[0]))
    return float(run.t[-1]) if crossing is None else crossing


def _steer_angles(
    intervals: Sequence[ObservedArc], model: Model
) -> Iterator[tuple[ObservedArc, Floats]]:
    """Yield the absolute angle (rad) of each joint called steer, over time."""
    for k, joint in enumerate(model.joints):
        if joint.name == "steer":
            for interval in intervals:
                index = interval.arc.machine.layout.r.start + k
                yield interval, np.abs(interval.y[:, index])


def _passed_stop(
    run: "Trajectory", intervals: Sequence[ObservedArc], model: Model
) -> tuple[float | None, str | None]:
    """Return the first time (s) at which a joint passes a stop, and the name of the joint.

    On a terrain stops are unilateral contacts, which no joint passes.
    """
    passed = []
    for k, joint in enumerate(model.joints):
        if run.is_unilateral or joint.stops is None or joint.motion is not None:
            continue
        lower, upper = joint.stops
        for interval in intervals:
            r = interval.y[:, interval.arc.machine.layout.r.start + k]
            margins = np.stack([r - lower, upper - r])
            for i in interval.doubtful(margins):
                t = interval.find_first_negative(margins[i])
                if t is not None:
                    passed.append((t, joint.name))
    return min(passed, default=(None, None))


# --- drift of energy and constraints


def _energy_drift(
    run: "Trajectory", intervals: Sequence[ObservedArc], model: Model
) -> tuple[float | None, float | None]:
    """Return the largest relative energy drift between events, and the first time (s) beyond its bound.

    The time is None if the drift stays within `MAX_ENERGY_DRIFT`. Both are None for a system with drives or
    dissipation.
    """
    led = run.settings.get("dynamics") == "none"
    if led or not conserves_energy(model) or any("kinetic" not in s.seen for s in intervals):
        return None, None
    if any(s.arc.machine.states or np.any(s.seen["inputs"]) for s in intervals):
        return None, None
    worst, since = 0.0, None
    for part in _between_events(run, intervals):
        t = np.concatenate([s.t.ravel() for s in part])
        T, U = (np.concatenate([s.seen[k][0] for s in part]) for k in ("kinetic", "potential"))
        drift = energy_drift(T, U)
        worst = max(worst, float(np.nanmax(drift, initial=0.0)))
        beyond = t[drift > MAX_ENERGY_DRIFT][:1].tolist()
        since = _earliest([since, *beyond])
    return worst, since


def conserves_energy(model: Model) -> bool:
    """Return whether a system without inputs conserves energy: no dissipation, no prescribed joints."""
    driven = any(joint.motion is not None or joint.damper for joint in model.joints)
    dragged = any(body.drag is not None for body in model.bodies)
    return not (driven or dragged or model.elements or model.ground is not None)


def energy_drift(kinetic: Floats, potential: Floats) -> Floats:
    """Return the relative change of the energy since the start, (..., time), from both energies (J).

    The reference is the largest kinetic energy plus the largest change of the potential energy.
    """
    change = potential - potential[..., :1]
    largest = partial(np.nanmax, axis=-1, initial=0.0)
    scale = largest(np.abs(kinetic)) + largest(np.abs(change))
    scale = np.where(scale > 0.0, scale, 1.0)[..., None]
    return np.asarray(np.abs(kinetic - kinetic[..., :1] + change) / scale)


def _between_events(run: "Trajectory", intervals: Sequence[ObservedArc]) -> list[list[ObservedArc]]:
    """Return the observed arcs in groups without an event in between."""
    if not run.events:
        return [list(intervals)]
    numbers = np.searchsorted(
        [event.t for event in run.events], [s.start for s in intervals], "right"
    )
    return [
        [s for s, k in zip(intervals, numbers, strict=True) if k == n] for n in np.unique(numbers)
    ]


def _constraint_drift(
    run: "Trajectory", intervals: Sequence[ObservedArc], model: Model
) -> tuple[float, float | None]:
    """Return the largest violation of a configuration constraint, and the first time (s) beyond the bound.

    Without drift correction, contacts constrain velocities only and keep their initial gaps; these are
    subtracted.
    """
    bound, keeps = MAX_CONSTRAINT_DRIFT * length_scale(model), run.settings.get("drift") == "none"
    worst, since = 0.0, None
    for part in _between_events(run, intervals):
        begin: Floats | None = None
        for s in part:
            values = s.seen["violations"]
            if begin is None or len(begin) != len(values):
                begin = values[:, :1] if keeps else np.zeros((len(values), 1))
            drift = np.abs(values - begin).max(axis=0, initial=0.0)
            worst = max(worst, float(np.nanmax(drift, initial=0.0)))
            since = _earliest([since, *s.settled[0][drift > bound][:1].tolist()])
    return worst, since


def length_scale(model: Model) -> float:
    """Return the size of a system (m), the diagonal of a bounding box in the zero configuration.

    The box contains the origin, all centres of mass and all contacts.
    """
    points = [(0.0, 0.0, 0.0), *(tuple(body.com) for body in model.bodies)]
    points += [tuple(contact.centre) for contact in model.contacts]
    return math.hypot(*(float(max(axis) - min(axis)) for axis in zip(*points, strict=True))) or 1.0


# --- further findings


def _grazes(run: "Trajectory") -> list[str]:
    """Return times and wheels of grazing contacts, for which impact and no impact are both possible."""
    grazes = [graze for arc in run.arcs for graze in arc.grazes]
    return [f"{':'.join(key)} at {t:.9g} s" for t, key in grazes]


def _equal_curvatures(intervals: Sequence[ObservedArc], model: Model) -> Iterator[str]:
    """Yield wheel and time (s) of the first contact of each wheel with ground of almost equal curvature."""
    for k, contact in enumerate(model.contacts):
        for interval in intervals:
            convexity = interval.seen.get("convexity")
            if convexity is not None and convexity[k].min() < EQUAL_CURVATURES:
                t = interval.t.ravel()[int((convexity[k] < EQUAL_CURVATURES).argmax())]
                yield f"{contact.name} at {t:.6g} s"
                break


def _start_energy(run: "Trajectory", model: Model) -> float | None:
    """Return the initial kinetic energy (J) above the smallest possible one, eq. [rest].

    The smallest one satisfies the constraint rows and the prescribed joint rates. Return None without
    prescribed joints.
    """
    constraints = run.arcs[0].start_constraints() if any(j.motion for j in model.joints) else None
    if constraints is None:
        return None
    M, rows, v = constraints
    rest = rest_speeds(M, rows, v)
    return max(0.0, float(v @ M @ v - rest @ M @ rest) / 2.0)


def _start_load(first: ObservedArc, model: Model) -> tuple[float, str | None]:
    """Return the largest initial contact force, over the weight of the system, and the name of the contact.

    Return (0, None) without forces, and on a time-stepping arc, whose forces are mean values over steps.
    """
    weight = sum(float(body.mass) for body in model.bodies) * float(np.linalg.norm(model.gravity))
    if not weight > 0.0 or first.arc.stores_forces:
        return 0.0, None
    forces = np.linalg.norm(first.seen["forces"][:, 0].reshape(-1, 3), axis=1)
    if not np.any(forces):
        return 0.0, None
    k = int(np.argmax(forces))
    return float(forces[k]) / weight, model.contacts[k].name


def _time_stepped(run: "Trajectory") -> Iterator[TimeStepped]:
    """Yield the time-stepping intervals; successive intervals with the same reason are combined."""
    latest: TimeStepped | None = None
    for arc in run.arcs:
        record = arc.time_stepped
        if record is None:
            continue
        if latest is not None and latest.reason == record.reason and latest.end == arc.t[0]:
            latest = latest.join(record, float(arc.t[-1]))
            continue
        if latest is not None:
            yield latest
        latest = replace(record, start=float(arc.t[0]), end=float(arc.t[-1]))
    if latest is not None:
        yield latest


def _is_unsupported(run: "Trajectory", intervals: Sequence[ObservedArc], model: Model) -> bool:
    """Return whether a system with weight and a free base is in free fall during the whole run.

    It then has no contact force, no force element and no push.
    """
    pulled = [k for k in range(3) if model.gravity[k]]
    if not pulled or not set(pulled) <= set(model.twist) or model.elements:
        return False
    if any(np.any(s.seen["forces"]) for s in intervals):
        return False
    return not model.pushes or not np.any(run.observations["inputs"][len(model.joints) :])


def _odd_parts(model: Model) -> list[str]:
    """Return descriptions of the physically invalid properties of a model: negative damping, upward gravity.

    `Model` itself rejects invalid masses.
    """
    faults = [f"the damper of {j.name!r} creates energy" for j in model.joints if j.damper < 0.0]
    if model.base == "SE(3)" and float(model.gravity[2]) > 0.0:
        faults.append("gravity points up")
    return faults


def _not_finite(run: "Trajectory") -> float | None:
    """Return the first time (s) at which a state is not finite."""
    for arc in run.arcs:
        # A sum is finite only if all its terms are; this is the cheapest test.
        if math.isfinite(np.add.reduce(arc.y, axis=None)):
            continue
        finite = np.isfinite(arc.y)
        if not finite.all():
            return float(arc.t[finite.all(axis=1).argmin()])
    return None
