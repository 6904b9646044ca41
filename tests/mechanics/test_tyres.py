"""Tyres and resistances compared with closed forms: sliding, rolling, measured tyres, loads,
energy, limits.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.equilibrium import steady
from draisine.errors import ModelError, SimulationError
from draisine.mechanics.forces.air_drag import AirDrag
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.mechanics.forces.rolling_resistance import RollingResistance
from draisine.mechanics.forces.sharp_tyre import SharpTyre
from draisine.model import Body, Disc, Model, Revolute, Torus, Wheel, inertia
from draisine.vehicles import parameter_set

G = 9.81
TIGHT = draisine.Numerics(rtol=1e-12, atol=1e-13)
MEASURED = MagicFormula.coefficients(parameter_set("magic_formula", "schwalbe_t03_300kpa"))
SCHWALBE = MEASURED["Fy"]


def sled(*, mass: float = 10.0, friction: float = 0.8):
    """Return a block that slides on a locked wheel without rotation."""
    tyre = BrushTyre(30.0, friction, 0.01)
    wheel = Wheel("ground", "block", (0, 0, 0.3), (0, 1, 0), Disc(0.3), tyre=tyre)
    return Model([Body("block", mass)], contacts=[wheel], base="translations")


def trolley(*, mass: float = 10.0, moment: float = 0.4, rolling: float = 0.01, area: float = 0.0):
    """Return a non-rotating block on a wheel with rolling resistance and air drag."""
    centre = (0, 0, 0.3)
    forces = [RollingResistance("ground", rolling), AirDrag("block", area, wind=(-2.0, 0.0, 0.0))]
    return Model(
        [Body("block", mass), Body("wheel", 1.0, centre, inertia(moment / 2, moment, moment / 2))],
        [Revolute("axle", "block", "wheel", (0, 1, 0), centre)],
        [Wheel("ground", "wheel", centre, (0, 1, 0), Disc(0.3))],
        forces,
        base="translations",
    )


@dataclass(frozen=True, eq=False)
class GivenLoad(MagicFormula):
    """Magic Formula tyre at a prescribed load, independent of the normal force."""

    given: float = 400.0

    def _load(self, readings):
        return self.given


def leaning_disc(*, m: float = 2.0, R: float = 0.3, c: float = 0.05, moment: float = 0.1):
    """Return a thick wheel on a tyre that has no side force without slip."""
    wheel = Wheel("ground", "disc", (0, 0, R), (0, 1, 0), Torus(R, c), tyre=BrushTyre(9, 1, 0.1))
    return Model(
        [Body("disc", m, (0, 0, R), inertia(moment, 2 * moment, moment))], contacts=[wheel]
    )


def push_for(element, z=(), **readings):
    """Return the wrench of an element for prescribed readings."""
    values = {"spin": 0.0, "rolling_radius": 0.3} | readings
    told = {name: (lambda _, x=x: x) for name, x in values.items()}
    done, rates = element(SimpleNamespace(**told), np.asarray(z, float))
    return next(iter(done.values())), rates


class TestBrush:
    def test_force_follows_stiffness_at_small_slip_and_friction_at_large_slip(self):
        """F / N = 3 mu (x - x^2 + x^3 / 3), x = C s / (3 mu): Pacejka 2012, (3.13) and (3.18)."""
        tyre = BrushTyre(12.0, 0.9, 0.1, 0.05)
        for slip in (1e-6, 0.05, 0.2):
            x = 12.0 * slip / 2.7
            force, trail = tyre.grip(slip)
            assert force * slip == pytest.approx(2.7 * (x - x * x + x**3 / 3), rel=1e-12)
            assert trail == pytest.approx(0.05 / 3 * (1 - x) ** 3 / (1 - x + x * x / 3), rel=1e-12)
        assert tyre.grip(1e-9)[0] == pytest.approx(12.0, rel=1e-6)
        assert tyre.grip(0.5)[0] * 0.5 == pytest.approx(0.9)
        assert tyre.grip(0.5)[1] == 0.0

    def test_combined_slips_share_the_friction_limit(self):
        slip = SimpleNamespace(along=0.0, across=0.0, normal=0.0)
        wrench, _ = push_for(
            BrushTyre(12.0, 0.9, 0.1), (0.6, -0.8, 0.0), slip=slip, travel=1.0, load=200.0
        )
        assert math.hypot(wrench.along, wrench.across) == pytest.approx(0.9 * 200.0)
        assert wrench.along / wrench.across == pytest.approx(-0.75)

    def test_the_force_of_a_slow_longitudinal_slip_follows_the_stiffness(self):
        """F = C N s with the slip s, the slip velocity over the rolling speed, after relaxation."""
        slip = SimpleNamespace(along=0.01, across=0.0, normal=0.0)
        there = {"slip": slip, "travel": 5.0, "load": 200.0}
        _, rates = push_for(BrushTyre(12.0, 0.9, 0.1), (-0.002, 0.0, 0.0), **there)
        assert rates[0] == pytest.approx(0.0, abs=1e-15)
        wrench, _ = push_for(BrushTyre(12.0, 0.9, 0.1), (-0.002, 0.0, 0.0), **there)
        assert wrench.along == pytest.approx(-12.0 * 200.0 * 0.002, rel=0.01)

    def test_a_locked_wheel_slides_with_mu_g(self):
        system = draisine.compile(sled)
        run = draisine.simulate(system, draisine.state(system, Vx=8.0), 0.8, numerics=TIGHT)
        slow = run.to_xarray().speeds.sel(speed="Vx").values
        assert_allclose(np.diff(slow)[20:] / 0.01, -0.8 * G, rtol=1e-9)


class TestLoadTyre:
    @pytest.mark.parametrize("load", [0.0, 250.0, 700.0])
    def test_force_and_moment_are_those_of_the_linear_tyre_times_the_load(self, load):
        """At equal slip and twist; the states follow the motion at the same rates."""
        numbers = 11.0, 0.5, 0.1, 0.02
        slip = SimpleNamespace(along=0.0, across=0.2, normal=0.0)
        there = {"slip": slip, "travel": 4.0, "spin": 1.5}
        unit, rates = push_for(LinearTyre(*numbers), (0.01, -0.004), **there)
        wrench, same = push_for(LoadTyre(*numbers), (0.01, -0.004), load=load, **there)
        assert unit.aligning != 0.0
        assert_allclose(
            [wrench.across, wrench.aligning], load * np.array([unit.across, unit.aligning])
        )
        assert rates == same

    @pytest.mark.parametrize("load", [250.0, 700.0])
    def test_the_side_force_of_a_steady_slip_acts_behind_the_contact(self, load):
        """F = -C N s acts at the trail t: M = -t F, positive for a slip to the left."""
        slip = SimpleNamespace(along=0.0, across=0.05, normal=0.0)
        tyre, s = LoadTyre(11.0, 0.0, 0.1, 0.02), 0.05 / 5.0
        z = -s, s  # the twist follows the slip to the other side
        wrench, rates = push_for(tyre, z, slip=slip, travel=5.0, load=load)
        assert_allclose(rates, 0.0, atol=1e-6)
        assert wrench.across == pytest.approx(-11.0 * load * s, rel=1e-9)
        assert wrench.aligning == pytest.approx(0.02 * 11.0 * load * s, rel=1e-9)


class TestPace:
    """Rate at which the contact patch is renewed: slips decay over the relaxation length that is
    rolled or travelled.
    """

    @pytest.mark.parametrize(
        ("travel", "along", "pace"),
        [
            (5.0, 0.0, 5.0),  # rolling
            (5.0, 5.0, 5.0),  # locked: the material point slides ahead with the wheel
            (0.5, -7.5, 8.0),  # spinning in place: the rim moves backwards at 8 m/s
            (-5.0, 0.0, 5.0),  # backwards
            (-0.5, 7.5, 8.0),
        ],
    )
    def test_rolling_locked_and_spinning_wheels_renew_the_contact_patch(self, travel, along, pace):
        slip, z = SimpleNamespace(along=along, across=0.0, normal=0.0), (0.0, 0.1, 0.0)
        there = {"slip": slip, "travel": travel, "load": 300.0}
        for tyre in (BrushTyre(12.0, 0.9, 0.2), MagicFormula(SCHWALBE, 0.2)):
            own = (*z, *[0.0] * (tyre.states - 3))
            _, rates = push_for(tyre, own, **there)
            assert rates[1] == pytest.approx(-pace * 0.1 / 0.2, rel=1e-12)

    def test_without_longitudinal_slip_travel_renews_the_contact_patch(self):
        slip = SimpleNamespace(along=0.0, across=0.0, normal=0.0)
        for tyre in (SharpTyre(8e3, 0.0, 0.2), LinearTyre(8e3, 0.0, 0.2)):
            own = (0.1, *[0.0] * (tyre.states - 1))
            for travel in (3.0, -3.0):
                _, rates = push_for(tyre, own, slip=slip, travel=travel, camber=0.0)
                assert rates[0] == pytest.approx(-3.0 * 0.1 / 0.2, rel=1e-6)


def test_the_crown_turns_a_leaning_wheel_over():
    """From rest without slip only the load N acts, below the centre of the crown: the lean
    acceleration is m g (R - c) sin / (I + m (R - c)^2 sin^2).
    """
    system, lean = draisine.compile(leaning_disc), 0.4
    start = draisine.state(system, lean=lean)
    rate, _ = system.accelerate(start, formulation="projected")
    arm = 0.25 * math.sin(lean)
    wanted = 2.0 * G * arm / (0.1 + 2.0 * arm * arm)
    assert rate[list(system.model.speeds).index("Wx")] == pytest.approx(wanted, rel=1e-12)


def test_rolling_resistance_decelerates_by_its_lever_arm():
    """The deceleration satisfies (m + I / R^2) a = -c N / R."""
    system = draisine.compile(trolley)
    start = draisine.state(system, Vx=5.0)
    rate, _ = system.accelerate(start, formulation="projected")
    assert rate[0] == pytest.approx(-0.01 * 11.0 * G / 0.3 / (11.0 + 0.4 / 0.09), rel=1e-5)


def test_spin_friction_turns_against_the_spin():
    still = {"travel": 0.0, "load": 300.0}
    wrench, _ = push_for(RollingResistance("a", 0.0, 0.02), spin=3.0, **still)
    assert wrench.aligning == pytest.approx(-0.02 * 300.0, rel=1e-4)
    assert wrench.rolling == 0.0


def test_the_wind_ahead_adds_to_the_speed():
    """-1.2 / 2 * 0.5 m2 * 7^2 on a trolley at 5 m/s against 2 m/s of wind."""
    system = draisine.compile(trolley, rolling=0.0, area=0.5)
    rate, _ = system.accelerate(draisine.state(system, Vx=5.0), formulation="projected")
    assert rate[0] == pytest.approx(-0.6 * 0.5 * 49.0 / (11.0 + 0.4 / 0.09), rel=1e-9)


def test_a_cross_wind_acts_on_the_side_area():
    air = AirDrag("b", 0.5, wind=(0.0, 10.0, 0.0), side_area=1.5)
    body = SimpleNamespace(com=np.zeros(3))
    tree = SimpleNamespace(model=SimpleNamespace(body=lambda _: body))
    readings = SimpleNamespace(
        tree=tree, velocity=lambda *_: np.zeros(3), heading=np.array([1.0, 0.0, 0.0])
    )
    (push,) = air(readings, np.zeros(0))[0].values()
    assert_allclose(push, [0.0, 0.6 * 1.5 * 100.0, 0.0], atol=1e-12)


class TestMagicFormula:
    TYRE = MagicFormula(SCHWALBE, 0.1, 1e5, 500.0, 400.0)

    def test_the_slope_at_no_slip_is_the_formulas(self):
        """BCD = a3 sin(2 atan(Fz / a4)) per degree."""
        a, F = SCHWALBE, 0.4
        slope = (self.TYRE.side_force(400.0, 1e-7, 0.0)) / 1e-7
        wanted = a[3] * math.sin(2 * math.atan(F / a[4])) * 180 / math.pi
        assert slope == pytest.approx(wanted, rel=1e-6)

    def test_the_force_at_a_slip_is_the_formulas(self):
        a, F, x = SCHWALBE, 0.35, 3.0
        D = a[1] * F * F + a[2] * F
        B = a[3] * math.sin(2 * math.atan(F / a[4])) / (a[0] * D)
        E = a[6] * F + a[7]
        wanted = D * math.sin(a[0] * math.atan(B * x - E * (B * x - math.atan(B * x))))
        found = self.TYRE.side_force(350.0, math.tan(math.radians(x)), 0.0)
        assert found == pytest.approx(wanted, rel=1e-12)

    def test_beyond_the_measured_loads_the_friction_force_is_constant(self):
        """D = a1 F^2 + a2 F is largest at F = -a2 / (2 a1), 0.79 kN, and negative from twice that on."""
        forces = [self.TYRE.side_force(load, 0.2, 0.0) for load in (1600.0, 2000.0)]
        assert min(forces) > 0.0

    def test_the_aligning_moment_is_the_formulas(self):
        """Bakker, Pacejka and Lidner 1989: Mz by c0 to c17, offsets left out; it turns the wheel back."""
        c, F, x, lean = MEASURED["Mz"], 0.35, 3.0, 2.0
        D = c[1] * F * F + c[2] * F
        tyre = MagicFormula(**MEASURED, relaxation=0.1)
        for gamma in (0.0, lean):
            B = (c[3] * F * F + c[4] * F) * (1 - c[6] * gamma) * math.exp(-c[5] * F) / (c[0] * D)
            E = (c[7] * F * F + c[8] * F + c[9]) * (1 - c[10] * gamma)
            y = B * (x + c[11] * gamma)
            wanted = D * math.sin(c[0] * math.atan(y - E * (y - math.atan(y))))
            wanted += (c[14] * F * F + c[15] * F) * gamma
            found = tyre.moment(350.0, math.tan(math.radians(x)), math.radians(gamma))
            assert found == pytest.approx(wanted, rel=1e-12)
        slip = SimpleNamespace(along=0.0, across=0.0, normal=0.0)
        there = {"slip": slip, "travel": 5.0, "load": 350.0}
        wrench, _ = push_for(tyre, (0.0, 0.01, 0.0, 0.01, 0.0), **there)
        assert 0.01 < -wrench.aligning / wrench.across < 0.03  # the pneumatic trail, m
        wrench, _ = push_for(tyre, (0.03, 0.04, 0.0, 0.04, 0.0), **there)
        assert math.hypot(wrench.along, wrench.across) == pytest.approx(
            tyre.side_force(350.0, 0.05, 0.0)
        )
        assert wrench.along / wrench.across == pytest.approx(0.75)

    def test_small_motions_are_those_of_a_linear_tyre(self):
        """The same cornering stiffness at the static loads; no camber in either."""
        ideal = draisine.compile("whipple")
        _, forces = ideal.accelerate(draisine.state(ideal))
        bare = (*SCHWALBE[:8], *[0.0] * 6)
        formula, linear = [], []
        for load in (forces[0], forces[3]):
            formula.append(MagicFormula(bare, 0.1, 1e5, 500.0, float(load)))
            slope = bare[3] * math.sin(2 * math.atan(load / 1000 / bare[4])) * 180 / math.pi
            linear.append(LinearTyre(slope, 0.0, 0.1))
        roots = []
        for rear, front in (formula, linear):
            running = TwoWheeler(draisine.compile("whipple", rear_tyre=rear, front_tyre=front))
            roots.append(np.linalg.eigvals(running.matrices(np.array([1.0, 6.0]))[0][1]))
        own = (
            np.abs(roots[1] + 6.0 / (0.1 / 3.0)) < 1e-4
        )  # twists of the linear tyres, which do nothing
        assert np.count_nonzero(~own) == 8
        assert max(np.abs(roots[0] - root).min() for root in roots[1][~own]) < 1e-5

    def test_fourteen_coefficients_are_needed(self):
        with pytest.raises(ModelError, match="must have 14"):
            MagicFormula(SCHWALBE[:5], 0.1, 1e5, 500.0, 400.0)
        with pytest.raises(ModelError, match="must have 18"):
            MagicFormula(SCHWALBE, 0.1, Mz=(1.0,))

    def test_solved_loads_are_consistent_with_the_forces(self):
        """With the forces at the solved loads as given numbers, the contact problem yields the same loads,
        unless a pivot is small."""
        systems = [
            draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
            for tyre in (law(**MEASURED, relaxation=0.1) for law in (MagicFormula, GivenLoad))
        ]
        rng, met = np.random.default_rng(1), []

        def told(system, state, slips):
            machine = system.machine()
            y = machine.enter(state)
            y[machine.layout.z] = slips
            pivots = machine.rate(t=[0.0], **machine.layout.split(y))["pivots"]
            return machine.observation(y)["forces"][::3], pivots[-2:].min()

        for lean_rate in (0.0,) * 9 + (5.0,):  # at last so fast that the ground would have to pull
            lean, steer = rng.uniform(-0.7, 0.7, 2)
            asked = {"lean": lean, "steer": steer, "lean_rate": lean_rate}
            state = draisine.state(systems[0], forward_speed=5.0, **asked)
            along, across = rng.normal(0.0, 0.05, 4).reshape(2, 2).T
            spin, late_spin = np.random.default_rng(2).normal(0.0, 0.5, (2, 2))
            slips = np.array([along, across, spin, 0.9 * across, late_spin]).T.ravel()
            loads, watched = told(systems[0], state, slips)
            given = {"rear_tyre_given": float(loads[0]), "front_tyre_given": float(loads[1])}
            due, _ = told(systems[1].with_parameters(**given), state, slips)
            met.append((np.abs(due - loads) / np.hypot(1.0, loads)).max())
            assert (watched > 0.5) == (met[-1] < 1e-6)
        assert max(met[:9]) < 1e-10
        assert met[9] > 1e-3
        with pytest.raises(SimulationError, match=r"load of the tyre '\w+' is -\S+ N, negative"):
            draisine.simulate(systems[0], state, 0.1)


class TestBicycleOnTyres:
    @pytest.mark.parametrize(
        ("tyre", "most"), [(LinearTyre(8e3, 5e2, 0.1), 1.6), (LoadTyre(11.0, 0.5, 0.1), 2.1)]
    )
    def test_tyres_cost_little(self, tyre, most):
        """Number of operations of a right-hand side compared with ideal rolling, with all functions
        counted.
        """
        tyred = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
        ideal = draisine.compile("whipple")
        costs = [system.machine().programs["rate"].operations for system in (tyred, ideal)]
        assert costs[0] < most * costs[1]

    def test_it_starts_without_slip(self):
        """A steered bicycle turns as the ideal bicycle does; a sled with a prescribed slip slides."""
        asked = {"forward_speed": 5.0, "lean_rate": 0.3, "steer": 0.1}
        ideal = draisine.compile("whipple")
        tyre = LinearTyre(1e6, 0.0, 0.1)
        tyred = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
        states = [draisine.state(system, **asked) for system in (ideal, tyred)]
        assert_allclose(states[1].v, states[0].v, atol=1e-12)
        assert draisine.state(draisine.compile(sled), Vx=8.0).v[0] == 8.0

    def test_it_tends_to_ideal_rolling_with_order_one(self):
        """A nonlinear run and the eigenvalues, in 1 / C1 at fixed camber stiffness and relaxation."""
        asked = {"forward_speed": 5.0, "lean_rate": 0.3}

        def lean(system):
            run = draisine.simulate(system, draisine.state(system, **asked), 0.5, numerics=TIGHT)
            return float(run.to_xarray().lean[-1])

        def roots(system):
            return np.linalg.eigvals(TwoWheeler(system).matrices(np.array([1.0, 5.0]))[0][1])

        ideal, tyre = draisine.compile("whipple"), LinearTyre(1e6, 500.0, 0.1)
        tyred, errors = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre), []
        for C in (1e6, 1e7):
            stiff = tyred.with_parameters(rear_tyre_cornering=C, front_tyre_cornering=C)
            apart = max(np.abs(roots(stiff) - root).min() for root in roots(ideal))
            errors.append([abs(lean(stiff) - lean(ideal)), apart])
        assert_allclose(np.divide(*errors), 10.0, rtol=0.01)
        assert errors[1][0] < 1e-4

    def test_a_singular_coupling_of_loads_is_detected(self):
        """Painleve: at a lean of 0.4 rad, a side force towards the lean of about the load increases the load.
        The loads are unbounded there, and beyond they change their sign; a pivot vanishes."""
        tyre = LoadTyre(1.0, 0.0, 0.1)
        system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
        machine = system.machine()
        y = machine.enter(draisine.state(system, lean=0.4))

        def leaned(share):
            moved = y.copy()
            moved[machine.layout.z][::2] = -share  # slips, not twists
            return machine.least_pivot(moved), machine.observation(moved)["forces"][0]

        assert leaned(0.0)[0] == pytest.approx(1.0, abs=0.5)
        shares = np.linspace(0.2, 1.2, 401)
        pivots, loads = np.array([leaned(share) for share in shares]).T
        at = np.argmin(pivots)
        assert pivots[at] < 0.01
        assert np.argmax(np.abs(loads)) in (at - 1, at, at + 1)
        assert loads[at - 5] > 0 > loads[at + 5]


@pytest.fixture(scope="module")
def bicycle():
    tyre = BrushTyre(12.0, 0.9, 0.1, 0.03)
    return draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)


class TestEverywhere:
    """Tyres with all outputs; tests/codegen compares exported code."""

    def test_a_steady_turn_balances_forces(self, bicycle):
        """The side forces sum to m v^2 / R and the loads to m g, since the mass centre moves on a circle."""
        turn = steady(bicycle, free=["steer", "rear_wheel"], lean=0.2, forward_speed=6.0)
        seen = turn.machine.observation(turn.y, 0.0, turn.w)
        force = seen["forces_world"].reshape(2, 3).sum(axis=0)
        mass, rate = 94.0, turn.values["yaw_rate"]
        velocity = seen["momentum"] / mass
        centripetal = rate * np.array([-velocity[1], velocity[0], 0.0])
        assert_allclose(force, mass * (centripetal + [0.0, 0.0, G]), rtol=1e-9, atol=1e-8)
        assert force[1] / (mass * G) == pytest.approx(-math.tan(0.2), rel=0.2)

    def test_a_negative_load_is_reported_as_such(self, bicycle):
        """While the bicycle falls over, the ground would have to pull: the loads are negative, although the
        constraints keep their rank. A stepper reports the same, and the run before is available."""
        start = draisine.state(bicycle, forward_speed=5.0, lean_rate=5.0)
        words = (
            r"the load of the tyre 'front' is -\S+ N, negative: the ground would have to pull it"
        )
        with pytest.raises(SimulationError, match=words) as stopped:
            draisine.simulate(bicycle, start, 1.0)
        assert stopped.value.partial.to_xarray().time[-1] > 0.0
        stepper = draisine.Stepper(bicycle, start)
        with pytest.raises(SimulationError, match=r"load of the tyre '\w+' is -\S+ N, negative"):
            stepper.step(1.0)

    def test_loads_without_bound_are_reported_as_such(self, bicycle):
        """Painleve's paradox: with lean and steer, friction increases the loads, which increase friction."""
        sticky = bicycle.with_parameters(rear_tyre_friction=1.5, front_tyre_friction=1.5)
        start = draisine.state(sticky, forward_speed=6.0, lean=0.4, steer=0.6)
        words = r"the loads of the tyres 'rear', 'front' have no solution.*Less grip"
        with pytest.raises(SimulationError, match=words):
            draisine.simulate(sticky, start, 0.5)

    def test_runs_in_lanes_equal_single_runs(self, bicycle):
        numerics = draisine.Numerics(integrator="rk4", dt=1e-3)
        starts = [draisine.state(bicycle, forward_speed=5.0, lean_rate=x) for x in (0.1, -0.2, 0.3)]
        many = draisine.simulate_many(bicycle, starts, 0.1, numerics=numerics)
        alone = draisine.simulate(bicycle, starts[2], 0.1, numerics=numerics).to_xarray()
        assert many["outputs"][1, 2] == float(alone.lean[-1])

    def test_equations_name_the_loads(self, bicycle):
        text = bicycle.equations().write("latex")
        assert "N_{rear}" in text
        assert "is the normal force, a multiplier" in text
