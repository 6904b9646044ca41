"""What a run leaves: arcs of motion, and the whole as labelled data."""

import inspect
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.registry import label
from draisine.system.closed_form import ClosedForm, State
from draisine.system.mode import Key, TerrainMode

if TYPE_CHECKING:
    import xarray

    from draisine.simulation.contact.active_set import Trial


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """What happened at an instant.

    `kind` is "collision", "lift-off" (a force or the ground under a wheel ends), "hand-over" (a
    wheel goes on to the next feature), "stick", "slip", "input" (an input may jump). `soft` events
    have no jump: of speeds at a collision, of the contact's own force at a lift-off (3.7).
    `impulses` are (normal, along, across) per contact; energies in J; `trials` are the contact sets
    that were tried at impulse level, the first being the prediction that all contacts stay closed.
    """

    t: float
    kind: str
    contacts: tuple[Key, ...]
    soft: bool
    before: State
    after: State
    mode_before: TerrainMode
    mode_after: TerrainMode
    energy_before: float
    energy_after: float
    impulses: dict[Key, Floats] = field(default_factory=dict)
    trials: "tuple[Trial, ...]" = ()

    @property
    def gain(self) -> float:
        """The energy that the event created; negative where it dissipated."""
        return self.energy_after - self.energy_before

    def __str__(self) -> str:
        where = ", ".join(":".join(key) for key in self.contacts)
        return f"{self.t:.9f} s {self.kind} {where}".rstrip()


class Arc(Protocol):
    """What a trajectory needs of a stretch of motion in one mode."""

    @property
    def machine(self) -> Any:
        """The machine, with its system."""

    @property
    def t(self) -> Floats:
        """The times."""

    @property
    def y(self) -> Floats:
        """The states, time first."""

    @property
    def states(self) -> int:
        """How many of the states belong to the control law."""

    @property
    def mode(self) -> Any:
        """The contacts and their statuses."""

    @property
    def seen(self) -> dict[str, Floats]:
        """Everything that can be seen of every sample, time last."""

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""


@dataclass(frozen=True)
class SmoothArc:
    """A stretch of motion in one mode: times, y = (q, p, r, u, z) per time, the inputs per time,
    time last, and the anchors of pins.
    """

    machine: ClosedForm
    t: Floats
    y: Floats
    inputs: Floats
    anchors: Floats | None = None

    @property
    def states(self) -> int:
        """How many of the y belong to the control law."""
        return self.machine.states

    @property
    def mode(self) -> dict[str, str]:
        """The contacts and their statuses."""
        return dict(self.machine.mode)

    @cached_property
    def seen(self) -> dict[str, Floats]:
        """Everything that `observe` knows of every sample, time last."""
        return self.machine.look_all(self.y, self.t, self.inputs, self.anchors)

    def pose(self) -> tuple[Floats, Floats]:
        """Return the user's quaternions and positions, time last."""
        at = self.machine.layout
        return self.machine.user_pose(self.y.T[at.q], self.y.T[at.p])


@dataclass(frozen=True)
class Trajectory:
    """A whole run: its arcs in order, how it ended, how it was made, and the events between its
    arcs.
    """

    arcs: tuple[Arc, ...]
    outcome: str
    made: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()

    @property
    def t(self) -> Floats:
        """All times."""
        return np.concatenate([arc.t for arc in self.arcs])

    def final(self) -> State:
        """Return the last state."""
        arc = self.arcs[-1]
        q, p = arc.pose()
        r = arc.y[-1, arc.machine.layout.r]
        return State(q[:, -1], p[:, -1], r, arc.seen["v"][:, -1])

    def to_xarray(self) -> "xarray.Dataset":
        """Return the run as a dataset: time first, with units and long names; what it was made with
        is in its attributes.
        """
        import xarray

        machine = self.arcs[0].machine
        model = machine.system.model
        seen = {
            key: np.concatenate([a.seen[key] for a in self.arcs], axis=1).T
            for key in self.arcs[0].seen
        }
        poses = [arc.pose() for arc in self.arcs]
        q = np.concatenate([pose[0] for pose in poses], axis=1).T
        shape = np.concatenate([arc.y[:, arc.machine.layout.r] for arc in self.arcs])
        contacts = [c.name for c in model.contacts]
        steps = len(self.t)
        names = machine.system.outputs
        units = {"yaw": "rad", "lean": "rad", "pitch": "rad"} | {
            o.name: o.unit for o in model.outputs
        }
        meanings = {
            "yaw": "heading, positive to the left",
            "lean": "lean, positive to the right",
            "pitch": "pitch, positive nose down",
        } | {o.name: o.meaning for o in model.outputs}
        data: dict[str, tuple[tuple[str, ...], Floats, str, str]] = {
            "orientation": (
                ("time", "quaternion"),
                q,
                "1",
                "unit quaternion of the base, scalar first",
            ),
            "position": (
                ("time", "axis"),
                seen["position"],
                "m",
                "position of the drawing's origin on the base",
            ),
            "shape": (("time", "joint"), shape, "rad or m", "joint coordinates"),
            "speeds": (
                ("time", "speed"),
                seen["v"],
                "m/s or rad/s",
                "base twist in its own axes, joint rates",
            ),
            "accelerations": (
                ("time", "speed"),
                seen["vdot"],
                "m/s2 or rad/s2",
                "rates of the speeds",
            ),
            "inputs": (
                ("time", "input"),
                seen["inputs"],
                "N m or N",
                "joint torques and outer forces",
            ),
            "kinetic_energy": (("time",), seen["kinetic"][:, 0], "J", "kinetic energy"),
            "potential_energy": (
                ("time",),
                seen["potential"][:, 0],
                "J",
                "energy of weight and springs",
            ),
            "energy": (
                ("time",),
                (seen["kinetic"] + seen["potential"])[:, 0],
                "J",
                "mechanical energy",
            ),
            "momentum": (("time", "axis"), seen["momentum"], "N s", "linear momentum"),
            "angular_momentum": (
                ("time", "axis"),
                seen["angular_momentum"],
                "N m s",
                "angular momentum about the world's origin",
            ),
        }
        if contacts:
            per_contact = (steps, len(contacts), 3)
            data["contact_point"] = (
                ("time", "contact", "axis"),
                seen["points"].reshape(per_contact),
                "m",
                "where each contact touches",
            )
            data["contact_force"] = (
                ("time", "contact", "direction"),
                seen["forces"].reshape(per_contact),
                "N",
                "force of the ground on the machine",
            )
            for frame, where in (("world", "world"), ("base", "the base body's")):
                data[f"contact_force_{frame}"] = (
                    ("time", "contact", "axis"),
                    seen[f"forces_{frame}"].reshape(per_contact),
                    "N",
                    f"force of the ground on the machine, {where} axes",
                )
            data["friction_needed"] = (
                ("time", "contact"),
                _friction(seen["forces"].reshape(per_contact)),
                "1",
                "tangential over normal force",
            )
            data["gap"] = (
                ("time", "contact"),
                seen["gaps"],
                "m",
                "height of the contact point over the ground",
            )
        states = self.arcs[0].states
        if states:
            data["control_state"] = (
                ("time", "state"),
                np.concatenate([arc.y[:, arc.machine.layout.z] for arc in self.arcs]),
                "",
                "states of the control law",
            )
        if seen["motion_torques"].shape[1]:
            data["motion_torque"] = (
                ("time", "prescribed"),
                seen["motion_torques"],
                "N m or N",
                "what prescribed joints need",
            )
        if seen["coupling_forces"].shape[1]:
            data["coupling_force"] = (
                ("time", "coupling"),
                seen["coupling_forces"],
                "N m or N",
                "what couplings of joints and pins of loops hold with",
            )
        if "stop_torques" in seen:
            data["stop_torque"] = (
                ("time", "joint"),
                seen["stop_torques"],
                "N m or N",
                "what the stops of joints push with",
            )
        for k, name in enumerate(names):
            data[name] = (("time",), seen["outputs"][:, k], units[name], meanings[name])
            rate = f"{units[name]}/s" if units[name] else ""
            data[f"{name}_rate"] = (("time",), seen["output_rates"][:, k], rate, f"rate of {name}")
        coordinates = {
            "time": ("time", self.t, {"units": "s", "long_name": "time"}),
            "quaternion": list("wxyz"),
            "axis": list("xyz"),
            "joint": [j.name for j in model.joints],
            "speed": list(model.speeds),
            "input": list(model.inputs),
            "contact": contacts,
            "direction": ["normal", "along", "across"],
            "prescribed": [j.name for j in model.joints if j.motion is not None],
            "coupling": [row for c in model.couplings for row in c.rows],
        }
        used = {dim for dims, *_ in data.values() for dim in dims}
        return xarray.Dataset(
            {
                name: (dims, values, {"units": unit, "long_name": meaning})
                for name, (dims, values, unit, meaning) in data.items()
            },
            coords={k: v for k, v in coordinates.items() if k in used},
            attrs={
                **_maker(machine.system),
                "mode": json.dumps(self.arcs[0].mode),
                "outcome": self.outcome,
            }
            | {
                k: v if isinstance(v, float | int) else label(v)
                for k, v in self.made.items()
                if v is not None
            }
            | ({"events": json.dumps([str(e) for e in self.events])} if self.events else {}),
        )


def _maker(system: Any) -> dict[str, str]:
    """Return what tells a machine: its vehicle's name and, if that is in a module of the user's (not
    in the script that runs, which would run again), where; parameters, and what decided its
    structure.
    """
    plain = {k: v for k, v in system.structure.items() if isinstance(v, int | float | str | None)}
    told = {
        "vehicle": system.vehicle.__name__,
        "parameters": json.dumps(system.parameters),
        "structure": json.dumps(plain),
    }
    vehicle = system.vehicle
    own = vehicle.__module__ != "__main__" and not vehicle.__module__.startswith("draisine.")
    if (
        own
        and vehicle.__qualname__ == vehicle.__name__
        and Path(inspect.getfile(vehicle)).is_file()
    ):
        told["vehicle_path"] = f"{Path(inspect.getfile(vehicle)).resolve()}:{vehicle.__name__}"
    return told


def _friction(forces: Floats) -> Floats:
    """Return tangential over normal force; not a number where nothing pushes."""
    tangential = np.hypot(forces[..., 1], forces[..., 2])
    normal = forces[..., 0]
    return np.divide(tangential, normal, out=np.full_like(normal, np.nan), where=normal > 0)
