"""The options that each kind of run uses.

All other options must keep their defaults. A user therefore cannot set an option that has no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from draisine.errors import ModelError, ParameterError
from draisine.simulation.options import (
    CONTACT,
    NUMERICS,
    ContactOptions,
    GripSchedule,
    Numerics,
    Task,
)

IMPACT_OPTIONS = frozenset({"impact", "restitution", "resolution", "rest_speed"})
"""Names of the contact options that concern impacts."""

TERRAIN_OPTIONS = IMPACT_OPTIONS | {"solver", "step", "stops", "events", "margin"}
"""Names of the contact options that need a terrain."""

TOLERANCE_OPTIONS = frozenset({"rtol", "atol"})
"""Names of the numerical options of adaptive integrators."""


@dataclass(frozen=True)
class RunKind:
    """A kind of run, for example on a terrain or with ideal contacts, and the options that it uses."""

    name: str  # name of the kind of run in messages
    contact: frozenset[str]  # names of the contact options that this kind of run uses
    numerics: frozenset[str]  # names of the numerical options that this kind of run uses
    law: bool = True  # whether a control law may be set
    inputs: bool = True  # whether constant inputs may be set
    unilateral: bool = False  # whether contacts are unilateral

    def check(self, task: Task) -> None:
        """Raise ParameterError if a task sets an option that this kind of run does not use."""
        self._check(task.contact, CONTACT, self.contact)
        self._check(task.numerics, NUMERICS, self.numerics)
        if task.law is not None and not self.law:
            raise ParameterError(f"{self.name} does not use a law; leave it out.")
        if task.inputs and not self.inputs:
            raise ParameterError(
                f"{self.name} does not use inputs (here {dict(task.inputs)!r:.80}); leave them out."
            )

    def _check(
        self,
        options: ContactOptions | Numerics,
        defaults: ContactOptions | Numerics,
        used: frozenset[str],
    ) -> None:
        """Raise ParameterError if an unused option differs from its default."""
        if options is defaults:
            return
        for name in (field.name for field in fields(options)):
            value = getattr(options, name)
            if name not in used and value != getattr(defaults, name):
                raise ParameterError(
                    f"{self.name} does not use {name} (here {value!r:.80}); leave it out{_option_hint(name)}."
                )


def _option_hint(name: str) -> str:
    """Return the end of an error message: the kind of run that uses the option; empty if there is no hint."""
    if name in TERRAIN_OPTIONS:
        return ", or run on a terrain, terrain=plane() for level ground"
    if name == "threads":
        return ": it is an option of simulate_many"
    if name == "precision":
        return ": it is an option of simulate_many without a terrain"
    return ""


BILATERAL_RUN = RunKind(
    "a run without a terrain",
    frozenset({"mode", "mu", "fall"}),
    TOLERANCE_OPTIONS | {"integrator", "formulation", "dt", "drift", "breakpoints", "start"},
)
RUN_WITH_GRIPS = RunKind(
    "a change of grips",
    frozenset({"mode", "mu", "fall"}),
    TOLERANCE_OPTIONS | {"integrator", "dt", "drift", "breakpoints"},
)
RUN_BY_FORMULATION = RunKind(
    "a run by another formulation",
    frozenset({"mu", "fall"}),
    TOLERANCE_OPTIONS | {"integrator", "formulation", "dt"},
    law=False,
)
KINEMATIC_RUN = RunKind(
    "a run without dynamics",
    frozenset({"mode", "fall"}),
    frozenset({"dt", "start"}),
    inputs=False,
)
UNILATERAL_RUN = RunKind(
    "a run on a terrain",
    TERRAIN_OPTIONS | {"mu", "fall"},
    TOLERANCE_OPTIONS | {"dt", "breakpoints", "start"},
    unilateral=True,
)
TIME_STEPPING_RUN = RunKind(
    "time stepping",
    frozenset({"mu", "restitution", "rest_speed", "solver", "step", "stops", "margin", "fall"}),
    frozenset({"dt", "start"}),
    unilateral=True,
)
COMPLIANT_RUN = RunKind(
    "a run on compliant ground",
    frozenset({"mu", "solver", "fall"}),
    TOLERANCE_OPTIONS | {"dt", "start"},
    unilateral=True,
)
BILATERAL_MANY = RunKind(
    "simulate_many",
    frozenset({"mode", "fall"}),
    frozenset({"integrator", "dt", "breakpoints", "start", "threads", "precision"}),
)
UNILATERAL_MANY = replace(
    UNILATERAL_RUN,
    name="simulate_many on a terrain",
    numerics=UNILATERAL_RUN.numerics | {"threads"},
)
BILATERAL_STEPPER = RunKind(
    "a stepper without a terrain",
    frozenset({"mode", "fall"}),
    frozenset({"integrator", "dt", "drift", "start"}),
)
UNILATERAL_STEPPER = replace(UNILATERAL_RUN, name="a stepper on a terrain")


def check_options(kind: RunKind, task: Task) -> None:
    """Raise ParameterError if a task sets an option that its kind of run does not use."""
    if isinstance(task.contact.mode, GripSchedule) and kind is not RUN_WITH_GRIPS:
        raise ParameterError(f"{kind.name} does not use a GripSchedule; name one mode.")
    if not kind.unilateral:
        _check_friction(kind, task)
        _check_flats(task)
    contact = kind.contact
    numerics = kind.numerics
    name = kind.name
    if "integrator" in numerics and not task.numerics.method.ADAPTIVE:
        name = f"{name}, by the equal steps of {task.numerics.integrator!r},"
        numerics = numerics - TOLERANCE_OPTIONS
    if kind is KINEMATIC_RUN and task.numerics.integrator == "rk4":
        numerics = numerics | {"integrator"}
    if kind is TIME_STEPPING_RUN and task.contact.impact == "moreau":
        contact = contact | {"impact"}
    if name != kind.name or contact != kind.contact or numerics != kind.numerics:
        kind = replace(kind, name=name, contact=contact, numerics=numerics)
    kind.check(task)


def _check_flats(task: Task) -> None:
    """Raise ModelError if a wheel can touch a body of the machine: such a contact is unilateral."""
    for wheel in task.system.model.wheels:
        if wheel.flats:
            raise ModelError(
                f"wheel {wheel.name!r} can touch and leave the body {wheel.flats[0].body!r}, which needs a "
                "terrain: pass terrain=plane() for level ground."
            )


def _check_friction(kind: RunKind, task: Task) -> None:
    """Raise ParameterError if mu is set for a wheel without a normal force, or for a ground feature."""
    mu: Any = task.contact.mu
    if "mu" not in kind.contact or mu == CONTACT.mu:
        return
    carrying = [wheel.name for wheel in task.system.model.wheels if wheel.lifts]
    if not carrying:
        raise ParameterError(
            f"mu: {task.system.vehicle.__name__} has no wheel that the ground carries, and so no load "
            "that friction could be compared with; leave it out."
        )
    for name in mu if isinstance(mu, Mapping) else ():
        wheel, _, feature = name.partition("/")
        if feature:
            raise ParameterError(
                f"mu of {name!r}: {kind.name} has no feature {feature!r}; name the wheel alone, "
                f"mu = {{{wheel!r}: {mu[name]:g}}}, or run on a terrain."
            )
        if wheel not in carrying:
            raise ParameterError(f"mu of {name!r}: the ground does not carry it; leave it out.")
