"""The record of whether a run is physically valid."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

FRICTION_DEMAND = 1.5
"""Ratio of tangential to normal force beyond which a run without mu is warned of: rubber on dry road
reaches 0.7 to 1.0, racing tyres about 1.5.
"""

ENERGY_DRIFT = 1e-3
"""Relative drift of the energy of a run that nothing drives or brakes, beyond which the run is not valid;
the default settings keep 1e-10.
"""

CONSTRAINT_DRIFT = 1e-3
"""Drift of a constraint, in parts of the size of the machine, beyond which the run is not valid: a tenth
of a millimetre in ten centimetres; projection keeps round-off.
"""

LEAST_ENERGY = 1e-9
"""A start with less J than this is one from rest."""

EXPECTABLE = ("fall", "pull", "friction", "steer", "friction_demand")
"""What a scenario may expect of its run; the other faults are those of numerics."""


HEAVY_START = 10.0
"""A contact force of the start beyond this many weights of the machine is reported: speeds that no rider
asks for are behind it, such as a yaw rate of hundreds of rad/s.
"""


@dataclass(frozen=True, kw_only=True)
class TimeStepped:
    """An interval that was computed in time steps, which are first-order accurate."""

    start: float = 0.0  # s
    end: float = 0.0  # s
    reason: str  # why event location was not used
    step: float  # s, largest length of a step
    residual: (
        float  # largest violation of the law of contact, of the largest velocity without contact
    )
    penetration: float  # m, deepest
    work: float  # J, of the contact impulses relative to the ground
    projection_work: float  # J, the part of it that pushed penetrating wheels out of the ground
    energy_drift: float  # J, change of the energy beyond the work of all forces
    unsolved: int  # steps with a residual above 1e-6
    first_step: float = 0.0  # s, length of the first step; gradients repeat the steps
    replaced_impact: str = ""  # impact model whose restitution is resolved by Moreau's law here

    def join(self, other: "TimeStepped", end: float) -> "TimeStepped":
        """Return this interval continued by another one."""
        sums = ("work", "projection_work", "energy_drift", "unsolved")
        largest = ("step", "residual", "penetration")
        values = {name: getattr(self, name) + getattr(other, name) for name in sums}
        values |= {name: max(getattr(self, name), getattr(other, name)) for name in largest}
        return replace(self, end=end, **values)


@dataclass(frozen=True)
class Validity:
    """Whether a run is physically valid, and from when on it is not (times in s, None: never).

    Evaluated on the dense output of the integrator, so that it does not depend on the samples.
    `pull_from`: the ground would have to pull the wheel `pull_contact`. `friction_needed`: the
    largest ratio of tangential to normal force while the load is not negligible;
    `friction_exceeded_from`: it exceeds the mu that was given; `friction_demand_from`: without mu, it
    exceeds `FRICTION_DEMAND`, which is a warning. `fall_from`: the machine fell, and the run stopped.
    `steer_beyond`: a joint called steer is turned by over 90 degrees, `steer_turns` times round at
    most. `energy_drift`: of a run that nothing drives or brakes, relative to the kinetic energy plus
    the change of potential (None: not such a run); `energy_drift_from`: it exceeds `ENERGY_DRIFT`.
    `constraint_drift`: the largest violation of a condition on the configuration, in m: the gap of a
    closed contact, the distance of a pin from where it holds; `constraint_drift_from`: it exceeds
    `CONSTRAINT_DRIFT` times the size of the machine. `projected`: whether gaps were closed by
    projection on the way. `redundant_rows`: redundant rows of contacts, whose forces are
    minimum-norm forces (on a terrain, a share in which all push). `grazes`: when which wheels came
    within 1e-9 machine lengths of the ground: impact and no impact are both possible there.
    `equal_curvatures`: when which wheels first touched smooth ground whose curvature is that of the wheel
    to 1 %, or larger.
    `start_energy`: by how many J the kinetic energy of the start exceeds that of a start from rest, if
    joints are prescribed (None: none is). `unsupported`: it has weight and a free base, and no contact ever
    carries it. `unphysical`: properties that no real machine has. `not_finite_from`: a value is not a
    finite number. `start_load`: the largest contact force of the start, in weights of the machine, at
    `start_load_contact`. `time_stepped`: the intervals that were computed in time steps.
    """

    pull_from: float | None = None
    pull_contact: str | None = None
    friction_needed: float = 0.0
    friction_exceeded_from: float | None = None
    friction_demand_from: float | None = None
    fall_from: float | None = None
    steer_beyond: float | None = None
    steer_turns: float = 0.0
    energy_drift: float | None = None
    energy_drift_from: float | None = None
    constraint_drift: float = 0.0
    constraint_drift_from: float | None = None
    projected: bool = False
    redundant_rows: tuple[str, ...] = ()
    grazes: tuple[str, ...] = ()
    equal_curvatures: tuple[str, ...] = ()
    start_energy: float | None = None
    unsupported: bool = False
    unphysical: tuple[str, ...] = ()
    not_finite_from: float | None = None
    start_load: float = 0.0
    start_load_contact: str | None = None
    time_stepped: tuple[TimeStepped, ...] = ()

    @property
    def times(self) -> dict[str, float]:
        """Times (s) at which faults begin, by the words of scenarios; the earliest first."""
        times = {
            "pull": self.pull_from,
            "friction": self.friction_exceeded_from,
            "fall": self.fall_from,
            "not_finite": self.not_finite_from,
            "energy": self.energy_drift_from,
            "constraint": self.constraint_drift_from,
            "steer": self.steer_beyond,
        }
        begun = {word: t for word, t in times.items() if t is not None}
        return dict(sorted(begun.items(), key=lambda pair: pair[1]))

    @property
    def faults(self) -> dict[str, float]:
        """All faults in words with the times (s) at which they begin, the earliest first."""
        words = self._words()
        return {words[word]: t for word, t in self.times.items()}

    @property
    def breaks(self) -> dict[str, float]:
        """The faults that stop a strict run: all but a steer that is turned too far."""
        words = self._words()
        return {words[word]: t for word, t in self.times.items() if word != "steer"}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that are not faults."""
        if self.friction_demand_from is None:
            return ()
        return (
            f"at {self.friction_demand_from:.4g} s the friction demand exceeds {FRICTION_DEMAND:g} "
            f"(largest {self.friction_needed:.3g}), more than roads provide",
        )

    @property
    def sound(self) -> bool:
        """Whether the run is physically valid, of a machine that can exist."""
        return not self.times and not self.unphysical

    def unexpected(self, expected: Collection[str] = ()) -> str:
        """Return the faults and warnings that are not among those expected, as a text; empty without any.

        >>> Validity(fall_from=1.5).unexpected()
        'from 1.5 s it has fallen'
        >>> Validity(fall_from=1.5).unexpected(["fall"])
        ''
        """
        faults = self.unexpected_faults(expected)
        warnings = () if "friction_demand" in expected else self.warnings
        return "; ".join([*faults, *warnings])

    def unexpected_faults(self, expected: Collection[str] = ()) -> list[str]:
        """Return the faults that are not among those expected, in words."""
        words = self._words()
        faults = [f"from {t:.4g} s {words[w]}" for w, t in self.times.items() if w not in expected]
        return [*faults, *self.unphysical]

    def _words(self) -> dict[str, str]:
        """Return the descriptions of faults by the words of scenarios."""
        return {
            "pull": f"the ground would have to pull {self.pull_contact!r}",
            "friction": "it needs more friction than mu",
            "fall": "it has fallen",
            "not_finite": "a value is no longer a number",
            "energy": f"the energy drifts (by {self.energy_drift or 0.0:.2g} of it)",
            "constraint": f"the constraints drift (by {self.constraint_drift:.2g} m)",
            "steer": "the steer is turned too far",
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
        """Return remarks that do not affect the validity."""
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
        if (self.start_energy or 0.0) > LEAST_ENERGY:
            notes.append(
                f"it starts in motion, with {self.start_energy:.3g} J more than its prescribed joints require"
            )
        if self.start_load > HEAVY_START:
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
        """Return a sentence on the time-stepped intervals: duration, reasons and energy balance."""
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
    return None if isinstance(value, float) and not math.isfinite(value) else value
