"""TurtleBot3 and linorobot on hills beside MuJoCo: `python bench/robots.py {mujoco,bifurcation,cost}`.

MuJoCo takes steps of 1 ms with `implicitfast`, an elliptic friction cone and impratio 100; all other options
are its defaults. Its wheels are ellipsoids whose curvatures at the contact are those of the tori. Both run
from rest over the same triangles: MuJoCo splits the cells of a height field as `height_field` does (checked
by rays). linorobot with two casters is also compared with stiffer contacts of MuJoCo, in shorter steps: rigid
wheels between the casters lose their load, which soft contacts hide. `cost` measures the CPU time of
`Stepper.step` and of `mj_step` for five robots, in turns.
"""

import time
from functools import partial

import mujoco
import numpy as np

from draisine import ContactOptions, Stepper, simulate, state
from draisine.terrain import height_field, plane
from robots import DRIVEN, TWO_WHEELED, WheelServos, hill_heights, system_of

MU = 0.8
START = 0.3  # m; the ground rises from 0.5 m on
UNTIL = 4.0  # s
STEP = 1e-3  # s
ALLOWED = 0.05  # m
SOFT = 0.02  # s; default time constant of MuJoCo's contacts
STIFFER = (0.01, 0.005, 0.0025)  # s


def write_model(name, x, y, z, gain, start, step):
    """Return the MJCF of a machine at x = start on a height field, for time steps (s)."""
    m = TWO_WHEELED[name]
    radius, half_track, (wheel_mass, wheel_moments) = m["radius"], m["half_track"], m["wheel"]
    half_width = np.sqrt(m["crown"] * radius)  # curvature 1 / crown across the tread
    lift = float(z.max())
    size = f"{(x[-1] - x[0]) / 2:.9g} {(y[-1] - y[0]) / 2:.9g} {max(lift, 1e-9):.9g} 1"
    at = f"{(x[-1] + x[0]) / 2:.9g} {(y[-1] + y[0]) / 2:.9g} 0"
    wheels = "".join(
        f"""<body name="{side}" pos="0 {sign * half_track} 0"><joint name="{side}" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="{wheel_mass}" diaginertia="{" ".join(map(str, wheel_moments))}"/>
        <geom type="ellipsoid" size="{radius} {half_width} {radius}" friction="{MU} 0 0"/></body>"""
        for side, sign in (("left", 1.0), ("right", -1.0))
    )
    casters = "".join(
        f'<geom type="sphere" size="{r}" pos="{place} 0 {r - radius}" condim="1" priority="1"/>'
        for place, r in m["casters"]
    )
    centre = m["centre"][0], m["centre"][1], m["centre"][2] - radius
    servos = "".join(f'<velocity joint="{side}" kv="{gain}"/>' for side in ("left", "right"))
    return f"""<mujoco><compiler angle="radian"/>
    <option timestep="{step}" integrator="implicitfast" cone="elliptic" impratio="100" gravity="0 0 -9.81"/>
    <asset><hfield name="hills" nrow="{len(y)}" ncol="{len(x)}" size="{size}"/></asset>
    <worldbody><geom type="hfield" hfield="hills" pos="{at}" friction="{MU} 0 0"/>
    <body name="base" pos="{start} 0 {radius}"><freejoint/>
    <inertial pos="{" ".join(map(str, centre))}" mass="{m["mass"]}"
     diaginertia="{" ".join(map(str, m["moments"]))}"/>{casters}{wheels}</body></worldbody>
    <actuator>{servos}</actuator></mujoco>"""


def run_mujoco(name, grid, rate, gain, time_constant=SOFT, yaw=0.0):
    """Return the place of the axle's middle at the end of a drive that starts with a yaw (rad), and CPU s
    per simulated s. Steps are in proportion to the time constant (s) of the contacts.
    """
    step = STEP * time_constant / SOFT
    model = mujoco.MjModel.from_xml_string(write_model(name, *grid, gain, START, step))
    model.geom_solref[:, 0] = time_constant
    model.hfield_data[:] = (
        grid[2] / grid[2].max()
    ).T.ravel()  # the rows of a file would be reversed
    data = mujoco.MjData(model)
    data.qpos[3:7] = np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)
    data.ctrl[:] = rate
    began = time.process_time()
    for _ in range(round(UNTIL / step)):
        mujoco.mj_step(model, data)
    return data.qpos[:2].copy(), (time.process_time() - began) / UNTIL


def run_draisine(name, grid, rate, gain, step=None, solver="auto", yaw=0.0):
    """Return the same of a drive with draisine."""
    system, law = system_of(name), WheelServos({"left": rate, "right": rate}, gain)
    contact = ContactOptions(mu=MU, step=step, solver=solver)
    ground, begin = height_field(*grid), state(system, x=START, yaw=yaw)
    simulate(system, begin, 0.1, terrain=ground, law=law, contact=contact)  # compiles
    began = time.process_time()
    run = simulate(system, begin, UNTIL, terrain=ground, law=law, contact=contact)
    return run.final().p[:2], (time.process_time() - began) / UNTIL


def compare():
    """Print distances between the ends of both; return how many exceed the bound."""
    bad = 0
    print("machine     hills  median    max   mm | CPU ms per s: draisine  MuJoCo")
    for name in TWO_WHEELED:
        radius, gain = TWO_WHEELED[name]["radius"], DRIVEN[name][6][1]
        for height in (0.005, 0.01):
            grids = [hill_heights(height, seed) for seed in range(10)]
            runs = [run_draisine(name, grid, 0.2 / radius, gain) for grid in grids]
            for time_constant in (SOFT, *(STIFFER if name == "linorobot" else ())):
                others = [
                    run_mujoco(name, grid, 0.2 / radius, gain, time_constant) for grid in grids
                ]
                pairs = zip(runs, others, strict=True)
                apart = np.array([np.linalg.norm(own[0] - other[0]) for own, other in pairs])
                bad += int(np.sum(apart > ALLOWED)) if time_constant == SOFT else 0
                costs = [np.median([cost for _, cost in side]) for side in (runs, others)]
                print(
                    f"{name:11} {height * 1e3:4.0f} {np.median(apart) * 1e3:8.2f} {apart.max() * 1e3:8.2f}"
                    f"    | {costs[0] * 1e3:20.1f} {costs[1] * 1e3:8.1f}  contacts {time_constant:g} s",
                    flush=True,
                )
    return bad


NEIGHBOURS = (0.0, -1e-9, 1e-9, -1e-6, 1e-6)
"""Initial yaw angles (rad) of neighbouring drives."""


def compare_neighbours(name="linorobot"):
    """Print how far the programs end apart, how far MuJoCo ends from itself with stiffer contacts, and how
    far neighbours end apart in each program.

    Return how many drives end further than `ALLOWED` from MuJoCo with soft and with stiff contacts, although
    neighbours end near each other.
    """
    radius, gain = TWO_WHEELED[name]["radius"], DRIVEN[name][6][1]
    rate = 0.2 / radius
    constants = (SOFT, *STIFFER[1:])
    print("mm between ends; MuJoCo with soft contacts (20 ms) and with stiff ones (2.5 ms)")
    print(
        "hills seed | draisine-soft soft-stiff draisine-stiff | neighbours: draisine, MuJoCo with",
        end="",
    )
    print(*(f" {1e3 * constant:g}" for constant in constants), "ms")
    unexplained = 0
    for height in (0.005, 0.01):
        determined = []
        for seed in range(10):
            grid = hill_heights(height, seed)
            own = [run_draisine(name, grid, rate, gain, yaw=yaw)[0] for yaw in NEIGHBOURS]
            others = [
                [run_mujoco(name, grid, rate, gain, constant, yaw)[0] for yaw in NEIGHBOURS]
                for constant in constants
            ]
            soft, stiff = others[0], others[-1]
            pairs = ((own, soft), (soft, stiff), (own, stiff))
            apart = [1e3 * float(np.linalg.norm(a[0] - b[0])) for a, b in pairs]
            spreads = [spread(ends) for ends in (own, *others)]
            if max(spreads) <= 1e3 * ALLOWED:
                determined.append(apart)
                unexplained += min(apart[0], apart[2]) > 1e3 * ALLOWED
            print(
                f"{height * 1e3:5.0f} {seed:4d} | {apart[0]:13.1f} {apart[1]:10.1f} {apart[2]:14.1f} | "
                + " ".join(f"{one:8.2f}" for one in spreads),
                flush=True,
            )
        columns = np.array(determined).T
        middle = " ".join(f"{np.median(column):.1f}, {column.max():.1f};" for column in columns)
        print(
            f"  the {len(determined)} whose neighbours end together, median and maximum: {middle}"
        )
    return unexplained


def spread(ends):
    """Return the largest distance between ends of drives, mm."""
    ends = np.array(ends)
    return 1e3 * float(np.linalg.norm(ends[:, None] - ends[None], axis=-1).max())


COST_START = 0.1  # m; the front wheels of all robots begin on level ground
COSTLY = ("turtlebot3", "linorobot", "linorobot-front", "jackal", "husky")
ROUNDS = 3
COUNT = 2000  # steps of a round


def model_text(name, grid):
    """Return the MJCF of a machine of `DRIVEN` with velocity servos on a height field or on a plane."""
    vehicle, structure, *_, gains = DRIVEN[name]
    machine = vehicle(**structure)
    base = machine.bodies[0]
    hubs = {wheel.body: wheel for wheel in machine.wheels if wheel.body != base.name}
    wheels, casters = [], []
    for body in machine.bodies[1:]:
        wheel = hubs[body.name]
        radius, crown = wheel.surface.radius, wheel.surface.crown
        size = (
            f"{radius} {np.sqrt(crown * radius)} {radius}"  # curvature 1 / crown across the tread
        )
        wheels.append(
            f'''<body name="{body.name}" pos="{_words(wheel.centre)}"><joint name="{body.name}"
            axis="0 1 0"/><inertial pos="0 0 0" mass="{body.mass}"
            diaginertia="{_words(np.diag(body.inertia))}"/>
            <geom type="ellipsoid" size="{size}" friction="{MU} 0 0"/></body>'''
        )
    for wheel in machine.wheels:
        if wheel.body == base.name:
            casters.append(
                f'<geom type="sphere" size="{wheel.surface.radius}" pos="{_words(wheel.centre)}" '
                'condim="1" priority="1"/>'
            )
    servos = "".join(f'<velocity joint="{body}" kv="{gains[1]}"/>' for body in hubs)
    asset, ground = "", f'<geom type="plane" size="9 9 1" friction="{MU} 0 0"/>'
    if grid is not None:
        x, y, z = grid
        size = f"{(x[-1] - x[0]) / 2:.9g} {(y[-1] - y[0]) / 2:.9g} {z.max():.9g} 1"
        asset = (
            f'<asset><hfield name="hills" nrow="{len(y)}" ncol="{len(x)}" size="{size}"/></asset>'
        )
        at = f"{(x[-1] + x[0]) / 2:.9g} {(y[-1] + y[0]) / 2:.9g} 0"
        ground = f'<geom type="hfield" hfield="hills" pos="{at}" friction="{MU} 0 0"/>'
    return f"""<mujoco><option timestep="{STEP}" integrator="implicitfast" cone="elliptic" impratio="100"
    gravity="0 0 -9.81"/>{asset}<worldbody>{ground}<body name="base" pos="{COST_START} 0 0"><freejoint/>
    <inertial pos="{_words(base.com)}" mass="{base.mass}" diaginertia="{_words(np.diag(base.inertia))}"/>
    {"".join(casters)}{"".join(wheels)}</body></worldbody><actuator>{servos}</actuator></mujoco>"""


def _words(numbers):
    """Return numbers as the value of an attribute."""
    return " ".join(f"{float(x):.12g}" for x in numbers)


def step_mujoco(name, grid, rate):
    """Return the CPU time per step (us) of `mj_step` in a drive, and the distance (m)."""
    model = mujoco.MjModel.from_xml_string(model_text(name, grid))
    if grid is not None:
        model.hfield_data[:] = (grid[2] / grid[2].max()).T.ravel()
    data = mujoco.MjData(model)
    data.ctrl[:] = rate
    return _time_steps(lambda: mujoco.mj_step(model, data)), data.qpos[0] - COST_START


def step_draisine(name, grid, rate, solver):
    """Return the same of `Stepper.step`."""
    system, gain = system_of(name), DRIVEN[name][6][1]
    law = WheelServos(dict.fromkeys((*DRIVEN[name][4], *DRIVEN[name][5]), rate), gain)
    ground = plane() if grid is None else height_field(*grid)
    contact = ContactOptions(mu=MU, solver=solver)
    ride = Stepper(system, state(system, x=COST_START), terrain=ground, law=law, contact=contact)
    return _time_steps(lambda: ride.step(STEP)), ride.values()["x"] - COST_START


def _time_steps(step):
    """Return the CPU time (us) of one of `COUNT` steps, after as many steps that are not measured."""
    for _ in range(COUNT // 4):
        step()
    began = time.process_time()
    for _ in range(COUNT):
        step()
    return (time.process_time() - began) / COUNT * 1e6


def compare_cost():
    """Print the CPU time per step of 1 ms of five robots, in turns; return 0."""
    print("us per step of 1 ms       level ground                    hills of 1 cm")
    print("robot             auto  stepping  mj_step  ratio     auto  stepping  mj_step  ratio")
    for name in COSTLY:
        cells = []
        for grid in (None, hill_heights(0.01, 3)):
            rate = 0.2 / DRIVEN[name][2]
            programs = {
                "auto": partial(step_draisine, name, grid, rate, "auto"),
                "stepping": partial(step_draisine, name, grid, rate, "time_stepping"),
                "mujoco": partial(step_mujoco, name, grid, rate),
            }
            costs = {program: [] for program in programs}
            for _ in range(ROUNDS):
                for program, run in programs.items():
                    costs[program].append(run()[0])
            auto, stepping, theirs = (float(np.median(costs[program])) for program in programs)
            cells.append(f"{auto:7.1f} {stepping:9.1f} {theirs:8.1f} {auto / theirs:6.2f}")
        print(f"{name:16} {'   '.join(cells)}", flush=True)
    return 0
