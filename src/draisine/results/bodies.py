"""Where the bodies of a stored run are and how they move: one outward pass, all times at once."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

import draisine
from draisine.algebra.lie import cross, rotation
from draisine.algebra.scalar import Array, Floats
from draisine.algebra.trace import Graph
from draisine.codegen.program import Program, run
from draisine.errors import DataError, DraisineError, UnknownNameError
from draisine.mechanics.base import spread
from draisine.mechanics.kinematics import accelerations, geometry, velocities
from draisine.mechanics.tree import assemble
from draisine.model import Model, Wheel
from draisine.model.motion import motion_of
from draisine.registry import check_trust
from draisine.results.attributes import read_table
from draisine.system.layout import state_sizes
from draisine.system.system import HERE, System, compile
from draisine.system.tracing import Tracing
from draisine.vehicles import plain_structure

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """One body's motion in world axes, time first: R and p take the drawing to the world; v and a
    are those of the point at p, w and dw turn the body.
    """

    R: Floats
    p: Floats
    v: Floats
    w: Floats
    a: Floats
    dw: Floats

    def position(self, where: Floats) -> Floats:
        """Return a point of the body, given as it stands in the drawing."""
        return self.p + self.R @ where

    def velocity(self, where: Floats) -> Floats:
        """Return the velocity of a point of the body."""
        return self.v + np.cross(self.w, self.R @ where)

    def acceleration(self, where: Floats) -> Floats:
        """Return the acceleration of a point of the body."""
        d = self.R @ where
        return self.a + np.cross(self.dw, d) + np.cross(self.w, np.cross(self.w, d))


def restore_system(data: "Dataset") -> System:
    """Return the machine that made a dataset."""
    if data.attrs.get("axes") == "benchmark" and "time" in data.dims:
        raise DataError(
            "the dataset is in the benchmark's axes; replays, figures of the machine and questions need the "
            "run in draisine's own: to_xarray() without axes."
        )
    name, parameters = data.attrs.get("vehicle"), data.attrs.get("parameters")
    if name is None or parameters is None:
        raise DataError("the dataset does not say which vehicle made it (attribute 'vehicle').")
    which = str(data.attrs.get("vehicle_path", name))
    check_trust(which, "the dataset")
    arguments = read_table(data, "parameters") | read_table(data, "structure")
    motions, here = read_table(data, "motions"), data.attrs.get("vehicle_here")

    def make() -> System:
        if here is not None:  # one of the same name would be another machine
            raise UnknownNameError(
                f"no vehicle {which!r} in this program; it was drawn in another. (Of its arguments, numbers, "
                "texts, lists, tables and records are stored.)"
            )
        return compile(which, **arguments)

    try:
        arguments |= {key: motion_of(entry) for key, entry in motions.items()}
        return HERE.get(here, make)
    except (DraisineError, TypeError) as error:
        raise DataError(
            f"the dataset's vehicle cannot be made again: {error} A vehicle of your own is found if it "
            "is in a file of its own: compile FILE.py:function."
        ) from error


def machine_attributes(system: System, title: str) -> dict[str, str]:
    """Return what a dataset tells of itself and of its machine, so that `restore_system` can make it
    again; motions of joints, which are functions, a scenario tells by their names.
    """
    return {
        "title": title,
        "draisine": draisine.__version__,
        "parameters": json.dumps(system.parameters),
        "structure": json.dumps(plain_structure(system.structure)),
    }


def restore_model(data: "Dataset") -> Model:
    """Return the model of the machine that made a dataset."""
    return restore_system(data).model


class Bodies:
    """All bodies of a dataset (time first), of a model or of the one that made it."""

    def __init__(self, data: "Dataset", model: Model | None = None) -> None:
        self.data = data
        if model is not None:
            self.model = model

    @cached_property
    def model(self) -> Model:
        """The model, made again when it is first asked for: numbers that are stored need none."""
        return restore_model(self.data)

    @cached_property
    def motions(self) -> dict[str, BodyMotion]:
        """The motion of every body, by name."""
        names = {"q": "orientation", "p": "position", "r": "shape", "v": "speeds"}
        names |= {"vdot": "accelerations"}
        if missing := [name for name in names.values() if name not in self.data]:
            raise DataError(f"the result is not whole: No variable named {missing[0]!r}.")
        out = run(_outward_pass(self.model), **{k: self.data[n].values.T for k, n in names.items()})
        parts = ("p", "v", "w", "a", "dw")
        return {
            body.name: BodyMotion(
                out[f"{body.name}.R"].T.reshape(-1, 3, 3),
                *(out[f"{body.name}.{part}"].T for part in parts),
            )
            for body in self.model.bodies
        }

    @cached_property
    def wheels(self) -> dict[str, Wheel]:
        """The wheels among the contacts, by name."""
        return {c.name: c for c in self.model.wheels}

    def carrier(self, wheel: Wheel) -> BodyMotion:
        """Return the motion of the body that a wheel turns in; of its own, if it turns in none."""
        for joint in self.model.joints:
            along = np.cross(np.asarray(joint.axis, float), np.asarray(wheel.axle, float))
            if joint.child == wheel.body and not np.any(np.abs(along) > 1e-12):
                return self.motions[joint.parent]
        return self.motions[wheel.body]


def _outward_pass(model: Model) -> Program:
    """Return the program from a state and its accelerations to the motion of every body, the point
    that stands at the drawing's origin being the one that is followed.
    """
    tree, zero = assemble(model, fold=False), np.zeros(3)
    tracing, speeds = Tracing(Graph(), model, {}, {}), len(model.speeds)
    given = tracing.symbols(state_sizes(model, v=speeds, vdot=speeds))
    v, vdot = spread(model, given["v"]), spread(model, given["vdot"])
    geo = geometry(tree, given["r"])
    vel = velocities(tree, geo, v[:3], v[3:6], v[6:], zero)
    acc = accelerations(tree, geo, vel, vdot, zero, zero, zero)
    outputs: dict[str, Array] = {}
    for j, link in enumerate(tree.links):
        R, x = rotation(given["q"]) @ geo.R0[j], -(link.R.T @ link.o)
        moved = {
            "R": (R @ link.R.T).ravel(),
            "p": given["p"] + rotation(given["q"]) @ geo.o0[j] + R @ x,
            "v": R @ (vel.V_link[j] + cross(vel.W[j], x)),
            "w": R @ vel.W[j],
            "a": R @ (acc.a[j] + acc.B[j] @ x),
            "dw": R @ acc.alpha[j],
        }
        outputs |= {f"{link.name}.{part}": value for part, value in moved.items()}
    return tracing.program("bodies", given, outputs)
