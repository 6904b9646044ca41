"""Three ways to the same accelerations and contact forces: the closed form on the kernel of the
constraints, the saddle-point system with multipliers, and an orthogonal basis of the kernel.

All modes of all vehicles, at random consistent states, under random inputs. Errors are norm-wise,
on systems whose condition stays below 1e6.
"""

import itertools
import math

import numpy as np
import pytest

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import cos, sin
from draisine.mechanics import constraints
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.tree import assemble, is_foldable
from draisine.model import (
    Blade,
    Body,
    Force,
    Model,
    Pin,
    Prismatic,
    Revolute,
    Torus,
    Wheel,
    inertia,
    round_surface,
)
from draisine.model.motion import sine
from draisine.system.state import State
from draisine.system.system import compile

TOLERANCE = 1e-11
CONDITION = 1e6
STATES = 6


def oddity(*, m: float = 2.0, stiffness: float = 30.0, crown: float = 0.04) -> Model:
    """A carrier with a sprung slide, an oblique arm, an oblique torus wheel on the arm, a skate that
    lifts, and forces in both frames: nothing is symmetric or aligned."""
    axle, hub = (0.2, 0.9, -0.3), (0.6, 0.3, 0.2)
    a = np.array(axle) / np.linalg.norm(axle)
    disc = 0.03 * np.eye(3) + 0.02 * np.outer(a, a)
    return Model(
        bodies=[
            Body("carrier", m, (0.1, -0.05, 0.4), inertia(0.3, 0.4, 0.5, 0.02, -0.03, 0.04)),
            Body("slide", 0.5, (-0.2, 0.1, 0.6), inertia(0.02, 0.03, 0.04)),
            Body("arm", 0.7, (0.4, 0.2, 0.3), inertia(0.05, 0.04, 0.03, xy=0.01)),
            Body("wheel", 0.9, hub, disc),
        ],
        joints=[
            Prismatic("slide", "carrier", "slide", (0.3, -0.5, 1.0), spring=stiffness, damper=2.0),
            Revolute(
                "arm", "carrier", "arm", (1.0, 0.4, 0.7), (0.3, 0.1, 0.3), rest=0.2, armature=m
            ),
            Revolute("wheel", "arm", "wheel", axle, hub, damper=0.1, armature=0.02),
        ],
        contacts=[
            Wheel("wheel", "wheel", hub, axle, round_surface(0.2, crown)),
            Blade("skate", "carrier", (-0.3, 0.0, 0.0), (1.0, 0.2, 0.1), lifts=True),
        ],
        forces=[
            Force("wind", "slide", (-0.2, 0.1, 0.9)),
            Force("jet", "arm", (0.5, 0.2, 0.3), frame="body"),
        ],
        gravity=(0.5, -0.3, -9.6),
    )


def climber(*, m: float = 1.0) -> Model:
    """Return two links with pins at their ends, one of them in two directions only, in space."""
    return Model(
        bodies=[
            Body("left", m, (-0.2, 0.0, 0.1), inertia(0.02, 0.03, 0.04)),
            Body("right", m, (0.2, 0.05, 0.0), inertia(0.02, 0.04, 0.03)),
        ],
        joints=[Revolute("elbow", "left", "right", (0.1, 1.0, 0.2))],
        contacts=[
            Pin("hand", "left", (-0.4, 0.0, 0.0)),
            Pin("foot", "right", (0.4, 0.1, 0.0), axes="xz"),
        ],
    )


def gantry(*, m: float = 3.0, reach: float = 0.4) -> Model:
    """Return a trolley that translates only, with a load on a hinge with prescribed motion."""

    def swing(t):
        return 0.5 * sin(3 * t), 1.5 * cos(3 * t), -4.5 * sin(3 * t)

    return Model(
        bodies=[
            Body("trolley", m),
            Body("load", 1.0, (0.0, 0.0, -reach), inertia(0.01, 0.02, 0.03)),
            Body("hook", 0.1, (0.1, 0.0, -2 * reach), inertia(0.01, 0.02, 0.03)),
        ],
        joints=[
            Revolute("hinge", "trolley", "load", (0.0, 1.0, 0.0), motion=swing),
            Revolute("hook", "load", "hook", (1.0, 0.5, 0.0), (0.0, 0.0, -reach)),
        ],
        forces=[Force("pull", "hook", (0.0, 0.0, -2 * reach))],
        base="translations",
    )


MACHINES = {
    "whipple": ("whipple", {}),
    "whipple on tyres and a slope": ("whipple", {"crown": 0.02, "slope": 0.1}),
    "rolling disc": ("rolling_disc", {}),
    "rolling torus": ("rolling_disc", {"crown": 0.1}),
    "ball": ("ball", {}),
    "lopsided ball": ("ball", {"xx": 0.3, "yy": 0.4, "zz": 0.5, "offset": 0.02}),
    "unicycle": ("unicycle", {}),
    "unicycle on a tyre": ("unicycle", {"crown": 0.03}),
    "snakeboard": ("snakeboard", {}),
    "driven snakeboard": ("snakeboard", {"drive": "sine"}),
    "climbing robot": ("rocr", {}),
    "limp climbing robot": ("rocr", {"drive": "free"}),
    "sleigh": ("chaplygin_sleigh", {}),
    "roller racer": ("roller_racer", {}),
    "driven roller racer": ("roller_racer", {"drive": "sine"}),
    "cat": ("falling_cat", {}),
    "bending cat": ("falling_cat", {"drive": "sine"}),
    "held cat": ("falling_cat", {"base": "SO(3)"}),
    "held bending cat": ("falling_cat", {"base": "SO(3)", "drive": "sine"}),
    "fish": ("fish", {}),
    "viscous swimmer": (
        "purcell_swimmer",
        {"length": 0.2, "drag": 0.5, "mass": 0.5, "rear": sine(0.6, 1.0)},
    ),
    "chain": ("chain", {"links": 4}),
    "fixed chain": ("chain", {"links": 3, "base": "fixed"}),
    "cart and pole": ("cart_pole", {"spring": 2.0, "damper": 0.3}),
    "acrobot": ("acrobot", {}),
    "oddity": (oddity, {}),
    "climber": (climber, {}),
    "gantry": (gantry, {}),
}


def modes(model):
    """Return every combination of statuses."""
    each = [[(c.name, status) for status in c.rows] for c in model.contacts]
    found = [dict(choice) for choice in itertools.product(*each)]
    in_turn = [c.name for c in model.contacts if isinstance(c, Pin) and not c.grips]
    if in_turn:  # grips of one body, of which more than one at a time would be redundant
        found = [mode for mode in found if list(mode.values()).count("gripped") <= 1]
    return found


def random_pose(model, rng, t):
    """Return any pose and shape that the base's group and the motions allow."""
    q, p = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
    if model.base in ("SE(3)", "SO(3)"):
        q[1:] = rng.uniform(-0.4, 0.4, 3)
    if model.base == "SE(2)":
        q[3] = rng.uniform(-2.0, 2.0)
    if model.base in ("SE(3)", "translations"):
        p = rng.uniform(-1.0, 1.0, 3)
    if model.base == "SE(2)":
        p[:2] = rng.uniform(-1.0, 1.0, 2)
    r = rng.uniform(-0.7, 0.7, len(model.joints))
    for k, joint in enumerate(model.joints):
        if joint.motion is not None:
            r[k] = joint.motion(t)[0]
    return q / np.linalg.norm(q), p, r


def saddle(machine, state, w, t):
    """Return M, F, C, b, c of the active rows, in the user's speeds."""
    model, n = machine.system.model, len(state.v)
    out = machine.free(t=[t], q=state.q, p=state.p, r=state.r, v=state.v, w=w)
    C = out["C"].reshape(-1, n)
    rows = [
        *multiplier.active_row_indices(model, machine.mode),
        *range(3 * len(model.contacts), len(C)),
    ]
    return out["M"].reshape(n, n), out["F"], C[rows], out["b"][rows], out["c"][rows]


def consistent(machine, rng, t):
    """Return a random state that satisfies the rows C v = b."""
    model = machine.system.model
    q, p, r = random_pose(model, rng, t)
    v = 2.0 * rng.normal(size=len(machine.columns))
    _, _, C, b, _ = saddle(machine, State(q, p, r, v), np.zeros(len(model.inputs)), t)
    if len(b):
        v = v - np.linalg.pinv(C) @ (C @ v - b)
    return State(q, p, r, v)


def condition(M, C):
    """Return the condition of the saddle-point matrix, each speed and row in its own unit."""
    K = np.block([[M, -C.T], [C, np.zeros((len(C), len(C)))]])
    size = np.sqrt(np.abs(K).max(axis=1))
    return np.linalg.cond(K / size / size[:, None])


def error(found, wanted):
    """Return the norm-wise relative error."""
    size = np.linalg.norm(wanted)
    return np.linalg.norm(np.asarray(found) - wanted) / size if size else np.linalg.norm(found)


@pytest.mark.parametrize("name", MACHINES)
def test_projected_equals_multiplier_equals_nullspace(name):
    vehicle, arguments = MACHINES[name]
    system = compile(vehicle, **arguments)
    model = system.model
    for statuses in modes(model):
        machine = system.machine(statuses)
        rng = np.random.default_rng(len(name) + 7 * len(statuses))
        judged = 0
        for _ in range(STATES):
            t = rng.uniform(0.0, 3.0)
            state = consistent(machine, rng, t)
            w = 10.0 * rng.normal(size=len(model.inputs))
            M, F, C, _, c = saddle(machine, state, w, t)
            if condition(M, C) > CONDITION:
                continue
            judged += 1
            vdot, lam = system.accelerate(
                state, dict(zip(model.inputs, w, strict=True)), statuses, t
            )
            seen = machine.observation(machine.enter(state, t), t, w)
            rows = multiplier.active_row_indices(model, machine.mode)
            forces = np.concatenate([seen["forces"][rows], seen["motion_torques"]])
            assert error(seen["v"], state.v) < TOLERANCE
            assert error(seen["vdot"], vdot) < TOLERANCE
            assert error(forces, lam) < TOLERANCE
            still, pushes = multiplier.solve_by_nullspace(M, F, C, c)
            assert error(still, vdot) < TOLERANCE
            assert error(pushes, lam) < TOLERANCE
        assert judged >= STATES // 2, (statuses, judged)


@pytest.mark.parametrize(
    "name", ["driven snakeboard", "held bending cat", "gantry", "climbing robot"]
)
def test_the_multiplier_of_a_prescribed_joint_is_its_torque(name):
    """Free the joint, drive it with the torque that its motion needed: it moves as that says."""
    vehicle, arguments = MACHINES[name]
    system = compile(vehicle, **arguments)
    model = system.model
    machine = system.machine()
    rng = np.random.default_rng(5)
    t = 0.4
    state = consistent(machine, rng, t)
    w = rng.normal(size=len(model.inputs))
    M, F, C, _, c = saddle(machine, state, w, t)
    vdot, lam = multiplier.solve_by_nullspace(M, F, C, c)
    driven = constraints.prescribed_joints(model)
    first = len(lam) - len(driven)
    base = len(model.twist)
    for at, k in enumerate(driven):
        F[base + k] -= lam[first + at]
    freed, _ = multiplier.solve_by_nullspace(M, F, C[:first], c[:first])
    assert error(freed, vdot) < TOLERANCE


def test_a_push_at_a_point_is_a_wrench():
    """The same push as an external force, and as generalised force J' f by differences of energy."""
    system = compile("unicycle")
    machine = system.machine({"ground": "open"})
    rng = np.random.default_rng(11)
    state = consistent(machine, rng, 0.0)
    push = np.array([3.0, -2.0, 5.0])
    pushed, _ = system.accelerate(
        state, dict(zip(("push.x", "push.y", "push.z"), push, strict=True)), {"ground": "open"}
    )
    quiet, _ = system.accelerate(state, None, {"ground": "open"})
    M, *_ = saddle(machine, state, np.zeros(5), 0.0)
    R = rotation(state.q)
    arm = np.array([0.0, 0.0, 0.25 + 0.5])  # the saddle in the drawing
    wrench = np.concatenate([R.T @ push, np.cross(arm, R.T @ push), [0.0, 0.0]])
    np.testing.assert_allclose(M @ (pushed - quiet), wrench, rtol=0, atol=1e-12 * 50)


def wheeled(*, g: float = 9.81) -> Model:
    """A carrier and an arm with oblique wheels: two roll, one is a flywheel on a spring."""
    wheels = {
        "near": ("carrier", (0.3, 1.0, 0.2), (0.4, 0.2, 0.3), 0.3),
        "far": ("arm", (-0.2, 1.0, 0.4), (-0.5, -0.1, 0.35), 0.35),
        "flywheel": ("arm", (1.0, 0.3, -0.6), (-0.2, 0.1, 0.6), None),
    }
    bodies = [
        Body("carrier", 8.0, (0.1, 0.02, 0.5), inertia(0.6, 0.8, 0.7, 0.05, -0.02, 0.03)),
        Body("arm", 3.0, (-0.3, -0.05, 0.4), inertia(0.1, 0.2, 0.15, 0.01, 0.02, -0.01)),
    ]
    joints = [Revolute("arm", "carrier", "arm", (0.4, 0.3, 1.0), (-0.1, 0.0, 0.4))]
    contacts = []
    for name, (carrier, axis, hub, radius) in wheels.items():
        a = np.array(axis) / np.linalg.norm(axis)
        spread = 0.05 * np.eye(3) + 0.04 * np.outer(a, a)
        bodies.append(Body(name, 1.5, np.array(hub) + 0.07 * a, spread))
        spring = 4.0 if radius is None else 0.0
        joints.append(Revolute(name, carrier, name, axis, hub, spring=spring))
        if radius is not None:
            contacts.append(Wheel(name, name, hub, axis, Torus(radius, 0.05)))
    return Model(bodies=bodies, joints=joints, contacts=contacts, gravity=(0.0, 0.0, -g))


@pytest.mark.parametrize("vehicle", ["whipple", wheeled])
def test_folding_wheels_into_their_carriers_changes_nothing(vehicle):
    model = compile(vehicle).model
    folded, whole = assemble(model), assemble(model, fold=False)
    turning = sum(is_foldable(model, body) for body in model.bodies)
    assert len(folded.links) == len(model.bodies) - turning < len(whole.links) == len(model.bodies)
    rng = np.random.default_rng(3)
    for statuses in modes(model):
        mode = constraints.mode_of(model, statuses)
        rows = multiplier.active_row_indices(model, mode)
        labels = constraints.row_labels(model, mode)
        for _ in range(STATES):
            q, p, r = random_pose(model, rng, 0.0)
            r[-turning:] = rng.uniform(-3.0, 3.0, turning)
            v = rng.normal(size=6 + len(model.joints))
            w = 5.0 * rng.normal(size=len(model.inputs))
            answers = []
            for tree in (folded, whole):
                out = multiplier.evaluate_free_dynamics(tree, rotation(q), p, r, v, w)
                M, F, C, c = (np.asarray(x, float) for x in (out.M, out.F, out.C, out.c))
                answers.append(
                    multiplier.solve_kkt_system(M, F, C[rows], c[rows], labels, model.speeds)
                )
            (a, forces), (b, others) = answers
            assert error(a, b) < 1e-12
            assert error(forces, others) < 1e-12


def test_a_configuration_that_needs_an_orthogonal_basis():
    """Pivots chosen in the drawing vanish where the roller racer's arm has folded back."""
    system = compile("roller_racer", d1=0.4, d2=0.2)
    machine = system.machine()
    assert machine.choice.names == ["Vx", "arm_rate"]
    r = np.array([math.acos(-0.5)])  # d2 + d1 cos(arm) = 0
    state = State(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), r, np.array([1.0, 2.0, -1.0, 0.5]))
    _, _, C, _, _ = saddle(machine, state, np.zeros(1), 0.0)
    state = State(state.q, state.p, r, state.v - np.linalg.pinv(C) @ (C @ state.v))
    M, _, C, *_ = saddle(machine, state, np.zeros(1), 0.0)
    assert condition(M, C) < CONDITION
    assert machine.least_pivot(machine.enter(state)) < 1e-12
    vdot, lam = system.accelerate(state)
    closed, forces = system.accelerate(state, formulation="projected")
    assert error(closed, vdot) < TOLERANCE
    assert error(forces, lam) < TOLERANCE
    straight = system.machine(configuration=(state.q, r))
    assert straight.choice.names == ["Wz", "arm_rate"]
    seen = straight.observation(straight.enter(state))
    assert error(seen["vdot"], vdot) < TOLERANCE
