"""Many machines at once: every one as if alone, and none ends without a reason."""

import math
from dataclasses import replace

import numpy as np
import pytest

import draisine
from draisine.errors import ParameterError
from draisine.model import Body, Model, inertia
from draisine.simulation.many import simulate_many


@pytest.fixture(scope="module")
def pushed(bicycle):
    """Bicycles that fall, some at once and some late, and some that do not."""
    speeds = (0.0, 0.61, 2.13, 3.04, 4.6, 5.5, 7.0)
    return [draisine.state(bicycle, forward_speed=v, lean_rate=0.4) for v in speeds]


@pytest.fixture(scope="module")
def ends(bicycle, pushed):
    return simulate_many(bicycle, pushed, 3.0)


@pytest.mark.parametrize("k", range(7))
def test_each_ends_bit_for_bit_as_alone(bicycle, pushed, ends, k):
    """Also those that need other pivots on their way (3.04 m/s), and those that fall."""
    alone = draisine.simulate(
        bicycle, pushed[k], 3.0, numerics=draisine.Numerics(dt=0.005, integrator="rk4")
    )
    assert (ends["outcome"][k], ends["time"][k]) == (alone.outcome, alone.t[-1])
    final = alone.final()
    for name in ("q", "p", "r", "v"):
        expected = getattr(final, name)
        ours = ends[name][:, k]
        assert np.array_equal(ours, np.broadcast_to(expected, ours.shape), equal_nan=True)


@pytest.mark.parametrize(("integrator", "dt"), [("rk4", 0.005), ("abm4", 0.005), ("dop853", 0.08)])
def test_single_precision_tells_its_error(bicycle, pushed, integrator, dt):
    """It is that of the machines that ran in double precision, too; contacts stay closed to the last
    bits, and a machine that falls has the numbers of double precision.
    """
    double = draisine.Numerics(integrator=integrator, dt=dt)
    single = replace(double, precision="single")
    exact, found = (simulate_many(bicycle, pushed[:6], 1.0, numerics=x) for x in (double, single))
    assert list(found["outcome"]) == list(exact["outcome"])
    ran = found["outcome"] == "completed"
    for name in ("q", "p", "r"):
        away = np.abs(found[name] - exact[name])[:, ran] / (1.0 + np.abs(exact[name][:, ran]))
        assert away.max() <= found["error"] * (1.0 + 1e-9) + 1e-15
        assert np.array_equal(found[name][:, ~ran], exact[name][:, ~ran], equal_nan=True)
    assert 1e-9 < found["error"] < 1e-5
    assert np.abs(found["gaps"][:, ran]).max() < 1e-14
    with pytest.raises(ParameterError, match="does not use precision"):
        draisine.simulate(bicycle, pushed[4], 1.0, numerics=single)
    with pytest.raises(ParameterError, match="must be 'double' or 'single'"):
        replace(double, precision="half")


def test_some_fall_and_some_do_not(ends):
    assert "completed" not in ends["outcome"][:2]
    assert set(ends["outcome"][4:]) == {"completed"}


@pytest.mark.parametrize("fall", [None, math.inf])
def test_a_disc_that_falls_flat_says_so(fall):
    """It stops where it has fallen; without that rule it must stop where it lies flat, without numbers."""
    disc = draisine.compile("rolling_disc")
    starts = [draisine.state(disc, lean=lean) for lean in (0.0, 0.5, 1.0)]
    found = simulate_many(
        disc,
        starts,
        2.0,
        parameters={"radius": [0.5, 0.5, 1.0]},
        contact=draisine.ContactOptions(fall=fall),
        numerics=draisine.Numerics(integrator="rk4", dt=0.01),
    )
    ended = "fell: lean beyond 89.9 deg" if fall is None else "a wheel fell flat"
    assert list(found["outcome"]) == ["completed", ended, ended]
    assert np.all(found["time"][1:] < 1.0)
    assert np.isfinite(found["v"][:, 0]).all()
    assert np.isfinite(found["v"][:, 1:]).all() == (fall is None)
    assert np.isnan(found["v"][:, 1:]).all() == (fall is not None)


def test_machines_of_other_sizes_begin_where_they_were_put(bicycle):
    """Lengths differ from lane to lane: states, poses and floors of pivots are each machine's own."""
    lengths = ("w", "c", "rR", "xB", "zB", "xH", "zH", "rF")
    machines = [
        bicycle.with_parameters(**{n: scale * bicycle.parameters[n] for n in lengths})
        for scale in (1.0, 0.1, 0.02)
    ]
    starts = [draisine.state(m, forward_speed=1.0, lean_rate=0.1, yaw=0.3, x=2.0) for m in machines]
    given = {n: [m.parameters[n] for m in machines] for n in lengths}
    numerics = draisine.Numerics(integrator="rk4", dt=0.002)
    end = simulate_many(bicycle, starts, 0.02, parameters=given, numerics=numerics)
    assert set(end["outcome"].tolist()) == {"completed"}
    for k, (machine, start) in enumerate(zip(machines, starts, strict=True)):
        final = draisine.simulate(machine, start, 0.02, numerics=numerics).final()
        for name in ("q", "p", "r", "v"):
            np.testing.assert_allclose(
                end[name][:, k], getattr(final, name), rtol=1e-12, atol=1e-13
            )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mB": [85.0, 85.0, -1.0]}, r"machine 2: body 'frame': mass -1\.0 kg is negative"),
        ({"rR": [0.3, -0.1, 0.3]}, r"machine 1: whipple: rR = -0\.1 m must be positive"),
        ({"IBxx": [9.2, 9.2, -3.0]}, "machine 2: .+ not positive semidefinite"),
        ({"mB": [85.0, np.nan, 85.0]}, "parameter mB: .+ not finite"),
    ],
)
def test_every_machine_is_one(bicycle, changes, told):
    """The first one would be: it is the last that is not."""
    start = draisine.state(bicycle, forward_speed=4.6)
    with pytest.raises(ParameterError, match=told):
        simulate_many(bicycle, [start] * 3, 0.1, parameters=changes)


def test_many_machines_whose_masses_are_plain_numbers():
    """Stones fall by g t^2 / 2, each by its own g."""

    def stone(*, g: float = 9.81) -> Model:
        return Model([Body("stone", 2.0, (0.0, 0.0, 0.0), inertia(1, 1, 1))], gravity=(0, 0, -g))

    machine, g = draisine.compile(stone), np.linspace(1.0, 20.0, 100)
    end = simulate_many(machine, [draisine.state(machine)] * 100, 0.5, parameters={"g": g})
    np.testing.assert_allclose(end["p"][2], -g * 0.5**2 / 2, rtol=1e-12)


def test_one_state_is_no_list(bicycle):
    with pytest.raises(ParameterError, match=r"pass a list of states, such as \[state\] \* 100"):
        simulate_many(bicycle, draisine.state(bicycle), 1.0)


def test_inputs_that_are_no_numbers_are_refused(bicycle):
    start = draisine.state(bicycle, forward_speed=4.6)
    with pytest.raises(ParameterError, match=r"input steer: .+ not finite"):
        simulate_many(bicycle, [start] * 2, 0.1, inputs={"steer": [0.0, np.inf]})
    with pytest.raises(ParameterError, match="input steer: nan is not finite"):
        draisine.simulate(bicycle, start, 0.1, inputs={"steer": np.nan})


def test_steps_that_are_too_long_for_a_law_are_told(bicycle):
    """A damper of 300 N m s/rad at the bar is stable, but not in steps of 5 ms."""
    start = draisine.state(bicycle, forward_speed=5.0, steer_rate=0.1)

    def stiff(readings, z):
        return {"steer": -300.0 * readings.rate("steer")}, ()

    with pytest.warns(UserWarning, match=r"machine 0 stopped: .*dt=0.001\)"):
        ends = simulate_many(bicycle, [start] * 2, 0.2, law=stiff)
    assert "completed" not in ends["outcome"]
