"""Elements of robot files that change the motion: one robot written in two ways, and beside MuJoCo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import FileWarning, ModelError
from draisine.interop.robots.guess import guess
from draisine.interop.robots.mjcf import parse_mjcf, read_mjcf
from draisine.interop.robots.urdf import parse_urdf, read_urdf

QUIET = pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")


def world(bodies, head=""):
    """Return an MJCF file."""
    return f"<mujoco>{head}<worldbody>{bodies}</worldbody></mujoco>"


def arm(content="", joint="", head=""):
    """Return an MJCF file of an arm with attributes of its joint and further elements."""
    shape = '<geom type="box" size=".1 .2 .3" pos="0 .1 .2"/>'
    return world(
        f'<body name="arm"><joint name="a" axis="0 1 0" {joint}/>{shape}{content}</body>', head
    )


TIP = """<body name="{}" pos="0 0 .5"><joint name="{}" axis="1 2 3"/>
  <geom size=".1 .2 .3" type="box" pos=".1 0 0"/></body>"""


def copies():
    """Return three turned tips; each offset (1, 0.2) is turned by the angle of the copy before."""
    half_root = np.sqrt(0.75)  # cosine of 30 degrees
    second = 1.0 + half_root - 0.5 * 0.2
    places = [(0.0, 0.0), (1.0, 0.2), (second, 0.2 + 0.5 + 0.2 * half_root)]
    return "".join(
        f'<frame pos="{x:.17g} {y:.17g} 0" euler="0 0 {30 * k}">{TIP.format(f"t-{k}", f"t-{k}")}</frame>'
        for k, (x, y) in enumerate(places)
    )


SAME_ROBOTS = {
    "a frame around geoms, joints and bodies": (
        world(
            """<body name="arm"><frame pos=".1 .2 .3" euler="0 90 0">
            <joint name="a" axis="0 1 0" pos=".1 0 0"/>
            <frame pos="0 0 .5"><geom type="box" size=".1 .2 .3"/></frame>
            <body name="t"><joint name="t" axis="1 2 3"/><geom type="box" size=".3 .2 .1"/></body>
            </frame></body>"""
        ),
        world(
            """<body name="arm"><joint name="a" axis="0 1 0" pos=".1 .2 .2"/>
            <geom type="box" size=".1 .2 .3" pos=".6 .2 .3" euler="0 90 0"/>
            <body name="t" pos=".1 .2 .3" euler="0 90 0"><joint name="t" axis="1 2 3"/>
            <geom type="box" size=".3 .2 .1"/></body></body>"""
        ),
    ),
    "a class of a frame": (
        world(
            '<body name="arm"><frame childclass="c"><joint name="a"/><geom/></frame></body>',
            """<default><default class="c"><joint axis="1 0 0" armature="2"/><geom size=".3"/>
            </default></default>""",
        ),
        world(
            '<body name="arm"><joint name="a" axis="1 0 0" armature="2"/><geom size=".3"/></body>'
        ),
    ),
    "groups of geoms that have mass": (
        arm('<geom size="1" group="3"/>', head='<compiler inertiagrouprange="0 2"/>'),
        arm(),
    ),
    "copies of a body": (
        arm(
            f"""<replicate count="3" offset="1 .2 0" euler="0 0 30" sep="-">{TIP.format("t", "t")}
            </replicate>"""
        ),
        arm(copies()),
    ),
    "gravity that is disabled": (
        arm(head='<option><flag gravity="disable"/></option>'),
        arm(head='<option gravity="0 0 0"/>'),
    ),
    "coefficients of higher order that are zero": (
        arm(joint='stiffness="2 0" damping="3 0 0"'),
        arm(joint='stiffness="2" damping="3"'),
    ),
}


def random_state(robot):
    """Return a random state of a robot on a fixed base."""
    generator = np.random.default_rng(3)
    state = draisine.state(robot, mode={})
    r = generator.normal(0.0, 0.5, len(state.r))
    v = generator.normal(0.0, 0.5, len(state.v))
    return type(state)(state.q, state.p, r, v, state.joints, state.speeds)


@pytest.mark.parametrize("title", SAME_ROBOTS)
def test_one_robot_is_written_in_two_ways(title):
    terms = []
    for text in SAME_ROBOTS[title]:
        robot = draisine.compile(read_mjcf(text, {}))
        terms.append((robot.dynamics(random_state(robot)), [j.name for j in robot.model.joints]))
    (first, names), (second, other_names) = terms
    assert names == other_names
    assert_allclose(first.M, second.M, rtol=1e-12, atol=1e-12 * np.abs(second.M).max())
    assert_allclose(first.F, second.F, rtol=1e-12, atol=1e-12 * np.abs(second.M).max())


@pytest.mark.parametrize("title", SAME_ROBOTS)
def test_accelerations_are_those_of_mujoco(title):
    """The first file of each pair, at a random state."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = SAME_ROBOTS[title][0]
    robot = draisine.compile(read_mjcf(text, {}))
    start = random_state(robot)
    theirs = mujoco.MjModel.from_xml_string(text)
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    places = [int(theirs.joint(joint.name).dofadr[0]) for joint in robot.model.joints]
    data.qpos[places] = start.r
    data.qvel[places] = start.v
    mujoco.mj_forward(theirs, data)
    rates, _ = robot.accelerate(start)
    assert_allclose(rates, data.qacc[places], rtol=1e-10, atol=1e-10 * np.abs(data.qacc).max())


def test_global_coordinates_are_refused():
    """Old files state all frames in the world; reading them as relative frames would be silently wrong."""
    with pytest.raises(ModelError, match="coordinate='global'"):
        parse_mjcf(arm(head='<compiler coordinate="global"/>'))


def test_names_that_results_cannot_contain_are_changed():
    text = """<mujoco><worldbody><body name="arm/left"><joint name="{}" axis="0 1 0"/><geom size=".1"/>
      <body name="b"><joint name="x_joint"/><geom size=".1"/></body></body></worldbody>
      <equality><joint joint1="{}" joint2="x_joint"/></equality>
      <actuator><motor joint="{}" ctrlrange="-2 2"/></actuator></mujoco>"""
    with pytest.warns(FileWarning, match="not a valid name|reserved for results") as warned:
        model = read_mjcf(text.format("x", "x", "x"), {})()
    assert [str(each.message).partition(" is ")[0] for each in warned] == [
        "link 'arm/left'",
        "joint 'x'",
    ]
    assert [body.name for body in model.bodies][1:] == ["arm_left", "b"]
    assert [joint.name for joint in model.joints] == ["x_joint_2", "x_joint"]
    assert model.couplings[0].joints == ("x_joint_2", "x_joint")
    assert model.joints[0].motor.torque == 2.0
    draisine.compile(lambda: model)
    urdf = """<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
      izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tip"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="ns/yaw" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"""
    with pytest.warns(FileWarning, match="'ns/yaw' is not a valid name"):
        (joint,) = read_urdf(urdf, {})().joints
    assert joint.name == "ns_yaw"


CART = """<body name="cart" pos="0 0 .1"><freejoint/><geom type="box" size=".2 .1 .03"/>
  <body name="left" pos="0 .12 0" euler="90 0 0"><joint name="l"/>
  <geom type="ellipsoid" size=".1 .1 .02"/></body>
  <body name="right" pos="0 -.12 0" euler="90 0 0"><joint name="r"/>
  <geom type="capsule" size=".1 .001"/></body><geom type="sphere" size=".03" pos="-.15 0 -.07"/></body>"""


def test_ellipsoids_and_capsules_roll():
    wheels = guess(parse_mjcf(world(CART))).wheels
    assert {name: wheel.radius for name, wheel in wheels.items()} == {
        "cart": 0.03,
        "left": 0.1,
        "right": 0.1,
    }
    assert wheels["left"].reason == "its ellipsoid"
    capsule = """<robot name="r"><link name="base"><inertial><mass value="9"/><inertia ixx="1" iyy="1"
      izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="w"><collision>
      <origin rpy="1.5707963267948966 0 0"/><geometry><capsule radius=".2" length=".1"/></geometry>
      </collision><visual><geometry><box size="1 1"/></geometry></visual><inertial><mass value="1"/>
      <inertia ixx=".1" iyy=".2" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j"
      type="continuous"><parent link="base"/><child link="w"/><axis xyz="0 1 0"/></joint></robot>"""
    with pytest.warns(FileWarning, match="box, size: '1 1' has 2 numbers instead of 3"):
        assert guess(parse_urdf(capsule)).wheels["w"].radius == 0.2


@QUIET
@pytest.mark.parametrize(
    ("section", "note"),
    [
        ('<sensor><gyro name="imu" site="s"/></sensor>', "<sensor>: imu not read; add sensors"),
        ('<keyframe><key name="home"/></keyframe>', "<keyframe>: home not read"),
        ('<actuator><intvelocity name="m" joint="l"/></actuator>', "'m': it is a position servo"),
        ('<actuator><muscle name="m" joint="l"/></actuator>', "this <muscle> are not read"),
        (
            '<actuator><general name="m" joint="l" gainprm="5"/></actuator>',
            "this <general> are not",
        ),
    ],
)
def test_sections_that_are_not_read_have_a_note(section, note):
    text = world(CART).replace("</mujoco>", f"{section}</mujoco>")
    assert any(note in each for each in guess(parse_mjcf(text)).notes)


@QUIET
def test_an_actuator_that_applies_its_control_has_no_note():
    general = '<actuator><general joint="l" gainprm="1 0 0"/></actuator></mujoco>'
    assert not parse_mjcf(world(CART).replace("</mujoco>", general)).notes


def test_scales_of_meshes_have_defaults(tmp_path):
    """A wheel in millimetres, scaled by the default class of meshes."""
    corners = "".join(f"v {x} {y} 0\n" for x, y in ((80, 0), (-80, 0), (0, 80), (0, -80)))
    (tmp_path / "wheel.obj").write_text(corners, encoding="utf-8")
    scale = '<default><mesh scale=".001 .001 .001"/></default>'
    head = f'{scale}<asset><mesh file="wheel.obj"/></asset>'
    wheel = """<body name="cart" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .01"/>
      <body name="w" euler="90 0 0">
      <joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 2"/>
      <geom type="mesh" mesh="wheel"/></body></body>"""
    (tmp_path / "cart.xml").write_text(world(wheel, head), encoding="utf-8")
    assert guess(parse_mjcf(tmp_path / "cart.xml")).wheels["w"].radius == pytest.approx(0.08)
