"""A ride under way: commands in, frames out, step by step of 1/1024 s."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.control.rider import Rider
from draisine.errors import (
    DraisineError,
    ParameterError,
    SimulationError,
    UnknownNameError,
    expect_known,
)
from draisine.mechanics.readings import law_states
from draisine.registry import names
from draisine.ride.chart import stability_chart
from draisine.ride.machine import PUSH, SLIDERS, ride_system, rider_of
from draisine.ride.presets import GROUNDS, PRESETS, Preset, ground_of
from draisine.ride.record import RideRecord
from draisine.scenario.terrain import start_on
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.stepper import DEFAULT_STEP, Stepper
from draisine.system.closed_form import ClosedForm
from draisine.system.generic import Generic, generic
from draisine.system.state import State
from draisine.vehicles import parameter_sets
from draisine.view.scene.description import describe_ground, describe_machine

RATE = round(1.0 / DEFAULT_STEP)
"""Steps in a second."""

LEAN_LIMIT = math.radians(45.0)
STEER_LIMIT = math.radians(75.0)
"""Beyond these a ride has ended: it fell, or the bar flipped."""

PITCH_LIMIT = math.radians(75.0)
"""Beyond this the machine has turned over, forwards or backwards."""

RIDING, FELL, FLIPPED, LIFTED, SLIPPED, TURNED_OVER, STOPPED = range(7)
"""How a ride stands, as frames tell it."""

PLACE = ("x", "y", "yaw", "lean")
SPEEDS = ("forward_speed", "lean_rate", "steer_rate", "torso_rate")
"""What a change of parameters leaves as it is on a bicycle, beside its joints."""


ON_PLANE = ContactOptions(fall=math.inf)
ON_TERRAIN = ContactOptions(rest_speed=0.05, fall=math.inf)
"""What contacts do: slow bounces on a terrain end, and a fall is judged by the ride itself."""


class Session:
    """One rider's ride; `controls` is what the page commands, by name: the push, then the rider's
    commands or the joints.
    """

    def __init__(self, name: str, presets: Mapping[str, Preset] = PRESETS) -> None:
        self.presets = presets
        self.choose(name)

    def choose(self, name: str) -> None:
        """Take up a preset from its start."""
        expect_known("no ride", name, self.presets, UnknownNameError)
        self.name, self.preset = name, self.presets[name]
        self.system = ride_system(self.preset)
        self.terrain = None if self.preset.ground is None else self.preset.ground()
        joints = [joint.name for joint in self.system.model.joints]
        self._steer = joints.index("steer") if "steer" in joints else None
        self.reset()
        if self.terrain is not None and self.law is not None:
            for by_angle in (1.0, 0.0):  # the code of both is at hand before anybody switches
                self._take_over({"by_angle": by_angle})
            self.reset()
        self.controls = (f"{PUSH}.y", *(joints if self.law is None else self.law.commands))

    def reset(self) -> None:
        """Begin the ride anew, with the present parameters."""
        self.law = self._rider(self.preset.way == "angle")
        by_angle = {"by_angle": float(self.preset.way == "angle")}
        self.stepper = Stepper(
            self.system,
            self._start(),
            terrain=self.terrain,
            law=self.law,
            inputs=self.preset.commands | by_angle if self.law else None,
            contact=ON_PLANE if self.terrain is None else replace(ON_TERRAIN, mu=self.preset.mu),
            numerics=None
            if self.terrain is None
            else Numerics(dt=DEFAULT_STEP, rtol=1e-8, atol=1e-10),
        )
        self.status = RIDING
        self.reason = ""
        self._look()
        self.record = RideRecord(dict(self.system.parameters), self.preset.mu)

    def _rider(self, by_angle: bool) -> Rider | None:
        """Return who rides; on a terrain another one takes over where the bar is guided."""
        if self.terrain is None:
            return rider_of(self.system, "either")
        return rider_of(self.system, "guided" if by_angle else "free")

    def _start(self) -> State:
        """Return the state at the start of the ride."""
        return start_on(self.system, self.preset.start, self.terrain, self.preset.place)

    @property
    def machine(self) -> ClosedForm | Generic:
        """The compiled machine with its rider."""
        if self.terrain is not None:
            return generic(self.system, self.law, self.terrain.motions)
        return self.system.machine(None, self.law, law_states(self.law))

    def advance(self, count: int, inputs: dict[str, float]) -> None:
        """Go on by so many steps under commands and inputs by name, unless the ride has ended."""
        if self.status != RIDING:
            return
        try:
            self._take_over(inputs)
            self.stepper.step(count * DEFAULT_STEP, inputs)
        except SimulationError as error:
            self.status = STOPPED
            self.reason = str(error)
            return
        self._look()
        self._judge()
        self.record.add(count, inputs)

    def _take_over(self, inputs: dict[str, float]) -> None:
        """Let the rider take over who holds the bar as it is commanded."""
        law = self._rider(bool(inputs["by_angle"])) if "by_angle" in inputs else self.law
        if law is not None and law != self.law:
            self.stepper.obey(law)
            self.law = law

    def _look(self) -> None:
        """See the present state."""
        self.seen, self.state = self.stepper.observe(), self.stepper.state

    def _judge(self) -> None:
        """See whether the ride has ended."""
        _, lean, pitch, *_ = self.seen["outputs"].tolist()
        steer = 0.0 if self._steer is None else float(self.state.r[self._steer])
        if abs(lean) > LEAN_LIMIT:
            self.status = FELL
        elif abs(steer) > STEER_LIMIT:
            self.status = FLIPPED
        elif self.law is not None and abs(pitch) > PITCH_LIMIT:
            self.status = TURNED_OVER
        else:
            self._judge_contacts(self.seen["forces"].tolist())

    def _judge_contacts(self, forces: list[float]) -> None:
        """See whether the ground would have to pull a wheel, or holds one no longer."""
        mu = self.preset.mu
        sticks = self.preset.sticks or self.terrain is not None
        for normal, along, across in zip(forces[::3], forces[1::3], forces[2::3], strict=True):
            if normal < 0.0 and not sticks:
                self.status = LIFTED
            elif math.isfinite(mu) and math.hypot(along, across) > mu * normal:
                self.status = SLIPPED

    def change(self, parameters: dict[str, float]) -> None:
        """Ride on with other parameters, at the same place, speed, lean and steer; on a terrain, where
        wheels may be in the air, begin anew with them. What cannot be is an error, and the old ones
        ride on.
        """
        if self.terrain is not None:
            self._begin_with(parameters)
            return
        self.stepper = self.stepper.with_parameters(keep=self._kept, **parameters)
        self.system = self.stepper.system
        self._look()
        self.record.changes[len(self.record.steps)] = parameters

    def _begin_with(self, parameters: dict[str, float]) -> None:
        """Begin the ride anew with other parameters."""
        before = self.system
        self.system = before.with_parameters(**parameters)
        try:
            self.reset()
        except DraisineError:
            self.system = before
            raise

    @property
    def _kept(self) -> list[str]:
        """What stays as it is: place, joints and speeds of a bicycle; elsewhere what is usual."""
        joints = [joint.name for joint in self.system.model.joints]
        here = self.stepper.values()
        return [n for n in (*PLACE, *joints, *SPEEDS) if n in here] if self.law else []

    def set_friction(self, mu: float) -> None:
        """Ride on ground of another friction; on a terrain from the next start on."""
        if not mu > 0.0:
            raise ParameterError(f"mu = {mu:g}: without friction nothing can be ridden.")
        self.preset = replace(self.preset, mu=mu)

    # --- what the page is told

    def parts(self) -> dict[str, Floats]:
        """Return what a frame is made of, by name."""
        seen = self.seen
        now = self.state
        return {
            "time": np.array([self.stepper.time]),
            "status": np.array([float(self.status)]),
            "q": now.q,
            "p": seen["position"],
            "r": now.r,
            "outputs": seen["outputs"],
            "output_rates": seen["output_rates"],
            "forces": seen["forces_world"],
            "loads": seen["forces"],
            "points": seen["points"],
            "gaps": seen["gaps"],
            "energy": np.concatenate([seen["kinetic"], seen["potential"]]),
            "inputs": seen["inputs"],
            "rider": self.stepper.law_state,
        }

    def frame(self) -> Floats:
        """Return the present frame: all parts one after the other."""
        return np.concatenate(list(self.parts().values()))

    def description(self) -> dict[str, Any]:
        """Return all that the page needs to know of this ride before its frames."""
        model = self.system.model
        parts = self.parts()
        ends = np.cumsum([len(part) for part in parts.values()]).tolist()
        units = {o.name: o.unit for o in model.outputs}
        machine = describe_machine(model)
        return {
            "preset": _told(self.name, self.preset),
            "fact": self.preset.fact(self.system.parameters) if self.preset.fact else "",
            "presets": {name: each.title for name, each in self.presets.items()},
            "layout": {
                name: [end - len(part), end]
                for (name, part), end in zip(parts.items(), ends, strict=True)
            },
            "outputs": {name: units.get(name, "rad") for name in self.system.outputs},
            "inputs": list(model.inputs),
            "joints": [joint.name for joint in model.joints],
            "controls": self.controls,
            "vehicles": names("vehicle"),
            "vehicle": self.preset.vehicle,
            "grounds": tuple(GROUNDS) if self.law else (),
            "ground_name": ground_of(self.preset),
            "sets": _sets(self.preset.vehicle),
            "parameter_set": self.preset.parameter_set or "",
            "machine": machine,
            "ground": describe_ground(self.terrain, parts["p"], machine["size"]),
            "chart": stability_chart(self.system),
            "sliders": {
                name: asdict(slider) | {"value": self.system.parameters[name]}
                for name, slider in SLIDERS.items()
                if name in self.system.parameters
            },
            "begins_anew": self.terrain is not None,
            "rate": RATE,
        }


def rehearse(name: str) -> None:
    """Derive, compile and keep all that a preset needs, and ride it for a while."""
    session = Session(name)
    session.description()
    for _ in range(4 * RATE // 16):
        session.advance(16, {})
        session.frame()


def _told(name: str, preset: Preset) -> dict[str, Any]:
    """Return what the page tells of a preset."""
    told = ("title", "lesson", "question", "answer", "way", "commands", "keys", "pace", "shown")
    return {"name": name} | {key: getattr(preset, key) for key in told}


def _sets(vehicle: str) -> tuple[str, ...]:
    """Return the parameter sets of a vehicle, if it has any."""
    try:
        return parameter_sets(vehicle)
    except UnknownNameError:
        return ()
