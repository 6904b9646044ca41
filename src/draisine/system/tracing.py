"""Tracing of vehicles: the function of a vehicle is called with a symbol for each parameter, and its
control law with symbols for the state. Both thus become part of straight-line programs. The signals of
sensors are a program of their own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.algebra.trace import Expr, Graph, evaluate
from draisine.codegen.program import Program, trace_program
from draisine.errors import DraisineError, ModelError, expect_known
from draisine.mechanics.applied import ElementForces, element_forces, limit_motor_torques
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations.projected import Reconstruction
from draisine.mechanics.readings import Readings, SensorReadings, body_kinematics, call_law
from draisine.model import Guide, Model, Sensor
from draisine.system.layout import state_sizes
from draisine.vehicles import build_model

Law = Callable[[Readings, Array], tuple[dict[str, Scalar | Guide], Sequence[Scalar]]]
"""Type of a control law: a function of readings (measured quantities) and of its own states z. It returns
inputs by name (torques, forces, or the accelerations of guided joints) and the time derivatives of z.
"""


class UntraceableLawError(DraisineError, TypeError):
    """Error for a control law that cannot be evaluated with symbols; `reason` is the error that it
    raised.
    """

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(reason, where)  # both, so that it can be pickled
        self.reason = reason
        self.where = where

    def __str__(self) -> str:
        # A control law that runs as Python code at every evaluation is incompatible with event
        # location: a decision in it would be a jump that no event function locates. A sampled
        # control law jumps at known times only.
        way_out = "`simulate` and `Stepper` without a terrain also run laws in Python."
        if self.where:
            way_out = (
                "Or sample it: compute the inputs from `Stepper.values()` and pass them to "
                "`Stepper.step(dt, inputs)` in a loop, which holds them for dt."
            )
        return (
            f"control laws must be traceable{self.where}, and this one is not: {self.reason}. Write it "
            "over any scalar: where, sin, sqrt of draisine.algebra.scalar instead of if, float and math. "
            + way_out
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tracing:
    """A model with symbolic parameters, and its control law. The states z are those of the force elements,
    then those of the control law.
    """

    graph: Graph  # expression graph
    model: Model  # model with symbolic parameters
    parameters: dict[str, Expr]  # symbol of each parameter
    nominal: Mapping[str, float]  # values of the parameters, at which pivots are chosen
    law: Law | None = None  # control law, or None
    states: int = 0  # number of states of the control law

    @property
    def memory(self) -> int:
        """The number of states z of force elements and control law."""
        return self.model.memory + self.states

    def symbols(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        """Return arrays of symbols by name, with the given sizes."""
        return {
            name: array([self.graph.symbol(f"{name}[{k}]") for k in range(size)])
            for name, size in sizes.items()
        }

    def make_program(
        self, name: str, arrays: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> Program:
        """Return the program whose inputs are the parameters and arrays of symbols, and whose outputs are
        traced expressions.
        """
        flat = {key: list(np.asarray(x, dtype=object).ravel()) for key, x in outputs.items()}
        return trace_program(name, {"parameters": list(self.parameters.values()), **arrays}, flat)

    def apply_law_and_inputs(
        self, readings: Readings, z: Array, given_inputs: Array
    ) -> "Commanded":
        """Return inputs, guided joints and state rates under the control law. The inputs `given_inputs` from
        outside are added to those of the law; z are the states of force elements and law.
        """
        complete = replace(readings, remembered=z[: self.model.memory])
        return apply_law(self.law, complete, z[self.model.memory :], given_inputs)

    def element_forces(self, readings: Readings, mode: Mode | None, z: Array) -> ElementForces:
        """Return the forces of the model's force elements and the time derivatives of their states."""
        return element_forces(readings, mode, z[: self.model.memory])


def trace_vehicle(
    vehicle: Callable[..., Model],
    nominal: Mapping[str, float],
    structure: Mapping[str, Any],
    law: Law | None = None,
    states: int = 0,
) -> Tracing:
    """Return the model of a vehicle with a symbol for each of its parameters."""
    graph = Graph()
    symbols = {name: graph.symbol(name, parameter=True) for name in nominal}
    return Tracing(graph, build_model(vehicle, symbols, structure), symbols, nominal, law, states)


def make_readings(moving: Reconstruction, t: Scalar) -> Readings:
    """Return the quantities that control laws and outputs can read, at a state of one contact mode and time
    t (s).
    """
    rows = moving.rows
    return Readings(rows.tree, rows.geo, rows.world, rows.p, moving.vel, moving.speeds, rows.ref, t)


def rates_by_symbol(**rates: Any) -> dict[str, Any]:
    """Return the time derivatives of all symbols by name, from those of arrays of symbols: `q=qdot` becomes
    {"q[0]": qdot[0], ...}. `tangent` needs this form for derivatives along a motion.
    """
    return {f"{name}[{k}]": x for name, xs in rates.items() for k, x in enumerate(xs)}


@dataclass(frozen=True, slots=True, eq=False)
class Commanded:
    """Inputs of a model at one state under its control law."""

    # all inputs of the model: given inputs plus those of the control law, limited by the motors
    inputs: Array
    requests: Array  # the same before the limitation
    guides: dict[int, Guide]  # guided joints, by joint index
    rates: Array  # time derivatives of the states of the control law


def apply_law(law: Law | None, readings: Readings, z: Array, given_inputs: Array) -> Commanded:
    """Return the given inputs plus those of a control law with states z, its guided joints and its state
    rates.
    """
    model = readings.tree.model
    if law is None:
        inputs = limit_motor_torques(model, given_inputs, readings.vel.rdot)
        return Commanded(inputs, given_inputs, {}, array([0.0] * len(z)))
    names = list(model.inputs)
    try:
        commands, rates = call_law(law, readings, z)
    except DraisineError:
        raise
    except Exception as error:  # a user's function may raise any error when called with symbols
        raise UntraceableLawError(f"{type(error).__name__}: {error}") from error
    extra: list[Scalar] = [0.0] * len(names)
    guides: dict[int, Guide] = {}
    for name, value in commands.items():
        expect_known("law: no input", name, names, ModelError)
        k = names.index(name)
        if isinstance(value, Guide):
            if k >= len(model.joints):
                raise ModelError(f"law: {name!r} is a force; only joints can be guided.")
            if model.joints[k].motion is not None:
                raise ModelError(
                    f"law: joint {name!r} follows a prescribed motion and cannot be guided as well."
                )
            guides[k] = value
            value = value.torque
        extra[k] = _check_law_value(name, value)
    if len(rates) != len(z):
        raise ModelError(
            f"law: it returns {len(rates)} rates for {len(z)} states. Set its attribute `states` to the "
            "number of its states."
        )
    state_rates = [_check_law_value(f"rate {k}", rate) for k, rate in enumerate(rates)]
    requests = given_inputs + array(extra)
    inputs = limit_motor_torques(model, requests, readings.vel.rdot)
    return Commanded(inputs, requests, guides, array(state_rates))


def _check_law_value(name: str, value: Any) -> Scalar:
    """Check a value that a control law returned, and return it; raise ModelError unless it is one finite
    number or one expression.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, int | float | np.number):
        with suppress(OverflowError):
            if math.isfinite(value):
                return cast(Scalar, value)
    elif isinstance(value, Expr):
        return value
    raise ModelError(f"law: {name!r:.80} is {value!r:.80}, which is not a finite number.")


def derive_sense(tracing: Tracing, sensors: Sequence[Sensor]) -> Program:
    """Return the program of the ideal signals of sensors, in their order.

    Its inputs are outputs of the program `observe`, or of an observed sample on a terrain, so that sensors
    work in the same way in all kinds of runs.
    """
    model = tracing.model
    speeds = len(model.speeds)
    contacts = len(model.contacts)
    held = sum(joint.motion is not None for joint in model.joints)
    more = {"w": len(model.inputs), "held": held, "loads": contacts, "gaps": contacts}
    s = tracing.symbols(state_sizes(model, v=speeds, vdot=speeds) | more)
    state = {name: s[name] for name in ("p", "r", "v", "vdot")}
    signals = trace_signals(
        tracing, sensors, rotation(s["q"]), state, s["w"], s["held"], s["loads"], s["gaps"]
    )
    return tracing.make_program("sense", s, {"signals": signals})


def trace_signals(
    tracing: Tracing,
    sensors: Sequence[Sensor],
    base: Array,
    state: Mapping[str, Array],
    *forces: Array,
) -> list[Scalar]:
    """Return the ideal signals of sensors, from the rotation matrix `base` of the user's base frame, the
    state (p, r, v, vdot), and inputs, torques of prescribed joints, normal forces and gaps of contacts.
    """
    motions = body_kinematics(
        tracing.model, base, **state, evaluate=lambda values: evaluate(values, tracing.nominal)
    )
    readings = SensorReadings(tracing.model, motions, state["r"], state["v"], *forces)
    return [signal for sensor in sensors for signal in sensor.measure(readings)]


def sense_inputs(
    model: Model, q: Floats, p: Floats, r: Floats, observations: Mapping[str, Floats]
) -> dict[str, Floats]:
    """Return the inputs of the program `sense` by name.

    They come from the pose q (4), p (3) of the user's base frame, the joint coordinates r and the
    observations of a state. All arrays may have a second axis, over states.
    """
    return {
        "q": q,
        "p": p,
        "r": r,
        "v": observations["v"],
        "vdot": observations["vdot"],
        "w": observations["inputs"],
        "held": observations["motion_torques"],
        "loads": observations["forces"][: 3 * len(model.contacts) : 3],
        "gaps": observations["gaps"],
    }
