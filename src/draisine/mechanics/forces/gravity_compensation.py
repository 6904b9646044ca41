"""Gravity compensation: a constant force on a body, such as that of a counterweight or a static
balancer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, array


@dataclass(frozen=True, eq=False)
class GravityCompensation:
    """A constant force at the mass centre of a body that cancels all or a part of its weight.

    Parameters
    ----------
    body
        Name of the body.
    force
        Force in world axes, N; (0, 0, m g) cancels the weight of a mass m.

    Examples
    --------
    >>> GravityCompensation("arm", (0.0, 0.0, 9.81)).name
    'gravity compensation of arm'
    """

    body: str
    force: tuple[Scalar, Scalar, Scalar]

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """Name of the element, with that of its body."""
        return f"gravity compensation of {self.body}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Array], Sequence[Scalar]]:
        """Return the force by body, N; there are no states."""
        return {self.body: array(list(self.force))}, []


FORCE = GravityCompensation
