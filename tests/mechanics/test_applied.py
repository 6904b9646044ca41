"""Force elements compared with springs of the model, closed forms and conservation laws."""

from dataclasses import dataclass, replace
from functools import wraps
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.linear import linearise
from draisine.errors import ModelError
from draisine.mechanics.forces.air_drag import AirDrag
from draisine.mechanics.forces.joint_friction import JointFriction
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.passive_tyre import PassiveTyre
from draisine.mechanics.forces.sharp_tyre import SharpTyre
from draisine.mechanics.formulations import multiplier
from draisine.model import Body, Disc, Model, Output, Prismatic, Revolute, Wheel, Wrench, inertia
from draisine.registry import find
from draisine.terrain import plane
from draisine.vehicles.bicycle.whipple import whipple


@dataclass(frozen=True)
class SpringDamper:
    """Spring and damper of a joint, as a force element."""

    joint: str
    stiffness: float
    damping: float
    states = 0

    @property
    def name(self):
        return f"spring of {self.joint}"

    def __call__(self, readings, z):
        pull = self.stiffness * readings.joint(self.joint)
        return {self.joint: -pull - self.damping * readings.rate(self.joint)}, []


def cart(*, k: float = 30.0, d: float = 2.0, own: bool = True) -> Model:
    """Return a cart with a pendulum, with springs of its joints or with force elements."""
    data = ({"spring": k, "damper": d}, {"spring": k / 9, "damper": d / 9}) if own else ({}, {})
    elements = [SpringDamper("rail", k, d), SpringDamper("hinge", k / 9, d / 9)]
    return Model(
        [Body("track"), Body("cart", 2.0), Body("bob", 1.0, (0, 0, -0.7), inertia(0.1, 0.1, 0.1))],
        [
            Prismatic("rail", "track", "cart", (1, 0, 0), **data[0]),
            Revolute("hinge", "cart", "bob", (0, 1, 0), **data[1]),
        ],
        forces=[] if own else elements,
        base="fixed",
    )


def test_force_elements_on_joints_equal_springs_of_joints():
    one, other = draisine.compile(cart), draisine.compile(cart, own=False)
    start = draisine.state(one, rail=0.3, hinge=0.5, rail_rate=-1.0, hinge_rate=2.0)
    for formulation in ("projected", "multiplier"):
        wanted = one.accelerate(start, formulation=formulation)[0]
        found = other.accelerate(start, formulation=formulation)[0]
        assert_allclose(found, wanted, rtol=1e-13)


def falling(*, mass: float = 2.0, area: float = 0.5, g: float = 9.81) -> Model:
    """Return a stone in still air."""
    stone = Body("stone", mass, (0, 0, 0), inertia(0.1, 0.1, 0.1))
    return Model([stone], forces=[AirDrag("stone", area)], gravity=(0, 0, -g))


def test_a_stone_falling_through_air_follows_the_closed_form():
    """v = v1 tanh(g t / v1) with the terminal velocity v1; also on a terrain without contact."""
    system = draisine.compile(falling)
    run = draisine.simulate(system, draisine.state(system), 2.0)
    last = np.sqrt(2 * 2.0 * 9.81 / (1.2 * 0.5))
    assert_allclose(run.final().v[2], -last * np.tanh(9.81 * 2.0 / last), rtol=1e-8)
    high = draisine.state(system, z=100.0)
    over = draisine.simulate(system, high, 2.0, terrain=plane())
    assert_allclose(over.final().v, run.final().v, rtol=1e-7, atol=1e-12)


def test_a_body_approaches_the_velocity_of_the_wind():
    def blown(*, mass: float = 1.0) -> Model:
        body = Body("leaf", mass, (0, 0, 0), inertia(0.1, 0.1, 0.1))
        return Model(
            [body], forces=[AirDrag("leaf", 4.0, wind=(3.0, -2.0, 0.0))], gravity=(0, 0, 0)
        )

    system = draisine.compile(blown)
    end = draisine.simulate(system, draisine.state(system), 60.0).final().v[:3]
    assert_allclose(end, [3.0, -2.0, 0.0], atol=0.02)


TYRE = LinearTyre(9000.0, 0.0, 0.2)


def shod(*, cornering: float = 9000.0, camber: float = 0.0, sigma: float = 0.2) -> Model:
    """Return the benchmark bicycle on tyres."""
    model, tyre = whipple(), LinearTyre(cornering, camber, sigma)
    contacts = [replace(wheel, tyre=tyre) for wheel in model.wheels]
    return replace(model, contacts=contacts)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile(shod)


def test_slip_dissipates_energy_and_stores_some_in_the_tyre(bicycle):
    """Without camber thrust, energy plus sigma F^2 / (2 C1) never increases."""
    start = draisine.state(bicycle, forward_speed=5.0, lean_rate=0.8)
    data = draisine.simulate(bicycle, start, 1.0).to_xarray()
    slip = data.element_state.values[:, ::2]
    total = data.energy.values + (0.2 * 9000.0 * slip**2 / 2).sum(axis=1)
    assert_allclose(data.tyre_energy, 0.2 * 9000.0 * slip**2 / 2, atol=1e-12)
    assert np.diff(total).max() < 1e-9
    assert total[-1] < total[0] - 1e-4
    assert_allclose(data.contact_force.values[:, :, 2], 9000.0 * slip, atol=1e-9)


def test_at_rest_a_tyre_is_a_spring(bicycle):
    """A lateral push deflects the tyre by F sigma / C1: zdot = -velocity / sigma at any speed."""
    machine = bicycle.machine()
    start = draisine.state(bicycle, forward_speed=0.0, Vy=0.3)
    y = machine.enter(start)
    rates = machine.rate(q=y[:4], p=y[4:7], r=y[7:10], u=y[machine.layout.u])["rate"]
    assert_allclose(rates[machine.layout.z], -0.3 / 0.2 * np.array([1, 0, 1, 0]), rtol=1e-12)


def test_the_saddle_point_system_agrees(bicycle):
    machine, rng = bicycle.machine(), np.random.default_rng(1)
    asked = {"lean": 0.3, "steer": 0.2, "forward_speed": 4.0, "lean_rate": 0.5, "Vy": 0.2}
    state = draisine.state(bicycle, **asked)
    z = rng.normal(size=4) * 0.05
    seen = machine.observation(machine.enter(state, z=z))
    out = machine.free(q=state.q, p=state.p, r=state.r, v=state.v, z=z)
    n, rows = len(state.v), multiplier.active_row_indices(bicycle.model, machine.mode)
    M, C = out["M"].reshape(n, n), out["C"].reshape(-1, n)[rows]
    vdot, _ = multiplier.solve_kkt_system(
        M, out["F"], C, out["c"][rows], [""] * len(rows), bicycle.model.speeds
    )
    assert_allclose(seen["vdot"], vdot, rtol=1e-10, atol=1e-10)


def test_stiff_tyres_tend_to_ideal_rolling_with_order_one():
    """With C2 and sigma fixed the roots differ by O(1 / C1)."""
    ideal = draisine.compile("whipple")
    wanted = linearise(ideal, draisine.state(ideal, forward_speed=5.0)).eigenvalues()
    errors = []
    for cornering in (1e6, 1e7):
        system = draisine.compile(shod, cornering=cornering, camber=900.0)
        roots = linearise(system, draisine.state(system, forward_speed=5.0)).eigenvalues()
        errors.append(max(np.abs(roots - root).min() for root in wanted))
    assert errors[1] < 0.01
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.03)


def test_rolling_modes_do_not_use_tyres(bicycle):
    """With ideally rolling wheels, the bicycle equals the one without tyres."""
    mode = {"rear": "rolling", "front": "rolling"}
    ideal = draisine.compile("whipple")
    state = draisine.state(ideal, lean=0.2, steer=0.1, forward_speed=3.0)
    found, wanted = bicycle.accelerate(state, mode=mode)[0], ideal.accelerate(state)[0]
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


READ = {
    "camber": lambda view: view.camber("ground"),
    "travel": lambda view: view.travel("ground"),
    "turning": lambda view: view.spin("ground"),
    "height": lambda view: view.gap("ground"),
    "along": lambda view: view.slip("ground").along,
    "across": lambda view: view.slip("ground").across,
    "normal": lambda view: view.slip("ground").normal,
}


def leaned(*, radius: float = 0.5) -> Model:
    """Return a disc on a tyre with its readings as outputs."""
    body = Body("disc", 1.0, (0, 0, radius), inertia(0.1, 0.2, 0.1))
    wheel = Wheel("ground", "disc", (0, 0, radius), (0, 1, 0), Disc(radius), tyre=TYRE)
    return Model([body], contacts=[wheel], outputs=[Output(*each) for each in READ.items()])


def test_readings_of_a_leaned_disc():
    """The disc rolls at 4 rad/s on a radius of 0.5 m and slips sideways by 0.2 m/s."""
    system = draisine.compile(leaned)
    state = draisine.state(system, lean=0.3, pitch_rate=4.0, yaw_rate=0.0, across=0.2)
    seen = draisine.simulate(system, state, 1e-3).to_xarray().isel(time=0)
    wanted = {"camber": 0.3, "travel": 2.0, "turning": 4.0 * np.sin(0.3), "height": 0.0}
    for name, value in (wanted | {"along": 0.0, "normal": 0.0, "across": 0.2}).items():
        assert float(seen[name]) == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize(
    ("does", "words"),
    [
        (lambda: ({"hinje": 1.0}, []), "acts on 'hinje'.*'hinge'"),
        (lambda: ({"bob": Wrench()}, []), "acts on 'bob', which does not exist"),
        (lambda: ({"bobb": (0.0, 0.0, 1.0)}, []), "'bob'"),
        (lambda: ({}, [1.0]), "returns 1 rates; it has 0 states"),
    ],
)
def test_invalid_results_of_a_force_element_are_reported(does, words):
    class Wrong:
        name, states = "wrong", 0

        def __call__(self, readings, z):
            return does()

    def pendulum(*, m: float = 1.0) -> Model:
        return replace(cart(), forces=[Wrong()])

    system = draisine.compile(pendulum)
    with pytest.raises(ModelError, match=f"Force element 'wrong'.*{words}"):
        system.accelerate(draisine.state(system))


def test_formulations_without_force_elements_refuse_them(bicycle):
    state = draisine.state(bicycle, forward_speed=3.0)
    for formulation in ("absolute", "planar", "partitioned"):
        with pytest.raises(
            ModelError, match=r"does not support force elements \('rear', 'front'\)"
        ):
            bicycle.accelerate(state, formulation=formulation)


def test_elements_are_found_by_name():
    assert find("force", "linear_tyre") is LinearTyre
    assert find("force", "air_drag") is AirDrag


def test_machines_in_lanes_equal_single_machines(bicycle):
    starts = [draisine.state(bicycle, forward_speed=5.0, lean_rate=x) for x in (0.2, 0.4, 0.6)]
    numerics = draisine.Numerics(integrator="rk4", dt=0.001)
    fleet = draisine.simulate_many(bicycle, starts, 0.05, numerics=numerics)
    for k, start in enumerate(starts):
        alone = draisine.simulate(bicycle, start, 0.05, numerics=numerics).final()
        assert_allclose(fleet["v"][:, k], alone.v, rtol=1e-12, atol=1e-12)


def loaded(*, stiffness: float = 12.0, camber: float = 1.0, sigma: float = 0.2) -> Model:
    """Return the benchmark bicycle on tyres whose forces are proportional to their loads."""
    model, tyre = whipple(), LoadTyre(stiffness, camber, sigma)
    return replace(model, contacts=[replace(wheel, tyre=tyre) for wheel in model.wheels])


def test_tyre_forces_and_loads_are_solved_together():
    """At any state the side force is the stiffness times the load, which depends on the side force
    itself.
    """
    system = draisine.compile(loaded)
    machine, rng = system.machine(), np.random.default_rng(3)
    for _ in range(5):
        names = ("lean", "steer", "lean_rate", "Vy")
        asked = dict(zip(names, rng.uniform(-0.4, 0.4, 4), strict=True))
        state = draisine.state(system, forward_speed=5.0, **asked)
        z = rng.uniform(-0.05, 0.05, 4)
        forces = machine.observation(machine.enter(state, z=z))["forces"].reshape(2, 3)
        assert_allclose(forces[:, 2], 12.0 * forces[:, 0] * z[::2], rtol=1e-10, atol=1e-7)


def test_load_dependent_stiffness_does_not_change_straight_running():
    """With the stiffness at the static loads, both tyres have the same eigenvalues."""
    ideal = draisine.compile("whipple")
    upright = draisine.state(ideal, forward_speed=4.0)
    static = draisine.simulate(ideal, upright, 0.01).to_xarray().contact_force.values[0, :, 0]

    def one(*, kind: bool = True) -> Model:
        model = whipple()
        tyres = [
            LoadTyre(12.0, 1.0, 0.2) if kind else LinearTyre(12.0 * load, 1.0 * load, 0.2)
            for load in static
        ]
        pairs = zip(model.wheels, tyres, strict=True)
        return replace(model, contacts=[replace(wheel, tyre=tyre) for wheel, tyre in pairs])

    first, second = (draisine.compile(one, kind=kind) for kind in (True, False))
    roots = [
        np.sort_complex(linearise(s, draisine.state(s, forward_speed=4.0)).eigenvalues())
        for s in (first, second)
    ]
    assert_allclose(roots[0], roots[1], rtol=1e-8, atol=1e-8)


def test_errors_name_loads_that_cannot_be_read():
    system = draisine.compile(loaded)
    with pytest.raises(ModelError, match="load of contact 'rear' cannot be read"):
        system.accelerate(draisine.state(system, forward_speed=3.0))


def on_tyres(tyre):
    """Return the benchmark bicycle on tyres, with its parameters as arguments."""

    @wraps(whipple)
    def vehicle(**parameters) -> Model:
        model = whipple(**parameters)
        return replace(model, contacts=[replace(wheel, tyre=tyre) for wheel in model.wheels])

    return draisine.compile(vehicle)


def test_tyres_stay_within_their_operation_counts():
    """Counted in operations, side slip and spin with relaxation cost at most 1.6 times the ideal
    equations, in proportion to the load at most 2.1 times.
    """
    ideal = draisine.compile("whipple").machine().rate.program.operations
    one, other = (
        on_tyres(tyre).machine().rate.program.operations
        for tyre in (LinearTyre(9000.0, 900.0, 0.2), LoadTyre(12.0, 1.0, 0.2))
    )
    assert ideal < one <= 1.6 * ideal
    assert one < other <= 2.1 * ideal


def test_camber_thrust_with_its_moment_creates_no_energy():
    """Sharp's camber thrust creates energy; the same thrust with its moment does not."""
    arm, sigma, C = 0.04, 0.2, 9000.0
    rise = {}
    for tyre in (PassiveTyre(C, arm, sigma), SharpTyre(C, C * arm / 0.3, sigma)):
        system = on_tyres(tyre)
        start = draisine.state(system, forward_speed=1.0, lean=0.3, steer=0.4)
        numerics = draisine.Numerics(dt=0.002, rtol=1e-11, atol=1e-12)
        data = draisine.simulate(system, start, 0.4, numerics=numerics).to_xarray()
        stored = (sigma * C * data.element_state.values**2 / 2).sum(axis=1)
        rise[type(tyre)] = np.diff(data.energy.values + stored).max()
    assert rise[PassiveTyre] < 1e-9
    assert rise[SharpTyre] > 1e-6


def test_a_passive_tyre_has_the_camber_thrust_of_sharps_tyre():
    """For a leaned disc that rolls straight ahead, the slip grows at the rate of Sharp's tyre."""
    rates = []
    for tyre in (PassiveTyre(9000.0, 0.05, 0.2), SharpTyre(9000.0, 900.0, 0.2)):

        def disc(*, lean: float = 0.0, tyre=tyre) -> Model:
            body = Body("disc", 1.0, (0, 0, 0.5), inertia(0.1, 0.2, 0.1))
            wheel = Wheel("ground", "disc", (0, 0, 0.5), (0, 1, 0), Disc(0.5), tyre=tyre)
            return Model([body], contacts=[wheel])

        system = draisine.compile(disc)
        state = draisine.state(system, lean=1e-3, pitch_rate=4.0, yaw_rate=0.0, Vy=0.0)
        machine = system.machine()
        y = machine.layout.split(machine.enter(state))
        found = machine.rate(**y)["rate"][machine.layout.z][0]
        rates.append(found)
    assert_allclose(rates[0], rates[1], rtol=1e-5)


@pytest.mark.parametrize(
    ("rate", "part"), [(1e-4, 1e-4), (1.0, np.sqrt(0.5)), (1e4, 1.0), (-1e4, -1.0)]
)
def test_dry_friction_of_a_joint_is_a_damper_near_rest(rate, part):
    """The torque is T r' / rate far below `rate`, T / sqrt(2) at `rate`, and T far above."""
    friction = JointFriction("steer", 2.0, rate=0.05)
    told, rates = friction(SimpleNamespace(rate=lambda name: 0.05 * rate), np.zeros(0))
    assert_allclose(told["steer"], -2.0 * part, rtol=1e-7)
    assert not rates
