"""The program of the ideal sensor signals: from state, accelerations, inputs and contact forces to signals.

Its inputs are outputs of the program `observe`, or of an observed sample on a terrain, so that sensors work
in the same way in all kinds of runs.
"""

from collections.abc import Mapping, Sequence

from draisine.algebra.scalar import Floats
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
    state = {name: s[name] for name in ("q", "p", "r", "v", "vdot")}
    motions = body_kinematics(
        model, **state, evaluate=lambda values: evaluate(values, tracing.nominal)
    )
    readings = SensorReadings(
        model, motions, s["r"], s["v"], s["w"], s["held"], s["loads"], s["gaps"]
    )
    signals = [signal for sensor in sensors for signal in sensor.measure(readings)]
    return tracing.program("sense", s, {"signals": signals})


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
