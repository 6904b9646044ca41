"""Which options each kind of run uses. Every other one must keep its default: none is ignored."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from draisine.errors import ParameterError
from draisine.simulation.options import (
    CONTACT,
    NUMERICS,
    ContactOptions,
    GripSchedule,
    Numerics,
    Task,
)

IMPACTS = frozenset({"impact", "restitution", "resolution", "rest_speed"})
"""The options of impacts."""

TERRAIN_OPTIONS = IMPACTS | {"solver", "step", "stops", "events", "margin"}
"""The options of contacts that need a terrain."""

TOLERANCES = frozenset({"rtol", "atol"})
"""The options of adaptive steps."""


@dataclass(frozen=True)
class RunKind:
    """A kind of run by the name that messages have for it, and the options that it uses."""

    name: str
    contact: frozenset[str]
    numerics: frozenset[str]
    law: bool = True
    inputs: bool = True

    def check(self, task: Task) -> None:
        """Raise if a task sets an option that this kind of run does not use."""
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
        """Raise if an option that is not used differs from its default."""
        if options is defaults:
            return
        for name in (field.name for field in fields(options)):
            value = getattr(options, name)
            if name not in used and value != getattr(defaults, name):
                raise ParameterError(
                    f"{self.name} does not use {name} (here {value!r:.80}); leave it out{_option_hint(name)}."
                )


def _option_hint(name: str) -> str:
    """Return a hint for which runs an option is, if a run does not use it."""
    if name in TERRAIN_OPTIONS:
        return ", or run on a terrain, terrain=plane() for level ground"
    if name == "threads":
        return ": it is an option of simulate_many"
    if name == "precision":
        return ": it is an option of simulate_many without a terrain"
    return ""


PLANE = RunKind(
    "a run without a terrain",
    frozenset({"mode", "mu", "fall"}),
    TOLERANCES | {"integrator", "formulation", "dt", "drift", "breakpoints", "start"},
)
GRIPS = RunKind(
    "a change of grips",
    frozenset({"mode", "mu", "fall"}),
    TOLERANCES | {"integrator", "dt", "drift", "breakpoints"},
)
BY_FORMULATION = RunKind(
    "a run by another formulation",
    frozenset({"mu", "fall"}),
    TOLERANCES | {"integrator", "formulation", "dt"},
    law=False,
)
KINEMATIC = RunKind(
    "a run without dynamics",
    frozenset({"mode", "fall"}),
    frozenset({"dt", "start"}),
    inputs=False,
)
TERRAIN = RunKind(
    "a run on a terrain",
    TERRAIN_OPTIONS | {"mu", "fall"},
    TOLERANCES | {"dt", "breakpoints", "start"},
)
TIME_STEPPING = RunKind(
    "time stepping",
    frozenset({"mu", "restitution", "rest_speed", "solver", "step", "stops", "margin", "fall"}),
    frozenset({"dt", "start"}),
)
COMPLIANT = RunKind(
    "a run on compliant ground",
    frozenset({"mu", "solver", "fall"}),
    TOLERANCES | {"dt", "start"},
)
MANY = RunKind(
    "simulate_many",
    frozenset({"mode", "fall"}),
    frozenset({"integrator", "dt", "breakpoints", "start", "threads", "precision"}),
)
MANY_ON_TERRAIN = RunKind(
    "simulate_many on a terrain", TERRAIN.contact, TERRAIN.numerics | {"threads"}
)
STEPPER_ON_PLANE = RunKind(
    "a stepper without a terrain",
    frozenset({"mode", "fall"}),
    frozenset({"integrator", "dt", "drift", "start"}),
)
STEPPER_ON_TERRAIN = RunKind(
    "a stepper on a terrain",
    TERRAIN_OPTIONS | {"mu", "fall"},
    TOLERANCES | {"dt", "breakpoints", "start"},
)


def check_options(kind: RunKind, task: Task) -> None:
    """Raise if a task sets an option that its kind of run does not use."""
    if isinstance(task.contact.mode, GripSchedule) and kind is not GRIPS:
        raise ParameterError(f"{kind.name} does not use a GripSchedule; name one mode.")
    if task.terrain is None:
        _check_friction(kind, task)
    contact = kind.contact
    numerics = kind.numerics
    name = kind.name
    if "integrator" in numerics and not task.numerics.method.ADAPTIVE:
        name = f"{name}, by the equal steps of {task.numerics.integrator!r},"
        numerics = numerics - TOLERANCES
    if kind is KINEMATIC and task.numerics.integrator == "rk4":
        numerics = numerics | {"integrator"}
    if kind is TIME_STEPPING and task.contact.impact == "moreau":
        contact = contact | {"impact"}
    if name != kind.name or contact != kind.contact or numerics != kind.numerics:
        kind = replace(kind, name=name, contact=contact, numerics=numerics)
    kind.check(task)


def _check_friction(kind: RunKind, task: Task) -> None:
    """Raise if mu is set, but no wheel has a load with which friction could be compared."""
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
