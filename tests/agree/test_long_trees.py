"""Long trees solved joint by joint: accelerations and forces equal those of the saddle-point
system.

The work grows linearly with the number of links.
"""

from itertools import pairwise

import numpy as np
import pytest

import draisine
from draisine.algebra.scalar import cos, sin
from draisine.model import Blade, Body, Model, Pin, Prismatic, Revolute, Wheel, inertia
from draisine.model.motion import sine
from draisine.system.state import State


def train(*, m: float = 3.0, wagons: int = 8) -> Model:
    """Wagons in space on single rolling wheels, coupled by oblique hinges, one of them guided; the
    last carries a slide, a skate and a flywheel. Drives add their inertia to the joints.
    """
    bodies, joints, contacts = [], [], []
    for k in range(wagons):
        x, name = -0.8 * k, f"wagon{k}"
        bodies.append(Body(name, m, (x, 0.02, 0.4), inertia(0.2, 0.3, 0.25, xz=0.02)))
        if k:
            axis = (0.1, 0.2, 1.0) if k % 2 else (0.2, 1.0, -0.1)
            motion = (lambda t: (0.1 * sin(t), 0.1 * cos(t), -0.1 * sin(t))) if k == 3 else None
            joints.append(
                Revolute(
                    f"hinge{k}",
                    f"wagon{k - 1}",
                    name,
                    axis,
                    (x + 0.4, 0.0, 0.3),
                    motion=motion,
                    armature=0.1 * k,
                )
            )
        if k % 3 == 0:
            hub, axle = (x, 0.0, 0.25), (0.1, 1.0, 0.0)
            a = np.array(axle) / np.linalg.norm(axle)
            bodies.append(Body(f"wheel{k}", 0.5, hub, 0.01 * np.eye(3) + 0.01 * np.outer(a, a)))
            joints.append(Revolute(f"spin{k}", name, f"wheel{k}", axle, hub, armature=0.03))
            contacts.append(Wheel(f"tread{k}", f"wheel{k}", hub, axle, 0.25))
    a = np.array([0.6, 0.0, 0.8])
    bodies.append(Body("flywheel", 0.3, (x, 0.0, 0.6), 0.02 * np.eye(3) + 0.01 * np.outer(a, a)))
    joints.append(Revolute("flywheel", name, "flywheel", a, (x, 0.0, 0.6), armature=0.05))
    bodies.append(Body("slide", 0.4, (x, 0.3, 0.5), inertia(0.01, 0.02, 0.03)))
    joints.append(Prismatic("slide", name, "slide", (0.1, 1.0, 0.3), armature=0.2))
    contacts.append(Blade("skate", "slide", (x, 0.3, 0.0), (1.0, 0.1, 0.0)))
    return Model(bodies=bodies, joints=joints, contacts=contacts)


def hanging(*, m: float = 1.0, links: int = 9) -> Model:
    """Return a chain that sags between a wall and a pin."""
    names = ["wall", *(f"link{k}" for k in range(1, links + 1))]
    hinges = [np.array([0.2 * k, 0.0, 0.05 * k * (k - links)]) for k in range(links + 1)]
    middles = [hinges[0], *((a + b) / 2 for a, b in pairwise(hinges))]
    return Model(
        bodies=[
            Body(name, m, middle, inertia(0.01, 0.02, 0.03))
            for name, middle in zip(names, middles, strict=True)
        ],
        joints=[
            Revolute(f"j{k}", names[k], names[k + 1], (0.0, 1.0, 0.0), hinges[k])
            for k in range(links)
        ],
        contacts=[Pin("end", names[-1], hinges[-1], "xz")],
        base="fixed",
    )


MACHINES = {
    "snake": ("snake", {"links": 12}),
    "led snake": ("snake", {"links": 10, "drive": "leader"}),
    "trailers": ("car_with_trailers", {"lengths": (1.0, 0.8, 1.2, 0.9) * 3, "hitches": (0.1,) * 12}),
    "steered trailers": (
        "car_with_trailers",
        {"lengths": (1.0,) * 9, "steering": sine(0.3, 0.2), "rolling": sine(3.0, 0.1)},
    ),
    "train": (train, {}),
    "hanging chain": (hanging, {}),
}  # fmt: skip


def random_state(system, rng, t):
    """Return a random state of a system that satisfies its rows, and the rows' system."""
    model, machine = system.model, system.machine()
    q, p = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3)
    if model.base != "fixed":
        q[1:] = rng.uniform(-0.2, 0.2, 3) if model.base == "SE(3)" else [0.0, 0.0, rng.normal()]
        p[:2] = rng.normal(size=2)
    r = rng.uniform(-0.4, 0.4, len(model.joints))
    for k, joint in enumerate(model.joints):
        r[k] = r[k] if joint.motion is None else joint.motion(t)[0]
    v, q = rng.normal(size=len(machine.columns)), q / np.linalg.norm(q)
    free = machine.free(t=[t], q=q, p=p, r=r, v=v, w=np.zeros(len(model.inputs)))
    whole = free["C"].reshape(-1, len(v))
    first, rows = 0, []
    for contact, (_, status) in zip(model.contacts, machine.mode, strict=True):
        rows += [first + contact.directions.index(name) for name in contact.rows[status]]
        first += 3
    rows += range(first, len(whole))
    C, b = whole[rows], free["b"][rows]
    return State(q, p, r, v - np.linalg.pinv(C) @ (C @ v - b))


@pytest.mark.parametrize("name", MACHINES)
def test_joint_by_joint_equals_the_saddle_point_system(name):
    vehicle, arguments = MACHINES[name]
    system = draisine.compile(vehicle, **arguments)
    machine = system.machine()
    assert machine.choice.along_tree
    rng = np.random.default_rng(7)
    for _ in range(3):
        t = rng.uniform(0.0, 2.0)
        state = random_state(system, rng, t)
        inputs = dict(
            zip(system.model.inputs, rng.normal(size=len(system.model.inputs)), strict=True)
        )
        vdot, lam = system.accelerate(state, inputs, t=t, formulation="projected")
        still, pushes = system.accelerate(state, inputs, t=t, formulation="multiplier")
        np.testing.assert_allclose(vdot, still, rtol=0, atol=1e-10 * np.abs(still).max())
        np.testing.assert_allclose(lam, pushes, rtol=0, atol=1e-10 * np.abs(pushes).max())


@pytest.mark.parametrize("name", ["snake", "trailers"])
def test_a_run_keeps_what_the_rows_demand(name):
    """Without friction or drive the energy stays, and so do the rows."""
    vehicle, arguments = MACHINES[name]
    system = draisine.compile(vehicle, **arguments)
    state = random_state(system, np.random.default_rng(3), 0.0)
    run = draisine.simulate(system, state, 1.0, numerics=draisine.Numerics(rtol=1e-11, atol=1e-13))
    energy = run.to_xarray()["energy"].values
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    machine = system.machine()
    end = run.final()
    machine.enter(end, 1.0, tolerance=1e-9)


@pytest.mark.parametrize(
    ("vehicle", "sized"),
    [
        ("snake", lambda n: {"links": n}),
        ("car_with_trailers", lambda n: {"lengths": (1.0,) * n}),
        ("chain", lambda n: {"links": n}),
    ],
)
def test_operations_grow_with_the_number_of_links_and_no_faster(vehicle, sized):
    counts = []
    for n in (10, 13, 16):
        machine = draisine.compile(vehicle, **sized(n)).machine()
        counts.append(machine.programs["rate"].operations)
    growth = np.diff(counts)
    assert growth[1] == pytest.approx(growth[0], rel=0.02)


def test_a_tree_that_cannot_be_solved_from_its_base_is_solved_at_once():
    """Blades ahead of the middles: each link swings twice as far as the one before it, 2^23 in all."""

    def steep(*, ahead: float = 0.05, links: int = 24) -> Model:
        middles = [(-0.3 * k, 0.0, 0.0) for k in range(links)]
        up = (0.0, 0.0, 1.0)
        return Model(
            bodies=[Body(f"b{k}", 1.0, x, inertia(0.1, 0.1, 0.05)) for k, x in enumerate(middles)],
            joints=[
                Revolute(f"j{k}", f"b{k}", f"b{k + 1}", up, (-0.3 * k - 0.15, 0.0, 0.0))
                for k in range(links - 1)
            ],
            contacts=[
                Blade(f"c{k}", f"b{k}", (x[0] + ahead, 0.0, 0.0), (1.0, 0.0, 0.0))
                for k, x in enumerate(middles)
            ],
            gravity=np.zeros(3),
            base="SE(2)",
        )

    assert draisine.compile(steep, ahead=-0.05).machine().choice.along_tree
    assert not draisine.compile(steep).machine().choice.along_tree
