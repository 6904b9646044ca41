"""Grips that take turns: impacts, runs, and what a pin does when nobody mentions it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import compile, simulate, state
from draisine.algebra.lie import rotation
from draisine.analysis.gait.map import find_grip_sequence, gait
from draisine.errors import ModelError, ParameterError
from draisine.simulation.regrip import regrip

FIRST, SECOND = {"grip_1": "gripped", "grip_2": "open"}, {"grip_1": "open", "grip_2": "gripped"}


@pytest.fixture(scope="module")
def robot():
    return compile("rocr")


def test_a_pin_may_be_open_unless_a_mode_closes_it(robot):
    assert dict(robot.mode()) == FIRST
    assert dict(robot.mode(SECOND)) == SECOND
    with pytest.raises(ModelError, match="cannot be 'rolling'"):
        robot.mode({"grip_2": "rolling"})


def test_both_grips_hold_the_body_still_while_its_arm_moves(robot):
    """Four rows of rank three; what one hand pulls the other along the body is not determined."""
    both = {"grip_1": "gripped", "grip_2": "gripped"}
    (spare,) = robot.survey(both).redundant
    assert spare.label == "grip_2.x" or spare.label == "grip_2.y"
    run = draisine.simulate(
        robot, state(robot, mode=both), until=0.5, contact=draisine.ContactOptions(mode=both)
    ).to_xarray()
    assert np.ptp(run.contact_point.values, axis=0).max() < 1e-14
    assert np.ptp(run["shape"].values) > 1.0


def test_a_grip_in_the_plane_never_loses_rank(robot):
    """Its rows stand along the body's axes: no pivot depends on where the body points."""
    assert robot.machine().choice.sizes == []
    start = state(robot, yaw=-1.0, Wz=30.0)
    run = simulate(robot, start, until=1.0)
    assert len(run.arcs) == 1
    assert np.ptp(run.to_xarray().contact_point.values[:, 0], axis=0).max() < 1e-13


def test_a_grip_that_holds_pulls_with_the_weight(robot):
    """Without drive a robot at rest hangs on its grip."""
    limp = compile("rocr", drive="free")
    out, _ = limp.accelerate(state(limp, yaw=-np.pi / 2, tail=0.0))
    assert np.abs(out).max() > 1.0  # hangs aside, and swings
    weight = (0.199 + 0.1) * 9.81
    run = simulate(
        compile("rocr", amplitude=0.0), state(compile("rocr", amplitude=0.0)), until=30.0
    )
    force = run.to_xarray().contact_force_world.values[-1, 0]
    assert_allclose(force, [0.0, weight, 0.0], atol=1e-6)


@pytest.mark.parametrize("joint", ["free", "held"])
def test_an_impact_keeps_momenta(robot, joint):
    """`M (v+ - v-) = C' Lam`: nothing but the rows that were held pushes; the new grip stands."""
    before = state(robot, yaw=0.4, Wz=3.0)
    free = robot.machine().free(q=before.q, p=before.p, r=before.r, v=before.v)
    found = regrip(robot.model, free, before.v, SECOND, joint=joint)
    M, C = free["M"].reshape(4, 4), free["C"].reshape(-1, 4)
    names = {"grip_2.x": 3, "grip_2.y": 4, "tail.motion": 6}
    assert set(found.impulses) == set(names) - (set() if joint == "held" else {"tail.motion"})
    pushed = sum(Lam * C[names[name]] for name, Lam in found.impulses.items())
    assert_allclose(M @ (found.struck - before.v), pushed, atol=1e-14)
    assert_allclose(C[3:5] @ found.v, 0.0, atol=1e-14)
    assert found.v[3] == pytest.approx(before.v[3])
    assert (found.struck[3] == pytest.approx(before.v[3])) == (joint == "held")
    lost = found.struck @ M @ found.struck - before.v @ M @ before.v
    if joint == "free":
        assert lost < 0  # the impact itself takes energy; setting the joint back does not


def test_a_cycle_run_again_and_again_stays_a_cycle(robot):
    walk = gait(robot, joint="free")
    cycle = walk.cycle([6.8, 3.1])
    modes, pause = find_grip_sequence(robot)
    start = walk.holds[0].public_state(cycle.x)
    run = draisine.simulate(
        robot,
        start,
        5 * walk.period,
        contact=draisine.ContactOptions(mode=draisine.GripSchedule(modes, pause, "free")),
        numerics=draisine.Numerics(rtol=1e-12, atol=1e-13),
    )
    data = run.to_xarray()
    rise = data.position.values[-1] - data.position.values[0]
    assert_allclose(rise, [0.0, -5 * 0.2 * np.cos(cycle.x[1]), 0.0], atol=1e-9)
    assert [str(e).split()[-1] for e in run.events[:3]] == [f"grip_{k}:wall" for k in (2, 1, 2)]
    for event in run.events:
        assert abs(event.before.v[2]) == pytest.approx(9.698774589076287, abs=1e-9)
        assert abs(event.after.v[2]) == pytest.approx(6.825063599720387, abs=1e-9)
        (push,) = event.impulses.values()
        R = rotation(event.before.q)
        assert_allclose(np.abs(R.T @ push)[:2], [0.042961979, 0.057833434], atol=1e-8)


def test_a_run_of_its_own_length_and_start(robot):
    start = state(robot, yaw=-1.5)
    run = draisine.simulate(
        robot,
        start,
        0.5,
        contact=draisine.ContactOptions(mode=draisine.GripSchedule([FIRST, SECOND], 1 / 3, "held")),
        numerics=draisine.Numerics(dt=0.05, rtol=1e-12, atol=1e-13),
    )
    assert run.t[-1] == 0.5
    assert len(run.arcs) == 2
    assert len(run.events) == 1
    with pytest.raises(ParameterError, match="pause"):
        draisine.simulate(
            robot,
            start,
            0.5,
            contact=draisine.ContactOptions(
                mode=draisine.GripSchedule([FIRST, SECOND], 0.0, "held")
            ),
            numerics=draisine.Numerics(rtol=1e-12, atol=1e-13),
        )
    with pytest.raises(ParameterError, match="'free' or 'held'"):
        draisine.simulate(
            robot,
            start,
            0.5,
            contact=draisine.ContactOptions(
                mode=draisine.GripSchedule([FIRST, SECOND], 0.2, "loose")
            ),
            numerics=draisine.Numerics(rtol=1e-12, atol=1e-13),
        )
