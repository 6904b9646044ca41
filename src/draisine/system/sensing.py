"""The program of the ideal sensor signals: from state, accelerations, inputs and contact forces to signals.

Its inputs are outputs of the program `observe`, or of an observed sample on a terrain, so that sensors work
in the same way in all kinds of runs.
"""

from collections.abc import Mapping, Sequence

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Array, Floats, Scalar
from draisine.algebra.trace import evaluate
from draisine.codegen.program import Program
from draisine.mechanics.sensing import SensorReadings, body_kinematics
from draisine.model import Model, Sensor
from draisine.system.layout import state_sizes
from draisine.system.tracing import Tracing


def derive_sense(tracing: Tracing, sensors: Sequence[Sensor]) -> Program:
    """Return the program of the ideal signals of sensors, in their order."""
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
    return tracing.program("sense", s, {"signals": signals})


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
    """Return the inputs of the program `sense` by name, from the pose of the user's base frame, the joint
    coordinates and the observations of a state; states may be columns.
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
