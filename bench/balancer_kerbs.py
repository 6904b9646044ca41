"""The balancer of the tutorial on kerbs, beside MuJoCo: `python bench/robots.py balancer`.

The robot of `docs/tutorial/balancer.xml` drives onto a kerb under the state feedback of
`draisine.analysis.lqr.balance`, which may request more torque than its motors supply. Both programs use the
same gains, the friction coefficient `MU` and the limits of the file. MuJoCo takes steps of 0.5 ms with
`implicitfast`, an elliptic friction cone and impratio 100. Its wheels touch by massless ellipsoids with the
radius of the wheels, its kerb is a box, and its contacts have two time constants: 20 ms (the default) and
5 ms. The table lists whether the robot is on the kerb at the end, the largest torque at a wheel, the largest
pitch angle, and the CPU time per simulated second.
"""

import sys
import time
from functools import partial
from pathlib import Path

import mujoco
import numpy as np

import draisine
from draisine import ContactOptions, simulate, state
from draisine.analysis.lqr import balance
from draisine.errors import DraisineError
from draisine.interop.robots.mjcf import read_mjcf
from draisine.terrain import kerb

FOLDER = Path(__file__).parent.parent / "docs" / "tutorial"
MU = 0.8
AT = 1.0  # m, the edge of the kerb
UNTIL = 4.0  # s
STEP = 5e-4  # s
SPEEDS = (0.5, 1.0)  # m/s
RISES = (0.005, 0.01, 0.02)  # m
AXLES = ("left_axle", "right_axle")
FALLEN = 1.2  # rad


def robot(limited):
    """Return the balancer with or without the limits of its motors."""
    sys.path.insert(0, str(FOLDER))
    from balancer import HELD, WHEELS  # the file of the tutorial

    free = {} if limited else {axle: {"motor": None} for axle in AXLES}
    return draisine.compile(read_mjcf(FOLDER / "balancer.xml", WHEELS, HELD | free))


def feedback(speed):
    """Return the state feedback at a speed (m/s)."""
    return balance(robot(True), {"pitch": 100.0}, dict.fromkeys(AXLES, 10.0), forward_speed=speed)


def run_draisine(limited, law, speed, rise):
    """Return final place (m), largest torque (N m), largest pitch (rad), CPU s per s, and the outcome."""
    system = robot(limited)
    ground, contact = kerb(AT, rise), ContactOptions(mu=MU)
    begin = state(system, forward_speed=speed)
    simulate(system, begin, 0.1, terrain=ground, law=law, contact=contact)  # compiles
    began = time.process_time()
    run = simulate(system, begin, UNTIL, terrain=ground, law=law, contact=contact)
    cpu = (time.process_time() - began) / UNTIL
    data = run.to_xarray()
    torque = float(np.abs(data.inputs.sel(input=list(AXLES))).max())
    return data.position.values[-1], torque, float(np.abs(data.pitch).max()), cpu, run.outcome


def run_mujoco(law, speed, rise, time_constant):
    """Return the same for MuJoCo."""
    spec = mujoco.MjSpec.from_file(str(FOLDER / "balancer.xml"))
    half = 2.0
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[half, 5.0, 0.1], pos=[AT + half, 0.0, rise - 0.1]
    )
    for side in ("left", "right"):
        # A cylinder against a box has contact points that change sides; an ellipsoid has one.
        wheel = spec.body(f"{side}_wheel")
        wheel.geoms[0].contype = wheel.geoms[0].conaffinity = 0
        wheel.add_geom(type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, size=[0.08, 0.015, 0.08], mass=0.0)
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 100.0
    model = spec.compile()
    model.geom_friction[:, 0] = MU
    model.geom_friction[:, 1:] = 0.0
    model.geom_solref[:, 0] = time_constant
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    for axle in AXLES:
        data.qvel[model.joint(axle).dofadr] = speed / 0.08
    torso, largest, steepest = model.body("torso").id, 0.0, 0.0
    driven = model.actuator_trnid[:, 0]
    actuators = [int(np.flatnonzero(driven == model.joint(axle).id)[0]) for axle in AXLES]
    cpu = time.process_time()
    for _ in range(round(UNTIL / STEP)):
        R = data.xmat[torso].reshape(3, 3)
        pitch = float(np.arctan2(R[0, 2], R[2, 2]))
        seen = {"pitch": pitch, "pitch_rate": float(data.qvel[4])}
        seen |= {f"{a}_rate": float(data.qvel[model.joint(a).dofadr[0]]) for a in AXLES}
        x = np.array([seen[name] for name in law.states_read]) - law.about
        torques = [law.feedforward.get(a, 0.0) for a in law.inputs] - law.K @ x
        data.ctrl[actuators] = torques  # MuJoCo limits them to `ctrlrange`
        mujoco.mj_step(model, data)
        largest = max(largest, float(np.abs(data.actuator_force[actuators]).max()))
        steepest = max(steepest, abs(pitch))
    cpu = (time.process_time() - cpu) / UNTIL
    return data.qpos[:3] - [0.0, 0.0, 0.08], largest, steepest, cpu, ""


def compare_kerbs():
    """Print the table; return how many limited runs exceed their limits."""
    bad = 0
    print("speed  kerb   program                end     x (m)  torque (N m)  pitch (rad)  CPU s/s")
    for speed in SPEEDS:
        law = feedback(speed)
        for rise in RISES:
            programs = {
                "draisine": partial(run_draisine, True),
                "draisine, no limits": partial(run_draisine, False),
                "MuJoCo, 20 ms": partial(run_mujoco, time_constant=0.02),
                "MuJoCo, 5 ms": partial(run_mujoco, time_constant=0.005),
            }
            for name, run in programs.items():
                try:
                    place, torque, pitch, cpu, outcome = run(law=law, speed=speed, rise=rise)
                except DraisineError as error:
                    bad += 1
                    print(f"{speed:.1f}    {1e3 * rise:3.0f} mm  {name:20}  {error!s:.90}")
                    continue
                on = "fell" if pitch > FALLEN else ("on it" if place[0] > AT else "before")
                bad += name == "draisine" and torque > 5.0
                print(
                    f"{speed:.1f}    {1e3 * rise:3.0f} mm  {name:20}  {on:6} {place[0]:6.2f} {torque:12.2f}"
                    f" {pitch:12.3f} {cpu:10.4f}  {outcome if outcome != 'completed' else ''}",
                    flush=True,
                )
    return bad
