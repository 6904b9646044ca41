"""Floquet multipliers: Mathieu's equation, steady circles, Liouville's formula."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import mathieu_a, mathieu_b

from draisine import Body, Model, Numerics, Prismatic, Revolute, compile, simulate, state
from draisine.algebra.scalar import cos, sin
from draisine.analysis.equilibrium import steady
from draisine.analysis.floquet import floquet
from draisine.errors import ConfigurationError

OMEGA = 10.0
PERIOD = 2.0 * math.pi / OMEGA


def shaken_pendulum(
    *, amplitude: float = 0.1, g: float = 9.81, length: float = 1.0, damper: float = 0.0
) -> Model:
    """Return a pendulum whose pivot moves vertically by amplitude * cos(OMEGA t)."""

    def heave(t: Any) -> Any:
        """Return height, velocity and acceleration of the pivot at time t (s)."""
        return (
            amplitude * cos(OMEGA * t),
            -amplitude * OMEGA * sin(OMEGA * t),
            -amplitude * OMEGA**2 * cos(OMEGA * t),
        )

    return Model(
        [Body("ground"), Body("pivot", 1.0), Body("bob", 1.0, (0.0, 0.0, -length))],
        [
            Prismatic("heave", "ground", "pivot", (0.0, 0.0, 1.0), motion=heave),
            Revolute("swing", "pivot", "bob", (0.0, 1.0, 0.0), damper=damper),
        ],
        base="fixed",
        gravity=(0.0, 0.0, -g),
    )


@pytest.mark.parametrize(
    ("characteristic", "order", "trace"),
    [(mathieu_a, 0, 2.0), (mathieu_b, 1, -2.0), (mathieu_a, 1, -2.0), (mathieu_b, 2, 2.0)],
)
def test_the_borders_of_mathieus_equation(characteristic: Any, order: int, trace: float) -> None:
    """With a = 4 g / (l omega^2) and q = 2 amplitude / l, small swings obey x'' + (a - 2 q cos 2s) x = 0;
    at its characteristic values both multipliers are 1 or -1. The first is an inverted pendulum.
    """
    amplitude = 0.15
    a = float(characteristic(order, 2.0 * amplitude))
    system = compile(shaken_pendulum, amplitude=amplitude, g=a * OMEGA**2 / 4.0)
    found = floquet(simulate(system, state(system), PERIOD))
    assert found.states == ("swing", "swing_rate")
    assert_allclose(np.trace(found.monodromy), trace, rtol=0, atol=1e-8)
    assert_allclose(np.linalg.det(found.monodromy), 1.0, rtol=1e-10)
    assert not found.stable


def test_liouvilles_formula() -> None:
    """The determinant of the monodromy matrix is exp of the integral of the trace, which is that of
    the damper.
    """
    system = compile(shaken_pendulum, damper=0.7)
    found = floquet(simulate(system, state(system), PERIOD))
    assert_allclose(np.linalg.det(found.monodromy), math.exp(-0.7 * PERIOD), rtol=1e-10)
    assert_allclose(np.sum(found.exponents.real), -0.7, rtol=1e-9)
    assert found.stable
    assert "Floquet multipliers over 0.628" in repr(found)


def test_multipliers_of_a_steady_circle() -> None:
    """After one revolution the multipliers are exp(eigenvalue * period)."""
    turn = steady(compile("whipple"), free=["steer"], lean=0.1, forward_speed=4.5)
    period = 2.0 * math.pi / abs(turn.values["yaw_rate"])
    found = floquet(turn.simulate(period))
    slow = np.sort(np.abs(np.exp(turn.linear().eigenvalues() * period)))[1:]
    assert_allclose(np.sort(np.abs(found.multipliers))[1:], slow, rtol=1e-6, atol=1e-12)


def test_runs_without_multipliers_are_refused() -> None:
    system = compile(shaken_pendulum)
    moved = simulate(system, state(system, swing=0.2), PERIOD)
    with pytest.raises(ConfigurationError, match="not periodic: swing"):
        floquet(moved)
    fixed = simulate(system, state(system), PERIOD, numerics=Numerics(integrator="rk4", dt=0.01))
    with pytest.raises(ConfigurationError, match="no dense output"):
        floquet(fixed)
