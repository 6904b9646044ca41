"""Public robot files beside Pinocchio and MuJoCo: mass matrices, bias forces and motions."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import draisine
from draisine.interop.robots.mjcf import parse_mjcf, read_mjcf
from draisine.interop.robots.urdf import parse_urdf, read_urdf

CORPUS = Path(__file__).parents[3] / "shared" / "robots"
URDF = sorted(file.name for file in CORPUS.glob("urdf/*.urdf"))
MJCF = sorted(file.name for file in CORPUS.glob("mjcf/*.xml"))

# s; MuJoCo's error is 1.2e-7 at steps of 0.1 ms, because the light links of this robot move fast.
REFERENCE_STEPS = {"men_pal_tiago_tiago.xml": 2.5e-5}

pytestmark = [
    pytest.mark.skipif(not CORPUS.is_dir(), reason="public robot files are not here"),
    pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning"),
]


def without_dry_friction(robot, *, dampers=True):
    """Return the joint properties of a robot that remove dry friction, and dampers unless wanted."""
    friction = {"friction": 0.0} if dampers else {"friction": 0.0, "damper": 0.0}
    return {link.joint: friction for link in robot.links if link.kind}


def assert_same_matrix(own, theirs, rtol):
    """Compare two positive definite matrices, entry by entry, relative to their diagonals."""
    scale = np.sqrt(np.outer(np.diag(theirs), np.diag(theirs)))
    assert_allclose(own / scale, theirs / scale, atol=rtol, rtol=0.0)


@pytest.mark.parametrize("name", URDF)
def test_mass_matrix_and_bias_forces_are_those_of_pinocchio(name):
    """At a random state, with the angles of the file as they are (1.57), to round-off."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    file = CORPUS / "urdf" / name
    theirs = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    joints = without_dry_friction(parse_urdf(file, "SE(3)"), dampers=False)
    vehicle = read_urdf(file, {}, {}, base="SE(3)", round_angles=False)
    joints = {joint.name: joints[joint.name] for joint in vehicle().joints}
    robot = draisine.compile(read_urdf(file, {}, joints, base="SE(3)", round_angles=False))
    names = [joint.name for joint in robot.model.joints]
    places = [theirs.joints[theirs.getJointId(joint)].idx_v for joint in names]
    rows = [*range(6), *places]
    generator = np.random.default_rng(5)
    coordinates = generator.normal(0.0, 0.5, len(names))
    speeds = generator.normal(0.0, 0.5, 6 + len(names))
    q = pin.integrate(theirs, pin.neutral(theirs), _scattered(theirs.nv, places, coordinates))
    v = _scattered(theirs.nv, rows, speeds)
    data = theirs.createData()
    M = pin.crba(theirs, data, q)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(rows, rows)]
    bias = pin.nonLinearEffects(theirs, data, q, v)[rows]

    state = draisine.state(robot, mode={})
    state = type(state)(state.q, state.p, coordinates, speeds, state.joints, state.speeds)
    terms = robot.dynamics(state)
    assert_same_matrix(terms.M, M, 1e-12)
    assert sum(body.mass for body in robot.model.bodies) == pytest.approx(M[0, 0], rel=1e-12)
    assert_allclose(terms.F, bias, rtol=1e-9, atol=1e-12 * np.abs(bias).max())


def _scattered(size, places, values):
    """Return a vector with `values` at `places`, zero elsewhere (joints that move no mass)."""
    vector = np.zeros(size)
    vector[places] = values
    return vector


class Reference:
    """A public MJCF file in MuJoCo, without meshes, contacts, limits, dry friction and drives."""

    def __init__(self, mujoco, name):
        self.mujoco = mujoco
        spec = mujoco.MjSpec.from_file(str(CORPUS / "mjcf" / name))
        for geom in list(spec.geoms):
            if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
                spec.delete(geom)
        for mesh in list(spec.meshes):
            spec.delete(mesh)
        off = mujoco.mjtDisableBit
        # The gains of actuators are not read, so actuation is off as well.
        spec.option.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
        spec.option.disableflags |= off.mjDSBL_FRICTIONLOSS | off.mjDSBL_ACTUATION
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        spec.option.timestep = REFERENCE_STEPS.get(name, 1e-4)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.is_free = self.model.njnt and self.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE

    def start(self, names, coordinates, speeds):
        """Set joint coordinates relative to the reference and speeds in the order of draisine's."""
        model = self.model
        for name, coordinate in zip(names, coordinates, strict=True):
            self.data.qpos[model.joint(name).qposadr] += coordinate
        self.data.qvel[:] = self.speed_map(names) @ speeds
        self.mujoco.mj_forward(self.model, self.data)

    def speed_map(self, names):
        """Return the matrix (nv, nv) from body twist and joint rates to MuJoCo's speeds, at the reference.

        A free joint there has the velocity of the body's origin in world axes and the angular velocity in
        body axes; the twist of the base refers to the origin of the world at the reference.
        """
        model = self.model
        first = 6 if self.is_free else 0
        T = np.zeros((model.nv, model.nv))
        if self.is_free:
            x, y, z = model.qpos0[:3]
            w, *vector = model.qpos0[3:7]
            T[:3, :3] = np.eye(3)
            T[:3, 3:6] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]  # omega x p
            T[3:6, 3:6] = Rotation.from_quat([*vector, w]).as_matrix().T
        for k, name in enumerate(names):
            T[model.joint(name).dofadr, first + k] = 1.0
        return T

    def mass_matrix(self):
        """Return the mass matrix (nv, nv) at the current configuration."""
        columns = np.eye(self.model.nv)
        M = np.zeros_like(columns)
        for column, product in zip(columns, M, strict=True):
            self.mujoco.mj_mulM(self.model, self.data, product, column)
        return M


@pytest.mark.parametrize("name", MJCF)
def test_masses_and_motion_are_those_of_mujoco(name):
    """Mass matrix at a random configuration to round-off, and the motion over 1 s to 1e-8."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    theirs = Reference(mujoco, name)
    file = CORPUS / "mjcf" / name
    joints = without_dry_friction(parse_mjcf(file))
    robot = draisine.compile(read_mjcf(file, {}, joints, round_angles=False))
    names = [joint.name for joint in robot.model.joints]
    generator = np.random.default_rng(7)
    coordinates = generator.normal(0.0, 0.3, len(names))
    speeds = generator.normal(0.0, 0.5, theirs.model.nv)
    theirs.start(names, coordinates, speeds)

    state = draisine.state(robot, mode={})
    start = type(state)(state.q, state.p, coordinates, speeds, state.joints, state.speeds)
    T = theirs.speed_map(names)
    assert_same_matrix(robot.dynamics(start).M, T.T @ theirs.mass_matrix() @ T, 1e-12)

    numerics = draisine.Numerics(rtol=1e-11, atol=1e-12)
    final = draisine.simulate(robot, start, 1.0, numerics=numerics).final()
    for _ in range(round(1.0 / theirs.model.opt.timestep)):
        mujoco.mj_step(theirs.model, theirs.data)
    places = [int(theirs.model.joint(joint).qposadr[0]) for joint in names]
    moved = (theirs.data.qpos - theirs.model.qpos0)[places]
    assert_allclose(final.r, moved, atol=1e-8)
    if theirs.is_free:
        base = Rotation.from_quat(np.roll(final.q, -1))
        origin = final.p + base.apply(theirs.model.qpos0[:3])
        assert_allclose(origin, theirs.data.qpos[:3], atol=1e-8)
        reference = Rotation.from_quat(np.roll(theirs.model.qpos0[3:7], -1))
        turned = Rotation.from_quat(np.roll(theirs.data.qpos[3:7], -1))
        assert_allclose((base * reference).as_matrix(), turned.as_matrix(), atol=1e-8)
