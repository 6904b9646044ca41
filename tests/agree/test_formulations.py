"""Five derivations of the same machines, and the two coordinates of one of them, held equal.

`projected` and `multiplier` come from the engine's recursion; `absolute` is Schwab's system of
bodies with six coordinates each, `planar` the thesis's fibre SE(2) x S, `partitioned` Lagrange's
equations of Escalona and Recuero. Errors are norm-wise.
"""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import draisine
from agree.own_coordinates import AbsoluteSimulator, PlanarSimulator, euler_matrix, euler_rate
from draisine.algebra.lie import (
    quaternion,
    quaternion_product,
    quaternion_rate,
    rot_x,
    rot_y,
    rot_z,
    rotation,
    yaw_lean_pitch,
)
from draisine.algebra.scalar import array, cos, sin
from draisine.algebra.trace import Graph, tangent
from draisine.codegen.program import run_program as run_program
from draisine.codegen.program import trace_program
from draisine.errors import (
    ConfigurationError,
    ModelError,
    ParameterError,
    RedundancyError,
    SingularityError,
)
from draisine.mechanics.formulations import _absolute_rows as absolute_rows
from draisine.mechanics.formulations import absolute
from draisine.mechanics.formulations._plug import Snapshot, interpret
from draisine.mechanics.formulations.bicycle import _drawing as bicycle
from draisine.mechanics.formulations.bicycle import partitioned, planar
from draisine.model import (
    Blade,
    Body,
    Force,
    Joint,
    Model,
    Pin,
    Prismatic,
    Revolute,
    Torus,
    Wheel,
    inertia,
)
from draisine.system.state import State
from draisine.system.system import compile
from draisine.vehicles import parameter_set
from draisine.vehicles.bicycle import Seat
from draisine.vehicles.bicycle.whipple import whipple


def through_multipliers(system, tolerance=None):
    """Return the saddle-point system of the engine with the interface of the other formulations."""

    def accelerate(t, state, inputs):
        named = dict(zip(system.model.inputs, inputs, strict=True))
        vdot, lam = system.accelerate(state, named, t=t, formulation="multiplier")
        return vdot, lam[:6].reshape(2, 3)

    return accelerate


def through_projection(system, tolerance=1e-8):
    """Return the closed form of the engine with the interface of the other formulations."""
    machine = system.machine()

    def accelerate(t, state, inputs):
        seen = machine.observation(
            machine.enter(state, t, tolerance=tolerance), t, np.asarray(inputs)
        )
        return seen["vdot"], seen["forces"].reshape(2, 3)

    return accelerate


def through(kind, **options):
    return lambda system, **more: kind.accelerations(system.model, **options, **more)


FORMULATIONS = {
    "projected": through_projection,
    "multiplier": through_multipliers,
    "absolute": lambda system, tolerance=None: absolute.accelerations(system.model),
    "absolute, quaternions": lambda system, tolerance=None: absolute.accelerations(
        system.model, orientation="quaternion"
    ),
    "planar": through(planar),
    "partitioned": through(partitioned),
}
SETS = ("benchmark", "browser_jason")


@cache
def bike(name="benchmark"):
    return compile("whipple", **parameter_set("whipple", name))


@cache
def formulation(name, parameters="benchmark", tolerance=1e-8):
    return FORMULATIONS[name](bike(parameters), tolerance=tolerance)


def error(found, wanted):
    """Return the norm-wise relative error."""
    size = np.linalg.norm(wanted)
    return np.linalg.norm(np.asarray(found) - wanted) / (size if size else 1.0)


def some_state(system, rng):
    """Return a random consistent state of a bicycle, at any position and with turned wheels."""
    state = draisine.state(
        system,
        lean=rng.uniform(-0.6, 0.6),
        steer=rng.uniform(-0.9, 0.9),
        forward_speed=rng.uniform(-3, 8),
        lean_rate=rng.uniform(-2, 2),
        steer_rate=rng.uniform(-2, 2),
    )
    heading = rng.uniform(-3, 3)
    turn = np.array([np.cos(heading / 2), 0.0, 0.0, np.sin(heading / 2)])
    p = rot_z(heading) @ state.p + [*rng.uniform(-5, 5, 2), 0.0]
    r = state.r + [0.0, *rng.uniform(-40, 40, 2)]
    return State(quaternion_product(turn, state.q), p, r, state.v)


@cache
def some_states(parameters):
    rng = np.random.default_rng(7)
    return [(some_state(bike(parameters), rng), rng.uniform(-20, 20, 3)) for _ in range(8)]


@pytest.mark.parametrize("name", [n for n in FORMULATIONS if n != "projected"])
@pytest.mark.parametrize("parameters", SETS)
def test_all_formulations_give_the_same_accelerations_and_forces(name, parameters):
    reference, other = formulation("projected", parameters), formulation(name, parameters)
    for state, w in some_states(parameters):
        vdot, forces = reference(0.0, state, w)
        found_vdot, found_forces = other(0.0, state, w)
        assert error(found_vdot, vdot) < 1e-12
        assert error(found_forces, forces) < 1e-12


@pytest.mark.parametrize("name", ["absolute", "planar", "partitioned"])
def test_standing_still_the_ground_carries_the_weight(name):
    """Statics of the upright benchmark: moments about the rear contact."""
    b = bike().parameters
    _, forces = formulation(name)(0.0, draisine.state(bike()), np.zeros(3))
    front = b["g"] * (b["xB"] * b["mB"] + b["xH"] * b["mH"] + b["w"] * b["mF"]) / b["w"]
    rear = b["g"] * (b["mR"] + b["mB"] + b["mH"] + b["mF"]) - front
    assert_allclose(forces[:, 0], [rear, front], rtol=1e-12)


TIMES = (1.0, 2.0, 3.0, 4.0, 5.0)


@cache
def passive():
    """The benchmark run: 4.6 m/s, pushed to lean at 0.5 rad/s, hands off. Start, and the engine's
    state and contact forces after each second."""
    start = draisine.state(bike(), forward_speed=4.6, lean_rate=0.5)
    run = draisine.simulate(
        bike(), start, 5.0, numerics=draisine.Numerics(dt=1.0, rtol=1e-13, atol=1e-14)
    ).to_xarray()
    names = ("orientation", "position", "shape", "speeds")
    states = [State(*[run[name].sel(time=t).values for name in names]) for t in TIMES]
    return start, states, [run.contact_force.sel(time=t).values for t in TIMES]


def assert_same_state(found, wanted, tolerance):
    q = found.q * np.sign(found.q @ wanted.q)
    for name, value in (("q", q), ("p", found.p), ("r", found.r), ("v", found.v)):
        assert error(value, getattr(wanted, name)) < tolerance, name


def energy(state):
    """Return mechanical energy, and kinetic energy, of the benchmark bicycle."""
    machine = bike().machine()
    seen = machine.observation(machine.enter(state, tolerance=1e-6))
    return seen["kinetic"][0] + seen["potential"][0], seen["kinetic"][0]


def integrate(rate, y, times=TIMES):
    """Yield y at each of the times."""
    for before, after in pairwise((0.0, *times)):
        found = solve_ivp(rate, (before, after), y, method="DOP853", rtol=1e-10, atol=1e-11)
        assert found.success
        y = found.y[:, -1]
        yield y


@pytest.mark.parametrize("name", FORMULATIONS)
def test_all_formulations_run_the_same_benchmark(name):
    """In the user's own coordinates: pose, shape, speeds; five seconds. Within an integrator's step
    the constraints hold only as well as its stages."""
    start, states, forces = passive()
    accelerate, rest = formulation(name, tolerance=1e-2), np.zeros(3)

    def rate(t, y):
        q, p, r, v = np.split(y, (4, 7, 10))
        q = q / np.linalg.norm(q)
        vdot, _ = accelerate(t, State(q, p, r, v), rest)
        return np.concatenate([quaternion_rate(q, v[3:6]), rotation(q) @ v[:3], v[6:], vdot])

    before, kinetic = energy(start)
    # Independent computation, quadruple precision: the rear wheel's load at the start.
    assert accelerate(0.0, start, rest)[1][0, 0] == pytest.approx(599.69, abs=5e-3)
    first = np.concatenate([start.q, start.p, start.r, start.v])
    for k, y in enumerate(integrate(rate, first)):
        found = State(*np.split(y, (4, 7, 10)))
        assert_same_state(found, states[k], 1e-9)
        assert abs(energy(found)[0] - before) < 1e-9 * kinetic
        assert error(accelerate(TIMES[k], found, rest)[1], forces[k]) < 1e-8
    assert found.v[7] * 0.3 == pytest.approx(4.622, abs=1e-3)  # published: final speed 4.622 m/s


def test_planar_runs_the_benchmark_in_its_own_coordinates():
    start, states, _ = passive()
    own, rest = PlanarSimulator(bike().model), np.zeros(3)
    coordinates, speeds = own.enter(start)
    first = np.concatenate([coordinates, speeds[own.independent]])
    for k, y in enumerate(integrate(lambda t, y: own.rate(t, y, rest), first)):
        found = own.leave(TIMES[k], y[:8], own.speeds(TIMES[k], y[:8], y[8:]))
        assert_same_state(found, states[k], 1e-9)
        assert abs(planar.front_gap(own.bike, y[3], np.pi - y[4], y[5])) < 1e-9


def test_partitioned_runs_the_benchmark_in_its_own_coordinates():
    start, states, _ = passive()
    own, rest = partitioned.Partitioned(bike().model), np.zeros(3)
    for k, y in enumerate(integrate(lambda t, y: own.rate(t, y, rest), own.start(0.0, start))):
        assert_same_state(own.leave(TIMES[k], y), states[k], 1e-9)
        p, _ = own.complete(TIMES[k], y)
        closed = own.closure(p=p)["contact"]  # solved, not integrated
        assert np.abs(closed).max() < 1e-13


def test_absolute_runs_the_benchmark_in_fixed_steps_and_projects():
    """The classical Runge-Kutta method has order four; the projection leaves round-off only."""
    start, states, _ = passive()
    own = AbsoluteSimulator(bike().model)
    before, kinetic = energy(start)
    errors = []
    for dt in (0.05, 0.025):
        run = own.run(start, 5.0, dt)
        assert run.drift[:, 1].max() < 1e-14 and run.slip[:, 1].max() < 1e-13
        assert run.drift[:, 0].max() < 3e3 * dt**5 and run.slip[:, 0].max() < 1e4 * dt**5
        errors.append(error(run.states[-1].v, states[-1].v))
        assert abs(energy(run.states[-1])[0] - before) < 40 * dt**4 * kinetic
    assert errors[1] < 1e-5 and 12 < errors[0] / errors[1] < 24


def test_without_projection_constraints_drift():
    start, *_ = passive()
    own = AbsoluteSimulator(bike().model)
    left, kept = (own.run(start, 0.5, 0.02, project=p) for p in (False, True))
    assert left.drift[-1, 0] > 1e2 * kept.drift[-1, 1]
    assert error(left.states[-1].v, kept.states[-1].v) < 1e-4


# Schwab's notes: rows, convective terms, Jacobian by coordinates.


def motion_of_swing(t):
    return 0.4 * sin(3.0 * t), 1.2 * cos(3.0 * t), -3.6 * sin(3.0 * t)


def motion_of_reach(t):
    return 0.1 * cos(2.0 * t), -0.2 * sin(2.0 * t), -0.4 * cos(2.0 * t)


def crane(*, m: float = 2.0) -> Model:
    """Return a machine that is free in space: slides and hinges, two of them prescribed, springs,
    pushes; no axes aligned.
    """
    return Model(
        bodies=[
            Body("hull", m, (0.1, -0.05, 0.4), inertia(0.3, 0.4, 0.5, 0.02, -0.03, 0.04)),
            Body("boom", 0.5, (-0.2, 0.1, 0.6), inertia(0.02, 0.03, 0.04)),
            Body("arm", 0.7, (0.4, 0.2, 0.3), inertia(0.05, 0.04, 0.03, xy=0.01)),
            Body("hand", 0.3, (0.6, 0.3, 0.2), inertia(0.03, 0.02, 0.02)),
            Body("load", 0.9, (0.7, 0.1, -0.2), inertia(0.03, 0.02, 0.04, yz=0.005)),
        ],
        joints=[
            Prismatic(
                "boom",
                "hull",
                "boom",
                (0.3, -0.5, 1.0),
                spring=30.0,
                damper=2.0,
                rest=0.1,
                armature=0.4,
            ),
            Revolute(
                "arm", "hull", "arm", (1.0, 0.4, 0.7), (0.3, 0.1, 0.3), motion=motion_of_swing
            ),
            Prismatic(
                "hand", "arm", "hand", (0.2, 1.0, 0.3), (0.5, 0.2, 0.3), motion=motion_of_reach
            ),
            Revolute(
                "load",
                "hand",
                "load",
                (0.1, -0.2, 1.0),
                (0.6, 0.2, 0.1),
                spring=0.1,
                rest=9.0,
                armature=0.06,
            ),
        ],
        forces=[
            Force("wind", "boom", (-0.2, 0.1, 0.9)),
            Force("jet", "load", (0.5, 0.2, 0.3), frame="body"),
        ],
        gravity=(0.5, -0.3, -9.6),
    )


def trike(*, crown: float = 0.04) -> Model:
    """Return an oblique tyre on a slide, a skate that can lift off, and a pin in two directions."""
    axle, hub = (0.2, 0.9, -0.3), (0.6, 0.3, 0.2)
    return Model(
        bodies=[
            Body("carrier", 2.0, (0.1, -0.05, 0.4), inertia(0.3, 0.4, 0.5, 0.02, -0.03, 0.04)),
            Body("slide", 0.5, (0.5, 0.1, 0.3), inertia(0.02, 0.03, 0.04)),
            Body("wheel", 0.9, (0.62, 0.29, 0.21), inertia(0.03, 0.05, 0.04, xy=0.004)),
        ],
        joints=[
            Prismatic("slide", "carrier", "slide", (0.3, -0.5, 1.0), spring=20.0, damper=0.3),
            Revolute("wheel", "slide", "wheel", axle, hub, damper=0.1, armature=0.03),
        ],
        contacts=[
            Wheel("wheel", "wheel", hub, axle, Torus(0.2, crown)),
            Blade("skate", "carrier", (-0.3, 0.0, 0.0), (1.0, 0.2, 0.1), lifts=True),
            Pin("grip", "slide", (0.5, 0.0, 0.5), axes="xz"),
        ],
    )


def sledge(*, m: float = 1.0) -> Model:
    """Return a planar machine of two blades, with a slide and a prescribed hinge between them."""
    up = (0.0, 0.0, 1.0)
    return Model(
        bodies=[
            Body("rear", m, (0.1, 0.02, 0.1), inertia(0.02, 0.03, 0.04)),
            Body("middle", m, (0.5, 0.0, 0.0), inertia(0.02, 0.03, 0.04)),
            Body("front", m, (0.9, 0.0, 0.0), inertia(0.02, 0.03, 0.04)),
        ],
        joints=[
            Revolute("hinge", "rear", "middle", up, (0.4, 0.0, 0.0), motion=motion_of_swing),
            Prismatic("rail", "middle", "front", (1.0, 0.3, 0.0), spring=5.0),
        ],
        contacts=[
            Blade("rear", "rear", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
            Blade("front", "front", (1.0, 0.0, 0.0), (1.0, 0.1, 0.0)),
        ],
        base="SE(2)",
    )


def swimmer(*, m: float = 0.4) -> Model:
    """Return two bodies in a fluid with added mass and drag, in space."""
    rng = np.random.default_rng(3)
    A, B, C = rng.normal(size=(3, 6, 6)) * 0.4
    return Model(
        bodies=[
            Body(
                "head", m, (0.1, 0.0, 0.05), inertia(0.02, 0.03, 0.04), added=A @ A.T, drag=C @ C.T
            ),
            Body("tail", m, (-0.4, 0.1, 0.0), inertia(0.02, 0.03, 0.04), added=B @ B.T),
        ],
        joints=[Revolute("hinge", "head", "tail", (0.1, 0.2, 1.0), (-0.2, 0.0, 0.0))],
    )


def pendulum(*, base_name: str = "fixed", m: float = 1.0, pitch: float = 0.0) -> Model:
    """A cart, a link without mass and a bob, hinged or on a screw, on a base that may do little or
    nothing.
    """
    return Model(
        bodies=[
            Body("post", 2.0, (0.1, 0.0, 0.2), inertia(0.2, 0.3, 0.4)),
            Body("cart", m, (0.0, 0.0, 0.1), inertia(0.1, 0.1, 0.1)),
            Body("link"),
            Body("bob", 0.5, (0.0, 0.1, -1.0), inertia(0.01, 0.02, 0.03)),
        ],
        joints=[
            Prismatic("rail", "post", "cart", (1.0, 0.0, 0.1)),
            Revolute("first", "cart", "link", (0.0, 1.0, 0.0)),
            Joint("second", "link", "bob", (1.0, 0.0, 0.0), (0.0, 0.0, -0.1), slide=pitch),
        ],
        base=base_name,
    )


TREES = {
    "crane": (crane, {}, {}),
    "trike": (trike, {}, {}),
    "trike on a disc": (trike, {"crown": 0.0}, {"grip": "open"}),
    "sliding trike": (trike, {}, {"wheel": "sliding", "skate": "open"}),
    "sledge": (sledge, {}, {}),
    "sledge on one blade": (sledge, {}, {"rear": "open"}),
    "swimmer": (swimmer, {}, {}),
    "pendulum": (pendulum, {}, {}),
    "pendulum on a screw": (pendulum, {"pitch": 0.15}, {}),
    "held pendulum": (pendulum, {"base_name": "SO(3)"}, {}),
    "gliding pendulum": (pendulum, {"base_name": "translations"}, {}),
    "bicycle on tyres": (whipple, {"crown": 0.03}, {}),
}


def random_motion(model, rng, t):
    """Return any state that the base's group allows; contacts may be anywhere, speeds any."""
    q, p = np.array([1.0, 0.0, 0.0, 0.0]), rng.uniform(-1, 1, 3)
    if model.base in ("SE(3)", "SO(3)"):
        q = q + rng.uniform(-0.4, 0.4, 4)
    if model.base == "SE(2)":
        q[3] = rng.uniform(-1, 1)
    r = rng.uniform(-0.7, 0.7, len(model.joints))
    v = rng.normal(size=len(model.speeds))
    for k, joint in enumerate(model.joints):
        if joint.motion is not None:
            r[k], v[len(model.twist) + k], _ = joint.motion(t)
    return State(q / np.linalg.norm(q), p, r, v)


@pytest.mark.parametrize("orientation", ["euler", "quaternion"])
@pytest.mark.parametrize("name", TREES)
def test_absolute_equals_multiplier_on_any_tree(name, orientation):
    vehicle, arguments, statuses = TREES[name]
    system = compile(vehicle, **arguments)
    model, mode = system.model, system.mode(statuses)
    own = absolute.Absolute(model, orientation, statuses)
    rng = np.random.default_rng(11)
    for t in (0.0, 0.7, 1.9):
        state, w = random_motion(model, rng, t), 5.0 * rng.normal(size=len(model.inputs))
        wanted, lam = system.accelerate(
            state, dict(zip(model.inputs, w, strict=True)), statuses, t, "multiplier"
        )
        vdot, forces = own.accelerate(t, state, w)
        assert error(vdot, wanted) < 1e-11
        reactions = own.reactions(t, state, w)
        labels = [
            f"{contact}.{row}"
            for (contact, status), c in zip(mode, model.contacts, strict=True)
            for row in c.rows[status]
        ]
        labels += [f"{joint.name}.motion" for joint in model.joints if joint.motion is not None]
        assert error([reactions[label] for label in labels], lam) < 1e-11
        assert_allclose(sum(abs(forces).ravel()), sum(abs(lam[: len(lam) - _prescribed(model)])))


def _prescribed(model):
    return sum(joint.motion is not None for joint in model.joints)


@pytest.mark.parametrize("orientation", ["euler", "quaternion"])
@pytest.mark.parametrize("name", ["crane", "trike", "sledge", "pendulum on a screw"])
def test_rows_and_convective_terms_are_derivatives_of_the_conditions(name, orientation):
    """`D A'(e)` is dE/d(x, e), and g is what is left of the rows' rates: both by differentiation."""
    vehicle, arguments, statuses = TREES[name]
    model = vehicle(**arguments)
    own = AbsoluteSimulator(model, orientation, statuses)
    s, rows = own.symbols, own.equations.rows
    n, width = len(model.bodies), len(s["e"]) // len(model.bodies)
    e, w = s["e"].reshape(n, width), s["omega"].reshape(n, 3)
    turn = euler_rate if orientation == "euler" else quaternion_rate
    edot = [x for k in range(n) for x in turn(e[k], w[k])]
    along = {f"x[{k}]": v for k, v in enumerate(s["v"])}
    along |= {f"e[{k}]": v for k, v in enumerate(edot)} | {"t[0]": 1.0}
    D = absolute_rows.row_matrix(rows, own.equations.bodies)
    y = np.concatenate([s["v"], s["omega"]])
    gaps = [row.gap for row in rows if row.gap is not None]
    evaluate = interpret(
        {key: list(x) for key, x in s.items()},
        {
            "rates": list(D @ y),
            "drifts": tangent(list(D @ y), along),
            "g": [row.g for row in rows],
            "b": [row.b for row in rows],
            "gap_rates": tangent(gaps, along),
        },
    )
    rng = np.random.default_rng(5)
    state = random_motion(model, rng, 0.3)
    at = own.enter(state)
    held = own.fixed_points(at)
    found = evaluate(
        t=[0.3], x=at.x.ravel(), e=at.e.ravel(), v=at.v.ravel(), w=at.w.ravel(),
        push=np.zeros(len(s["push"])), anchors=held[0], home=held[1],
    )  # fmt: skip
    assert_allclose(found["drifts"], found["g"], rtol=1e-11, atol=1e-11)
    holonomic = np.array(own.holonomic)
    assert_allclose(
        found["gap_rates"], (found["rates"] - found["b"])[holonomic], rtol=1e-11, atol=1e-11
    )
    J = own._by_coordinates(
        own.compute_arrays(0.3, at, np.zeros(len(s["push"])), held)["D"][holonomic], at
    )
    by_hand = [tangent(gaps, {f"e[{k}]": 1.0}) for k in range(3)]  # the first body's orientation
    if orientation == "euler":
        columns = interpret(
            {key: list(x) for key, x in s.items()}, {"J": [x for row in by_hand for x in row]}
        )(
            t=[0.3], x=at.x.ravel(), e=at.e.ravel(), v=at.v.ravel(), w=at.w.ravel(),
            push=np.zeros(len(s["push"])), anchors=held[0], home=held[1],
        )["J"].reshape(3, -1).T  # fmt: skip
        assert_allclose(J[:, 3 * n : 3 * n + 3], columns, rtol=1e-11, atol=1e-11)


def test_a_discs_rows_are_those_of_the_notes():
    """Rows and corrected convective terms of a disc in Euler angles, written out."""
    r = 0.3
    model = Model(
        bodies=[Body("disc", 1.0, (0.0, 0.0, r), inertia(0.1, 0.2, 0.1))],
        contacts=[Wheel("disc", "disc", (0.0, 0.0, r), (0.0, 1.0, 0.0), r)],
    )
    own = absolute.Absolute(model)
    ph, th, ps = 0.4, 0.3, 1.1
    R = rot_z(ph) @ rot_x(th) @ rot_y(ps)
    rng = np.random.default_rng(2)
    v, w = rng.normal(size=(2, 3))
    at = absolute.Coordinates(
        np.array([[1.0, 2.0, 0.5]]), np.array([[ph, th, ps]]), v[None], w[None]
    )
    out = own.compute_arrays(0.0, at, np.zeros(0), (np.zeros(0), np.zeros(3)))
    c, s = np.cos, np.sin
    wanted = [
        [0, 0, 1, r * s(th) * c(ps), 0, r * s(th) * s(ps)],
        [c(ph), s(ph), 0, 0, -r, 0],
        [-s(ph), c(ph), 0, r * c(th) * c(ps), 0, r * c(th) * s(ps)],
    ]
    phd, thd, psd = euler_rate(at.e[0], w)
    k = psd * (-s(ps) * w[0] + c(ps) * w[2])
    terms = [
        r * c(th) * thd**2 + r * s(th) * k,
        (-s(ph) * v[0] + c(ph) * v[1]) * phd,
        -(c(ph) * v[0] + s(ph) * v[1]) * phd - r * s(th) * thd**2 + r * c(th) * k,
    ]
    assert_allclose(out["D"], wanted, rtol=1e-13, atol=1e-13)
    assert_allclose(out["g"], terms, rtol=1e-12, atol=1e-12)
    assert_allclose(out["gaps"], [0.5 - r * c(th)], rtol=1e-13)
    assert_allclose(R, absolute.rotation_to_world(at.e[0]))
    assert_allclose(euler_matrix(at.e[0]) @ [phd, thd, psd], w, rtol=1e-13)


def test_a_tree_with_prescribed_joints_follows_its_motions():
    """Projection keeps joints together and motions obeyed; a second as the engine integrates it."""
    system = compile(crane)
    model = system.model
    start = random_motion(model, np.random.default_rng(4), 0.0)
    end = draisine.simulate(
        system, start, 0.5, numerics=draisine.Numerics(dt=0.1, rtol=1e-12, atol=1e-13)
    ).final()
    for orientation in ("euler", "quaternion"):
        run = AbsoluteSimulator(model, orientation).run(start, 0.5, 0.01)
        last = run.states[-1]
        assert run.drift[:, 1].max() < 1e-14 and run.slip[:, 1].max() < 1e-13
        assert_allclose(last.r[1:3], [motion_of_swing(0.5)[0], motion_of_reach(0.5)[0]], atol=1e-13)
        assert_same_state(last, end, 1e-5)


@pytest.mark.parametrize(
    "name", ["pendulum", "pendulum on a screw", "held pendulum", "gliding pendulum"]
)
def test_energy_of_a_passive_tree_stays(name):
    vehicle, arguments, _ = TREES[name]
    system = compile(vehicle, **arguments)
    start = random_motion(system.model, np.random.default_rng(9), 0.0)
    run = AbsoluteSimulator(system.model, "quaternion").run(start, 0.4, 0.01)
    machine = system.machine()
    seen = [machine.observation(machine.enter(state)) for state in (start, run.states[-1])]
    total = [x["kinetic"][0] + x["potential"][0] for x in seen]
    assert abs(total[1] - total[0]) < 1e-7 * seen[0]["kinetic"][0]
    assert run.drift[:, 1].max() < 1e-14


# The thesis's plane fibre.


@pytest.mark.parametrize("parameters", SETS)
def test_the_contact_angle_is_that_of_the_engine(parameters):
    """(2.26) and (2.27) in their corrected form; the printed sign of the last term is wrong."""
    system, rng = bike(parameters), np.random.default_rng(3)
    own = bicycle.extract_bicycle(system.model)
    machine = system.machine()
    for _ in range(5):
        state = some_state(system, rng)
        R = rotation(state.q)
        _, lean, pitch = yaw_lean_pitch(R)
        steer = state.r[own.steer]
        alpha1 = planar.front_contact_angle(own, -lean, np.pi - pitch, steer)
        fork = absolute.Absolute(system.model)._body_frames(state)[1]
        s1, _, a1 = (fork[0] @ x for x in bicycle.fork_axes(own.mu))
        hub = fork[1] + fork[0] @ own.front_hub
        point = hub + own.h2 * (np.sin(alpha1) * s1 + np.cos(alpha1) * a1)
        touching = machine.observation(machine.enter(state))["points"].reshape(-1, 3)[1]
        assert_allclose(point, touching, atol=1e-12)
        assert abs(planar.front_gap(own, -lean, np.pi - pitch, steer)) < 1e-12
        tilt = np.pi - pitch + own.mu
        printed = np.arctan2(
            np.cos(steer) * np.sin(tilt) - np.sin(steer) * np.tan(-lean), np.cos(tilt)
        )
        away = hub + own.h2 * (np.sin(printed) * s1 + np.cos(printed) * a1)
        assert np.linalg.norm(away - touching) > 1e-4


# Tyres, extra bodies, pushes, guided joints: the bicycles' own formulations take them too.


def ridden(*, crown: float = 0.02, guided: str = "") -> Model:
    """A bicycle on tyres whose rider leans on a screw, pulls on a sprung slide, and is pushed."""
    plain = whipple()
    rear, front = plain.contacts
    old, *hinges = plain.joints
    motions = {guided: motion_of_swing}
    steer = {"spring": 1.5, "damper": 0.2, "rest": 0.05, "motion": motions.get("steer")}
    torso = {"spring": 600.0, "motion": motions.get("torso")}
    return Model(
        bodies=[
            *plain.bodies,
            Body("torso", 30.0, (0.3, 0.0, 1.3), inertia(1.2, 1.1, 0.5, xz=0.1)),
            Body("bag", 2.0, (1.0, 0.1, 0.9), inertia(0.02, 0.03, 0.04)),
        ],
        joints=[
            Joint("torso", "frame", "torso", (1.0, 0.0, 0.2), (0.2, 0.0, 0.9), slide=0.05, **torso),
            Revolute("steer", "frame", "fork", old.axis, old.through, **steer),
            Prismatic("bag", "fork", "bag", (0.1, 1.0, 0.3), spring=900.0, damper=5.0),
            *hinges,
        ],
        contacts=[
            Wheel(
                "front",
                front.body,
                front.centre,
                front.axle,
                Torus(front.surface.radius, crown / 2),
            ),
            Wheel("rear", rear.body, rear.centre, rear.axle, Torus(rear.surface.radius, crown)),
        ],
        forces=[
            Force("wind", "torso", (0.3, 0.0, 1.5)),
            Force("motor", "rear_wheel", (0.1, 0.1, 0.4), frame="body"),
        ],
        gravity=(-0.8, 0.3, -9.7),
    )


@pytest.mark.parametrize("guided", ["", "steer", "torso"])
def test_bicycle_formulations_support_tyres_riders_springs_and_pushes(guided):
    """The three ways to steer of Escalona and Recuero: a torque, a guided steer angle, a guided
    rider; on tyres, with springs, pushes and a slope."""
    system = compile(ridden, guided=guided)
    model, rng, t = system.model, np.random.default_rng(8), 1.1
    asked = {"steer": -0.3, "steer_rate": 1.0, "torso": -0.2, "torso_rate": 0.8}
    asked = {name: x for name, x in asked.items() if name.partition("_")[0] != guided}
    state = draisine.state(
        system, t=t, lean=0.3, lean_rate=0.4, bag=0.05, bag_rate=-0.3, Vx=4.0, **asked
    )
    w = rng.uniform(-5, 5, len(model.inputs))
    wanted, lam = system.accelerate(state, dict(zip(model.inputs, w, strict=True)), t=t)
    for kind in (planar, partitioned, absolute):
        vdot, forces = kind.accelerations(model)(t, state, w)
        assert error(vdot, wanted) < 1e-11
        assert error(forces.ravel(), lam[:6]) < 1e-11


# Escalona and Recuero's own analysis.


def test_the_contact_parameter_carries_no_force_and_rolls_back():
    """(42): upright at speed V, epsilon turns with V over the front radius, xi against it."""
    own = partitioned.Partitioned(bike().model)
    state = draisine.state(bike(), forward_speed=5.0)
    p, pdot = own.enter(0.0, state)
    assert_allclose(pdot[[4, 7, 8]], [5.0 / 0.3, 5.0 / 0.35, -5.0 / 0.35], rtol=1e-13)
    leaned = some_state(bike(), np.random.default_rng(1))
    assert abs(own.reactions(0.0, leaned)["front.tangent"]) < 1e-9
    assert_allclose(own.close(np.where(np.arange(9) == 5, 0.1, p)), p, atol=1e-12)


def test_driving_keeps_the_speed_and_its_power_is_the_change_of_energy():
    speed = 4.0
    driven = partitioned.Partitioned(bike().model, speed)
    assert driven.independent == [3, 6]  # theta and gamma: two degrees of freedom
    free = partitioned.Partitioned(bike().model)
    assert free.independent == [3, 6, 4]
    start = draisine.state(bike(), lean=0.2, steer=0.1, lean_rate=0.6, rear_wheel_speed=speed)
    p, pdot = free.enter(0.0, start)
    psidot = speed / 0.3
    pdot = free.velocities(
        free.compute_arrays(0.0, p, pdot, np.zeros(3)), np.array([0.6, -0.4, psidot])
    )
    y = np.concatenate([p[driven.independent], p[driven.kinematic], pdot[driven.independent]])
    h, rest = 1e-3, np.zeros(3)

    def power(t, y):
        state = driven.leave(t, y)
        assert state.v[7] == pytest.approx(psidot - driven.complete(t, y)[1][5], rel=1e-12)
        return driven.reactions(t, state)["driving"] * psidot

    middle, end = integrate(lambda t, y: driven.rate(t, y, rest), y, (h / 2, h))
    work = h / 6 * (power(0.0, y) + 4 * power(h / 2, middle) + power(h, end))
    gained = energy(driven.leave(h, end))[0] - energy(driven.leave(0.0, y))[0]
    assert abs(work) > 1e-3
    assert gained == pytest.approx(work, rel=1e-7)


# Meijaard et al. 2007, doi:10.1098/rspa.2007.1857, table 2: v, weave, capsize, castering.
MEIJAARD = {
    2.0: (2.68234517512745 + 1.68066296590675j, -3.07158645641514, -8.67387984831735),
    5.0: (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.07838969279822),
}


@pytest.mark.parametrize("speed", MEIJAARD)
def test_the_driven_bicycle_has_the_published_eigenvalues(speed):
    """(43) to (46): the system with two degrees of freedom, linearised by central differences in
    total derivatives: the contact is closed again after each."""
    own = partitioned.Partitioned(bike().model, speed)

    def second(x):
        y = np.concatenate([x[:2], np.zeros(len(own.kinematic)), x[2:]])
        return own.rate(0.0, y, np.zeros(3))[-2:]

    h = 0.02
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    for k, e in enumerate(np.eye(4) * h):
        weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # sixth order
        A[2:, k] = sum(c * (second(i * e) - second(-i * e)) for i, c in weights.items()) / h
    weave, capsize, castering = MEIJAARD[speed]
    wanted = np.sort_complex([weave, np.conj(weave), capsize, castering])
    assert_allclose(np.sort_complex(np.linalg.eigvals(A)), wanted, rtol=0, atol=1e-8)


# The plug itself, and what is refused.


def test_any_code_generator_can_realise_the_equations():
    """The same accelerations from the equations run as a program instead of plain Python."""

    def as_program(inputs, outputs):
        program = trace_program("equations", inputs, outputs)
        empty = {name: np.zeros(len(symbols)) for name, symbols in inputs.items()}
        return lambda **arrays: run_program(program, **(empty | arrays))

    state = some_state(bike(), np.random.default_rng(6))
    for kind in (absolute, planar, partitioned):
        here = kind.accelerations(bike().model)(0.0, state, None)
        there = kind.accelerations(bike().model, realise=as_program)(0.0, state, None)
        assert error(there[0], here[0]) < 1e-12


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"base": "SE(2)"}, r"must move in SE\(3\), not in SE\(2\)"),
        (
            {"contacts": ()},
            "two wheels and no other contacts; the contacts of this model are: none",
        ),
        ({"bodies": "fluid"}, "added mass or drag; the formulation 'absolute'"),
        ({"contacts": "axle"}, "the axle must be a hinge that points to the left"),
        ({"contacts": "hub"}, "does not pass through the centre of 'rear'"),
        ({"contacts": "base"}, "belongs to the base"),
        ({"joints": "steer"}, "must be a hinge in the plane of the two hubs"),
    ],
)
@pytest.mark.parametrize("kind", [planar, partitioned])
def test_what_is_no_bicycle_is_refused(kind, change, words):
    plain = whipple()
    parts = {
        "bodies": plain.bodies, "joints": plain.joints, "contacts": plain.contacts, "base": "SE(3)"
    }  # fmt: skip
    rear, front = plain.contacts
    _, *hinges = plain.joints
    parts |= {
        "fluid": {"bodies": [Body("frame", 1.0, drag=np.eye(6)), *plain.bodies[1:]]},
        "axle": {"contacts": [Wheel("rear", rear.body, rear.centre, (0, -1, 0), 0.3), front]},
        "hub": {"contacts": [Wheel("rear", rear.body, (0.1, 0, 0.3), (0, 1, 0), 0.3), front]},
        "base": {"contacts": [Wheel("rear", "frame", rear.centre, (0, 1, 0), 0.3), front]},
        "steer": {
            "joints": [Revolute("steer", "frame", "fork", (-0.3, 0.1, 1.0), (1.1, 0, 0)), *hinges]
        },
    }.get(next(iter(change.values())), change)
    keys = ("bodies", "joints", "contacts", "base")
    with pytest.raises(ModelError, match=words):
        kind.accelerations(Model(**{key: parts[key] for key in keys}))


@pytest.mark.parametrize("kind", [planar, partitioned])
def test_couplings_are_refused_by_the_formulations_of_the_bicycle(kind):
    """They would be ignored: a rider held by couplings would fall through the saddle."""
    seated = whipple(mU=30.0, seat=Seat())
    with pytest.raises(ModelError, match=r"couplings of joints or loops .'seat_ahead'"):
        kind.accelerations(seated)


@pytest.mark.parametrize("kind", [planar, partitioned])
@pytest.mark.parametrize("change", [{"slides": True}, {"touches": False}, {"lifts": False}])
def test_wheels_that_do_not_roll_are_refused_by_the_formulations_of_the_bicycle(kind, change):
    plain = whipple()
    rear, front = plain.contacts
    with pytest.raises(ModelError, match="wheel 'front' does not roll without slip"):
        kind.accelerations(replace(plain, contacts=[rear, replace(front, **change)]))


@pytest.mark.parametrize("kind", [absolute, planar, partitioned])
def test_moving_ground_is_refused(kind):
    """Its velocity would be ignored; 'projected' and 'multiplier' know it."""
    belt = replace(whipple(), ground=lambda t: ((-1.0, 0.3, 0.2), (0.0, 0.0, 0.0)))
    with pytest.raises(ModelError, match="assumes that the ground is at rest"):
        kind.accelerations(belt)


def test_states_off_the_ground_and_slipping_speeds_are_refused():
    good = draisine.state(bike(), lean=0.1, forward_speed=3.0)
    raised = State(good.q, good.p + [0, 0, 0.01], good.r, good.v)
    slipping = State(good.q, good.p, good.r, good.v + np.eye(9)[8])
    for name, label in (("planar", "front"), ("partitioned", "front")):
        with pytest.raises(ConfigurationError, match="rear"):
            formulation(name)(0.0, raised, None)
        with pytest.raises(ConfigurationError, match=label):
            formulation(name)(0.0, slipping, None)
    undriven = partitioned.accelerations(bike().model, speed=7.0)
    with pytest.raises(ConfigurationError, match="driving"):
        undriven(0.0, good, None)


@pytest.mark.parametrize("name", ["absolute", "planar", "partitioned"])
def test_impossible_input_is_refused(name):
    good = draisine.state(bike(), forward_speed=3.0)
    accelerate = formulation(name)
    with pytest.raises(ParameterError, match=r"inputs have shape \(2,\); the model has 3: steer"):
        accelerate(0.0, good, [1.0, 2.0])
    with pytest.raises(ParameterError, match="must be finite numbers"):
        accelerate(0.0, good, [1.0, np.nan, 0.0])
    with pytest.raises(ParameterError, match=r"state: r has shape \(2,\)"):
        accelerate(0.0, State(good.q, good.p, good.r[:2], good.v), None)
    with pytest.raises(ParameterError, match="state: v has entries"):
        accelerate(0.0, State(good.q, good.p, good.r, good.v + np.inf), None)
    with pytest.raises(ParameterError, match="quaternion q is not 1"):
        accelerate(0.0, State(2.0 * good.q, good.p, good.r, good.v), None)


@pytest.mark.parametrize("kind", [absolute, planar, partitioned])
def test_symbols_are_refused(kind):
    with pytest.raises(ModelError, match="contains symbols"):
        kind.accelerations(whipple(mB=Graph().symbol("mB")))


def test_two_laws_for_one_rolling_are_refused():
    plain = whipple()
    steer, rear, front = plain.joints
    driven = [
        Revolute(j.name, j.parent, j.child, j.axis, j.through, motion=motion_of_swing)
        for j in (rear, front)
    ]
    both = Model(plain.bodies, [steer, *driven], plain.contacts)
    one = Model(plain.bodies, [steer, driven[0], front], plain.contacts)
    with pytest.raises(RedundancyError, match="both wheels roll"):
        planar.accelerations(both)
    with pytest.raises(RedundancyError, match="prescribed more than once"):
        partitioned.accelerations(one, speed=3.0)
    with pytest.raises(ParameterError, match="speed = inf"):
        partitioned.accelerations(plain, speed=np.inf)


def test_degenerate_configurations_are_named():
    flat = quaternion(rot_x(np.pi / 2))
    disc = Model(
        bodies=[Body("disc", 1.0, inertia=np.eye(3))],
        contacts=[Wheel("disc", "disc", (0, 0, 0), (0, 1, 0), 0.3)],
    )
    lying = Snapshot(flat, np.zeros(3), np.zeros(0), np.ones(6))
    with pytest.raises(SingularityError, match="'disc' leans by 90 degrees"):
        absolute.accelerations(disc)(0.0, lying, None)
    with pytest.raises(SingularityError, match=r"disc\.along.*a wheel lies flat"):
        absolute.accelerations(disc, orientation="quaternion")(0.0, lying, None)
    whole = Snapshot(flat, np.zeros(3), np.zeros(3), np.ones(9))
    for kind in (planar, partitioned):
        with pytest.raises(SingularityError, match="rear wheel lies flat"):
            kind.accelerations(bike().model)(0.0, whole, None)


def test_redundant_rows_and_missing_inertia_are_named():
    body = Body("plate", 1.0, inertia=np.eye(3))
    grips = [Pin("a", "plate", (0, 0, 0)), Pin("b", "plate", (1, 0, 0))]
    still = Snapshot(np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(0), np.zeros(6))
    with pytest.raises(RedundancyError, match=r"a\.x, b\.x"):
        absolute.accelerations(Model([body], contacts=grips))(0.0, still, None)
    with pytest.raises(SingularityError, match=r"no inertia resists 'dot\.w"):
        absolute.accelerations(Model([Body("dot", 1.0)]))(0.0, still, None)
    with pytest.raises(ParameterError, match="orientation 'angles'"):
        absolute.accelerations(Model([body]), orientation="angles")
    with pytest.raises(ParameterError, match="must be positive"):
        AbsoluteSimulator(Model([body])).run(still, -1.0, 0.1)


def test_a_free_body_needs_no_constraint():
    """The body falls, and its angular momentum is conserved."""
    J = np.diag([1.0, 2.0, 2.5])
    body = Model([Body("stone", 2.0, (0.1, 0.0, 0.0), J)], gravity=(0.0, 0.0, -10.0))
    v = np.array([1.0, 0.0, 3.0, 0.5, 2.0, 0.1])
    start = Snapshot(np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(0), v)
    for orientation in ("euler", "quaternion"):
        end = AbsoluteSimulator(body, orientation).run(start, 0.5, 0.01).states[-1]
        R = rotation(end.q)
        com = end.p + R @ [0.1, 0.0, 0.0]
        thrown = v[:3] + np.cross(v[3:], [0.1, 0.0, 0.0])
        assert_allclose(com, [0.1, 0.0, 0.0] + 0.5 * thrown + [0.0, 0.0, -1.25], atol=1e-12)
        assert_allclose(R @ J @ end.v[3:], J @ v[3:], rtol=1e-6)


def test_the_front_wheel_must_find_the_ground():
    """Leaning by 86 degrees, pitching lifts the front hub by less than steering lowers it."""
    own = partitioned.Partitioned(bike().model)
    p = np.zeros(9)
    p[[3, 6]] = 1.5, 0.7
    with pytest.raises(ConfigurationError, match=r"cannot touch the ground for lean 1\.5"):
        own.close(p)


def test_arrays_of_other_scalars_go_through_the_rows():
    """The rows run over mpmath numbers: in 40 digits they give what they give in doubles."""
    import mpmath

    model = whipple()
    own = absolute.Absolute(model)
    state = some_state(bike(), np.random.default_rng(12))
    at = own.enter(state)
    numbers = own.compute_arrays(0.0, at, np.zeros(0), own.fixed_points(at))
    with mpmath.workdps(40):
        exact = np.vectorize(mpmath.mpf, otypes=[object])
        bodies = []
        for i, body in enumerate(model.bodies):
            R = absolute.rotation_to_world(array(list(exact(at.e[i]))))
            bodies.append(
                absolute_rows.Placed(body, exact(at.x[i]), exact(at.v[i]), R @ exact(at.w[i]), R, R)
            )
        found = absolute_rows.absolute_equations(
            model, own.mode, bodies, 0.0, array([]), array([]), np.zeros(3)
        )
        g = [float(row.g) for row in found.rows]
    assert_allclose(g, numbers["g"], rtol=1e-12, atol=1e-11)
