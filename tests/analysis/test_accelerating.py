"""Linear systems about accelerating motions and along runs, compared with nonlinear runs and
slopes.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import Numerics, compile, linearise, simulate, state
from draisine.analysis.equilibrium import steady
from draisine.analysis.equilibrium.inertial import under_inertial_load
from draisine.analysis.floquet import transition
from draisine.errors import ConfigurationError, ParameterError
from draisine.terrain import plane

BICYCLE = compile("whipple")
TIGHT = Numerics(rtol=1e-12, atol=1e-13)


def braking(a: float = -2.0, **asked: float):
    given = {"forward_speed": 5.0, "lean": 0.0} | asked
    return steady(BICYCLE, free=["steer", "rear_wheel"], forward_acceleration=a, **given)


@pytest.mark.parametrize("start", [{"lean": 0.0}, {"lean": 0.1, "steer": -0.03, "lean_rate": 0.2}])
def test_deviations_along_a_braking_run(start: dict[str, float]) -> None:
    """The transition matrix of linearise(run) equals central differences of nonlinear runs."""
    inputs = {"rear_wheel": -40.0, "steer": 0.1}
    base = state(BICYCLE, forward_speed=5.0, **start)
    run = simulate(BICYCLE, base, 0.3, inputs=inputs, numerics=TIGHT)
    matrix, ends = transition(run)
    x0 = dict(zip(ends.states, ends.x0[0], strict=True))

    def end(name: str, step: float) -> np.ndarray:
        begin = state(BICYCLE, **(x0 | {name: x0[name] + step}))
        data = simulate(BICYCLE, begin, 0.3, inputs=inputs, numerics=TIGHT).to_xarray()
        return np.array([float(data[other][-1]) for other in ends.states])

    h = 1e-4
    columns = [(end(name, h) - end(name, -h)) / (2 * h) for name in ends.states]
    assert_allclose(matrix, np.array(columns).T, rtol=0, atol=1e-6 * np.abs(matrix).max())


def test_the_frozen_form_is_the_first_instant_of_a_run() -> None:
    motion = braking(lean=0.15)
    run = motion.simulate(0.05)
    along = linearise(run)
    frozen = motion.linear(form="frozen")
    assert along.times is not None
    assert along.states == frozen.states
    assert_allclose(along.A[0], frozen.A, rtol=0, atol=1e-9 * np.abs(frozen.A).max())
    assert_allclose(along.times, run.t, rtol=0, atol=0)
    state_form = linearise(BICYCLE, motion.state, inputs=motion.inputs, form="frozen")
    assert_allclose(state_form.A, frozen.A, rtol=0, atol=1e-9 * np.abs(frozen.A).max())
    assert along[3].A.shape == frozen.A.shape
    assert along.to_xarray().sizes["time"] == len(run.t)


def test_braking_changes_the_steer_column_in_proportion() -> None:
    """Straight braking adds a stiffness proportional to the acceleration, only in the column of the
    steer angle.

    With lean alone, both wheels stay in one plane, and the mirror image has the same load.
    """
    level = steady(BICYCLE, forward_speed=5.0).linear().A
    changes = [braking(a).linear(form="frozen").A - level for a in (-2.0, -1.0, 3.0)]
    assert_allclose(changes[0], 2.0 * changes[1], rtol=0, atol=1e-8)
    assert_allclose(changes[2], -3.0 * changes[1], rtol=0, atol=1e-8)
    others = [k for k in range(5) if k != 1]
    assert_allclose(changes[0][:, others], 0.0, atol=1e-8)
    assert np.abs(changes[0][:, 1]).max() > 0.1


@pytest.mark.parametrize("a", [-2.0, 1.5])
def test_the_dalembert_form_is_a_slope(a: float) -> None:
    """The inertial load of a forward acceleration a is equivalent to gravity on the slope atan(a /
    g) with the field sqrt(a^2 + g^2).

    Only the yaw differs, because the load follows it and a slope does not.
    """
    g = BICYCLE.parameters["g"]
    slope = compile("whipple", slope=math.atan2(a, g), g=math.hypot(a, g))
    uphill = steady(slope, free=["rear_wheel"], forward_speed=5.0, lean=0.0, steer=0.0)
    own = braking(a).linear(form="dalembert")
    other = uphill.linear()
    places = [other.states.index(name) for name in own.states]
    assert "yaw" in other.states
    assert "yaw" not in own.states
    assert_allclose(own.A, other.A[np.ix_(places, places)], rtol=0, atol=1e-8)
    assert_allclose(braking(a).inertial().inputs["rear_wheel"], uphill.inputs["rear_wheel"])


def test_both_forms_are_the_steady_one_without_acceleration() -> None:
    motion = steady(BICYCLE, free=["steer"], forward_speed=5.0, lean=0.2)
    values = np.sort_complex(motion.linear().eigenvalues())
    for form in ("frozen", "dalembert"):
        found = np.sort_complex(motion.linear(form=form).eigenvalues())
        assert_allclose(found, values, rtol=0, atol=1e-6)


def test_motions_that_are_not_steady_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="not steady: rear_wheel_rate"):
        braking().linear()
    with pytest.raises(ParameterError, match="Available: steady, frozen, dalembert"):
        braking().linear(form="thawed")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Available: steady, frozen"):
        linearise(BICYCLE, braking().state, form="dalembert")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="no forward_speed"):
        under_inertial_load(compile("cart_pole"), 1.0)
    run = simulate(BICYCLE, state(BICYCLE, forward_speed=5.0), 0.1)
    with pytest.raises(ParameterError, match="are those of the run"):
        linearise(run, state(BICYCLE))
    dropped = state(BICYCLE, mode={"rear": "open", "front": "open"}, z=0.01)
    falling = simulate(BICYCLE, dropped, 0.1, terrain=plane())
    with pytest.raises(ConfigurationError, match="contacts of the run change"):
        linearise(falling)
