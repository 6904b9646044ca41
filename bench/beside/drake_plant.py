"""Drake: the free machine as a MultibodyPlant, called from Python."""

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    RevoluteJoint,
    RotationalInertia,
    SpatialInertia,
)

MODULE, NAME = "pydrake", "Drake, MultibodyPlant"
NOTE = "wheels in flight; set state and time derivatives"


def build(model):
    """Return the machine as Drake's, all frames those of the drawing."""
    plant = MultibodyPlant(0.0)
    for body in model.bodies:
        J, com = np.asarray(body.inertia, float), np.asarray(body.com, float)
        central = RotationalInertia(J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        plant.AddRigidBody(
            body.name, SpatialInertia.MakeFromCentralInertia(float(body.mass), com, central)
        )
    for joint in model.joints:
        pose = RigidTransform(np.asarray(joint.through, float))
        frames = [
            plant.AddFrame(
                FixedOffsetFrame(f"{joint.name} {b}", plant.GetBodyByName(b).body_frame(), pose)
            )
            for b in (joint.parent, joint.child)
        ]
        axis = np.asarray(joint.axis, float)
        plant.AddJoint(RevoluteJoint(joint.name, *frames, axis / np.linalg.norm(axis)))
    plant.Finalize()
    return plant


def prepare(work):
    """Return its jobs."""
    plant = build(work.bicycle)
    context = plant.CreateDefaultContext()
    x = plant.GetPositionsAndVelocities(context)
    x[plant.num_positions() :] = 0.1 * np.arange(1.0, plant.num_velocities() + 1)

    def fly():
        for _ in range(work.repeat):
            plant.SetPositionsAndVelocities(context, x)
            plant.EvalTimeDerivatives(context)

    return {"flight": fly}
