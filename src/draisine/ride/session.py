"""Simulation of a ride in progress, in steps of 1/1024 s: from the user's commands to frames for the page.

A frame is an array of numbers that describes one image: time, pose, joint coordinates, contact forces and
outputs of the vehicle.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from enum import IntEnum
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
from draisine.ride.machine import PUSH_FORCE, SLIDERS, make_rider, ride_system, stability_chart
from draisine.ride.own_rate import OwnRateStepper, load_rate
from draisine.ride.presets import PRESETS, RIDE_GROUNDS, Preset, ground_of
from draisine.ride.record import RideRecord
from draisine.scenario.terrain import start_on
from draisine.simulation.options import ContactOptions, Numerics, Task
from draisine.simulation.stepper import DEFAULT_STEP, Stepper
from draisine.system.closed_form import ClosedForm
from draisine.system.generic import Generic, make_generic
from draisine.system.state import State
from draisine.vehicles import parameter_sets
from draisine.view.scene.description import describe_ground, describe_machine

STEP_RATE = round(1.0 / DEFAULT_STEP)
"""Number of simulation steps per second of simulated time."""

LEAN_LIMIT = math.radians(45.0)
"""Largest lean angle (rad) during a ride. A bicycle that leans more has fallen, because no rider recovers."""

STEER_LIMIT = math.radians(75.0)
"""Largest steer angle (rad) during a ride; beyond it the handlebar has flipped, and the ride ends."""

PITCH_LIMIT = math.radians(75.0)
"""Largest pitch angle (rad) during a ride; beyond it the vehicle has overturned forwards or backwards, and
the ride ends.
"""


class RideStatus(IntEnum):
    """Status of a ride, which every frame contains; `page/words.js` has the sentence for each status."""

    RIDING = 0
    FELL = 1
    FLIPPED = 2
    LIFTED = 3
    SLIPPED = 4
    TURNED_OVER = 5
    STOPPED = 6


KEPT_POSE = ("x", "y", "yaw", "lean")
"""Names of the outputs for the pose of a bicycle that stay unchanged when the user changes parameters."""

KEPT_SPEEDS = ("forward_speed", "lean_rate", "steer_rate", "torso_rate")
"""Names of the speeds of a bicycle that stay unchanged when the user changes parameters."""

PLANE_CONTACT = ContactOptions(fall=math.inf)
"""Contact options of rides on the plane. `fall` is infinite, because the session itself detects falls."""

TERRAIN_CONTACT = ContactOptions(rest_speed=0.05, fall=math.inf)
"""Contact options of rides on a terrain. Impacts slower than 0.05 m/s are plastic, so that small bounces do
not slow the simulation below real time.
"""

TERRAIN_NUMERICS = Numerics(dt=DEFAULT_STEP, rtol=1e-8, atol=1e-10)
"""Step (s) and tolerances of rides on a terrain; the tolerances keep errors of event times below 1e-6 s."""


class Session:
    """Simulation of one ride, from commands of the user to frames.

    The attribute `controls` lists the names of the commands that the page sends: the lateral component of the
    disturbing force, then the commands of the rider, or the joint torques of a vehicle without a rider.

    Parameters
    ----------
    name
        Name of the first preset.
    presets
        Available presets by name.
    """

    def __init__(self, name: str, presets: Mapping[str, Preset] = PRESETS) -> None:
        """Start the session with the preset `name`."""
        self.presets = presets
        self.choose(name)

    def choose(self, name: str) -> None:
        """Compile the vehicle of the preset `name` and start its ride."""
        expect_known("no ride", name, self.presets, UnknownNameError)
        self.name = name
        self.preset = self.presets[name]
        self.system = ride_system(self.preset)
        self.terrain = None if self.preset.ground is None else self.preset.ground()
        joints = [joint.name for joint in self.system.model.joints]
        self._steer = joints.index("steer") if "steer" in joints else None
        self.reset()
        if self.terrain is not None and self.law is not None:
            for by_angle in (
                1.0,
                0.0,
            ):  # compile both riders in advance, so that a change of rider does not interrupt the ride
                self._change_rider({"by_angle": by_angle})
            self.reset()
        self.controls = (f"{PUSH_FORCE}.y", *(joints if self.law is None else self.law.commands))

    def reset(self) -> None:
        """Restart the ride from its initial state, with the current parameters, and clear its record."""
        self.law = self._rider(self.preset.way == "angle")
        by_angle = {"by_angle": float(self.preset.way == "angle")}
        self.stepper: Stepper | OwnRateStepper = Stepper(
            self.system,
            self._start(),
            terrain=self.terrain,
            law=self.law,
            inputs=self.preset.commands | by_angle if self.law else None,
            contact=PLANE_CONTACT
            if self.terrain is None
            else replace(TERRAIN_CONTACT, mu=self.preset.mu),
            numerics=None if self.terrain is None else TERRAIN_NUMERICS,
        )
        if self.preset.rate is not None:
            self.stepper = OwnRateStepper(self.stepper, load_rate(self.preset.rate))
        self.status = RideStatus.RIDING
        self.reason = ""
        self._observe()
        self.record = RideRecord(dict(self.system.parameters), self.preset.mu)

    def _rider(self, by_angle: bool) -> Rider | None:
        """Return the control law of the rider; None for a vehicle without a rider.

        On the plane one rider applies steer torques and prescribes steer angles. On a terrain `by_angle`
        selects one of two riders, because a joint is then either always prescribed or never.
        """
        if self.terrain is None:
            return make_rider(self.system, "either")
        return make_rider(self.system, "guided" if by_angle else "free")

    def _start(self) -> State:
        """Return the initial state of the ride, with the wheel at its place on the terrain."""
        return start_on(self.system, self.preset.start, self.terrain, self.preset.place)

    def terrain_task(self, by_angle: bool) -> Task:
        """Return the simulation task of this ride on its terrain, for the export as a simulator.

        The rider controls the steer angle if `by_angle` is true, otherwise the steer torque.
        """
        contact = replace(TERRAIN_CONTACT, mu=self.preset.mu)
        law = self._rider(by_angle)
        start = self._start()
        return Task(
            self.system,
            start,
            TERRAIN_NUMERICS.dt,
            self.terrain,
            law,
            None,
            contact,
            TERRAIN_NUMERICS,
            None,
        )

    @property
    def machine(self) -> ClosedForm | Generic:
        """Compiled equations of motion of the vehicle with its rider, as the simulation uses them."""
        if self.terrain is not None:
            return make_generic(self.system, self.law, self.terrain.motions)
        return self.system.machine(None, self.law, law_states(self.law))

    def advance(self, count: int, inputs: dict[str, float]) -> None:
        """Advance the ride by `count` simulation steps and record them; do nothing if the ride has ended.

        `inputs` are the rider's commands and the disturbing force (N) by name. An error of the simulation
        ends the ride; `reason` then contains its message.
        """
        if self.status != RideStatus.RIDING:
            return
        try:
            self._change_rider(inputs)
            self.stepper.step(count * DEFAULT_STEP, inputs)
        except SimulationError as error:
            self.status = RideStatus.STOPPED
            self.reason = str(error)
            return
        self._observe()
        self._judge()
        self.record.add(count, inputs)

    def _change_rider(self, inputs: dict[str, float]) -> None:
        """Replace the rider if the user has switched between steer torque and steer angle."""
        law = self._rider(bool(inputs["by_angle"])) if "by_angle" in inputs else self.law
        if law is not None and law != self.law:
            assert isinstance(self.stepper, Stepper)  # only rides on a terrain have two riders
            self.stepper.obey(law)
            self.law = law

    def _observe(self) -> None:
        """Store the observations and the state of the stepper as the attributes `seen` and `state`."""
        self.seen = self.stepper.observe()
        self.state = self.stepper.state

    def _judge(self) -> None:
        """Update the status of the ride: compare lean, steer, pitch and contact forces with their limits."""
        _, lean, pitch, *_ = self.seen["outputs"].tolist()
        steer = 0.0 if self._steer is None else float(self.state.r[self._steer])
        if abs(lean) > LEAN_LIMIT:
            self.status = RideStatus.FELL
        elif abs(steer) > STEER_LIMIT:
            self.status = RideStatus.FLIPPED
        elif self.law is not None and abs(pitch) > PITCH_LIMIT:
            self.status = RideStatus.TURNED_OVER
        elif self.terrain is None:
            self._judge_contacts(self.seen["forces"].tolist())

    def _judge_contacts(self, forces: list[float]) -> None:
        """Update the status of a ride on the plane from its contact forces (N).

        `forces` contains normal, longitudinal and lateral force of each contact. The ride ends if a normal
        force is negative, or if a tangential force exceeds mu times the normal force. On a terrain, wheels
        lift off and slide instead.
        """
        mu = self.preset.mu
        for normal, along, across in zip(forces[::3], forces[1::3], forces[2::3], strict=True):
            if normal < 0.0 and not self.preset.sticks:
                self.status = RideStatus.LIFTED
            elif math.isfinite(mu) and math.hypot(along, across) > mu * normal:
                self.status = RideStatus.SLIPPED

    def change(self, parameters: dict[str, float]) -> None:
        """Change parameters of the vehicle during the ride; position, speed, lean and steer stay unchanged.

        On a terrain the ride restarts, because its wheels may be in the air.

        Parameters
        ----------
        parameters
            New values by name, SI units.

        Raises
        ------
        ParameterError
            If the vehicle is invalid with the new values, or if the ride uses the user's own equations of
            motion. The ride then continues unchanged.
        """
        if isinstance(self.stepper, OwnRateStepper):
            raise ParameterError(
                "Your own equations of motion have their own parameters. To set them, "
                "change them in their file."
            )
        if self.terrain is not None:
            self._restart_with(parameters)
            return
        self.stepper = self.stepper.with_parameters(keep=self._kept, **parameters)
        self.system = self.stepper.system
        self._observe()
        self.record.changes[len(self.record.steps)] = parameters

    def _restart_with(self, parameters: dict[str, float]) -> None:
        """Restart the ride with new parameter values by name.

        If the ride cannot start with the new values, the old values are restored and the error is raised
        again.
        """
        before = self.system
        self.system = before.with_parameters(**parameters)
        try:
            self.reset()
        except DraisineError:
            self.system = before
            raise

    @property
    def _kept(self) -> list[str]:
        """Names of the values that a change of parameters preserves: pose, joint coordinates and speeds.

        The list is empty for a vehicle without a rider.
        """
        joints = [joint.name for joint in self.system.model.joints]
        values = self.stepper.values()
        kept = (*KEPT_POSE, *joints, *KEPT_SPEEDS)
        return [n for n in kept if n in values] if self.law else []

    def set_friction(self, mu: float) -> None:
        """Change the friction coefficient to `mu`; on a terrain it takes effect at the next restart."""
        if not mu > 0.0:
            raise ParameterError(
                f"mu = {mu:g} must be positive, because a vehicle cannot be ridden without friction."
            )
        self.preset = replace(self.preset, mu=mu)

    # --- output for the page

    def parts(self) -> dict[str, Floats]:
        """Return the current frame as blocks by name, each an array (numbers,) in SI units."""
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

    def _yaw(self) -> float:
        """Return the current yaw angle, rad; zero for a vehicle without the output `yaw`."""
        outputs = list(self.system.outputs)
        return float(self.seen["outputs"][outputs.index("yaw")]) if "yaw" in outputs else 0.0

    def frame(self) -> Floats:
        """Return the current frame as one array (numbers,): the concatenated blocks of `parts`."""
        return np.concatenate(list(self.parts().values()))

    def description(self) -> dict[str, Any]:
        """Return the description of the ride for the page as data for JSON.

        It contains everything that frames do not repeat: shapes of vehicle and ground, texts, names of
        commands and outputs, sliders, stability chart, and the position of each block in a frame.
        """
        model = self.system.model
        blocks = self.parts()
        ends = np.cumsum([len(block) for block in blocks.values()]).tolist()
        units = {o.name: o.unit for o in model.outputs}
        machine = describe_machine(model)
        return {
            "preset": _describe_preset(self.name, self.preset),
            "fact": self.preset.fact(self.system.parameters) if self.preset.fact else None,
            "presets": {name: each.title for name, each in self.presets.items()},
            "layout": {
                name: [end - len(block), end]
                for (name, block), end in zip(blocks.items(), ends, strict=True)
            },
            "outputs": {name: units.get(name, "rad") for name in self.system.outputs},
            "inputs": list(model.inputs),
            "joints": [joint.name for joint in model.joints],
            "controls": self.controls,
            "vehicles": names("vehicle") if self.preset.rate is None else (),
            "vehicle": self.preset.vehicle,
            "mu": self.preset.mu if math.isfinite(self.preset.mu) else None,
            "grounds": tuple(RIDE_GROUNDS) if self.law and self.preset.rate is None else (),
            "ground_name": ground_of(self.preset),
            "sets": _sets(self.preset.vehicle) if self.preset.rate is None else (),
            "parameter_set": self.preset.parameter_set or "",
            "machine": machine,
            "ground": describe_ground(self.terrain, blocks["p"], self._yaw(), machine["size"]),
            "chart": stability_chart(self.system),
            "sliders": {
                name: asdict(slider) | {"value": self.system.parameters[name]}
                for name, slider in SLIDERS.items()
                if name in self.system.parameters and self.preset.rate is None
            },
            "begins_anew": self.terrain is not None,
            "rate": STEP_RATE,
        }


def rehearse(name: str) -> None:
    """Fill the compile cache for a preset: derive and compile its equations, and simulate four seconds."""
    session = Session(name)
    session.description()
    for _ in range(4 * STEP_RATE // 16):
        session.advance(16, {})
        session.frame()


def _describe_preset(name: str, preset: Preset) -> dict[str, Any]:
    """Return the fields of a preset that the page uses, and its name, as data for JSON."""
    fields = (
        "title",
        "lesson",
        "question",
        "answer",
        "way",
        "commands",
        "keys",
        "pace",
        "shown",
        "task",
    )
    return {"name": name} | {key: getattr(preset, key) for key in fields}


def _sets(vehicle: str) -> tuple[str, ...]:
    """Return the names of the parameter sets of a vehicle; an empty tuple if the vehicle has none."""
    try:
        return parameter_sets(vehicle)
    except UnknownNameError:
        return ()
