"""MuJoCo: wheels as thin ellipsoids with friction, soft contacts, in steps of 1 ms."""

import mujoco
import mujoco.rollout
import numpy as np

from beside._work import LEAN_RATE, SPEED, UNTIL

MODULE, NAME = "mujoco", "MuJoCo, implicitfast, 1 ms"
NOTE = (
    "compliant contacts and regularised friction, so a different model; ramp and landing are boxes"
)
STEP, SLOPE = 1e-3, np.radians(10.0)


def _numbers(*xs):
    return " ".join(f"{x:.17g}" for x in xs)


def _inertial(p, name, place, origin):
    """Return the inertia of a part; x forward, y left, z up."""
    zz, xz = p.get(f"I{name}zz", p[f"I{name}xx"]), -p.get(f"I{name}xz", 0.0)
    full = _numbers(p[f"I{name}xx"], p[f"I{name}yy"], zz, 0.0, xz, 0.0)
    at = _numbers(*np.subtract(place, origin))
    return f'<inertial mass="{p[f"m{name}"]:.17g}" pos="{at}" fullinertia="{full}"/>'


def _wheel(p, name, place, origin):
    r = p[f"r{name}"]
    return f"""<body name="{name}" pos="{_numbers(*np.subtract(place, origin))}">
      <joint name="spin{name}" type="hinge" axis="0 1 0"/>{_inertial(p, name, place, place)}
      <geom type="ellipsoid" size="{_numbers(r, 0.002, r)}"/></body>"""


def text(p, ground):
    """Return the bicycle on some ground, as MJCF."""
    rear, front = (0.0, 0.0, p["rR"]), (p["w"], 0.0, p["rF"])
    head = (p["w"] + p["c"], 0.0, 0.0)
    axis = (-np.sin(p["lam"]), 0.0, np.cos(p["lam"]))
    frame, fork = ((p[f"x{b}"], 0.0, -p[f"z{b}"]) for b in "BH")
    return f"""<mujoco><compiler angle="radian"/>
  <option timestep="{STEP}" gravity="0 0 {-p["g"]}" integrator="implicitfast" cone="elliptic" impratio="100"/>
  <default><geom friction="2 0 0" solref="0.004 1" contype="1" conaffinity="2"/></default>
  <worldbody>{ground}
    <body name="B"><freejoint/>{_inertial(p, "B", frame, (0.0, 0.0, 0.0))}
      {_wheel(p, "R", rear, (0.0, 0.0, 0.0))}
      <body name="H" pos="{_numbers(*head)}"><joint name="steer" type="hinge" axis="{_numbers(*axis)}"/>
        {_inertial(p, "H", fork, head)}{_wheel(p, "F", front, head)}</body>
    </body></worldbody></mujoco>"""


PLANE = '<geom type="plane" size="100 100 1" pos="0 0 {z}" contype="2" conaffinity="1"/>'
BOX = '<geom type="box" size="{size}" pos="{x}" euler="0 {turn} 0" contype="2" conaffinity="1"/>'


def start(model, p, place, pitch, speed, lean_rate):
    """Return the bicycle in motion, its rear contact at a place."""
    data = mujoco.MjData(model)
    data.qpos[:3] = place
    data.qpos[3:7] = [np.cos(pitch / 2), 0.0, np.sin(pitch / 2), 0.0]
    data.qvel[:3] = [speed * np.cos(pitch), 0.0, -speed * np.sin(pitch)]
    data.qvel[3] = lean_rate
    for name in "RF":
        data.joint(f"spin{name}").qvel = speed / p[f"r{name}"]
    return data


def prepare(work):
    """Return its jobs."""
    p = work.parameters
    model = mujoco.MjModel.from_xml_string(text(p, PLANE.format(z=0.0)))
    data = start(model, p, (0.0, 0.0, 0.0), 0.0, SPEED, LEAN_RATE)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    begin = np.zeros(size)
    mujoco.mj_getState(model, data, begin, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    steps, steer = round(UNTIL / STEP), 1 + model.joint("steer").qposadr[0]

    def roll(count):
        given = np.repeat(begin[None], count, axis=0)
        states, _ = mujoco.rollout.rollout(model, data, given, nstep=steps)
        return states[:, -1, steer]

    # The ramp of `mauny2018/ramp-jump`: it ends at the origin, 0.5 m above the landing. The landing begins
    # below the end of the ramp: an infinite plane would contain the start, which is 0.87 m below the end.
    lip = 5.0 * np.array([np.cos(SLOPE), 0.0, np.sin(SLOPE)])
    under = 0.25 * np.array([np.sin(SLOPE), 0.0, -np.cos(SLOPE)])
    ramp = BOX.format(size="5 2 0.25", x=_numbers(*(under - lip)), turn=-SLOPE)
    ground = ramp + BOX.format(size="20 2 0.25", x="20 0 -0.75", turn=0.0)
    high = mujoco.MjModel.from_xml_string(text(p, ground))

    def jump():
        body = start(high, p, -lip, -SLOPE, 10.0, 0.0)
        for _ in range(round(1.5 / STEP)):
            mujoco.mj_step(high, body)

    return {"run": lambda: roll(1)[0], "lanes": lambda: roll(work.many), "jump": jump}
