"""Whether a run can be believed: ideal contacts hold by pulling if they must, and nobody stops a
machine that has fallen; so each run tells from when on it could not have been.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ValidityError
from draisine.mechanics.base import has_frame
from draisine.mechanics.energy import rest_speeds
from draisine.mechanics.formulations import multiplier
from draisine.model import Model, Wheel
from draisine.model.surface import Surface
from draisine.simulation.options import CONTACT, ContactOptions

if TYPE_CHECKING:
    from draisine.simulation.trajectory import Trajectory

PULL = 1e-6
"""Normal forces below minus this many N are pulls."""

SLACK = 1e-6
"""By how much friction may pass its limit: round-off."""

MOVES = 1e-9
"""A start with less J than this is one from rest."""

HEAVY_START = 10.0
"""A contact force of the start beyond this many weights of the machine is reported: speeds that no rider
asks for are behind it, such as a yaw rate of hundreds of rad/s.
"""

STEER = math.pi / 2
"""No bar turns further, in rad."""

FALL, FLAT = math.radians(80.0), math.radians(89.9)
"""The lean at which a machine has fallen, and at which a wheel alone lies flat, in rad."""


@dataclass(frozen=True)
class Validity:
    """What a run would have needed, and from when on it is not to be believed (times in s, None:
    never).

    `pull_from`: the ground would have to pull the wheel `pull_contact`. `friction_needed`: the
    largest ratio of tangential to normal force; `friction_exceeded_from`: it passes the mu that was
    given. `fall_from`: the lean passes the limit, or the frame turns over. `steer_beyond`: a joint
    called steer is turned by over 90 degrees, `steer_turns` times round at most. `energy_drift`: of
    a run that nothing drives or brakes, relative to the kinetic energy plus the change of potential
    (None: not such a run). `constraint_drift`: the widest gap of a closed contact, in m.
    `projected`: whether gaps were closed by projection on the way. `redundant_rows`: rows of
    contacts that repeat others, whose forces are told by least norm (on a terrain, by a share in
    which all push). `grazes`: when which wheels came so near to the ground, by less than a
    nanometre, that a hit would be as true; after them the motion may be another. `start_energy`: by
    how many J the kinetic energy of the start exceeds that of a start from rest, where joints are
    prescribed (None: none is). `unsupported`: it has weight and a free base, and no contact ever
    carries it. `unphysical`: what no real machine has. `not_finite_from`: a value is no longer a
    number. `start_load`: the largest contact force of the start, in weights of the machine, and
    `start_load_contact`: where it acts.
    """

    pull_from: float | None = None
    pull_contact: str | None = None
    friction_needed: float = 0.0
    friction_exceeded_from: float | None = None
    fall_from: float | None = None
    steer_beyond: float | None = None
    steer_turns: float = 0.0
    energy_drift: float | None = None
    constraint_drift: float = 0.0
    projected: bool = False
    redundant_rows: tuple[str, ...] = ()
    grazes: tuple[str, ...] = ()
    start_energy: float | None = None
    unsupported: bool = False
    unphysical: tuple[str, ...] = ()
    not_finite_from: float | None = None
    start_load: float = 0.0
    start_load_contact: str | None = None

    @property
    def breaks(self) -> dict[str, float]:
        """What could not have been, in words, by when; the first first. Strict runs stop there."""
        return _by_time(
            {
                f"the ground would have to pull {self.pull_contact!r}": self.pull_from,
                "friction passes what there is": self.friction_exceeded_from,
                "it has fallen": self.fall_from,
                "a value is no longer a number": self.not_finite_from,
            }
        )

    @property
    def faults(self) -> dict[str, float]:
        """All that speaks against the run, in words, by when; the first first."""
        return _by_time(self.breaks | {"the steer is turned too far": self.steer_beyond})

    @property
    def sound(self) -> bool:
        """Whether the run could have been, by a machine that could be."""
        return not self.faults and not self.unphysical

    def __str__(self) -> str:
        parts = [f"from {t:.4g} s {what}" for what, t in self.faults.items()]
        parts += [f"{body}" for body in self.unphysical]
        notes = "; ".join(["", *self._notes()])
        if not parts:
            need = f"friction needed {self.friction_needed:.3g}"
            valid = f"valid: all contacts push, {need}" if self.friction_needed else "valid"
            return valid + notes
        return "not to be believed: " + "; ".join(parts) + notes

    def _notes(self) -> list[str]:
        """Return what one should know of a run that may well be believed."""
        notes = []
        if self.redundant_rows:
            notes.append(f"forces shared with {', '.join(self.redundant_rows)}")
        if self.grazes:
            notes.append(f"grazed {', '.join(self.grazes)}: a hit would be as true")
        if (self.start_energy or 0.0) > MOVES:
            notes.append(
                f"it starts in motion, with {self.start_energy:.3g} J beyond what its prescribed joints need"
            )
        if self.start_load > HEAVY_START:
            notes.append(
                f"at the start {self.start_load_contact!r} is loaded with {self.start_load:.3g} weights of "
                "the machine: check the initial speeds"
            )
        if self.unsupported:
            notes.append("nothing carries it: it falls all the time")
        return notes

    def dumps(self) -> str:
        """Return the record as JSON; numbers that are none are null."""
        plain = {k: _plain(v) for k, v in asdict(self).items()}
        return json.dumps(plain)

    @classmethod
    def loads(cls, text: str) -> "Validity":
        """Return a record from JSON.

        >>> Validity.loads(Validity(fall_from=1.5, redundant_rows=("a",)).dumps()).fall_from
        1.5
        """
        known: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(text).items()
        }
        if known.get("friction_needed") is None:
            known["friction_needed"] = math.inf
        return cls(**{f.name: known[f.name] for f in fields(cls) if f.name in known})


def _by_time(found: Mapping[str, float | None]) -> dict[str, float]:
    known = {what: t for what, t in found.items() if t is not None}
    return dict(sorted(known.items(), key=lambda pair: pair[1]))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def assess(run: "Trajectory") -> Validity:
    """Return what a run would have needed."""
    contact = run.contact if run.contact is not None else CONTACT
    t, model = run.t, run.arcs[0].machine.system.model
    forces = _wheel_forces(run, model)
    pull = {name: _crossing(t, push[0] + PULL) for name, push in forces.items()}
    first = min(
        (n for n in pull if pull[n] is not None), key=lambda n: pull[n] or 0.0, default=None
    )
    turned = _steer(run, model)
    grazes = [one for arc in run.arcs for one in getattr(arc, "grazes", ())]
    start_load, loaded = _start_load(run, model)
    return Validity(
        pull_from=None if first is None else pull[first],
        pull_contact=first,
        friction_needed=max((float(friction_ratio(push)) for push in forces.values()), default=0.0),
        friction_exceeded_from=_earliest(
            _crossing(t, _margin(forces[wheel.name], contact, wheel))
            for wheel in model.wheels
            if wheel.name in forces
        ),
        fall_from=_fall(run, model, fall_limit(model, contact.fall)),
        steer_beyond=_crossing(t, STEER - turned),
        steer_turns=float(np.nanmax(turned, initial=0.0)) / (2.0 * math.pi),
        energy_drift=_energy_drift(run, model),
        constraint_drift=_constraint_drift(run),
        projected=run.settings.get("drift", "project") == "project",
        redundant_rows=tuple(dict.fromkeys(x for arc in run.arcs for x in arc.redundant_rows())),
        grazes=tuple(f"{':'.join(key)} at {t:.9g} s" for t, key in grazes),
        start_energy=_start_energy(run, model),
        unsupported=_is_unsupported(run, model),
        unphysical=tuple(_odd_parts(model)),
        not_finite_from=_not_finite(run),
        start_load=start_load,
        start_load_contact=loaded,
    )


def demand(run: "Trajectory") -> None:
    """Raise `ValidityError` where a run could not have been, with the part before in `partial`."""
    breaks = run.validity.breaks
    if breaks:
        what, t = next(iter(breaks.items()))
        raise ValidityError(
            f"at {t:.6g} s {what}; the part before is in the error's `partial`.",
            part_until(run, t, "stopped where it would break"),
        )


def until_fall(run: "Trajectory") -> "Trajectory":
    """Return a run as far as its machine stands: up to the first sample beyond its fall, as a run on a
    terrain ends; all of it where it does not fall.
    """
    fall = run.validity.fall_from
    if fall is None or run.outcome.startswith("fell"):
        return run
    beyond = float(run.t[np.searchsorted(run.t, fall)])
    part = part_until(run, beyond, "")
    asked = CONTACT.fall if run.contact is None else run.contact.fall
    limit = fall_limit(run.arcs[0].machine.system.model, asked)
    q = part.arcs[-1].pose()[0][:, -1]
    leans = abs(2.0 * (q[2] * q[3] + q[0] * q[1])) >= math.sin(limit)
    return replace(part, outcome=fall_words(limit if leans else None))


def fall_words(limit: float | None) -> str:
    """Return how a run ends by a lean beyond a limit, or without one, by a frame that turns over.

    >>> fall_words(math.radians(80.0))
    'fell: lean beyond 80 deg'
    """
    return f"fell: {'it turned over' if limit is None else f'lean beyond {math.degrees(limit):.3g} deg'}"


def part_until(run: "Trajectory", t: float, outcome: str) -> "Trajectory":
    """Return the part of a run before a time, its first sample at least."""
    arcs: list[Any] = []
    for arc in run.arcs:
        count = int(np.searchsorted(arc.t, t, side="right"))
        if count == 0 and arcs:
            break
        arcs.append(_cut(arc, max(count, 1)))
    events = tuple(event for event in run.events if event.t <= t)[: len(arcs) - 1]
    return replace(run, arcs=tuple(arcs), events=events, outcome=outcome)


def _cut(arc: Any, count: int) -> Any:
    """Return the first samples of an arc."""
    timed = [n for n in ("t", "y", "rates", "forces", "world", "torques") if hasattr(arc, n)]
    first = {name: getattr(arc, name)[:count] for name in timed}
    if isinstance(arc.inputs, np.ndarray) and arc.inputs.ndim == 2:
        first["inputs"] = arc.inputs[:, :count]
    return replace(arc, **first)


def _wheel_forces(run: "Trajectory", model: Model) -> dict[str, Floats]:
    """Return (normal, along, across) over time of every wheel; zero where it is open, and in modes between
    events of one instant, which do not last.
    """
    lasts = [np.full(len(arc.t), arc.t[-1] > arc.t[0] or len(run.arcs) == 1) for arc in run.arcs]
    stacked = np.where(np.concatenate(lasts), run.observations["forces"], 0.0)
    wheels = {wheel.name for wheel in model.wheels}
    return {
        c.name: stacked[3 * k : 3 * k + 3]
        for k, c in enumerate(model.contacts)
        if c.name in wheels and 3 * k + 3 <= len(stacked)
    }


def _crossing(t: Floats, margin: Floats) -> float | None:
    """Return when a margin becomes negative, if it does."""
    found = float(crossings(t[None], margin[None])[0])
    return None if math.isnan(found) else found


def crossings(t: Floats, margin: Floats) -> Floats:
    """Return when margins (runs, time) become negative, between samples on a straight line; NaN: never."""
    bad = margin < 0.0
    if not bad.any():
        return np.full(len(t), np.nan)
    k = bad.argmax(axis=1)[:, None]
    t0, t1, m0, m1 = (
        np.take_along_axis(x, at, 1)[:, 0] for x in (t, margin) for at in (np.maximum(k - 1, 0), k)
    )
    inside = (t1 > t0) & np.isfinite(m0)
    part = np.divide(m0, m0 - m1, out=np.ones(len(t0)), where=inside)
    return np.where(bad.any(axis=1), np.where(inside, t0 + part * (t1 - t0), t1), np.nan)


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((t for t in times if t is not None), default=None)


def friction_ratio(push: Floats) -> Floats:
    """Return the largest tangential over normal force while the ground pushes, of forces (3, ...,
    time).
    """
    presses = push[0] > PULL
    sizes = np.hypot(push[1], push[2])
    needed = np.divide(sizes, push[0], out=np.zeros(sizes.shape), where=presses)
    return np.asarray(needed.max(axis=-1, initial=0.0))


def _margin(push: Floats, contact: ContactOptions, wheel: Wheel) -> Floats:
    """Return what friction could still hold; nothing where mu is infinite."""
    mu = contact.friction(wheel, "")
    if not math.isfinite(mu):
        return np.zeros(push.shape[1])
    slack = SLACK * (1.0 + np.abs(push).max(initial=0.0))
    return np.asarray(mu * push[0] - np.hypot(push[1], push[2]) + slack)


def _fall(run: "Trajectory", model: Model, limit: float) -> float | None:
    """Return when the lean passes a limit below 90 degrees, or a frame turns over, at the latest at the
    end of a run that ended so.
    """
    fell = run.outcome.startswith("fell") or "fell flat" in run.outcome
    ended = float(run.t[-1]) if fell else None
    if not limit < math.pi / 2:
        return ended
    q = np.concatenate([arc.pose()[0] for arc in run.arcs], axis=1)
    found = _crossing(run.t, fall_margin(q, limit, model))
    return ended if found is None else found


def fall_limit(model: Model, asked: float | None) -> float:
    """Return the lean at which a machine has fallen, in rad: what is asked for, or else where something of
    it that is no wheel strikes the ground, or a wheel alone lies flat; infinite where nothing can fall.
    """
    carrier = [wheel for wheel in model.wheels if wheel.body == model.bodies[0].name]
    rolls_anyhow = carrier and all(_is_round(wheel.surface) for wheel in carrier)
    if model.base != "SE(3)" or not model.wheels or rolls_anyhow:
        return math.inf
    if asked is not None:
        return asked
    rolling = {wheel.body for wheel in model.wheels}
    return FLAT if all(body.name in rolling for body in model.bodies) else FALL


def fall_margin(q: Floats, limit: float, model: Model) -> Floats:
    """Return by how much the sine of the lean is still below its limit, of quaternions (4, ...); of a
    frame at most the cosine of its tilt, which turns over where that is negative.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lean = math.sin(limit) - np.abs(2.0 * (q[2] * q[3] + q[0] * q[1]))
        tilt = 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
        return np.asarray(np.minimum(lean, tilt) if has_frame(model) else lean)


def _is_round(surface: Surface) -> bool:
    """Return whether a surface has no axle: it can roll every way."""
    return not float(surface.ring) > 0.0


def _steer(run: "Trajectory", model: Model) -> Floats:
    """Return by how much the joints called steer are turned, at most."""
    steered = [k for k, joint in enumerate(model.joints) if joint.name == "steer"]
    r = np.concatenate([arc.y[:, arc.machine.layout.r] for arc in run.arcs])
    return np.abs(r[:, steered]).max(axis=1, initial=0.0)


def _energy_drift(run: "Trajectory", model: Model) -> float | None:
    """Return the relative drift of the energy inside arcs that nothing drives or brakes."""
    driven = any(joint.motion is not None or joint.damper for joint in model.joints)
    if driven or model.elements or model.ground is not None or run.terrain is not None:
        return None
    seen, worst, first = run.observations, 0.0, 0
    if any(arc.states for arc in run.arcs) or np.any(seen["inputs"]):
        return None
    for arc in run.arcs:
        own = slice(first, first := first + len(arc.t))
        T, U = seen["kinetic"][0, own], seen["potential"][0, own]
        scale = float(np.abs(T).max() + np.abs(U - U[0]).max()) or 1.0
        worst = max(worst, float(np.abs(T + U - T[0] - U[0]).max()) / scale)
    return worst


def _constraint_drift(run: "Trajectory") -> float:
    """Return the widest gap of a closed contact."""
    gaps, forces = run.observations["gaps"], run.observations["forces"]
    carries = np.abs(forces.reshape(*gaps.shape[:1], 3, gaps.shape[1])).max(axis=1) > 0
    return float(np.abs(gaps[carries & np.isfinite(gaps)]).max(initial=0.0))


def _start_energy(run: "Trajectory", model: Model) -> float | None:
    """Return the kinetic energy of the start beyond the least that keeps the rows and the prescribed
    rates, eq. [rest].
    """
    arc = run.arcs[0]
    if not isinstance(arc.mode, dict) or not any(joint.motion for joint in model.joints):
        return None
    (q, p), v, n = arc.pose(), run.observations["v"][:, 0], len(model.speeds)
    r = arc.y[0, arc.machine.layout.r]
    seen = arc.machine.masses(t=arc.t[:1], q=q[:, 0], p=p[:, 0], r=r, v=v)
    M = seen["M"].reshape(n, n)
    rows = multiplier.active_rows(model, arc.machine.mode) + multiplier.joint_rows(model)
    rest = rest_speeds(M, seen["C"].reshape(-1, n)[rows], v)
    return max(0.0, float(v @ M @ v - rest @ M @ rest) / 2.0)


def _start_load(run: "Trajectory", model: Model) -> tuple[float, str | None]:
    """Return the largest contact force of the start in weights of the machine, and its contact. Time
    stepping has none: its forces are means over the steps that end at a sample.
    """
    weight = sum(float(body.mass) for body in model.bodies) * float(np.linalg.norm(model.gravity))
    forces = np.linalg.norm(run.observations["forces"][:, 0].reshape(-1, 3), axis=1)
    if not weight > 0.0 or not np.any(forces):
        return 0.0, None
    k = int(np.argmax(forces))
    return float(forces[k]) / weight, model.contacts[k].name


def _is_unsupported(run: "Trajectory", model: Model) -> bool:
    """Return whether a machine with weight and a free base has no contact that carries it, and is not
    pushed.
    """
    pulled = [k for k in range(3) if model.gravity[k]]
    seen = run.observations
    pushed = np.any(seen["forces"]) or np.any(seen["inputs"][len(model.joints) :])
    carried = pushed or model.elements
    return bool(pulled and set(pulled) <= set(model.twist) and not carried)


def _odd_parts(model: Model) -> list[str]:
    """Return what no real machine has (impossible masses are refused where it is drawn): a damper
    that drives, a weight that rises.
    """
    found = [f"the damper of {j.name!r} creates energy" for j in model.joints if j.damper < 0.0]
    if model.base == "SE(3)" and float(model.gravity[2]) > 0.0:
        found.append("gravity points up")
    return found


def _not_finite(run: "Trajectory") -> float | None:
    for arc in run.arcs:
        bad = np.flatnonzero(~np.isfinite(arc.y).all(axis=1))
        if len(bad):
            return float(arc.t[bad[0]])
    return None
