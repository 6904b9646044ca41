"""Results in the benchmark's axes: identities between both axes, and the published matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.equilibrium import steady
from draisine.errors import DataError, ParameterError
from draisine.model.names import benchmark_sign
from draisine.results.bodies import restore_system


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def run(bicycle):
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5, y=0.3)
    return draisine.simulate(bicycle, start, 1.0, inputs={"steer": 0.2, "rear_wheel": 1.0})


def test_the_linear_system_is_that_of_the_benchmark(bicycle):
    """M qdd + C qd + K q = f with the matrices of Meijaard et al. 2007, whose M is 80.81722 ... ."""
    v = 5.0
    found = draisine.linearise(
        bicycle, draisine.state(bicycle, forward_speed=v), axes="benchmark"
    ).part(["steer"])
    matrices = canonical_matrices(bicycle)
    assert matrices.M[0, 0] == pytest.approx(80.81722, abs=1e-12)
    assert_allclose(found.A[:4, :4], matrices.A(v), atol=1e-9)
    push = np.linalg.solve(matrices.M, [0.0, 1.0])
    assert_allclose(found.B[:4, 0], [0.0, 0.0, *push], atol=1e-12)


def test_both_axes_have_the_same_eigenvalues_and_responses(bicycle):
    motion = draisine.state(bicycle, forward_speed=5.0)
    ours, theirs = (
        draisine.linearise(bicycle, motion, axes=axes, cyclic=True)
        for axes in ("draisine", "benchmark")
    )
    x, w = (
        np.array([benchmark_sign(bicycle.model, name) for name in names])
        for names in (ours.states, ours.inputs)
    )
    assert_allclose(theirs.A, np.diag(x) @ ours.A @ np.diag(x), atol=1e-12)
    assert_allclose(theirs.B, np.diag(x) @ ours.B @ np.diag(w), atol=1e-12)
    assert theirs.made["axes"] == "benchmark"
    at = [ours.outputs.index("lean"), ours.inputs.index("steer")]
    s = [3.0]
    assert_allclose(theirs.response(s)[0][tuple(at)], -ours.response(s)[0][tuple(at)], rtol=1e-9)


def test_a_state_has_the_signs_of_the_benchmark(bicycle):
    ours = draisine.state(bicycle, lean=0.1, steer=-0.2, yaw=0.3, y=-1.0, forward_speed=4.0)
    theirs = draisine.state(
        bicycle, axes="benchmark", lean=0.1, steer=0.2, yaw="-0.3rad", y=1.0, forward_speed=4.0
    )
    for name in "qprv":
        assert_allclose(getattr(theirs, name), getattr(ours, name), atol=1e-15)


def test_eigenvectors_have_the_signs_of_the_selected_axes(bicycle):
    theirs, ours = (
        draisine.eigenvalues(bicycle, [5.0], axes=axes) for axes in ("benchmark", "draisine")
    )
    assert_allclose(theirs.values, ours.values, rtol=0)
    ratio = (theirs.vectors[0, 1] / theirs.vectors[0, 0]) / (
        ours.vectors[0, 1] / ours.vectors[0, 0]
    )
    assert_allclose(ratio, -1.0, rtol=1e-12)


def test_a_steered_machine_on_tyres_has_them_too():
    tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
    machine = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    found = draisine.eigenvalues(machine, [5.0])
    ideal = draisine.eigenvalues(draisine.compile("whipple"), [5.0])
    weave = [modes.vectors[0, :, modes.names.index("weave")] for modes in (found, ideal)]
    ratios = [v[modes.states.index("steer")] / v[modes.states.index("lean")]
              for v, modes in zip(weave, (found, ideal), strict=True)]  # fmt: skip
    assert abs(np.angle(ratios[0] / ratios[1])) < 0.5  # tyres change the phase by less


def test_datasets_differ_by_the_half_turn_about_x(run):
    ours = run.to_xarray()
    theirs = run.to_xarray(axes="benchmark")
    assert theirs.attrs["axes"] == "benchmark"
    for name in ("lean", "lean_rate", "forward_speed", "energy", "lean_acceleration", "gap"):
        assert_allclose(theirs[name], ours[name], rtol=0)
    for name in ("steer", "yaw", "pitch", "rear_wheel", "steer_rate", "yaw_acceleration"):
        assert_allclose(theirs[name], -ours[name], rtol=0)
    for name in ("position", "contact_point", "contact_force_world", "angular_momentum"):
        assert_allclose(theirs[name].sel(axis="x"), ours[name].sel(axis="x"), rtol=0)
        assert_allclose(theirs[name].sel(axis="z"), -ours[name].sel(axis="z"), rtol=0)
    power = [(d.inputs.values * d.speeds.values[:, -3:]).sum(axis=1) for d in (ours, theirs)]
    assert_allclose(power[1], power[0], rtol=1e-14)


def test_the_momentum_is_mass_times_velocity_in_both(run):
    """Rotating the body's twist by the quaternion gives the world's velocity, in both axes."""
    from draisine.algebra.lie import rotation

    for axes in ("draisine", "benchmark"):
        data = run.to_xarray(axes)
        k = 40
        R = np.asarray(rotation(data.orientation.values[k]), float)
        velocity = R @ data.speeds.values[k, :3]
        t = data.time.values
        p = data.position.values
        rate = (p[k + 1] - p[k - 1]) / (t[k + 1] - t[k - 1])
        assert_allclose(velocity, rate, atol=2e-3)


def test_tables_have_them_too(run):
    ours = run.to_pandas()
    theirs = run.to_pandas(axes="benchmark")
    assert_allclose(theirs["steer"], -ours["steer"], rtol=0)


def test_a_steady_turn_has_them_too(bicycle):
    turn = steady(bicycle, free=["steer"], lean=0.2, forward_speed=5.0)
    ours = turn.linear()
    theirs = turn.linear(axes="benchmark")
    at = ours.states.index("steer")
    assert theirs.x0[at] == -ours.x0[at] != 0.0
    assert_allclose(
        np.sort_complex(theirs.eigenvalues()), np.sort_complex(ours.eigenvalues()), atol=1e-7
    )


def test_functions_that_need_our_axes_refuse_others(run, bicycle):
    with pytest.raises(DataError, match="benchmark's axes"):
        restore_system(run.to_xarray(axes="benchmark"))
    with pytest.raises(ParameterError, match="Unknown axes 'sae'"):
        draisine.linearise(bicycle, draisine.state(bicycle, forward_speed=5.0), axes="sae")
    with pytest.raises(ParameterError, match="Unknown axes"):
        draisine.state(bicycle, axes="z down")
