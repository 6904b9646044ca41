"""Where the bodies of a stored run are and how they move: one outward pass, all times at once."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import DataError, DraisineError
from draisine.model import TWIST, Joint, Model, Wheel
from draisine.model.motion import motion_of
from draisine.registry import check_trust
from draisine.results.attributes import table
from draisine.system.system import System, compile

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
    name, parameters = data.attrs.get("vehicle"), data.attrs.get("parameters")
    if name is None or parameters is None:
        raise DataError("the dataset does not say which vehicle made it (attribute 'vehicle').")
    which = str(data.attrs.get("vehicle_path", name))
    check_trust(which, "the dataset")
    arguments = table(data, "parameters") | table(data, "structure")
    motions = table(data, "motions")
    try:
        arguments |= {key: motion_of(entry) for key, entry in motions.items()}
        return compile(which, **arguments)
    except (DraisineError, TypeError) as error:
        raise DataError(
            f"the dataset's vehicle cannot be made again: {error} A vehicle of your own is found if it "
            "is in a file of its own: compile FILE.py:function."
        ) from error


def machine_attributes(system: System) -> dict[str, str]:
    """Return what a dataset tells of its machine, so that `restore_system` can make it again; motions
    of joints, which are functions, a scenario tells by their names.
    """
    plain = {k: v for k, v in system.structure.items() if not callable(v)}
    return {"parameters": json.dumps(system.parameters), "structure": json.dumps(plain)}


def restore_model(data: "Dataset") -> Model:
    """Return the model of the machine that made a dataset."""
    return restore_system(data).model


class Bodies:
    """All bodies of a dataset (time first) of a model."""

    def __init__(self, data: "Dataset", model: Model) -> None:
        self.data, self.model = data, model

    @cached_property
    def motions(self) -> dict[str, BodyMotion]:
        """The motion of every body, by name."""
        found = {self.model.bodies[0].name: self._base()}
        waiting = list(self.model.joints)
        while waiting:
            joint = next(j for j in waiting if j.parent in found)
            waiting.remove(joint)
            found[joint.child] = self._carried(found[joint.parent], joint)
        return found

    def _base(self) -> BodyMotion:
        R = np.moveaxis(rotation(self.data["orientation"].values.T), 2, 0)
        V, W = self._twist("speeds")
        A, dW = self._twist("accelerations")
        turn = np.einsum("tij,tj->ti", R, W)
        accelerated = np.einsum("tij,tj->ti", R, A + np.cross(W, V))
        return BodyMotion(
            R,
            self.data["position"].values,
            np.einsum("tij,tj->ti", R, V),
            turn,
            accelerated,
            np.einsum("tij,tj->ti", R, dW),
        )

    def _twist(self, name: str) -> tuple[Floats, Floats]:
        known = [str(x) for x in self.data["speed"].values]
        values = self.data[name].values
        whole = np.zeros((len(values), 6))
        for k, component in enumerate(TWIST):
            if component in known:
                whole[:, k] = values[:, known.index(component)]
        return whole[:, :3], whole[:, 3:]

    def _carried(self, parent: BodyMotion, joint: Joint) -> BodyMotion:
        data, name = self.data, joint.name
        r = data["shape"].sel(joint=name).values
        rate = data["speeds"].sel(speed=f"{name}_rate").values
        growth = data["accelerations"].sel(speed=f"{name}_rate").values
        axis = np.asarray(joint.axis, float)
        axis = axis / np.linalg.norm(axis)
        through = np.asarray(joint.through, float)
        a = parent.R @ axis
        turn, slide = joint.turn, float(joint.slide)
        R = parent.R @ _about(axis, turn * r)
        spun, grown = (turn * rate)[:, None] * a, (turn * growth)[:, None] * a
        w = parent.w + spun
        dw = parent.dw + grown + np.cross(parent.w, spun)
        d, slid = -(R @ through), (slide * r)[:, None] * a
        v = parent.velocity(through) + np.cross(parent.w, slid) + (slide * rate)[:, None] * a
        acc = parent.acceleration(through) + np.cross(parent.dw, slid)
        acc = acc + np.cross(parent.w, np.cross(parent.w, slid))
        acc = acc + (2 * slide * rate)[:, None] * np.cross(parent.w, a)
        acc = acc + (slide * growth)[:, None] * a
        return BodyMotion(
            R,
            parent.position(through) + slid + d,
            v + np.cross(w, d),
            w,
            acc + np.cross(dw, d) + np.cross(w, np.cross(w, d)),
            dw,
        )

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


def _about(axis: Floats, angle: Floats) -> Floats:
    """Return the rotations about an axis by angles, by Rodrigues' formula."""
    K = np.array(
        [[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]], dtype=float
    )
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return cast(Floats, np.eye(3) + s * K + (1.0 - c) * (K @ K))
