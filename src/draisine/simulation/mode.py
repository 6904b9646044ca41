"""Contact modes on a terrain, and the events that lead from one to the next."""

from dataclasses import dataclass, field

from draisine.compiled import Floats
from draisine.machine import State
from draisine.simulation.selection import Key, Trial

Mode = tuple[tuple[Key, str], ...]
"""The closed contacts, (wheel, feature) with their status, rolling or sliding; all others are open."""

STATUS = {1: "sliding", 3: "rolling"}
"""The name of a status by the number of rows that it holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """What happened at an instant.

    `kind` is "collision", "lift-off" (a force or the ground under a wheel ends), "hand-over" (a
    wheel goes on to the next feature), "stick", "slip", "input" (an input may jump). `soft` events
    have no jump: of speeds at a collision, of the contact's own force at a lift-off (3.7).
    `impulses` are (normal, along, across) per contact; energies in J; `trials` are the contact sets
    that were tried at impulse level, the first being the prediction that all contacts stay closed.
    """

    t: float
    kind: str
    contacts: tuple[Key, ...]
    soft: bool
    before: State
    after: State
    mode_before: Mode
    mode_after: Mode
    energy_before: float
    energy_after: float
    impulses: dict[Key, Floats] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()

    @property
    def gain(self) -> float:
        """The energy that the event created; negative where it dissipated."""
        return self.energy_after - self.energy_before

    def __str__(self) -> str:
        where = ", ".join(":".join(key) for key in self.contacts)
        return f"{self.t:.9f} s {self.kind} {where}".rstrip()
