"""Processor time of runs with contacts: `python bench/contact_cost.py WHAT`, where WHAT is one of

runs       short runs: the ramp jump, the bicycle without guards, 4 to 12 wheels on a plane
engines    the same motion with ideal contacts, and with unilateral ones that stay closed
stepper    microseconds per step of 1 ms, with inputs that stay or change at every step
rough      the bicycle on ideal discs over rough ground, beside MuJoCo in steps of 1 ms, per simulated second
hour       TurtleBot3 drives circles on hills for an hour in a `Stepper`: cost per step in blocks of time
circle     the same with constant inputs on a plane, in both methods: cost per step, and memory

To compare two commits, run it in a worktree of each, in turns: the least of several runs is printed. The
exit code of `hour` and `circle` is 1 if the last block costs more than 1.5 times the first one, that of
`circle` also if the memory grows.
"""

import argparse
import math
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import draisine
from draisine import ContactOptions, Stepper, simulate, state
from draisine.algebra.lie import rotation
from draisine.experiment.run import run
from draisine.model import Body, Disc, Model, Revolute, Wheel, forward_speed, inertia
from draisine.scenario.library import load
from draisine.simulation.options import Numerics
from draisine.simulation.simulate import compute_run
from draisine.terrain import height_field, plane
from robots import WheelServos, hills, system_of

DT = 1e-3  # s, step of a stepper
GROWTH = 1.5  # of the cost of the first block of an hour
MEMORY_GROWTH = 2.0  # MB
SPEED, TURN = 0.2, 0.3  # m/s and rad/s of the circles
CENTRE = np.array([1.5, 0.0])  # m, of the circles, on the hills
RETURN = 2.0  # 1/m; relative change of the turn per offset of the circle's centre along the heading


def least(call, repeat=50):
    """Return the least processor time of a call, in ms."""
    return least_in_turns([call], repeat)[0]


def least_in_turns(calls, repeat):
    """Return the least processor time of each call, in ms; the calls alternate."""
    times = [[] for _ in calls]
    for turn in range(1 + repeat):
        for call, own in zip(calls, times, strict=True):
            began = time.process_time()
            call()
            if turn:  # the first one compiles
                own.append(time.process_time() - began)
    return [1e3 * min(own) for own in times]


def wagon(count):
    """Return a function that returns a base on so many wheels, in pairs 0.5 m apart."""

    def vehicle():
        axle, radius = (0.0, 1.0, 0.0), 0.2
        hubs = {f"wheel{k}": (0.5 * (k // 2), 0.4 * (-1.0) ** k, radius) for k in range(count)}
        middle = 0.25 * (count // 2 - 1)
        return Model(
            bodies=[
                Body("base", 100.0, (middle, 0.0, 0.5), inertia(5.0, 8.0, 10.0)),
                *(Body(name, 3.0, hub, inertia(0.05, 0.1, 0.05)) for name, hub in hubs.items()),
            ],
            joints=[Revolute(name, "base", name, axle, hub) for name, hub in hubs.items()],
            contacts=[Wheel(name, name, hub, axle, Disc(radius)) for name, hub in hubs.items()],
            outputs=[forward_speed("base", (0.0, 0.0, radius), "velocity of the rear axle")],
        )

    return vehicle


def runs():
    """Print the processor time of short runs, in ms."""
    jump = load("mauny2018/ramp-jump")
    plan = jump.plan
    options = {"terrain": plan.terrain, "contact": plan.contact, "numerics": plan.numerics}
    arguments = (plan.system, plan.copy_state(), plan.scenario.run.until)
    print(f"ramp jump, simulate             {least(lambda: simulate(*arguments, **options)):8.3f}")
    print(f"ramp jump, run with dataset     {least(lambda: run(jump)):8.3f}")
    bicycle = draisine.compile("whipple")
    start = state(bicycle, forward_speed=4.6, lean_rate=0.5)
    print(f"bicycle 5 s, without validity   {least(lambda: compute_run(bicycle, start, 5.0)):8.3f}")
    print(f"bicycle 5 s, with validity      {least(lambda: simulate(bicycle, start, 5.0)):8.3f}")
    for count in (4, 8, 12):
        train = draisine.compile(wagon(count))
        begin, ground, friction = state(train, forward_speed=2.0), plane(), ContactOptions(mu=0.8)

        for name, method in (("", simulate), (", without validity", compute_run)):

            def roll(method=method, train=train, begin=begin, ground=ground, friction=friction):
                method(train, begin, 0.25, terrain=ground, contact=friction)

            print(f"{f'{count} wheels on a plane, 0.25 s{name}':46s}{least(roll):8.3f}")
    return 0


def engines():
    """Print the size of the equations and the processor time of 5 s, with ideal and with unilateral contacts
    that stay closed.

    The right-hand side of the unilateral engine is the closed form of its contact mode. The car has none: it
    has more wheels than closed forms are derived for.
    """
    starts = {
        "whipple": {"forward_speed": 4.6, "lean_rate": 0.5},
        "rolling_disc": {"forward_speed": 2.0, "lean": 0.1, "yaw_rate": 0.5},
        "car": {"forward_speed": 5.0, "steer": 0.1},
    }
    print(f"{'':14}{'states':>13}{'operations':>15}{'ms for 5 s':>17}")
    for name, values in starts.items():
        system = draisine.compile(name)
        start = state(system, **values)
        ideal = system.machine()
        run = compute_run(system, start, 5.0, terrain=plane())
        machine = run.arcs[0].machine
        forms = [form.program for form in machine._closed_forms.values() if form is not None]
        sizes = [str(len(form.steps)) for form in forms] or ["none"]
        cost = least_in_turns(
            [
                lambda: compute_run(system, start, 5.0),  # noqa: B023
                lambda: compute_run(system, start, 5.0, terrain=plane()),  # noqa: B023
            ],
            60,
        )
        print(
            f"{name:14}{ideal.layout.size:6} {machine.layout.size:6}"
            f"{len(ideal.programs['rate'].steps):8} {sizes[0]:>6}{cost[0]:10.3f} {cost[1]:6.3f}"
        )
    return 0


def pace(system, begin, ground, contact, inputs, changes, steps=2000):
    """Return the microseconds per step of a stepper whose inputs (by name, with an amplitude) change at
    every step, or stay.
    """
    numerics = Numerics(integrator="rk4" if ground is None else "dop853", dt=DT)
    ride = Stepper(system, begin, terrain=ground, contact=contact, numerics=numerics)
    spent = 0.0
    for k in range(steps + 200):
        wave = math.sin(0.01 * k) if changes else 0.0
        values = {name: wave * size for name, size in inputs.items()}
        began = time.process_time()
        ride.step(DT, values)
        spent += time.process_time() - began if k >= 200 else 0.0  # the first ones compile modes
    return 1e6 * spent / steps


def stepper():
    """Print the cost per step of steppers."""
    robot, bicycle = system_of("turtlebot3"), draisine.compile("whipple")
    torques, steer = {"left": 2e-3, "right": 1.8e-3}, {"steer": 0.05}
    stepping = {"mu": 0.8, "solver": "time_stepping"}
    field, riding = hills(0.01, 0), state(bicycle, forward_speed=5.0)
    cases = {
        "TurtleBot3, plane": (robot, state(robot), plane(), {"mu": 0.8}, torques),
        "TurtleBot3, hills": (robot, state(robot, x=0.3), field, {"mu": 0.8}, torques),
        "TurtleBot3, plane, time steps": (robot, state(robot), plane(), stepping, torques),
        "TurtleBot3, hills, time steps": (robot, state(robot, x=0.3), field, stepping, torques),
        "bicycle, plane": (bicycle, riding, plane(), {}, steer),
        "bicycle without terrain": (bicycle, riding, None, {}, steer),
    }
    print(f"{'us per step of 1 ms, inputs':32} {'change':>8} {'stay':>8}")
    for name, (system, begin, ground, options, inputs) in cases.items():
        contact = ContactOptions(**options)
        found = [pace(system, begin, ground, contact, inputs, changes) for changes in (True, False)]
        print(f"{name:32} {found[0]:8.1f} {found[1]:8.1f}", flush=True)
    return 0


def rough(seeds=(0, 1, 2, 3, 4, 5, 6, 7), heights=(0.005, 0.02, 0.05)):
    """Print the cost of the bicycle on ideal discs over random height fields, in ms per simulated second,
    beside MuJoCo on the same ground, as long as the bicycle rides: MuJoCo's wheels are thin ellipsoids with
    friction 2, its contacts soft. The ratios compare the run without its validity record, which MuJoCo does
    not make.
    """
    import mujoco
    import mujoco.rollout

    from beside import mujoco_rollout

    bicycle = draisine.compile("whipple")
    x, y = np.linspace(-2.0, 14.0, 33), np.linspace(-4.0, 4.0, 17)
    options = ContactOptions(fall=math.radians(60.0))
    heads = f"{'height (m)':12} {'seed':>4} {'lasts (s)':>10} {'events':>7}"
    print(f"{heads} {'valid':>8} {'run':>8} {'MuJoCo':>8} ratio")
    costs = []
    for height in heights:
        for seed in seeds:
            z = height * np.random.default_rng(seed).normal(size=(len(x), len(y)))
            z[x < 2.0] = 0.0
            ground = height_field(x, y, z)
            begin = state(bicycle, forward_speed=5.0, lean_rate=0.1)

            def ride(method=compute_run, ground=ground, begin=begin):
                return method(bicycle, begin, 1.0, terrain=ground, contact=options)

            def ride_with_validity(ride=ride):
                return ride(simulate)

            try:
                found = ride_with_validity()
            except draisine.errors.DraisineError as error:
                print(f"{height:<12g} {seed:4d} {type(error).__name__}")
                continue
            lasts = float(found.t[-1])
            low, high = float(z.min()), float(z.max())
            field = f'<geom type="hfield" hfield="g" pos="6 0 {low}" contype="2" conaffinity="1"/>'
            size = f'nrow="{len(y)}" ncol="{len(x)}" size="8 4 {high - low} 1"'
            asset = f'<asset><hfield name="g" {size}/></asset>'
            text = mujoco_rollout.text(bicycle.parameters, field)
            text = text.replace("<worldbody>", asset + "<worldbody>")
            model = mujoco.MjModel.from_xml_string(text)
            model.hfield_data[:] = ((z - low) / (high - low)).T.ravel()
            data = mujoco_rollout.start(model, bicycle.parameters, (0.0, 0.0, 0.0), 0.0, 5.0, 0.1)
            size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            full = np.zeros(size)
            mujoco.mj_getState(model, data, full, mujoco.mjtState.mjSTATE_FULLPHYSICS)

            def roll(model=model, data=data, full=full, steps=round(lasts / DT)):
                mujoco.rollout.rollout(model, data, full[None], nstep=steps)

            times = least_in_turns([ride_with_validity, ride, roll], 15)
            valid, ours, theirs = (one / lasts for one in times)
            costs.append((valid, ours, theirs))
            ride_data = f"{height:<12g} {seed:4d} {lasts:10.3f} {len(found.events):7d}"
            print(
                f"{ride_data} {valid:8.2f} {ours:8.2f} {theirs:8.2f} {ours / theirs:5.2f}",
                flush=True,
            )
    valid, ours, theirs = np.mean(costs, axis=0)
    print(
        f"means: {valid:.2f} with validity, {ours:.2f} without, MuJoCo {theirs:.2f} ms per simulated second, "
        f"ratios {valid / theirs:.2f} and {ours / theirs:.2f}"
    )
    return 0


def hour(until, blocks=12):
    """Print the cost per step of an hour of driving in blocks; return whether it grows.

    Every 0.1 s torques turn the robot so that the centre of its circle stays at CENTRE: it moves by
    (1 - turn / TURN) times the velocity, and the torques make that oppose its offset.
    """
    robot, radius, half_track, gain = system_of("turtlebot3"), 0.033, 0.08, 0.05
    rates = {
        side: (SPEED + sign * TURN * half_track) / radius
        for side, sign in (("left", -1.0), ("right", 1.0))
    }
    ride = Stepper(
        robot, state(robot, x=0.3), terrain=hills(0.005, 0), law=WheelServos(rates, gain),
        contact=ContactOptions(mu=0.8), numerics=Numerics(dt=DT),
    )  # fmt: skip
    steps = round(until / DT / blocks / 100)
    costs = []
    for _ in range(blocks):
        began = time.process_time()
        for _ in range(steps):
            now = ride.state
            heading = rotation(now.q)[:2, 0]
            offset = now.p[:2] + SPEED / TURN * np.array([-heading[1], heading[0]]) - CENTRE
            torque = gain * TURN * RETURN * float(offset @ heading) * half_track / radius
            ride.hold({"left": -torque, "right": torque})
            for _ in range(100):
                ride.step(DT)
        costs.append(1e6 * (time.process_time() - began) / (100 * steps))
        place = np.round(ride.state.p[:2], 2)
        print(f"until {ride.time:6.0f} s: {costs[-1]:6.1f} us per step, at {place}", flush=True)
    return int(costs[-1] > GROWTH * costs[0])


def circle(until, blocks=60):
    """Print the cost per step and the memory of an hour of driving in a circle with constant inputs; return
    whether one of them grows.
    """
    robot, radius, half_track = system_of("turtlebot3"), 0.033, 0.08
    rates = {
        side: (SPEED + sign * TURN * half_track) / radius
        for side, sign in (("left", -1.0), ("right", 1.0))
    }
    grows = False
    for solver in ("auto", "time_stepping"):
        ride = Stepper(
            robot, state(robot, x=0.3), terrain=plane(), law=WheelServos(rates, 0.05),
            contact=ContactOptions(mu=0.8, solver=solver), numerics=Numerics(dt=DT),
        )  # fmt: skip
        steps = round(until / DT / blocks)
        costs, sizes = [], []
        for _ in range(blocks):
            began = time.process_time()
            for _ in range(steps):
                ride.step(DT)
            costs.append(1e6 * (time.process_time() - began) / steps)
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            sizes.append(pages * resource.getpagesize() / 1e6)
        print(
            f"{solver:13} first block {costs[0]:.2f} us per step, last {costs[-1]:.2f}; "
            f"memory {sizes[1]:.1f} and {sizes[-1]:.1f} MB",
            flush=True,
        )
        grows = grows or costs[-1] > GROWTH * costs[0] or sizes[-1] > sizes[1] + MEMORY_GROWTH
    return int(grows)


def main():
    """Run one of the benches; return its exit code."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("runs", "engines", "stepper", "rough", "hour", "circle"))
    parser.add_argument(
        "--until", type=float, default=3600.0, help="simulated time of `hour` and `circle`, s"
    )
    given = parser.parse_args()
    if given.what in ("hour", "circle"):
        return (hour if given.what == "hour" else circle)(given.until)
    benches = {"runs": runs, "engines": engines, "stepper": stepper, "rough": rough}
    return benches[given.what]()


if __name__ == "__main__":
    sys.exit(main())
