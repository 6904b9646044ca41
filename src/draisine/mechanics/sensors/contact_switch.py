"""Contact switch: a bumper, a foot switch or a wheel-drop sensor."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine.algebra.scalar import Scalar, where
from draisine.errors import ModelError, expect_known
from draisine.model.sensor import Sampled, SensorChannel

if TYPE_CHECKING:
    from draisine.model import Model


@dataclass(frozen=True, eq=False)
class ContactSwitch(Sampled):
    """Switch that is on (1) while a contact touches the ground, otherwise off (0).

    It has a sampling rate, but neither bias nor noise nor quantum.

    Parameters
    ----------
    name
        Name of the sensor and of its signal.
    contact
        Name of the contact: a wheel or a foot.
    force
        Normal force above which the switch is on, N.
    travel
        Gap below which the switch is on as well, m. Impacts are instantaneous: without travel, a body that
        bounces switches on only when it comes to rest.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc").with_sensors(ContactSwitch("touch", "ground"))
    >>> print(draisine.Stepper(disc, draisine.state(disc)).values()["touch"])
    1.0
    """

    name: str
    contact: str
    force: float = 0.0
    travel: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for what in ("force", "travel"):
            value = getattr(self, what)
            if not 0.0 <= value < math.inf:
                raise ModelError(
                    f"sensor {self.name!r}: {what} = {value} must be a finite number of at least 0."
                )
        if any((self.bias, self.noise, self.quantum)):
            raise ModelError(
                f"sensor {self.name!r}: a contact switch is on or off; it has no bias, noise or quantum."
            )

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return the only channel: 1 if the switch is on, otherwise 0."""
        names = [contact.name for contact in model.contacts]
        expect_known(f"sensor {self.name!r}: no contact", self.contact, names, ModelError)
        return (SensorChannel("", "1", f"whether {self.contact} touches the ground"),)

    def measure(self, readings: Any) -> Sequence[Scalar]:
        """Return 1 if the switch is on, otherwise 0."""
        is_on = where(readings.normal_force(self.contact) > self.force, 1.0, 0.0)
        if self.travel > 0.0:
            is_on = where(readings.gap(self.contact) < self.travel, 1.0, is_on)
        return [is_on]


SENSOR = ContactSwitch
