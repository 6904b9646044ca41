"""Linear systems about steady motions, compared with closed forms and independent methods."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import compile, simulate, state
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError, UnknownNameError
from draisine.model import Body, Model, Pin, Prismatic, Revolute, Wheel, inertia
from draisine.model.motion import sine
from draisine.registry import names

BICYCLE = compile("whipple")


def pendulum(
    *, m: float = 1.5, h: float = 0.7, J: float = 0.1, g: float = 9.81, c: float = 0.2
) -> Model:
    rod = Body("rod", m, (0.0, 0.0, -h), inertia(J, J, J))
    hinge = Revolute("hinge", "stand", "rod", (0.0, 1.0, 0.0), damper=c)
    gravity = (0.0, 0.0, -g)
    return Model([Body("stand"), rod], [hinge], gravity=gravity, base="fixed")


def cart(*, M: float = 2.0, m: float = 0.5, h: float = 0.6, g: float = 9.81) -> Model:
    """Return a point mass m on an upright massless rod of length h on a cart of mass M."""
    bodies = [Body("rail"), Body("cart", M), Body("stick", m, (0.0, 0.0, h))]
    joints = [
        Prismatic("slide", "rail", "cart", (1.0, 0.0, 0.0)),
        Revolute("tilt", "cart", "stick", (0.0, 1.0, 0.0)),
    ]
    return Model(bodies, joints, gravity=(0.0, 0.0, -g), base="fixed")


def disc(
    *, m: float = 1.3, r: float = 0.5, A: float = 0.07, C: float = 0.12, g: float = 9.81
) -> Model:
    centre = (0.0, 0.0, r)
    left = (0.0, 1.0, 0.0)
    body = Body("disc", m, centre, inertia(A, C, A))
    rim = Wheel("rim", "disc", centre, left, r)
    return Model([body], contacts=[rim], gravity=(0.0, 0.0, -g))


def hung(*, m: float = 1.0, h: float = 0.5, J: float = 0.02, g: float = 9.81) -> Model:
    """Return a free body pinned at one point."""
    grip = Pin("grip", "bob", (0.0, 0.0, 0.0))
    body = Body("bob", m, (0.0, 0.0, -h), inertia(J, J, J))
    return Model([body], contacts=[grip], gravity=(0.0, 0.0, -g))


def test_a_pendulum() -> None:
    system = compile(pendulum)
    p = system.parameters
    J = p["J"] + p["m"] * p["h"] ** 2
    mgh = p["m"] * p["g"] * p["h"]
    for angle, sign in ((0.0, -1.0), (math.pi, 1.0)):
        found = linearise(system, state(system, hinge=angle))
        assert found.states == ("hinge", "hinge_rate")
        assert_allclose(found.A, [[0.0, 1.0], [sign * mgh / J, -p["c"] / J]], atol=1e-13)
        assert_allclose(found.B, [[0.0], [1.0 / J]], atol=1e-13)


def test_a_pendulum_held_aside_by_a_torque() -> None:
    system = compile(pendulum)
    p = system.parameters
    J = p["J"] + p["m"] * p["h"] ** 2
    mgh = p["m"] * p["g"] * p["h"]
    held = steady(system, free=["hinge"], hinge=0.5)
    assert_allclose(held.inputs["hinge"], mgh * math.sin(0.5), rtol=1e-13)
    found = linearise(system, held.state, inputs=held.inputs)
    assert_allclose(found.A[1, 0], -mgh * math.cos(0.5) / J, rtol=1e-12)


def test_an_inverted_pendulum_on_a_cart() -> None:
    system = compile(cart)
    M, m, h, g = system.parameters.values()
    found = linearise(system, state(system), cyclic=True)
    assert found.states == ("slide", "tilt", "slide_rate", "tilt_rate")
    exact = np.zeros((4, 4))
    exact[0, 2] = exact[1, 3] = 1.0
    exact[2, 1] = -m * g / M
    exact[3, 1] = (M + m) * g / (M * h)
    assert_allclose(found.A, exact, atol=1e-13)
    assert_allclose(found.B[2:, 0], [1 / M, -1 / (M * h)], rtol=1e-13)
    assert linearise(system, state(system)).states == ("tilt", "slide_rate", "tilt_rate")


def test_a_control_law_and_its_states_are_part_of_the_system() -> None:
    def law(readings: Any, z: Any) -> Any:
        angle = readings.joint("hinge")
        return {"hinge": -3.0 * angle - 2.0 * z[0]}, [angle]

    law.states = 1  # type: ignore[attr-defined]
    system = compile(pendulum)
    p = system.parameters
    J = p["J"] + p["m"] * p["h"] ** 2
    mgh = p["m"] * p["g"] * p["h"]
    found = linearise(system, state(system), law=law)
    assert found.states == ("hinge", "hinge_rate", "z[0]")
    exact = [[0.0, 1.0, 0.0], [-(mgh + 3.0) / J, -p["c"] / J, -2.0 / J], [1.0, 0.0, 0.0]]
    assert_allclose(found.A, exact, atol=1e-12)


def test_a_body_on_a_pin_swings_both_ways() -> None:
    system = compile(hung)
    m, h, J, g = system.parameters.values()
    values = linearise(system, state(system)).eigenvalues()
    omega = math.sqrt(m * g * h / (J + m * h * h))
    swinging = np.sort(np.abs(values.imag))[::-1][:4]
    assert_allclose(swinging, omega, rtol=1e-7)
    assert_allclose(values.real, 0.0, atol=1e-7)


def test_a_disc_rolls_upright_above_its_critical_speed() -> None:
    """Routh (1905): the spin n is stable if C (C + m r^2) n^2 > A m g r."""
    system = compile(disc)
    m, r, A, C, g = system.parameters.values()
    for factor in (0.5, 0.99, 1.01, 3.0):
        n = factor * math.sqrt(A * m * g * r / (C * (C + m * r * r)))
        found = linearise(system, state(system, Wy=n))
        assert found.states == ("lean", "lean_rate", "pitch_rate", "yaw_rate")
        square = (A * m * g * r - C * (C + m * r * r) * n * n) / (A * (A + m * r * r))
        squares = sorted(found.eigenvalues() ** 2, key=abs)
        assert_allclose(squares, [0.0, 0.0, square, square], rtol=1e-9, atol=1e-12)


def test_a_disc_on_a_circle_is_a_steady_motion() -> None:
    """Balance of a disc that leans by a and turns at the rate W: (C + m r^2) s W + m g r tan a = A
    W^2 sin a, with the total spin s about the axle.
    """
    system = compile(disc)
    m, r, A, C, g = system.parameters.values()
    lean = 0.3
    turn = -2.0
    guess = state(system, lean=lean, yaw_rate=turn, pitch_rate=3.0)
    found = steady(system, start=guess, lean=lean, yaw_rate=turn)
    spin = found.values["pitch_rate"] + turn * math.sin(lean)
    exact = (A * turn**2 * math.sin(lean) - m * g * r * math.tan(lean)) / ((C + m * r * r) * turn)
    assert_allclose(spin, exact, rtol=1e-12)
    run = simulate(system, found.state, until=3.0).to_xarray()
    assert_allclose(run.lean, lean, atol=1e-8)
    values = linearise(system, found.state).eigenvalues()
    assert np.count_nonzero(np.abs(values) < 1e-7) == 2


def by_differences(motion: Any, names: list[str], formulation: str) -> np.ndarray:
    """Return d(steer_rate', rear_wheel_rate')/d(states) of the bicycle by a formulation, with
    differences of fourth order.
    """
    speeds = list(BICYCLE.model.speeds)
    rows = [speeds.index("steer_rate"), speeds.index("rear_wheel_rate")]
    start = {name: motion.values[name] for name in names}

    def pace(name: str, h: float) -> np.ndarray:
        moved = state(BICYCLE, **(start | {name: start[name] + h}))  # type: ignore[arg-type]
        return BICYCLE.accelerate(moved, motion.inputs, formulation=formulation)[0][rows]

    columns = []
    for name in names:
        h = 1e-3
        near, far = (pace(name, k * h) - pace(name, -k * h) for k in (1, 2))
        columns.append((8 * near - far) / (12 * h))
    return np.array(columns).T


@pytest.mark.parametrize("formulation", names("formulation"))
@pytest.mark.parametrize("free", [[], ["steer"]], ids=["hands free", "held"])
def test_circles_agree_with_differences_of_every_formulation(
    free: list[str], formulation: str
) -> None:
    asked: dict[str, Any] = {"lean": 0.25} | ({"rear_wheel_speed": 4.0} if free else {})
    start = state(BICYCLE, lean=0.25, steer=-0.08, forward_speed=5.7)
    motion = steady(BICYCLE, start=start, free=free, **asked)
    found = linearise(BICYCLE, motion.state, inputs=motion.inputs)
    states = list(found.states)
    assert states == ["lean", "steer", "lean_rate", "steer_rate", "rear_wheel_rate"]
    by_hand = by_differences(motion, states, formulation)
    assert_allclose(found.A[3:], by_hand, rtol=0, atol=1e-9 * np.abs(found.A).max())


def test_cyclic_coordinates_follow_the_motion() -> None:
    """On a circle, deviations along and across the heading rotate with the bicycle."""
    motion = steady(
        BICYCLE, start=state(BICYCLE, lean=0.2, steer=-0.07, forward_speed=5.8), lean=0.2
    )
    found = linearise(BICYCLE, motion.state, cyclic=True)
    assert set(found.states) >= {"yaw", "x", "y", "rear_wheel", "front_wheel"}
    x, y, yaw = (found.states.index(name) for name in ("x", "y", "yaw"))
    turn = motion.values["yaw_rate"]
    v = motion.values["x_rate"]
    assert_allclose(found.A[x, [x, y]], [0.0, turn], atol=1e-12)
    assert_allclose(found.A[y, [x, y, yaw]], [-turn, 0.0, v], rtol=1e-12, atol=1e-12)
    few = linearise(BICYCLE, motion.state)
    values = few.eigenvalues()
    all_values = found.eigenvalues()
    for value in values:
        assert np.abs(all_values - value).min() < 1e-6
    assert_allclose(sorted(np.abs(all_values.imag))[-4:-2], abs(turn), atol=1e-5)


def test_on_a_slope_the_heading_matters() -> None:
    slope = 0.05
    climbing = compile("whipple", slope=slope)
    motion = steady(climbing, free=["rear_wheel"], yaw=0.0, forward_speed=5.0)
    p = climbing.parameters
    weight = p["g"] * (p["mR"] + p["mB"] + p["mH"] + p["mF"])
    assert_allclose(motion.inputs["rear_wheel"], weight * math.sin(slope) * p["rR"], rtol=1e-12)
    found = linearise(climbing, motion.state, inputs=motion.inputs)
    assert found.states[:3] == ("lean", "steer", "yaw")
    assert "yaw" not in linearise(BICYCLE, state(BICYCLE, forward_speed=5.0)).states


def test_a_small_deviation_follows_the_linear_system() -> None:
    from scipy.linalg import expm

    upright = linearise(BICYCLE, state(BICYCLE, forward_speed=5.0))
    x0 = 1e-5 * np.array([1.0, -0.5, 0.3, 2.0, 0.0])
    names = dict(zip(upright.states, x0, strict=True)) | {"rear_wheel_rate": 5.0 / 0.3}
    run = draisine.simulate(
        BICYCLE,
        state(BICYCLE, **names),
        until=1.0,
        numerics=draisine.Numerics(rtol=1e-12, atol=1e-15),
    )  # type: ignore[arg-type]
    data = run.to_xarray()
    exact = expm(upright.A * 1.0) @ x0
    assert_allclose(float(data.lean[-1]), exact[0], rtol=1e-6)
    assert_allclose(float(data.sel(joint="steer")["shape"][-1]), exact[1], rtol=1e-6)


def test_outputs_are_seen_through_c() -> None:
    found = linearise(BICYCLE, state(BICYCLE, forward_speed=5.0), outputs=["steer", "yaw_rate"])
    p = BICYCLE.parameters
    by_steer = 5.0 * math.cos(p["lam"]) / p["w"]
    assert_allclose(found.C[0], [0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-13)
    exact = [0.0, by_steer, 0.0, p["c"] / 5.0 * by_steer, 0.0]
    assert_allclose(found.C[1], exact, atol=1e-12)


def test_transfer_functions_from_the_steer_torque() -> None:
    """Zeros by Cramer's rule from the canonical matrices: entries (1, 1) and (1, 2) of the pencil."""
    v = 5.0
    found = linearise(BICYCLE, state(BICYCLE, forward_speed=v))
    k = canonical_matrices(BICYCLE)
    poles = np.sort_complex(np.linalg.eigvals(k.A(v)))
    for output, entry, sign in (("steer", (0, 0), 1.0), ("lean", (0, 1), 1.0)):
        transfer = found.transfer("steer", output)
        row = [k.M[entry], k.damping(v)[entry], k.stiffness(v)[entry]]
        zeros = np.sort_complex(transfer.zeros)
        assert_allclose(zeros, np.sort_complex(np.roots(row)), rtol=1e-10, atol=1e-10)
        assert_allclose(np.sort_complex(transfer.poles), poles, atol=1e-11)
        gain = sign * row[0] / np.linalg.det(k.M)
        assert_allclose(transfer.gain, gain, rtol=1e-11)
        omega = np.logspace(-1, 2, 7)
        response = found.part(["steer"], [output]).response(omega)[:, 0, 0]
        assert_allclose(transfer(1j * omega), response, rtol=1e-10)
        above, below = transfer.polynomials
        assert_allclose(np.polyval(above, 2j) / np.polyval(below, 2j), transfer(2j), rtol=1e-10)
    assert found.transfer("rear_wheel", "lean").gain == 0.0


def test_other_packages_take_the_system() -> None:
    found = linearise(BICYCLE, state(BICYCLE, forward_speed=5.0))
    scipy = found.to_scipy()
    assert_allclose(scipy.A, found.A)
    assert scipy.D.shape == (len(found.outputs), len(found.inputs))
    pytest.importorskip("control.statesp")
    control = found.to_control("bicycle")
    assert control.state_labels == list(found.states)
    assert control.input_labels == list(found.inputs)
    assert control.output_labels == list(found.outputs)
    assert_allclose(control.A, found.A)


def test_error_messages_name_the_reason() -> None:
    with pytest.raises(ConfigurationError, match="not steady: lean"):
        linearise(BICYCLE, state(BICYCLE, forward_speed=5.0, lean_rate=0.3))
    with pytest.raises(ConfigurationError, match="not steady"):
        linearise(BICYCLE, state(BICYCLE, forward_speed=5.0, lean=0.1))
    upright = state(BICYCLE, forward_speed=5.0)
    with pytest.raises(UnknownNameError, match="lean"):
        linearise(BICYCLE, upright, outputs=["leen"])
    with pytest.raises(ConfigurationError, match="cyclic=True"):
        linearise(BICYCLE, upright, outputs=["yaw"])
    many = linearise(BICYCLE, [upright, upright])
    assert many.A.shape == (2, 5, 5)
    with pytest.raises(ConfigurationError, match="one linear system"):
        many.to_scipy()
    system = compile(disc)
    rolling = state(system, Wy=4.0)
    with pytest.raises(ConfigurationError, match="base itself rolls"):
        linearise(system, rolling, cyclic=True)


def test_a_start_along_an_eigenvector_decays_by_its_eigenvalue():
    """x(t) - x0 = Re(v exp(s t)), in every state; outputs by C."""
    bicycle = compile("whipple")
    found = linearise(bicycle, state(bicycle, forward_speed=5.0))
    values, vectors = np.linalg.eig(found.A)
    k = int(np.argmax(values.imag))
    t = np.linspace(0.0, 2.0, 11)
    v = 0.01 * vectors[:, k]
    start = dict(zip(found.states, found.x0 + v.real, strict=True))
    moved = found.simulate(start, t)
    wanted = np.real(v[:, None] * np.exp(values[k] * t))
    for name, x0, x in zip(found.states, found.x0, wanted, strict=True):
        assert_allclose(moved[name], x0 + x, atol=1e-12)
    at = found.outputs.index("front_lean")
    assert_allclose(moved["front_lean"], found.y0[at] + found.C[at] @ wanted, atol=1e-12)
    assert moved["lean"].attrs["units"] == "rad" and moved["lean_rate"].attrs["units"] == "rad/s"


def test_linear_simulation_refuses_unknown_and_cyclic_states():
    bicycle = compile("whipple")
    motion = state(bicycle, forward_speed=5.0)
    with pytest.raises(UnknownNameError, match=r"no state 'forward_speed'"):
        linearise(bicycle, motion).simulate({"forward_speed": 4.0}, [0.0, 1.0])
    with pytest.raises(ConfigurationError, match=r"rear_wheel, .* Linearise without cyclic=True"):
        linearise(bicycle, motion, cyclic=True).simulate({}, [0.0, 1.0])
    with pytest.raises(ConfigurationError, match="one linear system, not 2"):
        linearise(bicycle, [motion, motion]).simulate({}, [0.0, 1.0])


def test_a_rider_who_sways_has_no_steady_motion():
    """The lean of the upper body, a sine of time, is zero at the start; its rate is not."""
    upper_body = {"mU": 30.0, "zU": -1.05, "kU": 0.15, "zP": -0.75}
    swaying = compile("whipple", **upper_body, torso=sine(0.1, 1.0))
    start = state(swaying, forward_speed=5.0)
    with pytest.raises(ConfigurationError, match=r"depend on time .* form='frozen'"):
        linearise(swaying, start)
    with pytest.raises(ConfigurationError, match="depend on time"):
        steady(swaying, forward_speed=5.0, lean=0.0)
    with pytest.raises(ConfigurationError, match="depend on time"):
        canonical_matrices(swaying)
    assert linearise(swaying, start, form="frozen").states[0] == "lean"
