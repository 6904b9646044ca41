"""Runs with persistent contacts: accuracy, drift, inputs that jump, laws, and runs that must stop."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.scalar import cos, sin, where
from draisine.codegen.cache import Store
from draisine.errors import (
    ConfigurationError,
    ParameterError,
    SimulationError,
    SingularityError,
    ValidityError,
    ValidityWarning,
)
from draisine.model import Body, Model, Pin, Prismatic, Revolute, Wheel, inertia
from draisine.simulation.bilateral.run import BilateralRun
from draisine.simulation.many import simulate_many
from draisine.simulation.options import CONTACT, Task
from draisine.terrain import plane

# Passive stabilisation of the benchmark bicycle after 5 s; independent computation, quadruple
# precision. Lean and yaw, joints, lean rate about the frame's axis, joint rates, energy.
END = {
    "lean": 0.010342440644693847,
    "yaw": -0.216075181614352,
    "steer": -0.00818567097025948,
    "rear_wheel": 77.148736683987,
    "front_wheel": 66.2178072933779,
    "Wx": 0.03992682038063508,
    "steer_rate": -0.061407350782422945,
    "rear_wheel_rate": 15.408451868030435,
    "front_wheel_rate": 13.207819546904789,
    "energy": 1837.0311763095237,
}

# Net vertical speed of the front contact in micrometres per second over 5 s, per step in seconds: table 2.2
# of Mauny's thesis (2018), which are the values of the AB4 predictor alone.
TABLE_2_2 = {0.01: 0.0655, 0.005: 0.0030815, 0.0025: 0.00015257, 0.001: 3.21e-6, 0.0005: 1.8434e-7}


def seen(run):
    data = run.to_xarray()
    last = data.isel(time=-1)
    out = {name: float(last[name]) for name in ("lean", "yaw", "energy")}
    out |= {name: float(last["shape"].sel(joint=name)) for name in last.joint.values}
    return out | {name: float(last.speeds.sel(speed=name)) for name in last.speed.values}


def worst(run):
    found = seen(run)
    return max(abs(found[name] - value) / max(1.0, abs(value)) for name, value in END.items())


class TestAccuracy:
    def test_adaptive_method_meets_the_independent_reference(self, bicycle, thrown):
        run = draisine.simulate(
            bicycle, thrown, 5.0, numerics=draisine.Numerics(dt=0.05, rtol=1e-13, atol=1e-14)
        )
        assert worst(run) < 1e-12

    def test_coarse_tolerance_takes_few_steps_and_keeps_its_promise(self, bicycle, thrown):
        run = draisine.simulate(
            bicycle, thrown, 5.0, numerics=draisine.Numerics(dt=0.5, rtol=1e-6, atol=1e-6)
        )
        assert worst(run) < 1e-4

    @pytest.mark.parametrize(
        ("integrator", "order"), [("rk4", 4), ("ab4", 4), ("abm4", 4), ("abm5", 5)]
    )
    def test_fixed_step_methods_have_their_order(self, bicycle, thrown, integrator, order):
        errors = [
            worst(
                draisine.simulate(
                    bicycle, thrown, 5.0, numerics=draisine.Numerics(dt=h, integrator=integrator)
                )
            )
            for h in (0.01, 0.005)
        ]
        assert errors[1] < 5e-6
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.5)

    def test_energy_is_conserved_over_twenty_seconds(self, bicycle, thrown):
        run = draisine.simulate(
            bicycle, thrown, 20.0, numerics=draisine.Numerics(dt=0.1, rtol=1e-13, atol=1e-14)
        )
        energy = run.to_xarray().energy.values
        assert np.ptp(energy) / energy[0] < 1e-12


class TestDrift:
    @pytest.mark.parametrize("step", TABLE_2_2)
    def test_table_2_2_within_a_factor_two_by_the_predictor_alone(self, bicycle, thrown, step):
        speeds = {}
        for integrator in ("ab4", "abm4"):
            run = draisine.simulate(
                bicycle,
                thrown,
                5.0,
                numerics=draisine.Numerics(dt=step, integrator=integrator, drift="none"),
            )
            gap = run.to_xarray().gap.sel(contact="front").values
            speeds[integrator] = abs(gap[-1] - gap[0]) / 5.0 * 1e6
        assert 0.5 < speeds["ab4"] / TABLE_2_2[step] < 2.0
        assert 10 < speeds["ab4"] / speeds["abm4"] < 24

    @pytest.mark.parametrize("step", [0.001, 0.005, 0.02])
    def test_projection_keeps_contacts_closed_at_any_step(self, bicycle, thrown, step):
        run = draisine.simulate(
            bicycle, thrown, 5.0, numerics=draisine.Numerics(dt=step, integrator="rk4")
        )
        assert np.abs(run.to_xarray().gap.values).max() < 1e-14

    def test_stiff_correction_closes_contacts_without_changing_the_motion(self, bicycle, thrown):
        runs = [
            draisine.simulate(
                bicycle,
                thrown,
                5.0,
                numerics=draisine.Numerics(dt=0.001, integrator="abm4", drift=drift),
            )
            for drift in (0.01, "project")
        ]
        corrected, projected = (run.to_xarray() for run in runs)
        assert np.abs(corrected.gap.values).max() < 1e-11
        for name in ("Wx", "steer_rate"):
            a, b = (run.speeds.sel(speed=name).values for run in (corrected, projected))
            assert_allclose(a, b, rtol=0.0, atol=1e-10)

    def test_stiff_correction_has_a_stability_limit(self, bicycle, thrown):
        """Beyond it the contacts are thrown about until the machine turns over."""
        unstable = draisine.Numerics(dt=0.005, integrator="rk4", drift=0.01)
        with pytest.warns(ValidityWarning, match="the constraints drift"):
            run = draisine.simulate(bicycle, thrown, 5.0, numerics=unstable)
        assert 1 < len(run.t) < 20
        assert run.validity.constraint_drift_from < run.validity.fall_from
        with pytest.raises(ValidityError, match="the constraints drift"):
            draisine.simulate(bicycle, thrown, 5.0, numerics=unstable, strict=True)

    def test_stiff_correction_pulls_each_prescribed_joint_back_by_itself(self):
        """The error of a joint decays with exp(-t / epsilon), and no other joint answers."""
        trikke, epsilon = draisine.compile("trikke"), 0.01
        start = draisine.state(trikke, Vx=0.0)
        joints = {joint.name: joint for joint in trikke.model.joints}
        r = start.r.copy()
        r[list(joints).index("rider")] += 1e-3
        numerics = draisine.Numerics(dt=1e-4, integrator="rk4", drift=epsilon)
        end = draisine.simulate(trikke, replace(start, r=r), 0.02, numerics=numerics).to_xarray()
        for name, joint in joints.items():
            error = end[name].values - [float(joint.motion(t)[0]) for t in end["time"].values]
            expected = 1e-3 * np.exp(-end["time"].values / epsilon) if name == "rider" else 0.0
            assert_allclose(error, expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("vehicle", ["trikke", "rocr"])
    def test_stiff_correction_follows_prescribed_motions(self, vehicle):
        machine = draisine.compile(vehicle)
        start = draisine.state(machine, **({"Vx": 0.0} if vehicle == "trikke" else {}))
        ends = [
            draisine.simulate(
                machine,
                start,
                0.5,
                numerics=draisine.Numerics(dt=0.001, integrator="rk4", drift=drift),
            ).final()
            for drift in (0.01, "project")
        ]
        assert_allclose(ends[0].v, ends[1].v, rtol=0, atol=1e-6)
        assert_allclose(ends[0].p, ends[1].p, rtol=0, atol=1e-6)

    def test_constraints_that_drift_apart_do_not_blame_the_start(self):
        trikke = draisine.compile("trikke")
        start, numerics = draisine.state(trikke, Vx=0.0), draisine.Numerics(drift=0.01)
        task = Task(trikke, start, 1.0, None, None, None, CONTACT, numerics, None)
        run = BilateralRun(task)
        run.y[run.machine.layout.r] += [0.2, 0.0, 0.0, 0.0]  # the left foot turns alone
        with pytest.raises(SingularityError, match=r"drifted apart; take smaller steps, or drift"):
            run.change_pivots(0.1)


def slider(*, mass: float = 2.0, spring: float = 0.0) -> Model:
    """A body on a slide along x."""
    return Model(
        bodies=[Body("rail"), Body("block", mass)],
        joints=[Prismatic("slide", "rail", "block", (1.0, 0.0, 0.0), spring=spring)],
        base="fixed",
    )


class TestInputs:
    @pytest.mark.parametrize("integrator", ["rk4", "ab4", "abm4", "abm5", "dop853"])
    def test_a_force_that_jumps_at_a_breakpoint_is_exact(self, integrator):
        """A constant force from t = 0.37 on: x = f (t - 0.37)^2 / (2 m), exactly."""
        system = draisine.compile(slider)

        def law(readings, z):
            return {"slide": where(readings.t < 0.37, 0.0, 5.0)}, []

        start = draisine.state(system)
        run = draisine.simulate(
            system,
            start,
            1.0,
            law=law,
            numerics=draisine.Numerics(dt=0.05, integrator=integrator, breakpoints=[0.37]),
        ).to_xarray()
        t = run.time.values
        expected = np.where(t < 0.37, 0.0, 5.0 / 4.0 * (t - 0.37) ** 2)
        assert_allclose(run["shape"].sel(joint="slide"), expected, atol=1e-13)
        assert 0.37 in t

    def test_constant_inputs_do_work(self):
        system = draisine.compile(slider, spring=3.0)
        run = draisine.simulate(
            system, draisine.state(system), 2.0, inputs={"slide": 1.5}
        ).to_xarray()
        w = np.sqrt(3.0 / 2.0)
        expected = 0.5 * (1 - np.cos(w * run.time.values))
        assert_allclose(run["shape"].sel(joint="slide"), expected, atol=1e-10)

    def test_unknown_input_is_named(self, bicycle, thrown):
        with pytest.raises(ParameterError, match="Did you mean 'steer'"):
            draisine.simulate(bicycle, thrown, 1.0, inputs={"ster": 1.0})


class Damped:
    """A law with a state of its own, in scalars of any algebra."""

    states = 1

    def __call__(self, readings, z):
        torque = -0.1 * sin(readings.rate("steer")) + z[0]
        return {"steer": torque}, [readings.joint("steer") - z[0]]


class DampedInPython(Damped):
    """The same, by something that only floats can do."""

    def __call__(self, readings, z):
        torque = -0.1 * np.sin(float(readings.rate("steer"))) + z[0]
        return {"steer": torque}, [readings.joint("steer") - z[0]]


class TestLaws:
    def test_a_law_in_plain_python_gives_the_same_motion_and_says_it_is_slow(self, bicycle, thrown):
        options = {"numerics": draisine.Numerics(dt=0.01, integrator="rk4")}
        compiled = draisine.simulate(bicycle, thrown, 0.2, law=Damped(), **options).to_xarray()
        with pytest.warns(UserWarning, match="runs in Python"):
            run = draisine.simulate(bicycle, thrown, 0.2, law=DampedInPython(), **options)
        slow = run.to_xarray()
        for name in ("speeds", "inputs", "control_state"):
            assert_allclose(slow[name], compiled[name], atol=1e-14)
        assert np.abs(compiled.control_state.values).max() > 0

    @pytest.mark.parametrize("ground", [None, plane()])
    def test_a_law_that_switches_without_end_is_given_up(self, ground):
        """Above 0.4 m/s it brakes, below it drives: on the switch there is no step that is small enough."""
        segway = draisine.compile("segway")
        start = draisine.state(segway, forward_speed=0.5)

        def law(readings, z):
            torque = where(readings.output("forward_speed") > 0.4, -5.0, 5.0)
            return {"left": torque, "right": torque}, ()

        strict = {} if ground is None else {"contact": draisine.ContactOptions(solver="events")}
        with pytest.raises(SimulationError, match="A law that switches to and fro") as told:
            draisine.simulate(segway, start, 1.0, law=law, terrain=ground, **strict)
        seen = told.value.partial.to_xarray().isel(time=[1, 2])
        slope = float(seen.forward_speed.diff("time")[0]) / 0.01
        switch = 0.02 + (0.4 - float(seen.forward_speed[1])) / slope
        at = float(re.search(r"(?:after|at) (\S+) s", str(told.value))[1])
        assert at == pytest.approx(switch, abs=1e-4)

    @pytest.mark.parametrize("integrator", ["rk4", "abm4", "dop853"])
    @pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
    def test_an_error_inside_a_law_comes_out_with_the_run_so_far(
        self, bicycle, thrown, integrator, kind
    ):
        def law(readings, z):
            if float(readings.t) >= 0.05:
                raise kind("out of battery")
            return {"steer": float(readings.t)}, []

        with (
            pytest.warns(UserWarning, match="runs in Python"),
            pytest.raises(SimulationError, match=r"out of battery|interrupted after") as stopped,
        ):
            draisine.simulate(
                bicycle,
                thrown,
                0.2,
                law=law,
                numerics=draisine.Numerics(dt=0.01, integrator=integrator),
            )
        assert isinstance(stopped.value.__cause__, kind)
        data = stopped.value.partial.to_xarray()
        assert 0.03 < data.time[-1] < 0.0501
        assert np.isfinite(data.speeds).all()
        torque = data.inputs.sel(input="steer")
        assert_allclose(torque[:4], data.time[:4], atol=1e-15)

    def test_a_law_for_an_unknown_input_is_named(self, bicycle, thrown):
        with pytest.raises(ValueError, match="Did you mean 'steer'"):
            draisine.simulate(bicycle, thrown, 0.2, law=lambda readings, z: ({"ster": 1.0}, []))


class TestHardConfigurations:
    def test_pivots_are_chosen_anew_on_the_way(self, bicycle):
        """The handlebar is turned right round: the pivots of the drawing vanish on the way."""
        start = draisine.state(bicycle, forward_speed=0.5, steer=1.2, lean=0.1)
        run = draisine.simulate(
            bicycle,
            start,
            1.2,
            inputs={"steer": 3.0},
            numerics=draisine.Numerics(rtol=1e-12),
            contact=draisine.ContactOptions(fall=np.inf),
        )
        data = run.to_xarray()
        steer = data["shape"].sel(joint="steer").values
        assert len(run.arcs) > 1
        assert steer.max() > 3.5
        work = 3.0 * (steer - steer[0])
        assert_allclose(data.energy - data.energy[0], work, atol=1e-9 * float(data.energy[0]))

    def test_the_orthogonal_kernel_takes_over_where_pivots_fail(self, bicycle):
        machine = bicycle.machine()

        def pivot(steer):
            state = draisine.state(bicycle, forward_speed=1.0, steer=steer, lean=0.2)
            return machine.least_pivot(machine.enter(state)), state

        steers = np.linspace(1.55, 1.75, 201)
        least = min((pivot(float(x)) for x in steers), key=lambda found: found[0])
        assert least[0] < 1e-3
        by_rows = bicycle.accelerate(least[1])
        taken = bicycle.accelerate(least[1], formulation="projected")
        for a, b in zip(by_rows, taken, strict=True):
            assert_allclose(a, b, atol=1e-10 * np.abs(b).max())

    @pytest.mark.parametrize(
        "asked",
        [
            {},
            {"forward_speed": 0.0, "lean": 0.05},
            {"forward_speed": -3.0, "lean_rate": 0.1},
            {"forward_speed": 2.0, "steer": np.radians(60)},
            {"forward_speed": 2.0, "lean": np.radians(60)},
            {"forward_speed": 2.0, "steer": np.pi},
        ],
    )
    def test_ordinary_points_run_and_conserve_energy(self, bicycle, asked):
        run = draisine.simulate(
            bicycle,
            draisine.state(bicycle, **asked),
            0.3,
            numerics=draisine.Numerics(dt=0.05, rtol=1e-12, atol=1e-13),
        )
        data = run.to_xarray()
        assert np.ptp(data.energy.values) < 1e-10 * data.energy.values[0]
        assert all(np.isfinite(data[name].values).all() for name in ("speeds", "accelerations"))

    def test_a_disc_that_falls_flat_stops_with_a_typed_error_and_its_story(self):
        disc = draisine.compile("rolling_disc")
        start = draisine.state(disc, lean=1.0)
        with pytest.raises(SimulationError, match="stopped after") as stopped:
            draisine.simulate(disc, start, 5.0, contact=draisine.ContactOptions(fall=np.inf))
        story = stopped.value.partial.to_xarray()
        assert float(story.lean[-1]) == pytest.approx(np.pi / 2, abs=0.1)
        assert np.ptp(story.energy.values) < 1e-6 * story.energy.values[0]


class TestArguments:
    def test_inconsistent_speeds_are_refused_by_name(self, bicycle, thrown):
        wrong = draisine.State(thrown.q, thrown.p, thrown.r, thrown.v + np.eye(9)[1])
        with pytest.raises(ConfigurationError, match="rear"):
            draisine.simulate(bicycle, wrong, 1.0)


class TestMany:
    def test_lanes_give_the_same_numbers_as_single_runs(self, bicycle, thrown):
        masses = [80.0, 85.0, 90.0]
        end = simulate_many(
            bicycle,
            [thrown] * 3,
            0.5,
            parameters={"mB": masses},
            numerics=draisine.Numerics(integrator="rk4", dt=0.005, threads=2),
        )
        for k, mass in enumerate(masses):
            one = bicycle.with_parameters(mB=mass)
            final = draisine.simulate(
                one, thrown, 0.5, numerics=draisine.Numerics(dt=0.005, integrator="rk4")
            ).final()
            assert np.array_equal(end["v"][:, k], final.v)
            assert np.array_equal(end["p"][:, k], final.p)

    def test_wrong_sizes_and_names_are_refused(self, bicycle, thrown):
        with pytest.raises(ParameterError, match="2 values for 3"):
            simulate_many(bicycle, [thrown] * 3, 0.5, parameters={"mB": [1.0, 2.0]})
        with pytest.raises(ParameterError, match="Did you mean"):
            simulate_many(bicycle, [thrown], 0.5, parameters={"mBB": [1.0]})
        with pytest.raises(ParameterError, match="list of states is empty"):
            simulate_many(bicycle, [], 0.5)


class TestSystem:
    def test_a_system_survives_pickling(self, bicycle, thrown):
        bicycle.machine().rate  # noqa: B018 - something that cannot be pickled is there
        copy = pickle.loads(pickle.dumps(bicycle))
        a, b = (system.accelerate(thrown)[0] for system in (bicycle, copy))
        assert np.array_equal(a, b)

    def test_parameters_are_checked(self, bicycle):
        with pytest.raises(ParameterError, match=r"Did you mean mB \(frame with rider, mass\)\?"):
            bicycle.with_parameters(mb=3.0)
        with pytest.raises(ParameterError, match="not a number"):
            bicycle.with_parameters(mB="heavy")
        with pytest.raises(ParameterError, match="not finite"):
            bicycle.with_parameters(mB=float("nan"))
        with pytest.raises(ValueError, match="negative"):
            bicycle.with_parameters(mB=-1.0)

    def test_a_changed_parameter_needs_no_new_program(self, bicycle):
        heavier = bicycle.with_parameters(mB=100.0)
        assert heavier.machine().programs is bicycle.machine().programs


def pinned(*, mass: float = 1.0) -> Model:
    """A heavy body that hangs on a pin."""
    return Model(
        bodies=[Body("bob", mass, (0.0, 0.0, -0.5), inertia(0.1, 0.1, 0.01))],
        contacts=[Pin("hook", "bob", (0.0, 0.0, 0.0))],
    )


def carried(*, mass: float = 1.0) -> Model:
    """The same on a belt that runs at 0.5 m/s."""
    return replace(pinned(mass=mass), ground=lambda t: ((0.5, 0.0, 0.0), (0.0, 0.0, 0.0)))


class TestStored:
    def test_programs_from_the_store_and_new_ones_fit_together(self, tmp_path):
        """A pin's anchor must stand where every program looks for it, whichever were kept."""
        store = Store(tmp_path)
        draisine.compile(pinned, store=store).machine().rate  # noqa: B018
        system = draisine.compile(pinned, store=store)
        start = draisine.state(system, x=1.0, y=2.0, z=3.0, lean=0.3)
        run = draisine.simulate(system, start, 0.5).to_xarray()
        assert_allclose(run.position, np.broadcast_to([1.0, 2.0, 3.0], (51, 3)), atol=1e-12)

    def test_a_law_that_branches_on_what_it_sees_runs_in_python(self, bicycle, thrown):
        def law(readings, z):
            return {"steer": 0.2 if readings.lean > 0.01 else 0.0}, []

        with pytest.warns(UserWarning, match="has no truth value"):
            run = draisine.simulate(
                bicycle, thrown, 0.1, law=law, numerics=draisine.Numerics(dt=0.01, integrator="rk4")
            )
        torque = run.to_xarray().inputs.sel(input="steer").values
        assert torque[0] == 0.0
        assert torque[-1] == 0.2

    def test_a_pin_in_moving_ground_goes_with_it(self):
        system = draisine.compile(carried)
        run = draisine.simulate(system, draisine.state(system, x=1.0), 2.0).to_xarray()
        assert_allclose(run.position.sel(axis="x"), 1.0 + 0.5 * run.time, atol=1e-9)

    def test_a_wheel_that_lies_flat_is_no_state(self, bicycle):
        with pytest.raises(ConfigurationError, match="'rear' would lie flat"):
            draisine.state(bicycle, lean=np.pi / 2 - 1e-5)
        with pytest.raises(ConfigurationError, match=r"20 rad lies flat.*written '20deg'"):
            draisine.state(bicycle, lean=20, forward_speed=5.0)


def tilted(*, tilt: float = 0.3) -> Model:
    """A hull with a wheel on an arm whose hinge may become parallel to the axle."""
    hub, left = (0.5, 0.0, 0.2), (0.0, 1.0, 0.0)
    hinge = (sin(tilt), cos(tilt), 0.0)
    return Model(
        bodies=[
            Body("hull", 4.0, (0.0, 0.0, 0.5), inertia(0.3, 0.4, 0.5)),
            Body("arm", 1.0, (0.3, 0.0, 0.4), inertia(0.02, 0.03, 0.04)),
            Body("wheel", 1.0, hub, inertia(0.01, 0.02, 0.01)),
        ],
        joints=[
            Revolute("arm", "hull", "arm", hinge, (0.1, 0.0, 0.4)),
            Revolute("wheel", "arm", "wheel", left, hub),
        ],
        contacts=[Wheel("ground", "wheel", hub, left, 0.2)],
    )


@pytest.mark.parametrize("tilt", [0.0, 1e-9, np.pi / 2, -0.3])
def test_parameters_may_align_what_was_oblique(tilt):
    """Frames are chosen where a machine is compiled; where they fail they are chosen anew."""
    system = draisine.compile(tilted).with_parameters(tilt=tilt)
    afresh = draisine.compile(tilted, tilt=tilt)
    state = draisine.state(system, arm_rate=0.4, wheel_rate=3.0, Wz=0.2)
    for formulation in ("multiplier", "projected"):
        a, b = (s.accelerate(state, formulation=formulation)[0] for s in (system, afresh))
        assert_allclose(a, b, atol=1e-9 * np.abs(b).max())


def test_another_formulation_can_be_interrupted_and_keeps_what_it_has(bicycle, thrown, monkeypatch):
    accelerate, calls = type(bicycle).accelerate, []

    def impatient(*given, **more):
        calls.append(more["t"])
        if more["t"] > 0.05:
            raise KeyboardInterrupt
        return accelerate(*given, **more)

    monkeypatch.setattr(type(bicycle), "accelerate", impatient)
    with pytest.raises(SimulationError, match="interrupted after") as stopped:
        draisine.simulate(
            bicycle,
            thrown,
            0.2,
            numerics=draisine.Numerics(formulation="multiplier", dt=0.01, integrator="rk4"),
        )
    run = stopped.value.partial
    assert run.outcome == "interrupted"
    assert 0.03 < run.arcs[0].t[-1] < 0.06
    assert len(calls) < 40


@pytest.mark.parametrize("integrator", ["rk4", "ab4", "abm4", "abm5", "dop853"])
def test_no_sample_is_lost_or_doubled_where_pivots_change(bicycle, integrator):
    """Runs that end with the step in which others take over, and runs that begin with it."""
    numerics = draisine.Numerics(dt=0.005, integrator=integrator)
    start = draisine.state(bicycle, forward_speed=3.04, lean_rate=0.4)
    whole = draisine.simulate(bicycle, start, 1.64, numerics=numerics)
    assert len(whole.arcs) > 1
    change = float(whole.arcs[0].t[-1])
    for until in (change, change + 0.002, change + 0.005):
        run = draisine.simulate(bicycle, start, until, numerics=numerics)
        assert run.t[0] == 0.0
        assert run.t[-1] == pytest.approx(until, abs=1e-12)
        assert np.diff(run.t).min() > 1e-4
        assert_allclose(run.t[: len(whole.arcs[0].t) - 1], whole.arcs[0].t[:-1], rtol=0.01)
        further = draisine.simulate(bicycle, run.final(), 0.01, numerics=numerics)
        assert further.t[0] == 0.0
        assert np.diff(further.t).min() > 1e-4
        ours, theirs = (r.to_xarray().lean.values for r in (run, further))
        assert theirs[0] == pytest.approx(ours[-1], abs=1e-12)
