"""Pinocchio: the free machine by articulated bodies, called from Python."""

import numpy as np
import pinocchio as pin

MODULE, NAME = "pinocchio", "Pinocchio, aba"
DISTRIBUTION = "pin"
NOTE = "wheels in flight, because it has no rolling disc"


def build(model):
    """Return the machine as Pinocchio's, all frames those of the drawing."""
    out, at, place = pin.Model(), {}, {}
    base = model.bodies[0]
    root = out.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    at[base.name], place[base.name] = root, np.zeros(3)
    waiting = list(model.joints)
    while waiting:
        joint = next(j for j in waiting if j.parent in at)
        waiting.remove(joint)
        axis, through = np.asarray(joint.axis, float), np.asarray(joint.through, float)
        kind = pin.JointModelRevoluteUnaligned(*(axis / np.linalg.norm(axis)))
        where = pin.SE3(np.eye(3), through - place[joint.parent])
        at[joint.child] = out.addJoint(at[joint.parent], kind, where, joint.name)
        place[joint.child] = through
    for body in model.bodies:
        com = np.asarray(body.com, float) - place[body.name]
        own = pin.Inertia(float(body.mass), com, np.asarray(body.inertia, float))
        out.appendBodyToJoint(at[body.name], own, pin.SE3.Identity())
    return out


def prepare(work):
    """Return its jobs."""
    model = build(work.bicycle)
    data, q = model.createData(), pin.neutral(model)
    v, tau = 0.1 * np.arange(1.0, model.nv + 1), np.zeros(model.nv)

    def fly():
        for _ in range(work.repeat):
            pin.aba(model, data, q, v, tau)

    return {"flight": fly}
