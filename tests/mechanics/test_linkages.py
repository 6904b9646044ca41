"""Linkages closed by pins (steering, suspension, branches), compared with closed forms."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, simulate, state
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError
from draisine.model import Body, Loop, Model, Revolute, inertia

TRACK, ARM, BIAS, INERTIA = 0.8, 0.12, 0.5164832994463787, 0.05


def right_angle(left):
    """Return the right knuckle's angle: the end of its arm is a rod's length from that of the other,
    A cos(angle) + B sin(angle) = C.
    """
    w, a, bias = mpmath.mpf(TRACK), mpmath.mpf(ARM), mpmath.mpf(BIAS)
    rod = w - 2 * a * mpmath.sin(bias)
    x = -a * mpmath.cos(bias + left)
    # Position of the end of the left arm relative to the right kingpin
    y = w - a * mpmath.sin(bias + left)
    A = 2 * a * (x * mpmath.cos(bias) - y * mpmath.sin(bias))
    B = 2 * a * (x * mpmath.sin(bias) + y * mpmath.cos(bias))
    C = rod**2 - x * x - y * y - a * a
    middle, spread = mpmath.atan2(B, A), mpmath.acos(C / mpmath.hypot(A, B))
    both = [middle + spread, middle - spread]
    return min(both, key=lambda angle: abs(angle - left))


@pytest.fixture(scope="module")
def linkage():
    return compile("steering_linkage")


@pytest.mark.parametrize("left", [0.5, 0.2, -0.4])
def test_a_steering_linkage_closes_like_a_four_bar_linkage(linkage, left):
    rate, torque = 1.5, 2.0
    start = state(linkage, left=left, left_rate=rate)
    ratio, change = (float(mpmath.diff(right_angle, left, k)) for k in (1, 2))
    assert_allclose(start.r[1], float(right_angle(left)), rtol=0, atol=1e-14)
    assert_allclose(start.v[1], ratio * rate, rtol=1e-12)
    expected = (torque - INERTIA * ratio * change * rate**2) / (INERTIA * (1 + ratio**2))
    for formulation in ("multiplier", "projected", "absolute"):
        vdot, _ = linkage.accelerate(start, {"left": torque}, formulation=formulation)
        assert_allclose(vdot[0], expected, rtol=1e-10)
        assert_allclose(vdot[1], ratio * expected + change * rate**2, rtol=1e-10)


def test_the_bar_linkage_satisfies_ackermann_to_second_order(linkage):
    """cot(outer) - cot(inner) = track / wheelbase up to an error of third order."""
    errors = []
    for inner in (0.1, 0.2):
        outer = state(linkage, left=inner).r[1]
        wanted = math.atan(1 / (1 / math.tan(inner) + TRACK / 1.2))
        errors.append(abs(outer - wanted))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] < 0.15


def test_a_swinging_linkage_stays_closed(linkage):
    run = simulate(linkage, state(linkage, left=0.3, left_rate=0.5), 0.5).to_xarray()
    ratio = [float(mpmath.diff(right_angle, x)) for x in run.left.values[::10]]
    energy = INERTIA * (1 + np.array(ratio) ** 2) * run.left_rate.values[::10] ** 2 / 2
    assert_allclose(energy, energy[0], rtol=1e-9)


def fork(*, link: float = 0.1, height: float = 0.15, m: float = 10.0, k: float = 900.0) -> Model:
    """Return a fork whose wheel is carried by two parallel links, with a spring at the lower link."""
    across = (0.0, 1.0, 0.0)
    return Model(
        bodies=[
            Body("frame", 1.0),
            Body("lower", 0.0),
            Body("upper", 0.0),
            Body("carrier", m, (link + 0.05, 0.0, height / 2), inertia(1.0, 1.0, 1.0)),
        ],
        joints=[
            Revolute("lower", "frame", "lower", across, (0.0, 0.0, 0.0), spring=k),
            Revolute("upper", "frame", "upper", across, (0.0, 0.0, height)),
            Revolute("carrier", "lower", "carrier", across, (link, 0.0, 0.0)),
        ],
        couplings=[Loop("pin", "carrier", "upper", (link, 0.0, height))],
        base="fixed",
    )


def test_a_parallelogram_fork_carries_its_wheel_without_turning_it():
    """The carrier moves like a point of a link: m l^2 x'' = m g l cos(x) - k x, for any inertia."""
    link, m, k, g = 0.1, 10.0, 900.0, 9.81
    rest = float(mpmath.findroot(lambda x: m * g * link * mpmath.cos(x) - k * x, 0.01))
    system = compile(fork)
    start = state(system, lower=rest)
    assert_allclose(start.r, [rest, rest, -rest], rtol=0, atol=1e-14)
    values = linearise(system, start).eigenvalues()
    omega = math.sqrt((k + m * g * link * math.sin(rest)) / (m * link**2))
    assert_allclose(sorted(values.imag), [-omega, omega], rtol=1e-10)


def four_bar(*, crank: float = 0.2, coupler: float = 0.25, rocker: float = 0.2) -> Model:
    """Return a parallelogram with a crank of 0.2 m at right angles to a frame of 0.25 m."""
    up, ground = (0.0, 0.0, 1.0), 0.25
    rod = inertia(0.01, 0.01, 0.01)
    return Model(
        bodies=[Body("frame", 1.0), *(Body(n, 1.0, (0, 0, 0), rod) for n in ("a", "b", "c"))],
        joints=[
            Revolute("crank", "frame", "a", up),
            Revolute("coupler", "a", "b", up, (0.0, crank, 0.0)),
            Revolute("rocker", "frame", "c", up, (ground, 0.0, 0.0)),
        ],
        couplings=[Loop("pin", "b", "c", (coupler, rocker, 0.0))],
        base="fixed",
    )


def test_loops_close_on_the_branch_of_the_zero_configuration():
    system = compile(four_bar)
    start = state(system, crank=0.7)
    assert_allclose(start.r, [0.7, -0.7, 0.7], rtol=0, atol=1e-13)  # still a parallelogram
    with pytest.raises(ConfigurationError, match=r"loop 'pin' would close on the other branch"):
        state(system, crank=2.2)  # beyond the dead point at 90 degrees
