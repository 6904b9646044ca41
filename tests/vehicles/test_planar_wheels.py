"""Wheels of planar machines."""

import numpy as np
from numpy.testing import assert_allclose

import draisine
from draisine.model import Body, Model, Revolute, Wheel, inertia


def cart(*, gauge: float = 0.5, radius: float = 0.1, lifts: bool = False) -> Model:
    """Return a planar differential-drive cart: two wheels on one axle, in SE(2)."""
    left = (0.0, 1.0, 0.0)
    hubs = {"left": (0.0, gauge / 2, radius), "right": (0.0, -gauge / 2, radius)}
    return Model(
        bodies=[Body("hull", 5.0, (0.1, 0.0, 0.2), inertia(0.2, 0.2, 0.4))]
        + [Body(side, 0.5, hub, inertia(2e-3, 4e-3, 2e-3)) for side, hub in hubs.items()],
        joints=[Revolute(side, "hull", side, left, hub) for side, hub in hubs.items()],
        contacts=[Wheel(side, side, hub, left, radius, lifts=lifts) for side, hub in hubs.items()],
        base="SE(2)",
    )


def test_two_wheels_on_one_axle_have_one_redundant_row():
    """Of the rows of the second wheel only the rolling row is independent; the lateral row is
    redundant.
    """
    system = draisine.compile(cart)
    (spare,) = system.survey().redundant
    assert str(spare) == "right.across is redundant with left.across (always)"
    start = draisine.state(system, left_rate=2.0, right_rate=5.0)
    assert_allclose(start.v[:3], [0.35, 0.0, 0.6], atol=1e-14)  # r (l + r) / 2, r (r - l) / gauge


def test_one_wheel_and_its_closed_form():
    system = draisine.compile(one_wheel)
    start = draisine.state(system, wheel_rate=3.0, Wz=0.5)
    assert_allclose(start.v[:2], [0.3, 0.0], atol=1e-12)
    run = draisine.simulate(system, start, 2.0, numerics=draisine.Numerics(rtol=1e-12)).to_xarray()
    # the hull's mass centre is at the wheel: it circles with constant speed and rate
    assert_allclose(run.yaw, 0.5 * run.time, atol=1e-10)
    assert_allclose(run.position.sel(axis="x"), 0.6 * np.sin(0.5 * run.time), atol=1e-10)
    by_rows, _ = system.accelerate(start)
    closed, _ = system.accelerate(start, formulation="projected")
    assert_allclose(by_rows, closed, atol=1e-12)


def one_wheel(*, radius: float = 0.1, lifts: bool = False) -> Model:
    """Return a hull on one wheel under its mass centre, in SE(2)."""
    hub = (0.0, 0.0, radius)
    left = (0.0, 1.0, 0.0)
    return Model(
        bodies=[
            Body("hull", 5.0, (0.0, 0.0, 0.2), inertia(0.2, 0.2, 0.4)),
            Body("rim", 0.5, hub, inertia(2e-3, 4e-3, 2e-3)),
        ],
        joints=[Revolute("wheel", "hull", "rim", left, hub)],
        contacts=[Wheel("ground", "rim", hub, left, radius, lifts=lifts)],
        base="SE(2)",
    )


def test_the_normal_row_of_a_planar_wheel_has_no_force():
    """The group SE(2) has no vertical motion: the normal row is empty, and its minimum-norm force
    is zero.
    """
    system = draisine.compile(one_wheel, lifts=True)
    assert [str(row) for row in system.survey().redundant] == [
        "ground.normal blocks no possible motion (always)"
    ]
    _, lam = system.accelerate(draisine.state(system, wheel_rate=3.0, Wz=0.5))
    assert lam[0] == 0.0
