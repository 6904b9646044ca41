"""Forces from outside, as inputs."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from draisine.algebra.scalar import Vector
from draisine.errors import ModelError
from draisine.model.body import vector


@dataclass(frozen=True, slots=True, eq=False)
class Force:
    """A push at a point of a body: three inputs `name.x`, `name.y`, `name.z` in newtons, in world
    or body axes.
    """

    name: str
    body: str
    point: Vector = field(default_factory=lambda: np.zeros(3))
    frame: Literal["world", "body"] = "world"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector(self.point, f"force {self.name!r}, point"))
        if self.frame not in ("world", "body"):
            raise ModelError(f"force {self.name!r}: frame {self.frame!r}; take 'world' or 'body'.")
