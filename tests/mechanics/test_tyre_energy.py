"""Tyres dissipate energy and never create it: tyre laws alone, steady turns, runs, arcs on a
terrain.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_less
from scipy.integrate import simpson

import draisine
from draisine import ContactOptions, Numerics
from draisine.analysis.equilibrium import steady
from draisine.errors import ModelError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.mechanics.forces.passive_tyre import PassiveTyre
from draisine.mechanics.forces.sharp_tyre import SharpTyre
from draisine.terrain import height_field, plane, rough
from draisine.vehicles import parameter_set, parameter_sets

RADIUS, LOAD = 0.3, 400.0
SETS = {
    **{f"load_tyre/{one}": one for one in parameter_sets("load_tyre")},
    **{f"magic_formula/{one}": one for one in parameter_sets("magic_formula")},
}


def shipped(name):
    """Return the table of a shipped tyre by law and parameter set."""
    law, _, one = name.partition("/")
    lag = {"relaxation": 0.1} if law == "magic_formula" else {}
    return {"name": law, "parameter_set": one, **lag}


SPRUNG = {"vertical": 1e5, "damping": 500.0, "preload": 400.0}
"""Vertical spring that simplifies the equations of measured tyres."""


def measured(one):
    values = parameter_set("magic_formula", one)
    return MagicFormula(relaxation=0.1, **MagicFormula.coefficients(values))


def read(*, across=0.0, spin=0.0, travel=5.0, load=LOAD, along=0.0):
    """Return readings of a wheel with prescribed motion."""
    values = {
        "slip": SimpleNamespace(along=along, across=across, normal=0.0),
        "spin": spin,
        "travel": travel,
        "load": load,
        "rolling_radius": RADIUS,
        "camber": math.asin(np.clip(RADIUS * spin / travel, -1.0, 1.0)) if travel else 0.0,
    }
    return SimpleNamespace(**{name: (lambda _, x=x: x) for name, x in values.items()})


def dissipated_power(tyre, z, **moving):
    """Return the power (W) that a tyre dissipates: minus its power on the wheel, minus the rate of its
    stored energy.

    The second value is the sum of the magnitudes of these terms, the scale of the tolerance.
    """
    readings, slip = read(**moving), read(**moving).slip("")
    wrenches, rates = tyre(readings, z)
    (wrench,) = wrenches.values()
    spin = moving.get("spin", 0.0)
    parts = [wrench.along * slip.along, wrench.across * slip.across, wrench.aligning * spin]
    h = 1e-6
    for one, rate in zip(np.eye(len(z)), rates, strict=True):
        ahead, behind = (tyre.stored_energy(readings, z + k * h * one) for k in (1, -1))
        parts.append(rate * (ahead - behind) / (2 * h))
    return -sum(parts), sum(map(abs, parts))


def settled(tyre, **moving):
    """Return the steady wrench of a linear tyre."""
    n = tyre.states
    rates = np.array([tyre(read(**moving), z)[1] for z in np.vstack([np.zeros(n), np.eye(n)])])
    z = np.linalg.solve((rates[1:] - rates[0]).T, -rates[0])
    (wrench,) = tyre(read(**moving), z)[0].values()
    return wrench


LAWS = {
    "linear": LinearTyre(8e3, 5e2, 0.1),
    "linear with trail": LinearTyre(8e3, 5e2, 0.1, 0.03),
    "linear with trail and spin": LinearTyre(8e3, 5e2, 0.1, 0.03, 2.0),
    "linear with trail alone": LinearTyre(8e3, 0.0, 0.1, 0.03),
    "load": LoadTyre(11.46, 0.573, 0.175, 0.0288),
    "passive": PassiveTyre(8e3, 0.02, 0.1),
    "brush": BrushTyre(12.0, 0.9, 0.1, 0.05),
    "measured": measured("schwalbe_t03_300kpa"),
}


class TestLaws:
    @pytest.mark.parametrize("name", LAWS)
    def test_no_motion_makes_a_tyre_create_energy(self, name):
        """At every state, power plus the rate of the stored energy is not positive, also at rest
        and backwards.
        """
        tyre, rng = LAWS[name], np.random.default_rng(1)
        slips, least = (0.3, -1e-6)
        if name == "measured":  # to first order in small slips
            slips, least = 1e-3 * np.array([1.0, 1.0, 10.0, 1.0, 10.0]), -1e-3
        for _ in range(300):
            z = rng.normal(0.0, slips, tyre.states)
            moving = {
                "across": rng.normal(),
                "spin": 3.0 * rng.normal(),
                "travel": rng.choice([0.0, 5.0 * rng.normal()]),
                "along": 0.0 if tyre.holds else rng.normal(),
            }
            loss, scale = dissipated_power(tyre, z, **moving)
            assert loss >= least * scale

    def test_sharps_tyre_can_create_energy(self):
        """With camber only, and more with a trail of the total force."""
        for tyre in (SharpTyre(8e3, 5e2, 0.1), SharpTyre(8e3, 5e2, 0.1, 0.03)):
            loss, _ = dissipated_power(tyre, np.array([0.01]), across=0.0, spin=-5.0)
            assert loss < -1.0

    @pytest.mark.parametrize("travel", [5.0, -5.0])
    def test_the_linear_tyre_dissipates_a_square(self, travel):
        """The dissipated power is a |V| (slip + 2 twist)^2; backwards the twist changes its sign.

        No smaller moment would be passive, because there are motions without dissipation.
        """
        C, tyre = 8e3, LinearTyre(8e3, 5e2, 0.1, 0.03)
        rng, side = np.random.default_rng(2), math.copysign(1.0, travel)
        for _ in range(20):
            z, across, spin = rng.normal(size=2), rng.normal(), rng.normal()
            wanted = C * abs(travel) * (z[0] + 2.0 * side * z[1]) ** 2
            found, scale = dissipated_power(tyre, z, across=across, spin=spin, travel=travel)
            assert_allclose(found, wanted, rtol=0, atol=1e-6 * scale)

    @pytest.mark.parametrize("spinning", [None, 1.5])
    @pytest.mark.parametrize("travel", [5.0, -5.0])
    def test_steady_forces_are_linear_in_slip_and_spin(self, travel, spinning):
        """F = -(a s + b w), M = -(c s + d w), c = -t a, d = (b + c)^2 / (4 a) plus the spin stiffness.

        b and c change their signs with the direction of travel.
        """
        a, camber, t = 8e3, 5e2, 0.03
        tyre, side = LinearTyre(a, camber, 0.1, t, spinning), math.copysign(1.0, travel)
        b, c = camber * RADIUS, -t * a
        d = (b + c) ** 2 / (4 * a) + (spinning or 0.0)
        for s, w in ((0.01, 0.0), (0.0, 0.5), (0.02, -1.0)):
            wrench = settled(tyre, across=5.0 * s, spin=5.0 * w, travel=travel)
            assert_allclose(wrench.across, -(a * s + side * b * w), rtol=1e-6)
            assert_allclose(wrench.aligning, -(side * c * s + d * w), rtol=1e-5)

    @pytest.mark.parametrize("travel", [5.0, -5.0])
    def test_a_cambered_wheel_that_rolls_straight_has_its_camber_thrust(self, travel):
        """The spin is V sin(camber) / radius; the thrust acts towards the lean, forwards and backwards."""
        lean = 0.3
        spin = travel * math.sin(lean) / RADIUS
        for tyre in (LinearTyre(8e3, 5e2, 0.1), PassiveTyre(8e3, 5e2 / 8e3 * RADIUS, 0.1)):
            wrench = settled(tyre, spin=spin, travel=travel)
            assert wrench.across == pytest.approx(-5e2 * math.sin(lean), rel=1e-6)

    @pytest.mark.parametrize("one", parameter_sets("magic_formula"))
    @pytest.mark.parametrize("fitted", [True, False])
    def test_no_steady_motion_makes_a_measured_tyre_create_energy(self, one, fitted):
        """For slips up to skidding, for all spins and loads, with the fitted moment and with a trail."""
        tyre = measured(one)
        tyre = tyre if fitted else MagicFormula(tyre.Fy, 0.1, trail=0.02)
        slips = np.concatenate([-np.geomspace(1e-3, 3.0, 12), np.geomspace(1e-3, 3.0, 12)])
        for load in (50.0, 100.0, 250.0, 400.0, 700.0, 1000.0):
            for s in slips:
                for w in (0.0, 0.01, 0.1, 0.5, 1.6, 3.0):
                    z = np.array([0.0, -s, w, -s, w])
                    (wrench,) = tyre(read(load=load), z)[0].values()
                    assert wrench.across * s + wrench.aligning * w <= 1e-12

    def test_negative_trails_are_refused(self):
        with pytest.raises(ModelError, match=r"LinearTyre: trail = -0.01 would create energy"):
            LinearTyre(8e3, 5e2, 0.1, -0.01)
        with pytest.raises(ModelError, match=r"LoadTyre: camber = -1 would create energy"):
            LoadTyre(8.0, -1.0, 0.1)


class TestSteadyTurns:
    @pytest.mark.parametrize("name", SETS)
    def test_the_drive_replaces_the_dissipation_of_the_tyres(self, name):
        """At 5 m/s and 15 degrees of lean every published tyre dissipates energy, and the drive
        supplies it.
        """
        tyre = shipped(name) | (SPRUNG if "magic" in name else {})
        system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
        self.check(system, lean=math.radians(15.0), forward_speed=5.0)

    def test_a_motorcycle_needs_a_drive_too(self):
        self.check(draisine.compile("motorcycle"), lean=0.3, forward_speed=15.0)

    @staticmethod
    def check(system, **asked):
        turn = steady(system, free=["steer", "rear_wheel"], **asked)
        seen = turn.machine.observation(turn.y, 0.0, turn.w)
        drive = turn.inputs["rear_wheel"] * turn.values["rear_wheel_rate"]
        assert drive > 0.0
        assert np.all(seen["tyre_powers"] < 0.0)
        assert_allclose(drive, -seen["tyre_powers"].sum(), rtol=1e-9)


@pytest.fixture(scope="module")
def damped():
    """Return a bicycle on tyres with trail, with damped steering and frame."""
    tyre = LinearTyre(8e3, 5e2, 0.1, 0.03)
    gives = {"frame_twist": 2000.0, "frame_twist_damper": 5.0, "steer_damper": 1.0}
    return draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, flexible=gives)


@pytest.mark.parametrize("terrain", [None, plane()])
def test_energy_changes_by_the_powers_of_all_elements(damped, terrain):
    """The change of energy equals the work of drive, steer torque, dampers and tyres."""
    pushed = {"rear_wheel": 3.0, "steer": 0.2}
    start = draisine.state(damped, forward_speed=5.0, lean_rate=0.3)
    numerics = Numerics(rtol=1e-11, atol=1e-12, dt=5e-4)
    run = draisine.simulate(damped, start, 0.4, terrain=terrain, inputs=pushed, numerics=numerics)
    data = run.to_xarray()
    powers = {
        "inputs": sum(torque * data[f"{joint}_rate"] for joint, torque in pushed.items()),
        "steer damper": -1.0 * data.steer_rate**2,
        "frame damper": -5.0 * data.frame_twist_rate**2,
        "tyres": data.tyre_power.sum("tyre"),
    }
    work = {name: simpson(power.values, x=data.time.values) for name, power in powers.items()}
    assert all(abs(one) > 1e-3 for one in work.values())
    assert work["tyres"] < 0.0
    change = float(data.energy[-1] - data.energy[0])
    assert change == pytest.approx(sum(work.values()), abs=1e-6)
    assert data.tyre_power.units == "W"
    assert np.all(data.tyre_energy.values >= 0.0)


def test_time_steps_report_the_work_of_tyres_with_order_one(damped):
    """Compared with the event-driven motion on the same plane; errors are proportional to the step."""
    start = draisine.state(damped, forward_speed=5.0, lean_rate=0.3, steer=0.05)

    def work(contact):
        fine = Numerics(dt=2e-3)
        run = draisine.simulate(damped, start, 0.2, terrain=plane(), contact=contact, numerics=fine)
        data = run.to_xarray()
        return simpson(data.tyre_power.values, x=data.time.values, axis=0), data.tyre_energy[-1]

    (exact, stored), *stepped = (
        work(ContactOptions(solver="time_stepping", step=step) if step else ContactOptions())
        for step in (None, 1e-3, 2.5e-4)
    )
    errors = [np.abs(done - exact).max() for done, _ in stepped]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)
    assert errors[1] < 0.1 * np.abs(exact).max()
    assert_allclose(stepped[1][1], stored, rtol=0.02)


def rough_ground(seed):
    """Return a level start, then triangles with vertices at random heights of a few centimetres."""
    x, y = np.linspace(-2, 14, 33), np.linspace(-4, 4, 17)
    z = 0.02 * np.random.default_rng(seed).normal(size=(33, 17))
    return height_field(x, y, np.where(x[:, None] < 2.0, 0.0, z))


def test_a_deflected_tyre_stores_the_energy_of_its_spring_on_every_feature():
    """On faces, edges and vertices alike, a tyre stores at least the energy of its vertical spring,
    k d^2 / 2, and a hand-over at equal deflections does not change the stored energy.
    """
    stiffness = 1e5
    fit = (1.5, 0.0, 1000.0, 200.0, 1.0, *[0.1] * 9)
    tyre = MagicFormula(fit, 0.1, **{**SPRUNG, "vertical": stiffness})
    bicycle = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, crown=0.02)
    start = draisine.state(bicycle, forward_speed=4.0, lean=0.02, steer=0.01)
    ground = rough(0.03, at=1.6, seed=1)
    run = draisine.simulate(bicycle, start, 0.5, terrain=ground, numerics=Numerics(dt=0.02))
    data = run.to_xarray()
    energies = data.tyre_energy.values
    springs = 0.5 * stiffness * np.minimum(data.gap.values, 0.0) ** 2
    on_edges = set()
    handed_over = 0
    first = 0
    before = None
    for arc in run.arcs:
        span = slice(first, first + len(arc.t))
        first = span.stop
        closed = [contact for contact, _, _ in arc.closed]
        # The energy of a wheel on two features is the mean for both of their deflections.
        for wheel in (0, 1):
            features = [ground[c.feature].kind for c in closed if c.wheel == wheel]
            if len(features) == 1:
                assert_array_less(springs[span, wheel], energies[span, wheel] + 1e-9)
                on_edges.update({wheel} if features[0] == "edge" else ())
        if before is not None and len(closed) == len(before) > 0:
            last, new = span.start - 1, span.start
            same = np.abs(data.gap.values[last] - data.gap.values[new]) < 1e-9
            assert_allclose(energies[new, same], energies[last, same], rtol=1e-6)
            handed_over += np.count_nonzero(same)
        before = closed
    assert on_edges == {0, 1}
    assert handed_over > 5


def losses(run, tyres):
    """Return the energy that each tyre dissipates in each arc of a run, J: minus its work, minus the increase
    of its stored energy without that by changes of the load at constant deflections.
    """
    data, first, out = run.to_xarray(), 0, []
    for arc in run.arcs:
        span = slice(first, first + len(arc.t))
        first = span.stop
        here = data.isel(time=span)
        for wheel in tyres if len(arc.t) > 3 else ():
            work = simpson(here.tyre_power.sel(tyre=wheel.name).values, x=here.time.values)
            stored = here.tyre_energy.sel(tyre=wheel.name).values
            loads = here.contact_force.sel(contact=wheel.name, direction="normal").values
            names = [f"{wheel.name}.{k}" for k in range(wheel.tyre.states)]
            z = here.element_state.sel(memory=names).values

            def energy(k, j, wheel=wheel, loads=loads, z=z):
                """Return the energy at deflections k and load j."""
                return wheel.tyre.stored_energy(read(load=loads[j]), z[k]) if loads[j] > 0 else 0.0

            given = 0.0
            if stored.any():
                steps = range(len(loads) - 1)
                pairs = [(energy(i, k + 1) - energy(i, k)) / 2 for k in steps for i in (k, k + 1)]
                given = sum(pairs)
            out.append(given - work - (stored[-1] - stored[0]))
    return np.array(out)


@pytest.mark.parametrize(
    ("name", "seed"),
    [("motorcycle", 2), ("load_tyre/city_bicycle", 1), ("magic_formula/schwalbe_t03_300kpa", 1)],
)
def test_on_a_mesh_tyres_dissipate_energy_in_each_arc(name, seed):
    """Over triangles, edges, lift-offs and touch-downs, including the energy stored in deflections."""
    if name == "motorcycle":
        system = draisine.compile("motorcycle")
    else:
        tyre = shipped(name)
        system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, crown=0.02)
    start = draisine.state(system, forward_speed=5.0, lean=0.05, lean_rate=0.2)
    fine = Numerics(dt=2.5e-4)
    run = draisine.simulate(system, start, 0.5, terrain=rough_ground(seed), numerics=fine)
    found = losses(run, system.model.wheels)
    assert len(run.events) > 5
    assert len(found) > 10
    assert found.min() > -1e-5
    assert found.max() > 0.1
