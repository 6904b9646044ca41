"""What happens at an event: whether it is an impact, the speeds after it, and which contacts carry
from then on, rolling or sliding.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.active_set import (
    Candidate,
    Selection,
    Trial,
    coulomb_forces,
    resolve_complete,
    select_contacts,
)
from draisine.simulation.contact.query import Closed, ContactQuery, Instant
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions
from draisine.simulation.trajectory import Key

TOUCH = 1e-10
"""Gaps up to this many metres (per m/s of approach) belong to the same event."""

SOON = 1e-7
"""By how many seconds one looks ahead for the feature that a wheel comes onto."""

STILL = 1e-9
"""Normal contact velocities below this many m/s are none."""

NOTHING = 1e-7
"""Normal forces below this many N carry nothing."""

RISE = 3e-6
"""A contact that parts slower than this many m/s and is pressed back rises by less than gaps can
tell: it stays closed.
"""

SLIP = 1e-5
"""The slip in m/s with which a contact begins to slide; below a tenth of it, it sticks. Less would
make the direction of friction stiff.
"""

DRIFTING = 0.5 * SLIP
"""Tangential contact velocities above this many m/s are slip."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What an event leaves: y, the closed contacts, and the blow, if there was one."""

    y: Floats
    closed: list[Closed]
    struck: bool
    impulses: dict[Key, Floats] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()


class Resolver:
    """Decides events of one run."""

    def __init__(self, look: ContactQuery, options: ContactOptions) -> None:
        self.look, self.options, self.impact = look, options, options.model
        self._mu: dict[WheelOnFeature, float] = {}

    def touching(
        self,
        now: Instant,
        closed: Sequence[Closed],
        fired: Sequence[WheelOnFeature],
        ended: frozenset[WheelOnFeature],
        valid: Callable[[WheelOnFeature, Floats], bool],
    ) -> list[WheelOnFeature]:
        """Return the contacts that touch: the closed ones that have not ended, those that fired, and
        all others without a gap.
        """
        look, t, y = self.look, now.t, now.y
        known = {*(c for c, *_ in closed), *fired} - ended
        near, rows = look.look_around(t, y)
        gaps, rates = rows[:, look.row.gap.start], look.rates(rows, now.v)
        close = TOUCH * (1 + abs(rates))
        there = (gaps <= close) & (-gaps <= close + look.dents[near.wheels])
        some = {near.contacts[k]: rows[k] for k in np.flatnonzero(there)}
        met = [c for c, row in some.items() if c not in known and c not in ended and valid(c, row)]
        wanted = sorted([*known, *met])
        out = list(zip(wanted, look.meet(t, y, wanted), strict=True))
        for contact, row in out:
            look.check_plane(t, contact, row)
        for contact in ended:
            if not any(other.wheel == contact.wheel for other, _ in out):
                look.check_end(t, y, contact)
        return self._ahead(now, out)

    def ending(self, now: Instant, contact: WheelOnFeature) -> frozenset[WheelOnFeature]:
        """Return a contact whose feature ends, with all that end under the same wheel at once: a face
        and its edge, where the wheel runs along the seam.
        """
        look = self.look
        near, rows = look.look_around(now.t, now.y)
        at = (abs(rows[:, look.row.gap.start]) <= TOUCH) & (near.wheels == contact.wheel)
        here = [c for c in compress(near.contacts, at) if c != contact]
        these, soon = look.meet(now.t, now.y, here), self._soon(now, here)
        return frozenset(
            c
            for c, row, later in zip(here, these, soon, strict=True)
            if look.excess(c, later) > max(look.excess(c, row), 0)
        ) | {contact}

    def _soon(self, now: Instant, contacts: Sequence[WheelOnFeature]) -> Floats:
        """Return what contacts look like a little later."""
        soon = now.y.copy()
        soon[self.look.pose] += SOON * now.flow
        return self.look.meet(now.t + SOON, soon, contacts)

    def _ahead(
        self, now: Instant, touching: Sequence[tuple[WheelOnFeature, Floats]]
    ) -> list[WheelOnFeature]:
        """Return the contacts; of those of one wheel at one point with the same normal (coplanar faces, a
        face and its edge, edges at a vertex) only the one that the wheel is about to be on.
        """
        look, rows = self.look, self._soon(now, [contact for contact, _ in touching])
        kept: list[tuple[WheelOnFeature, Floats, float]] = []
        for (contact, row), later in zip(touching, rows, strict=True):
            N = np.append(row[look.row.normal], row[look.row.point])
            beyond = look.excess(contact, later)
            same = [
                k
                for k, (other, normal, _) in enumerate(kept)
                if other.wheel == contact.wheel and np.abs(N - normal).max() < 1e-8
            ]
            if not same:
                kept.append((contact, N, beyond))
            elif beyond < kept[same[0]][2]:
                kept[same[0]] = (contact, N, beyond)
        return [contact for contact, *_ in kept]

    def resolve(
        self,
        now: Instant,
        closed: Sequence[Closed],
        touching: Sequence[WheelOnFeature],
        avoid: frozenset[WheelOnFeature] = frozenset(),
        slipping: frozenset[WheelOnFeature] = frozenset(),
    ) -> Outcome:
        """Return what the contacts that touch make of a state; `avoid` are those whose force has
        just vanished, `slipping` those whose friction has just reached its limit.
        """
        hits = self._candidates(now, touching)
        if not self._struck(now, hits, {c for c, *_ in closed}):
            return Outcome(*self._carry(now, hits, avoid, slipping), False)
        options = self.options
        blow: Selection = self.impact(
            now.M,
            now.held,
            [k for k in hits.values() if k.rows],
            now.v,
            rest_speed=options.rest_speed,
            resolution=options.resolution,
            **options.restitution,
        )
        after = now.y.copy()
        after[self.look.y.v] = blow.chosen.result
        then = self.look.instant(now.t, after)
        try:
            kept = self._carry(then, self._candidates(then, touching), avoid, slipping)
        except ContactSetError as error:
            error.state = self.look.machine.leave(after)
            raise
        return Outcome(*kept, True, blow.chosen.pushes, blow.trials)

    def _candidates(
        self, now: Instant, touching: Sequence[WheelOnFeature]
    ) -> dict[WheelOnFeature, Candidate]:
        """Return contacts for an impact: with friction they may roll, without they slide; so do
        stops. What a tyre does not hold it does not hold in an impact either.
        """
        look, out = self.look, {}
        for contact, row in zip(touching, look.meet(now.t, now.y, touching), strict=True):
            mu = self._friction(contact)
            rows = 3 if mu > 0 else 1
            if look.tyre(contact) is not None:
                mu, rows = 0.0, look.tyre_rows(contact)
            out[contact] = look.candidate((now.t, now.y), contact, row, mu, rows)
        return out

    def _friction(self, contact: WheelOnFeature) -> float:
        """Return the friction of a wheel on a feature: that of the pair, or the wheel's."""
        if contact.wheel >= len(self.look.machine.wheels):
            return 0.0
        if contact not in self._mu:
            wheel, feature = self.look.key(contact)[0], self.look.feature(contact).name
            self._mu[contact] = self.options.friction(wheel, feature)
        return self._mu[contact]

    def _choose(
        self, now: Instant, candidates: Sequence[Candidate], avoid: frozenset[Key]
    ) -> Selection:
        """Return the contacts that carry at acceleration level; tyres on springs push anyway."""
        F = now.F - sum(k.push for k in candidates if not k.rows)
        firm = [k for k in candidates if k.rows]
        return select_contacts(now.M, F, now.v, now.held, now.targets, firm, avoid=avoid)

    def _struck(
        self, now: Instant, hits: Mapping[WheelOnFeature, Candidate], shut: set[WheelOnFeature]
    ) -> bool:
        """Return whether there is an impact: a contact approaches, or an ideal wheel that will stay
        on the ground still slips.
        """
        over = {contact: k.relative(now.v) for contact, k in hits.items()}
        if any(k.rows and over[contact][0] < -STILL for contact, k in hits.items()):
            return True
        slipping = {
            k.key
            for contact, k in hits.items()
            if contact not in shut
            and np.isinf(k.mu)
            and abs(over[contact][0]) <= STILL
            and _slips(over[contact])
        }
        if not slipping:
            return False
        trial = [
            replace(k, rows=1, mu=0.0) if k.key in slipping else k
            for contact, k in hits.items()
            if over[contact][0] <= STILL
        ]
        pushes = self._choose(now, trial, frozenset()).chosen.pushes
        return any(key in slipping and push[0] > 1e-6 for key, push in pushes.items())

    def _carry(
        self,
        now: Instant,
        touching: Mapping[WheelOnFeature, Candidate],
        avoid: frozenset[WheelOnFeature],
        slipping: frozenset[WheelOnFeature],
    ) -> tuple[Floats, list[Closed]]:
        """Return the state and the contacts that stay closed, rolling or sliding; one that begins to
        slip is given a first small slip.
        """
        held = {}
        for contact, k in touching.items():
            over = k.relative(now.v)
            if over[0] <= RISE if k.rows else contact not in avoid:
                held[contact] = replace(k, rows=1) if k.rows == 3 and _slips(over) else k
        if any(0 < k.mu < np.inf for k in held.values()):
            return self._rub(now, held, avoid, slipping)
        names = frozenset(self.look.key(contact) for contact in avoid)
        pushes = self._choose(now, list(held.values()), names).chosen.pushes
        closed = {c: k for c, k in held.items() if not k.rows or k.key in pushes}
        return now.y, [(c, k.rows, k.mu) for c, k in closed.items()]

    def _rub(
        self,
        now: Instant,
        held: Mapping[WheelOnFeature, Candidate],
        avoid: frozenset[WheelOnFeature],
        slipping: frozenset[WheelOnFeature],
    ) -> tuple[Floats, list[Closed]]:
        """Return the same with friction, which some contact has."""
        candidates = list(held.values())
        broken = frozenset(self.look.key(contact) for contact in slipping)
        forces, vdot = coulomb_forces(
            now.M, now.F, now.v, now.held, now.targets, candidates, broken
        )
        kept: dict[WheelOnFeature, Candidate] = {}
        for (contact, k), push in zip(held.items(), forces, strict=True):
            stays = contact not in avoid and k.C[0] @ vdot - k.c[0] <= 1e-9  # without a force
            if push[0] > (NOTHING if contact in avoid else 0.0) or stays:
                kept[contact] = _begin(k, push, vdot, contact in slipping)
        y = self._hold(now, list(kept.values()), candidates)
        return y, [(contact, k.rows, k.mu) for contact, k in kept.items()]

    def _hold(
        self, now: Instant, closed: Sequence[Candidate], touching: Sequence[Candidate]
    ) -> Floats:
        """Return the state in which rolling contacts do not slip, by impulses, and those that begin
        to slide have a first slip; no other contact that touches comes to approach by it.
        """
        if not closed:
            return now.y
        rows, wanted = [now.held], [now.held @ now.v]
        for k in closed:
            if k.way is None:
                rows.append(k.held)
                wanted.append(k.b[: k.rows])
            else:
                rows.append(k.C)
                wanted.append(k.b + np.array([0.0, *(SLIP * k.way)]))
        shut = {k.key for k in closed}
        free = [k for k in touching if k.key not in shut and k.relative(now.v)[0] >= -STILL]
        while True:
            new, *_ = resolve_complete(now.M, np.vstack(rows), now.v, np.concatenate(wanted))
            sinking = [k for k in free if k.relative(new)[0] < -STILL]
            if not sinking:
                break
            free = [k for k in free if k not in sinking]
            rows += [k.C[:1] for k in sinking]
            wanted += [k.b[:1] for k in sinking]
        out = now.y.copy()
        out[self.look.y.v] = new
        return out


def _slips(over: Floats) -> bool:
    """Return whether a contact point that moves over the ground (normal, along, across) slips."""
    return max(abs(over[1]), abs(over[2])) > DRIFTING


def _begin(k: Candidate, push: Floats, vdot: Floats, slipping: bool) -> Candidate:
    """Return a contact as rolling, or with the way in which it begins to slip: where its friction is
    at the limit. What carries nothing needs no friction.
    """
    if k.rows == 1 or (push[0] < NOTHING and not slipping):
        return k
    size = float(np.hypot(push[1], push[2]))
    if size < k.mu * push[0] * (1.0 - (1e-6 if slipping else 1e-12)):
        return k
    slip = k.C[1:] @ vdot - k.c[1:]
    speed = float(np.linalg.norm(slip))
    if speed <= 1e-9 * (1.0 + size) and size == 0:
        return k
    way = slip / speed if speed > 1e-9 * (1.0 + size) else -push[1:] / size
    return replace(k, rows=1, way=way)
