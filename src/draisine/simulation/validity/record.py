"""The record of the physical validity of a run: start times of faults, largest violations, and notes."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

MAX_ROAD_FRICTION = 1.5
"""Largest plausible ratio of tangential to normal force; a run without a given mu above it causes a warning.

Rubber on a dry road reaches 0.7 to 1.0, racing tyres about 1.5.
"""

MAX_ENERGY_DRIFT = 1e-3
"""Largest relative energy drift of a valid run without drives and dissipation.

The default settings of the integrator reach 1e-10.
"""

MAX_CONSTRAINT_DRIFT = 1e-3
"""Largest violation of a constraint in a valid run, as a fraction of the size of the system.

In runs with projection the violations are rounding errors.
"""

REST_ENERGY = 1e-9
"""Largest initial kinetic energy (J) of a run that starts from rest."""

EXPECTABLE = ("fall", "pull", "friction", "steer", "stop", "friction_demand")
"""Names of the faults that a scenario may declare as expected; all other faults are numerical errors."""


HEAVY_START_LOAD = 10.0
"""Initial contact force, as a multiple of the weight of the system, above which a note reports it.

The usual cause is an unrealistic initial speed, such as a yaw rate of hundreds of rad/s.
"""


@dataclass(frozen=True, kw_only=True)
class TimeStepped:
    """Statistics of an interval of a run that was computed by time stepping, a method of first order."""

    start: float = 0.0  # s, start of the interval
    end: float = 0.0  # s, end of the interval
    reason: str  # reason why event location was not used
    step: float  # s, largest step length
    # largest violation of Coulomb's law, relative to the largest velocity without contact
    residual: float
    penetration: float  # m, largest penetration
    work: float  # J, work of the contact impulses relative to the ground
    projection_work: float  # J, part of `work` that removes penetration
    energy_drift: float  # J, change of the energy minus the work of all forces
    unsolved: int  # number of steps whose residual of Coulomb's law exceeds 1e-6
    first_step: float = 0.0  # s, length of the first step; gradients repeat the steps
    replaced_impact: str = ""  # impact model whose restitution Moreau's law replaces in time steps

    def join(self, other: "TimeStepped", end: float) -> "TimeStepped":
        """Return this interval combined with the next one, which ends at `end` (s)."""
        sums = ("work", "projection_work", "energy_drift", "unsolved")
        largest = ("step", "residual", "penetration")
        values = {name: getattr(self, name) + getattr(other, name) for name in sums}
        values |= {name: max(getattr(self, name), getattr(other, name)) for name in largest}
        return replace(self, end=end, **values)


@dataclass(frozen=True)
class Validity:
    """Physical validity of a run: start times of faults (s, None if never), largest violations, and notes.

    It is assessed on the dense output of the integrator, and therefore does not depend on the sample times.
    """

    pull_from: float | None = None  # s, time from which the ground would have to pull a wheel
    pull_contact: str | None = None  # name of the wheel with the first negative normal force
    # largest ratio of tangential to normal force while the load is not negligible
    friction_needed: float = 0.0
    friction_exceeded_from: float | None = None  # s, time from which required friction exceeds mu
    # s, time from which the required friction of a wheel without mu exceeds `MAX_ROAD_FRICTION`; a warning
    friction_demand_from: float | None = None
    fall_from: float | None = None  # s, time at which the vehicle fell and the run stopped
    steer_beyond: float | None = None  # s, time from which a steer angle exceeds 90 degrees
    steer_turns: float = 0.0  # largest number of turns of a joint called steer
    stop_from: float | None = (
        None  # s, time from which a joint is beyond a stop (without a terrain)
    )
    stop_joint: str | None = None  # name of the joint that passes a stop first
    # energy drift without drives and brakes, relative to kinetic energy plus change of potential
    # energy; None if driven
    energy_drift: float | None = None
    energy_drift_from: float | None = None  # s, time from which the energy drift exceeds its bound
    # m, largest violation of a constraint: gap of a closed contact, distance of a pin from its
    # anchor
    constraint_drift: float = 0.0
    # s, time from which the violation exceeds `MAX_CONSTRAINT_DRIFT` times the size of the system
    constraint_drift_from: float | None = None
    projected: bool = False  # whether projection closed the gaps during the run
    # redundant constraint rows; their forces have minimum norm (on a terrain, with all contacts
    # pushing)
    redundant_rows: tuple[str, ...] = ()
    # times and wheels of grazing contacts (gap below 1e-9 of the system size): impact and no impact are
    # both possible
    grazes: tuple[str, ...] = ()
    # wheels and times of contacts with smooth ground of almost the curvature of the wheel
    equal_curvatures: tuple[str, ...] = ()
    # J, initial kinetic energy minus that of a start from rest; None without prescribed joints
    start_energy: float | None = None
    # whether the system has weight and a free base, but never a contact force
    unsupported: bool = False
    unphysical: tuple[str, ...] = ()  # physically impossible properties of the model
    not_finite_from: float | None = None  # s, first time at which a state is not finite
    start_load: float = 0.0  # largest initial contact force, as a multiple of the weight
    start_load_contact: str | None = None  # name of the contact with the largest initial force
    time_stepped: tuple[TimeStepped, ...] = ()  # intervals that were computed in time steps

    @property
    def times(self) -> dict[str, float]:
        """The times (s) at which faults begin, by their names in scenarios, in ascending order."""
        times = {
            "pull": self.pull_from,
            "friction": self.friction_exceeded_from,
            "fall": self.fall_from,
            "not_finite": self.not_finite_from,
            "energy": self.energy_drift_from,
            "constraint": self.constraint_drift_from,
            "steer": self.steer_beyond,
            "stop": self.stop_from,
        }
        begun = {word: t for word, t in times.items() if t is not None}
        return dict(sorted(begun.items(), key=lambda pair: pair[1]))

    @property
    def faults(self) -> dict[str, float]:
        """The descriptions of all faults with the times (s) at which they begin, in ascending order."""
        words = self._words()
        return {words[word]: t for word, t in self.times.items()}

    @property
    def breaks(self) -> dict[str, float]:
        """The faults that stop a strict run: all except a steer angle that is too large."""
        words = self._words()
        return {words[word]: t for word, t in self.times.items() if word != "steer"}

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, which are not faults."""
        if self.friction_demand_from is None:
            return ()
        return (
            f"at {self.friction_demand_from:.4g} s the friction demand exceeds {MAX_ROAD_FRICTION:g} "
            f"(largest {self.friction_needed:.3g}), more than roads provide",
        )

    @property
    def sound(self) -> bool:
        """Whether the run is physically valid and the model has no physically impossible properties."""
        return not self.times and not self.unphysical

    def unexpected(self, expected: Collection[str] = ()) -> str:
        """Return all faults and warnings except the expected ones as one text; empty if there are none.

        >>> Validity(fall_from=1.5).unexpected()
        'from 1.5 s it has fallen'
        >>> Validity(fall_from=1.5).unexpected(["fall"])
        ''
        """
        faults = self.unexpected_faults(expected)
        warnings = () if "friction_demand" in expected else self.warnings
        return "; ".join([*faults, *warnings])

    def unexpected_faults(self, expected: Collection[str] = ()) -> list[str]:
        """Return the descriptions of the faults that are not in `expected`."""
        words = self._words()
        faults = [f"from {t:.4g} s {words[w]}" for w, t in self.times.items() if w not in expected]
        return [*faults, *self.unphysical]

    def _words(self) -> dict[str, str]:
        """Return the descriptions of faults by their names in scenarios."""
        return {
            "pull": f"the ground would have to pull {self.pull_contact!r}",
            "friction": "it needs more friction than mu",
            "fall": "it has fallen",
            "not_finite": "a value is no longer a number",
            "energy": f"the energy drifts (by {self.energy_drift or 0.0:.2g} of it)",
            "constraint": f"the constraints drift (by {self.constraint_drift:.2g} m)",
            "steer": "the steer is turned too far",
            "stop": f"{self.stop_joint!r} is beyond a stop, which acts on a terrain only "
            "(terrain=plane())",
        }

    def __str__(self) -> str:
        faults = self.unexpected_faults()
        notes = "; ".join(["", *self.warnings, *self._notes()])
        if faults:
            return "not physically valid: " + "; ".join(faults) + notes
        if not self.friction_needed:
            return f"physically valid{notes}"
        required = f"friction needed {self.friction_needed:.3g}"
        return f"physically valid: all normal forces positive, {required}{notes}"

    def _notes(self) -> list[str]:
        """Return notes about the run that do not affect its validity."""
        notes = []
        if self.redundant_rows:
            notes.append(f"forces shared with {', '.join(self.redundant_rows)}")
        if self.grazes:
            notes.append(f"grazed {', '.join(self.grazes)}: impact and no impact are both possible")
        if self.equal_curvatures:
            notes.append(
                f"the ground is almost as curved as {', '.join(self.equal_curvatures)}: small errors of the "
                "ground move the contact point"
            )
        if (self.start_energy or 0.0) > REST_ENERGY:
            notes.append(
                f"it starts in motion, with {self.start_energy:.3g} J more than its prescribed joints require"
            )
        if self.start_load > HEAVY_START_LOAD:
            notes.append(
                f"at the start {self.start_load_contact!r} is loaded with {self.start_load:.3g} weights of "
                "the machine: check the initial speeds"
            )
        if self.time_stepped:
            notes.append(self._time_steps())
        if self.unsupported:
            notes.append("no contact carries it: it is in free fall")
        return notes

    def _time_steps(self) -> str:
        """Return a sentence on the time-stepping intervals: duration, reasons and energy balance."""
        intervals = self.time_stepped
        total = sum(interval.end - interval.start for interval in intervals)
        reasons = ", ".join(dict.fromkeys(interval.reason for interval in intervals))
        replaced = dict.fromkeys(i.replaced_impact for i in intervals if i.replaced_impact)
        drift = sum(interval.energy_drift for interval in intervals)
        work = sum(interval.projection_work for interval in intervals)
        text = f"time-stepped for {total:.3g} s ({reasons}), first-order accurate"
        text += f", energy drift {drift:.2g} J, projection work {work:.2g} J"
        return text + (
            f", restitution of {', '.join(replaced)} resolved by Moreau" if replaced else ""
        )

    def dumps(self) -> str:
        """Return the record as JSON; numbers that are not finite are null."""
        plain = {k: _plain(v) for k, v in asdict(self).items()}
        return json.dumps(plain)

    @classmethod
    def loads(cls, text: str) -> "Validity":
        """Return a record from JSON.

        >>> Validity.loads(Validity(fall_from=1.5, redundant_rows=("a",)).dumps()).fall_from
        1.5
        """
        stored: Mapping[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(text).items()
        }
        values = {f.name: stored[f.name] for f in fields(cls) if f.name in stored}
        if values.get("friction_needed") is None:
            values["friction_needed"] = math.inf
        intervals = values.get("time_stepped", ())
        values["time_stepped"] = tuple(TimeStepped(**interval) for interval in intervals)
        return cls(**values)


def _plain(value: Any) -> Any:
    """Return a value for JSON: None instead of a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
