"""The table of a sweep: what differs between its runs, and what is asked of each."""

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from draisine.scenario.values import Quantity, ScenarioTable, Text, check_rising

MOST = 10**8
"""How many runs a sweep has at most: more take more than memory, and longer than a week."""


class Interval(ScenarioTable):
    """Numbers between two ends; evenly spaced ones where a count is given."""

    low: Quantity
    high: Quantity
    count: int | None = Field(None, ge=2, le=1_000_000)

    @model_validator(mode="after")
    def _ends(self) -> Self:
        return check_rising(self)


class Sweep(ScenarioTable):
    """What differs between the runs of a sweep, and what is asked of each."""

    design: Literal["grid", "list", "one-at-a-time", "latin-hypercube", "sobol"] = Field(
        "grid",
        description="All combinations of the values; the first values of all, then the second ones; "
        "the scenario as it stands, then each value alone; or `count` points between the ends.",
    )
    over: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        {}, description="Values by key path (`run.dt`, `vehicle.parameters.mB`)."
    )
    between: dict[str, Interval] = Field(
        {},
        description="Ends by key path: `{ low, high }`; where no points are drawn, with a `count`.",
    )
    count: int | None = Field(
        None, ge=1, le=MOST, description="How many points are drawn between the ends."
    )
    seed: int = Field(0, ge=0, description="What the points that are drawn depend on.")
    chunk: int = Field(
        1024,
        ge=1,
        le=1_000_000,
        description="How many runs are computed, and kept in a store, together.",
    )
    outputs: list[Text] = Field(
        min_length=1, description="Questions (`final lean`), one number per run."
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not self.paths:
            raise ValueError("tells nothing that differs: give values in over or ends in between")
        if set(self.over) & set(self.between):
            raise ValueError("has a key path both in over and in between")
        if self.drawn:
            if self.over or self.count is None:
                raise ValueError(
                    f"of the design {self.design!r} takes between and a count, not over"
                )
            if any(side.count is not None for side in self.between.values()):
                raise ValueError(
                    f"of the design {self.design!r} has one count for all, in sweep.count"
                )
            if self.design == "sobol" and self.count & (self.count - 1):
                power = 1 << self.count.bit_length()
                raise ValueError(f"needs a power of two as count: {power // 2} or {power}")
        elif self.count is not None or any(side.count is None for side in self.between.values()):
            raise ValueError(f"of the design {self.design!r} has a count in each side of between")
        runs = math.prod(map(len, self.values().values())) if self.design == "grid" else 1
        if runs > MOST:
            raise ValueError(f"has {runs:.3g} runs; no more than {MOST:.0e} are made")
        if self.design == "list" and len({len(x) for x in self.values().values()}) > 1:
            raise ValueError("of the design 'list' needs as many values along every key path")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """The key paths of what differs."""
        return (*self.over, *self.between)

    @property
    def drawn(self) -> bool:
        """Whether points are drawn between ends."""
        return self.design in ("latin-hypercube", "sobol")

    def values(self) -> dict[str, list[Any]]:
        """Return the values by key path; of a side between ends its grid, or else both ends."""
        spaced = {p: np.linspace(x.low, x.high, x.count or 2) for p, x in self.between.items()}
        return self.over | {path: x.tolist() for path, x in spaced.items()}
