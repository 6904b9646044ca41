"""Gears, steering linkages and closed loops, compared with closed forms."""

import math
from typing import Literal

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, simulate, state
from draisine.algebra.scalar import atan2, cos, sin, sqrt
from draisine.analysis.linear import linearise
from draisine.errors import ModelError
from draisine.model import Body, Coupling, Loop, Model, Pin, Prismatic, Revolute

Z = (0.0, 0.0, 1.0)
CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.6


def gear(*, n: float = 3.0, pinion: float = 0.2, wheel: float = 0.5) -> Model:
    """Return two gear wheels: b turns n times slower than a, in the opposite direction."""
    return Model(
        bodies=[
            Body("frame", 1.0),
            Body("pinion", 1.0, inertia=np.diag([1.0, 1.0, pinion])),
            Body("wheel", 1.0, (1.0, 0.0, 0.0), np.diag([1.0, 1.0, wheel])),
        ],
        joints=[
            Revolute("a", "frame", "pinion", Z),
            Revolute("b", "frame", "wheel", Z, (1.0, 0.0, 0.0)),
        ],
        base="fixed",
        couplings=[Coupling("mesh", ("a", "b"), lambda a, b: a + n * b)],
    )


@pytest.mark.parametrize("formulation", ["multiplier", "projected"])
def test_a_gear_reflects_inertia_by_the_square_of_its_ratio(formulation):
    system = compile(gear)
    vdot, lam = system.accelerate(state(system, a_rate=3.0), {"a": 2.0}, formulation=formulation)
    assert_allclose(vdot[0], 2.0 / (0.2 + 0.5 / 9), rtol=1e-14)
    assert_allclose(vdot[1], -vdot[0] / 3, rtol=1e-14)
    assert_allclose(lam, 0.2 * vdot[0] - 2.0, rtol=1e-13)  # torque of the mesh on the pinion


def rod(name: str, p, q, mass: float) -> Body:
    """Return a thin rod between two points."""
    square = sum((y - x) * (y - x) for x, y in zip(p, q, strict=True))
    J = mass * square / 12
    middle = ((p[0] + q[0]) / 2, (p[1] + q[1]) / 2, 0.0)
    return Body(name, mass, middle, [[J / 2, 0, 0], [0, J / 2, 0], [0, 0, J]])


def joint_of_four_bar(a, b, c, d, angle):
    """Return crank pin and joint of coupler and rocker, from the triangle over the diagonal."""
    x, y = a * cos(angle), a * sin(angle)
    diagonal = sqrt((d - x) * (d - x) + y * y)
    along = (b * b - c * c + diagonal * diagonal) / (2.0 * diagonal)
    up = sqrt(b * b - along * along)
    ex, ey = (d - x) / diagonal, -y / diagonal
    return (x, y), (x + along * ex - up * ey, y + along * ey + up * ex)


def four_bar(
    *, a: float = CRANK, b: float = COUPLER, c: float = ROCKER, d: float = GROUND
) -> Model:
    """Return a crank-rocker linkage, with a vertical crank in the zero configuration."""
    pin, top = joint_of_four_bar(a, b, c, d, math.pi / 2)
    top = (*top, 0.0)
    return Model(
        bodies=[
            Body("ground", 1.0),
            rod("crank", (0.0, 0.0), pin, 1.0),
            rod("coupler", pin, top[:2], 2.0),
            rod("rocker", (d, 0.0), top[:2], 1.5),
        ],
        joints=[
            Revolute("crank", "ground", "crank", Z),
            Revolute("coupler", "crank", "coupler", Z, (*pin, 0.0)),
            Revolute("rocker", "ground", "rocker", Z, (d, 0.0, 0.0)),
        ],
        gravity=(0.0, -9.81, 0.0),
        base="fixed",
        couplings=[Loop("pin", "coupler", "rocker", top)],
    )


def crank_acceleration(angle, rate, torque):
    """Return the acceleration by Lagrange's equation, `m q'' + m' q'^2 / 2 + V' = torque`, from the closed
    form of the linkage with 40 digits.
    """
    lengths = [mpmath.mpf(x) for x in (CRANK, COUPLER, ROCKER, GROUND)]

    def parts(q):
        (x, y), (u, v) = joint_of_four_bar(*lengths, q)
        d = lengths[3]
        rods = [(1.0, 0, 0, x, y), (2.0, x, y, u, v), (1.5, d, 0, u, v)]
        return [
            (
                m,
                (x0 + x1) / 2,
                (y0 + y1) / 2,
                atan2(y1 - y0, x1 - x0),
                (x1 - x0) ** 2 + (y1 - y0) ** 2,
            )
            for m, x0, y0, x1, y1 in rods
        ]

    def inertia(q):
        total = 0
        for k, (m, *_, square) in enumerate(parts(q)):
            dx, dy, turn = (mpmath.diff(lambda s, i=i, k=k: parts(s)[k][i], q) for i in (1, 2, 3))
            total += m * (dx**2 + dy**2) + m * square / 12 * turn**2
        return total

    def potential(q):
        return sum(m * mpmath.mpf("9.81") * y for m, _, y, *_ in parts(q))

    q = mpmath.mpf(angle)
    slope = mpmath.diff(inertia, q)
    push = torque - slope * rate**2 / 2 - mpmath.diff(potential, q)
    return float(push / inertia(q))


def test_a_four_bar_linkage_has_the_motion_of_its_degree_of_freedom():
    system = compile(four_bar)
    assert [row.label for row in system.survey().redundant] == ["pin.z"]
    start = state(system, crank=0.3, crank_rate=8.0)
    with mpmath.workdps(40):
        expected = crank_acceleration(math.pi / 2 + 0.3, 8.0, 2.0)
    by_bodies, _ = system.accelerate(start, {"crank": 2.0}, formulation="absolute")
    assert_allclose(by_bodies[0], expected, rtol=1e-12)
    by_rows, lam = system.accelerate(start, {"crank": 2.0})
    closed, pushes = system.accelerate(start, {"crank": 2.0}, formulation="projected")
    assert_allclose(by_rows[0], expected, rtol=1e-12)
    assert_allclose(closed, by_rows, rtol=1e-12)
    assert_allclose(pushes, lam, rtol=1e-11, atol=1e-12)
    run = simulate(system, start, 1.0).to_xarray()
    turned = float(run["shape"].sel(joint="crank")[-1])
    assert turned > 2 * math.pi
    _, top = joint_of_four_bar(CRANK, COUPLER, ROCKER, GROUND, math.pi / 2 + turned)
    _, drawn = joint_of_four_bar(CRANK, COUPLER, ROCKER, GROUND, math.pi / 2)
    rocker = [math.atan2(y, x - GROUND) for x, y in (top, drawn)]
    assert_allclose(run["shape"].sel(joint="rocker")[-1], rocker[0] - rocker[1], atol=1e-12)
    energy = run.energy.values
    assert_allclose(energy, energy[0], rtol=1e-8)
    assert run.coupling_force.sel(coupling="pin.y").shape == run.time.shape


def test_linearisation_of_coupled_joints_has_one_degree_of_freedom():
    """A hanging crank with a gear is a pendulum with the inertia of both wheels."""

    def pendulum(*, n: float = 2.0) -> Model:
        return Model(
            bodies=[
                Body("frame", 1.0),
                Body("arm", 1.0, (0.0, -0.5, 0.0), np.diag([0.1, 0.1, 0.1])),
                Body("disc", 1.0, (1.0, 0.0, 0.0), np.diag([0.1, 0.1, 0.2])),
            ],
            joints=[
                Revolute("arm", "frame", "arm", Z),
                Revolute("disc", "frame", "disc", Z, (1.0, 0.0, 0.0)),
            ],
            gravity=(0.0, -9.81, 0.0),
            base="fixed",
            couplings=[Coupling("chain", ("arm", "disc"), lambda a, b: n * a - b)],
        )

    system = compile(pendulum)
    found = linearise(system, state(system))
    omega = math.sqrt(9.81 * 0.5 / (0.1 + 0.25 + 4 * 0.2))
    assert_allclose(sorted(found.eigenvalues().imag), [-omega, omega], rtol=1e-12)


def supported_block(
    *, mass: float = 2.0, stiffness: float = 3.0, beside: Literal["hook", "chain"] = "hook"
) -> Model:
    """Return a block on a vertical slide, supported by a bolt and beside it by a hook or by a
    chain.
    """
    loop = Loop("bolt", "block", "wall", (0.1, 0.0, 0.0))
    chain = Coupling("chain", ("lift",), lambda lift: 2.0 * lift)
    hook = Pin("hook", "block", (0.0, 0.0, 0.0), axes="z", stiffness=stiffness)
    return Model(
        bodies=[Body("wall", 1.0), Body("block", mass)],
        joints=[Prismatic("lift", "wall", "block", Z)],
        contacts=[hook] if beside == "hook" else [],
        couplings=[loop] if beside == "hook" else [loop, chain],
        base="fixed",
    )


@pytest.mark.parametrize("formulation", ["multiplier", "projected"])
def test_a_loop_shares_forces_like_a_contact_of_stiffness_one(formulation):
    """Two supports share a weight in proportion to their stiffnesses; a loop has the stiffness 1."""
    system, weight = compile(supported_block, mass=2.0, stiffness=3.0), 2.0 * 9.81
    vdot, lam = system.accelerate(state(system), formulation=formulation)
    assert_allclose(vdot, 0.0, atol=1e-12)
    assert_allclose(lam, [0.75 * weight, 0.0, 0.0, 0.25 * weight], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("formulation", ["multiplier", "projected"])
def test_a_torque_relieves_a_loop(formulation):
    """Multipliers of couplings are torques without a compliance: only the force of the loop counts
    in the norm.
    """
    system = compile(supported_block, mass=2.0, beside="chain")
    vdot, lam = system.accelerate(state(system), formulation=formulation)
    assert_allclose(vdot, 0.0, atol=1e-12)
    assert_allclose(lam, [0.0, 0.0, 0.0, 2.0 * 9.81 / 2.0], rtol=1e-12, atol=1e-12)


def test_errors_of_couplings_name_the_cause():
    base, arm = Body("base", 1.0), Body("arm", 1.0, inertia=np.eye(3))
    joints = [Revolute("hinge", "base", "arm", Z)]
    with pytest.raises(ModelError, match=r"no joint 'hing'.*Did you mean 'hinge'"):
        Model([base, arm], joints, couplings=[Coupling("c", ("hing",), lambda a: a)])
    with pytest.raises(ModelError, match=r"loop 'l': no body 'leg'"):
        Model([base, arm], joints, couplings=[Loop("l", "arm", "leg", (0, 0, 0))])
    with pytest.raises(ModelError, match="both ends are on body"):
        Loop("l", "arm", "arm", (0, 0, 0))
    with pytest.raises(ModelError, match="Name at least one joint"):
        Coupling("c", (), lambda: 0.0)
