"""Steady motions: what is asked of them, closed contacts and balanced forces, by Newton's method
with exact derivatives.

A motion is steady if its coordinates, but for the cyclic ones, and its speeds do not change: rest,
straight running, circles (relative equilibria).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.linear import (
    Linear,
    cyclic_coordinates,
    in_axes,
    linear_systems,
    machine_at,
    with_maker,
)
from draisine.analysis.variation import SEEDS, Chart, Variation, anchors_of, chart, vary
from draisine.errors import ConfigurationError, ParameterError, expect_known
from draisine.model.names import Axes, observation_names
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import displace
from draisine.system.layout import Layout
from draisine.system.state import State, state
from draisine.system.system import System
from draisine.system.tracing import Law


@dataclass(frozen=True, eq=False)
class Steady:
    """A steady motion: y = (q, p, r, u, z) of a machine, and the inputs that keep it up."""

    machine: ClosedForm
    y: Floats
    w: Floats
    law: Law | None = None

    @cached_property
    def values(self) -> dict[str, float]:
        """All that is seen of the motion, by name: coordinates, outputs, speeds."""
        found = vary(self.machine, self.y[None], self.w[None])
        return dict(zip(found.names, map(float, found.values["seen"][0]), strict=True))

    @property
    def state(self) -> State:
        """The motion as a state, with the deflections of its tyres, to run or to linearise."""
        model = self.machine.system.model
        at = self.machine.layout.split(self.y)
        q, p = self.machine.user_pose(at["q"], at["p"])
        v = np.array([self.values[name] for name in model.speeds])
        return State(q, p, at["r"], v, element_state=at["z"][: model.memory])

    @property
    def inputs(self) -> dict[str, float]:
        """The inputs, by name."""
        return dict(zip(self.machine.system.model.inputs, map(float, self.w), strict=True))

    def linear(
        self,
        *,
        outputs: Sequence[str] | None = None,
        cyclic: bool = False,
        axes: Axes = "draisine",
    ) -> Linear:
        """Return the linear system about the motion, as `linearise` does about a state.

        Unlike that it knows the slips of tyres in the motion, and its control law.
        """
        found = linear_systems(
            self.machine, self.y[None], self.w[None], outputs=outputs, cyclic=cyclic
        )
        system = self.machine.system
        return in_axes(with_maker(found, system, self.law), system, axes)[0]


def steady(
    system: System,
    *,
    start: State | None = None,
    free: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    **asked: float,
) -> Steady:
    """Return the steady motion near a start in which everything asked for is so.

    Asked can be any coordinate, output or speed by name; the `free` inputs are found as well, all
    others keep the values given (or zero). The start is the nearest consistent state by default.
    Cyclic coordinates stay as they start.

    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> turn = steady(bicycle, free=["steer"], lean=-0.2, forward_speed=5.0)
    >>> print(f"{turn.values['steer']:.4f} rad, {turn.inputs['steer']:.4f} N m")
    0.0838 rad, -0.1371 N m
    """
    names = observation_names(system.model)
    for name in asked:
        expect_known("steady motion: nothing is called", name, names)
    for name in free:
        if name in (inputs or {}):
            raise ParameterError(f"steady motion: input {name} is free, and given; leave one out.")
    if start is None:
        simple: dict[str, Any] = {k: x for k, x in asked.items() if k not in _RATES_OF_PLACE}
        start = state(system, mode=mode, **simple)
    w = system.inputs(inputs)
    loose = [_input(system, name) for name in free]
    machine, y = machine_at(system, start, mode, law)
    y, w = Balance(machine, y, w, loose).solve(y, w, asked)
    return Steady(machine, y, w, law)


def steady_driven(system: System, free: Sequence[str] = (), **given: Any) -> Steady:
    """Return the steady motion near a start in which everything asked for is so: without inputs, or
    where there is none, with the `free` ones (those of all joints if none are named), the least of them.

    >>> from draisine import Body, Model, Prismatic, compile
    >>> def sledge(*, damper: float = 2.0) -> Model:
    ...     way = Prismatic("way", "rail", "sledge", (1.0, 0.0, 0.0), damper=damper)
    ...     return Model([Body("rail"), Body("sledge", 1.0)], [way], base="fixed")
    >>> steady_driven(compile(sledge), way_rate=3.0).inputs
    {'way': 6.0}
    """
    try:
        return steady(system, **given)
    except ConfigurationError:
        joints = [joint.name for joint in system.model.joints if joint.motion is None]
        return steady(system, free=free or joints, **given)


_RATES_OF_PLACE = ("x_rate", "y_rate", "z_rate")
"""What a steady motion, but no initial state can be asked for."""


def _input(system: System, name: str) -> int:
    names = list(system.model.inputs)
    expect_known("no input", name, names)
    return names.index(name)


class Balance:
    """The equations of a steady motion, with the cyclic coordinates kept as they start.

    Unknown are a displacement of the configuration, the independent speeds, the law's states and
    the free inputs; the equations are closed contacts, cyclic coordinates, rates of the others that
    vanish, and speeds that do not change.
    """

    def __init__(self, machine: ClosedForm, y: Floats, w: Floats, free: Sequence[int]) -> None:
        self.machine, self.free = machine, list(free)
        self.anchors = anchors_of(machine, y)
        found = self.look(y, w)
        self.at: Chart = chart(found)
        self.cyclic = cyclic_coordinates(machine, self.at, y, w)
        self.paced = [found.speeds.index(name) for name in self.at.speeds]
        self.essential = [name for name in self.at.coordinates if name not in self.cyclic]
        self.kept = {name: float(found.value(name)[0]) for name in self.cyclic}
        self.still = {f"{name}_rate": 0.0 for name in self.essential}

    def look(self, y: Floats, w: Floats) -> Variation:
        """Return the derivatives at one state."""
        return vary(self.machine, y[None], w[None], anchors=self.anchors)

    def equations(self, found: Variation, asked: Mapping[str, float]) -> tuple[Floats, Floats]:
        """Return what is left of each equation, and the derivatives by all unknowns.

        Each kind of equation is divided by its largest derivative, so that none drowns the others
        and those that hold by themselves stay small.
        """
        goals = self.kept | dict(asked) | self.still
        left = np.array([found.value(name)[0] - goal for name, goal in goals.items()])
        if "yaw" in self.kept:
            at = list(goals).index("yaw")
            left[at] = (left[at] + np.pi) % (2 * np.pi) - np.pi
        rest, rows = [left], [self._row(seed, found.rows(goals, seed)[0]) for seed in SEEDS[1:]]
        blocks = [np.hstack(rows)]
        for part in ("conditions", "paced", "zdot"):
            only = self.paced if part == "paced" else slice(None)
            d = found.d[part]
            block = np.hstack([self._row(seed, d[seed][0][only]) for seed in SEEDS[1:]])
            scale = np.abs(block).max(initial=1e-300)
            rest.append(found.values[part][0][only] / scale)
            blocks.append(block / scale)
        return np.concatenate(rest), np.vstack(blocks)

    def _row(self, seed: str, rows: Floats) -> Floats:
        return rows[:, self.free] if seed == "dw" else rows

    def move(self, y: Floats, w: Floats, step: Floats) -> tuple[Floats, Floats]:
        """Return state and inputs after a step of all unknowns."""
        at = self.machine.layout
        sizes = {"dx": len(self.machine.columns), "du": at.count("u"), "dz": at.count("z")}
        parts = Layout(sizes | {"dw": len(self.free)}).split(step)
        y = displace(self.machine, y[None], parts["dx"][None])[0]
        y[at.u] += parts["du"]
        y[at.z] += parts["dz"]
        w = w.copy()
        w[self.free] += parts["dw"]
        return y, w

    def solve(
        self,
        y: Floats,
        w: Floats,
        asked: Mapping[str, float],
        across: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the steady motion near y, by Newton's method; of many the nearest, or the one in
        the plane through y `across` a direction.
        """
        for name in (name for name in asked if name in self.still and asked[name] != 0.0):
            raise ParameterError(
                f"steady motion: {name} = {asked[name]:g}, but in a steady motion it is zero: "
                f"{name.removesuffix('_rate')} stays as it is."
            )
        last, moved = np.inf, 0.0
        for _ in range(60):
            rest, J = self.equations(self.look(y, w), asked)
            if across is not None:
                rest, J = np.append(rest, moved), np.vstack([J, across])
            if not (np.all(np.isfinite(rest)) and np.all(np.isfinite(J))):
                break
            step = -np.linalg.lstsq(J, rest, rcond=1e-9)[0]
            size = float(np.abs(step).max(initial=0.0))
            step = step * min(1.0, 0.3 / max(size, 1e-300))
            y, w = self.move(y, w, step)
            moved += 0.0 if across is None else float(across @ step)
            if size < 1e-14 or (size < 1e-9 and size >= 0.5 * last):
                if np.abs(rest).max(initial=0.0) < 1e-8:
                    return y, w
                break
            last = size
        raise ConfigurationError(
            "no steady motion found"
            + (f" with {', '.join(f'{n} = {x:.6g}' for n, x in asked.items())}" if asked else "")
            + ": the forces cannot be balanced near the start. Start closer, ask for less, or leave "
            "an input free."
        )
