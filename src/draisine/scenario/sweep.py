"""Table `[sweep]` of a scenario: varied values, experimental design, and outputs of each run."""

import math
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from draisine.scenario.values import Quantity, ScenarioTable, Text, check_ends_increase

MAX_SWEEP_RUNS = 10**8
"""Largest number of runs of a sweep; more would exceed the memory and take more than a week."""


class Interval(ScenarioTable):
    """Range of numbers; evenly spaced values if a count is given."""

    low: Quantity
    high: Quantity
    count: int | None = Field(None, ge=2, le=1_000_000)

    @model_validator(mode="after")
    def _check_ends_increase(self) -> Self:
        """Check that the upper end of the range is above the lower end."""
        return check_ends_increase(self)


class Sweep(ScenarioTable):
    """Varied values of a sweep, their experimental design, and the outputs of each run."""

    design: Literal["grid", "list", "one-at-a-time", "latin-hypercube", "sobol"] = Field(
        "grid",
        description="grid: all combinations. list: run k uses the k-th value of every key path. "
        "one-at-a-time: the unchanged scenario, then one changed value per run. latin-hypercube, sobol: "
        "`count` points between the ends.",
    )
    over: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        {}, description="Lists of values by key path (`run.dt`, `vehicle.parameters.mB`)."
    )
    between: dict[str, Interval] = Field(
        {},
        description="Ends by key path: `{ low, high }`, in designs without random points with a `count`.",
    )
    count: int | None = Field(
        None, ge=1, le=MAX_SWEEP_RUNS, description="Number of random points between the ends."
    )
    seed: int = Field(0, ge=0, description="Seed of the random points.")
    chunk: int = Field(
        1024,
        ge=1,
        le=1_000_000,
        description="Number of runs that are computed and stored together.",
    )
    outputs: list[Text] = Field(
        min_length=1, description="Queries (`final lean`), one number per run."
    )

    @model_validator(mode="after")
    def _check_design(self) -> Self:
        """Check that the table specifies a design completely and without contradictions."""
        if not self.paths:
            raise ValueError("no value is varied: list values in `over` or ranges in `between`")
        if set(self.over) & set(self.between):
            raise ValueError(
                "a key path occurs both in `over` and in `between`: remove it from one of them"
            )
        if self.is_random:
            if self.over or self.count is None:
                raise ValueError(
                    f"the design {self.design!r} needs `between` and a count, not `over`"
                )
            if any(ends.count is not None for ends in self.between.values()):
                raise ValueError(
                    f"the design {self.design!r} needs one count for all ranges: set sweep.count"
                )
            if self.design == "sobol" and self.count & (self.count - 1):
                power = 1 << self.count.bit_length()
                raise ValueError(f"the count must be a power of two: {power // 2} or {power}")
        elif self.count is not None or any(ends.count is None for ends in self.between.values()):
            raise ValueError(f"the design {self.design!r} needs a count in each table of `between`")
        runs = math.prod(map(len, self.values().values())) if self.design == "grid" else 1
        if runs > MAX_SWEEP_RUNS:
            raise ValueError(f"the sweep has {runs:.3g} runs; the maximum is {MAX_SWEEP_RUNS:.0e}")
        if self.design == "list" and len({len(x) for x in self.values().values()}) > 1:
            raise ValueError("the design 'list' needs equal numbers of values for all key paths")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """Key paths of the varied values."""
        return (*self.over, *self.between)

    @property
    def is_random(self) -> bool:
        """Whether the points of the design are random."""
        return self.design in ("latin-hypercube", "sobol")

    def values(self) -> dict[str, list[Any]]:
        """Return the values by key path; for a range the evenly spaced values, or its two ends."""
        spaced = {p: np.linspace(x.low, x.high, x.count or 2) for p, x in self.between.items()}
        return self.over | {path: x.tolist() for path, x in spaced.items()}
