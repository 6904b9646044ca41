"""Robot files as people write them: meshes, casters, mimic joints, included files, nothing lost."""

import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.cli import main
from draisine.errors import DataError, FileWarning, ModelError
from draisine.interop.robots.guess import guess
from draisine.interop.robots.mesh import read_vertices
from draisine.interop.robots.mjcf import parse_mjcf, read_mjcf
from draisine.interop.robots.robot import GROUND_TOLERANCE
from draisine.interop.robots.urdf import parse_urdf, read_urdf
from draisine.model.surface import Ball

CORPUS = Path(__file__).parents[3] / "shared" / "robots"

# Wheels and casters of public robots with their radii (m), read from the files by hand. Wheels whose radius
# is only in a mesh that the folder does not contain have none.
PUBLIC_ROBOTS = {
    "urdf/bunker.urdf": dict.fromkeys(
        [f"wheel{k}{part}_Link" for k in (1, 2, 3, 4) for part in ("", ".1", ".2", ".3")]
    ),
    "urdf/carlikebot.urdf": dict.fromkeys(
        ["rear_right_wheel", "rear_left_wheel", "front_right_wheel", "front_left_wheel"], 0.05
    ),
    "urdf/diffbot.urdf": dict.fromkeys(
        ["left_wheel", "right_wheel", "caster_frontal_wheel", "caster_rear_wheel"], 0.015
    ),
    "urdf/hunter_se_description.urdf": dict.fromkeys(
        ["re_left_link", "re_right_link", "fr_left_link", "fr_right_link"]
    ),
    "urdf/husky.urdf": dict.fromkeys(
        [f"{end}_{side}_wheel_link" for end in ("front", "rear") for side in ("left", "right")],
        0.1651,
    ),
    "urdf/jackal.urdf": dict.fromkeys(
        [f"{end}_{side}_wheel_link" for end in ("front", "rear") for side in ("left", "right")],
        0.098,
    ),
    "urdf/kobuki.urdf": {
        "wheel_left_link": 0.035,
        "wheel_right_link": 0.035,
        "caster_front_link": 0.017,
        "caster_back_link": 0.017,
    },
    "urdf/lino_2wd.urdf": {
        "left_wheel_link": 0.045,
        "right_wheel_link": 0.045,
        "front_caster_wheel_link": 0.0375,
        "rear_caster_wheel_link": 0.0375,
    },
    "urdf/lino_mecanum.urdf": dict.fromkeys(
        [f"{end}_{side}_wheel_link" for end in ("front", "rear") for side in ("left", "right")],
        0.07162,
    ),
    "urdf/r2d2.urdf": dict.fromkeys(
        [f"{side}_{end}_wheel" for side in ("right", "left") for end in ("front", "back")], 0.035
    ),
    "urdf/racecar.urdf": dict.fromkeys(
        [f"{side}_{end}_wheel" for side in ("right", "left") for end in ("front", "rear")], 0.05
    ),
    "urdf/scout_mini.urdf": dict.fromkeys(
        [f"{end}_{side}_wheel_link" for end in ("front", "rear") for side in ("left", "right")]
    ),
    "urdf/scout_v2.urdf": dict.fromkeys(
        [f"{end}_{side}_wheel_link" for end in ("front", "rear") for side in ("left", "right")],
        0.16459,
    ),
    "urdf/stretch_re1.urdf": {
        "link_right_wheel": 0.0508,
        "link_left_wheel": 0.0508,
        "caster_link": 0.032,
    },
    "urdf/tb3_burger.urdf": {
        "wheel_left_link": 0.033,
        "wheel_right_link": 0.033,
        "caster_back_link": 0.0045,
    },
    "urdf/upkie.urdf": {"left_ankle_mj5208_rotor": 0.05, "right_ankle_mj5208_rotor": 0.05},
    "mjcf/car.xml": {"left wheel": 0.03, "right wheel": 0.03, "car": 0.015},
    "mjcf/men_pal_tiago_tiago.xml": dict.fromkeys(
        [
            "wheel_right_link",
            "wheel_left_link",
            *(
                f"caster_{end}_{side}_2_link"
                for end in ("front", "back")
                for side in ("right", "left")
            ),
        ]
    ),
    "mjcf/men_robot_soccer_kit_robot_soccer_kit.xml": dict.fromkeys(
        ["wheel_no_passives", "wheel_no_passives_2", "wheel_no_passives_3"], 0.0345
    ),
    "mjcf/men_stanford_tidybot_base.xml": {},
    "mjcf/brax_inverted_double_pendulum.xml": {},
    "mjcf/dmc_acrobot.xml": {},
    "mjcf/dmc_cartpole.xml": {},
    "mjcf/dmc_reacher.xml": {},
    "mjcf/gym_hopper.xml": {},
    "mjcf/gym_inverted_pendulum.xml": {},
}

NEEDS_CORPUS = pytest.mark.skipif(not CORPUS.is_dir(), reason="public robot files are not here")
QUIET = pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")


def parse(name):
    """Return the content of a public robot file."""
    file = CORPUS / name
    return parse_urdf(file) if name.endswith(".urdf") else parse_mjcf(file)


@NEEDS_CORPUS
@QUIET
@pytest.mark.parametrize("name", PUBLIC_ROBOTS)
def test_wheels_of_public_robots_are_found(name):
    guesses = guess(parse(name))
    radii = {n: wheel.radius for n, wheel in guesses.wheels.items()}
    assert radii | dict.fromkeys(guesses.unsure) == pytest.approx(PUBLIC_ROBOTS[name])


@NEEDS_CORPUS
@QUIET
def test_a_generated_robot_drives():
    """TurtleBot3 stands on its caster and accelerates by torque over radius and inertia."""
    file = CORPUS / "urdf" / "tb3_burger.urdf"
    wheels = {
        "wheel_left_link": 0.033,
        "wheel_right_link": 0.033,
        "caster_back_link": Ball(0.0045),
    }
    robot = draisine.compile(read_urdf(file, wheels))
    torque = 0.004  # N m
    joints = ("wheel_left_joint", "wheel_right_joint")
    run = draisine.simulate(
        robot, draisine.state(robot), 1.0, inputs=dict.fromkeys(joints, torque)
    ).to_xarray()
    # Mass of all links, and the axial moments of both wheels over the squared radius.
    mass = sum(float(body.mass) for body in robot.model.bodies)
    effective = mass + 2.0 * 2.0712558e-05 / 0.033**2
    assert float(run.forward_speed[-1]) == pytest.approx(2.0 * torque / 0.033 / effective, rel=1e-3)


# --- meshes

ROUND = np.array([[0.07, 0.01, 0.0], [-0.07, 0.02, 0.0], [0.0, -0.01, 0.07], [0.0, 0.0, -0.07]])


def stl_binary():
    """Return a binary STL file that begins like an ASCII one."""
    triangles = b"".join(
        struct.pack("<12fH", 0.0, 0.0, 1.0, *ROUND[[0, k, 3]].ravel(), 0) for k in (1, 2)
    )
    return b"solid".ljust(80) + struct.pack("<I", 2) + triangles


def stl_text():
    """Return an ASCII STL file."""
    corners = "".join("vertex {} {} {}\n".format(*ROUND[k]) for k in (0, 1, 2, 0, 2, 3))
    return f"solid wheel\nfacet normal 0 0 1\nouter loop\n{corners}endloop\nendsolid\n".encode()


def obj_text():
    """Return a Wavefront OBJ file with normals and texture coordinates."""
    rows = "".join("v {} {} {}\nvn 9 9 9\nvt 9 9\n".format(*row) for row in ROUND)
    return f"o wheel\n{rows}f 1//1 2//2 3//3\n".encode()


def dae_text():
    """Return a COLLADA file in centimetres with y up, turned and moved by its node."""
    # World (x, y, z) = 0.01 (x', -z', y') for the file's coordinates (x', y', z').
    local = 100.0 * ROUND[:, [0, 2, 1]] * [1.0, 1.0, -1.0] - [5.0, 0.0, 0.0]
    numbers = " ".join(f"{x:.9g}" for x in local.ravel())
    return f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
      <asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
      <library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">
      {numbers}</float_array></source><vertices id="v"><input semantic="POSITION" source="#p"/>
      </vertices></mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene><node><translate>5 0 0</translate>
      <node><rotate>0 0 1 0</rotate><instance_geometry url="#g"/></node></node></visual_scene>
      </library_visual_scenes></COLLADA>""".encode()


MESHES = {"b.stl": stl_binary, "t.STL": stl_text, "w.obj": obj_text, "w.dae": dae_text}


@pytest.mark.parametrize("name", MESHES)
def test_vertices_of_meshes(name, tmp_path):
    file = tmp_path / name
    file.write_bytes(MESHES[name]())
    vertices = np.unique(read_vertices(file).round(6) + 0.0, axis=0)
    assert_allclose(vertices, np.unique(ROUND, axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("w.ply", b"ply", "not read; use .stl, .obj or .dae"),
        ("w.stl", b"", "no vertices"),
        ("w.obj", b"v 1 2 x", "cannot be read as a mesh"),
        ("w.dae", b"<COLLADA", "cannot be read as a mesh"),
        ("w.obj", b"v 1 2 nan", "not finite"),
    ],
)
def test_damaged_meshes_are_errors(name, data, message, tmp_path):
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_vertices(file)


WHEEL = """<link name="{n}"><inertial><mass value="1"/>
  <inertia ixx="0.002" iyy="0.004" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>
  <joint name="{n}_axle" type="continuous"><parent link="deck"/><child link="{n}"/>
  <origin xyz="0 {y} 0"/><axis xyz="0 1 0"/></joint>"""
MESH = '<visual><geometry><mesh filename="{name}" scale="{scale}"/></geometry></visual>'
CYLINDER = """<collision><origin rpy="1.5707963267948966 0 0"/>
  <geometry><cylinder radius="0.07" length="0.02"/></geometry></collision>"""
DECK = """<robot name="cart"><link name="deck"><inertial><mass value="5"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def cart(left, right=""):
    """Return a cart on two wheels with shapes, and further elements."""
    wheels = WHEEL.format(n="left", y=0.2, shape=left) + WHEEL.format(
        n="right", y=-0.2, shape=CYLINDER
    )
    return f"{DECK}{wheels}{right}</robot>"


def test_a_radius_is_the_extent_of_a_mesh_in_a_package(tmp_path):
    (tmp_path / "bot" / "meshes").mkdir(parents=True)
    (tmp_path / "bot" / "meshes" / "w.stl").write_bytes(stl_binary())
    text = cart(MESH.format(name="package://bot/meshes/w.stl", scale="2 2 2"))
    wheel = guess(parse_urdf(text, packages=tmp_path)).wheels["left"]
    assert wheel == ("disc", pytest.approx(0.14), (0.0, 0.0, 0.0), "extent of its mesh")


def test_a_wheel_without_its_mesh_has_the_radius_of_another_one_at_its_height():
    guesses = guess(parse_urdf(cart(MESH.format(name="package://bot/w.stl", scale="1 1 1"))))
    assert guesses.wheels["left"].radius == 0.07
    assert "left: the radius is guessed, that of right, at the same height." in guesses.notes


def test_a_missing_mesh_makes_a_commented_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = DECK + WHEEL.format(n="left", y=0.2, shape=MESH.format(name="w.stl", scale="1 1 1"))
    Path("cart.urdf").write_text(f"{text}</robot>", encoding="utf-8")
    assert main(["new", "vehicle", "cart", "--from", "cart.urdf"]) == 0
    # A solid disc of 1 kg and 0.004 kg m2: r^2 = 2 I / m.
    line = '    # "left": 0.089443,  # radius only in a mesh that was not found'
    assert line in Path("cart.py").read_text(encoding="utf-8")
    notes = capsys.readouterr().err
    assert "left: the radius is only in meshes that were not found (w.stl)" in notes
    assert "--packages names another one" in notes
    Path("w.stl").write_bytes(stl_binary())
    assert main(["new", "vehicle", "cart", "--from", "cart.urdf", "--force"]) == 0
    assert '    "left": 0.07,  # extent of its mesh' in Path("cart.py").read_text(encoding="utf-8")


# --- ground

FIXED = """<link name="{n}"><collision><geometry>{shape}</geometry></collision></link>
  <joint name="{n}_mount" type="fixed"><parent link="deck"/><child link="{n}"/>
  <origin xyz="-0.2 0 {z}" rpy="{roll} 0 0"/></joint>"""
HALF_PI = np.pi / 2.0


@pytest.mark.parametrize(
    ("shape", "z", "roll", "radius"),
    [
        ('<sphere radius="0.02"/>', -0.05, 0.0, 0.02),
        ('<cylinder radius="0.02" length="0.01"/>', -0.0495, HALF_PI, 0.02),
        ('<box size="0.03 0.02 0.01"/>', -0.065, 0.0, 0.005),
        ('<box size="0.03 0.01 0.02"/>', -0.064, HALF_PI, 0.005),
    ],
)
def test_casters_of_any_shape_are_at_ground_level(shape, z, roll, radius):
    text = cart(CYLINDER, FIXED.format(n="skid", shape=shape, z=z, roll=roll))
    wheel = guess(parse_urdf(text)).wheels["skid"]
    assert (wheel.shape, wheel.radius) == ("ball", pytest.approx(radius))


@pytest.mark.parametrize("clearance", [3e-6, 2e-3])
def test_heights_within_the_tolerance_rest_on_one_plane(clearance):
    """A caster is lowered; a wheel gets a larger radius, so that it stays centred on its axle."""
    caster = FIXED.format(n="skid", shape='<sphere radius="0.02"/>', z=-0.05 + clearance, roll=0)
    wheels = {"left": 0.07, "right": 0.07 - clearance, "skid": Ball(0.02)}
    with pytest.warns(FileWarning) as notes:
        model = read_urdf(cart(CYLINDER, caster), wheels)()
    changes = [str(note.message) for note in notes]
    assert "wheel 'right' is" in changes[0]
    assert "its radius is enlarged" in changes[0]
    assert "wheel 'skid' is" in changes[1]
    assert "its centre is lowered" in changes[1]
    bottoms = [wheel.centre[2] - float(wheel.surface.reach) for wheel in model.wheels]
    assert_allclose(bottoms, 0.0, atol=1e-15)
    assert model.wheels[1].surface.reach == pytest.approx(0.07)
    assert model.wheels[1].centre[2] == pytest.approx(0.07)
    assert model.wheels[2].surface.reach == 0.02
    assert [wheel.slides for wheel in model.wheels] == [False, False, True]


def test_wheels_beyond_the_tolerance_stay_where_they_are():
    wheels = {"left": 0.07, "right": 0.07 - 2.0 * GROUND_TOLERANCE}
    model = read_urdf(cart(CYLINDER), wheels)()
    assert model.wheels[1].surface.reach == pytest.approx(0.07 - 2.0 * GROUND_TOLERANCE)


# --- joints

FLAP = """<link name="{n}"><inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{n}_hinge" type="revolute"><parent link="deck"/><child link="{n}"/>
  <origin xyz="0 0 {z}"/><axis xyz="0 0 1"/><limit lower="-0.5" upper="0.7" effort="3" velocity="2"/>
  {mimic}</joint>"""


def test_a_joint_that_mimics_another_one_is_coupled_to_it():
    """r = 2 leader + 0.1: the leader's free rate follows from both inertias, I + 2^2 I."""
    follower = FLAP.format(n="b", z=0.2, mimic='<mimic joint="a_hinge" multiplier="2" offset="0"/>')
    text = f"{DECK}{FLAP.format(n='a', z=0.1, mimic='')}{follower}</robot>"
    arm = draisine.compile(read_urdf(text, {}, base="fixed"))
    start = draisine.state(arm)
    run = draisine.simulate(arm, start, 0.5, inputs={"a_hinge": 0.05}).to_xarray()
    leader = 0.5 * 0.05 / (0.01 + 4.0 * 0.01) * 0.5**2
    assert float(run.a_hinge[-1]) == pytest.approx(leader, rel=1e-9)
    assert float(run.b_hinge[-1]) == pytest.approx(2.0 * leader, rel=1e-9)


def test_limits_are_stops():
    text = f"{DECK}{FLAP.format(n='a', z=0.1, mimic='')}</robot>"
    (joint,) = read_urdf(text, {})().joints
    assert joint.stops == (-0.5, 0.7)
    (joint,) = read_urdf(text, {}, {"a_hinge": {"stops": None}})().joints
    assert joint.stops is None
    degrees = """<mujoco><worldbody><body name="arm"><joint name="j" range="-90 30" ref="10"/>
      <geom size="0.1"/></body></worldbody></mujoco>"""
    (joint,) = read_mjcf(degrees, {})().joints
    assert_allclose(joint.stops, np.deg2rad([-100.0, 20.0]))


def test_efforts_and_velocities_are_limits_of_motors():
    text = f"{DECK}{FLAP.format(n='a', z=0.1, mimic='')}</robot>"
    (joint,) = read_urdf(text, {})().joints
    assert (joint.motor.torque, joint.motor.no_load_speed) == (3.0, 2.0)
    control = """<ros2_control><joint name="a_hinge"><command_interface name="effort">
      <param name="min">-1.5</param><param name="max">1</param></command_interface></joint>
      </ros2_control></robot>"""
    (joint,) = read_urdf(text.replace("</robot>", control), {})().joints
    assert joint.motor.torque == 1.5
    (note,) = parse_urdf(text.replace("</robot>", control.replace("effort", "velocity"))).notes
    assert "velocity commands of a_hinge; inputs are torques" in note


def test_actuators_are_limits_of_motors():
    """Gear times control range, the force range of a servo, and that of all actuators of a joint."""
    joints = "".join(
        f'<body name="{n}"><joint name="{n}"{limit}/><geom size="0.1"/></body>'
        for n, limit in (("a", ""), ("b", ""), ("c", ' actuatorfrcrange="-2 2"'), ("d", ""))
    )
    text = f"""<mujoco><default><motor gear="10"/></default><worldbody>{joints}</worldbody><actuator>
      <motor joint="a" ctrlrange="-1 0.5"/><position joint="b" gear="3" forcerange="-4 4" ctrlrange="-9 9"/>
      <motor joint="c" ctrlrange="-1 1"/><motor joint="d"/></actuator></mujoco>"""
    motors = {joint.name: joint.motor for joint in read_mjcf(text, {})().joints}
    (note,) = parse_mjcf(text).notes
    assert "actuator 'b': it is a position servo; the input of 'b' is a torque." in note
    assert {n: motor and motor.torque for n, motor in motors.items()} == {
        "a": 10.0,
        "b": 12.0,
        "c": 2.0,
        "d": None,
    }


def test_a_joint_hits_the_stop_of_its_model():
    """A hinge with 0.3 N m on 0.01 kg m2 reaches 0.7 rad at sqrt(2 * 0.7 / 30) s and stays there."""
    from draisine.terrain import plane

    text = f"{DECK}{FLAP.format(n='a', z=0.1, mimic='')}</robot>"
    arm = draisine.compile(read_urdf(text, {}, {"a_hinge": {"motor": None}}, base="fixed"))
    run = draisine.simulate(arm, draisine.state(arm), 0.4, terrain=plane(), inputs={"a_hinge": 0.3})
    assert run.events[0].t == pytest.approx(np.sqrt(2.0 * 0.7 / 30.0), rel=1e-9)
    assert float(run.to_xarray().a_hinge[-1]) == pytest.approx(0.7, abs=1e-9)


def test_joints_that_move_no_mass_are_fixed():
    """A virtual wheel leads two real ones: these are coupled to each other."""
    virtual = """<link name="planner"/><joint name="virtual" type="continuous">
      <parent link="deck"/><child link="planner"/><axis xyz="0 1 0"/></joint>"""
    text = cart(CYLINDER, virtual)
    text = text.replace(
        '<axis xyz="0 1 0"/></joint>', '<axis xyz="0 1 0"/><mimic joint="virtual"/></joint>', 2
    )
    with pytest.warns(FileWarning, match="joint 'virtual': it moves no mass; it is fixed"):
        model = read_urdf(text, {"left": 0.07, "right": 0.07})()
    assert [joint.name for joint in model.joints] == ["left_axle", "right_axle"]
    assert [coupling.joints for coupling in model.couplings] == [("right_axle", "left_axle")]


def test_a_planar_joint_is_two_slides_and_a_hinge():
    text = f"""{DECK}<link name="table"/><joint name="float" type="planar"><parent link="table"/>
      <child link="deck"/><axis xyz="0 0 1"/></joint></robot>"""
    joints = read_urdf(text, {}, base="fixed")().joints
    assert [(joint.name, joint.unit) for joint in joints] == [
        ("float_x", "m"),
        ("float_y", "m"),
        ("float_turn", "rad"),
    ]
    assert np.linalg.det([joint.axis for joint in joints]) == pytest.approx(1.0, abs=1e-12) or (
        np.linalg.det([joint.axis for joint in joints]) == pytest.approx(-1.0, abs=1e-12)
    )


def test_links_that_are_not_connected_are_left_out():
    with pytest.warns(FileWarning, match="Link 'lamp' is not connected with the robot"):
        robot = parse_urdf(cart(CYLINDER, '<link name="lamp"/>'))
    assert [link.name for link in robot.links] == ["deck", "left", "right"]


@pytest.mark.parametrize(
    ("extra", "note"),
    [
        (
            """<link name="fan"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
            ixz="0" iyz="0"/></inertial></link><joint name="spin" type="continuous">
            <parent link="deck"/><child link="fan"/><axis xyz="0 0 1"/></joint>""",
            "joint 'spin' turns freely and has no contact with the ground.",
        ),
        (
            '<link name="mecanum_frame"/><joint name="m" type="fixed"><parent link="deck"/>'
            '<child link="mecanum_frame"/></joint>',
            "Rollers of mecanum wheels are not modelled: the wheels roll as plain wheels.",
        ),
    ],
)
def test_parts_without_a_contact_have_a_note(extra, note):
    assert note in guess(parse_urdf(cart(CYLINDER, extra))).notes


# --- MJCF

BODY = '<inertial pos="0 0 -0.3" mass="1" diaginertia="0.02 0.03 0.04"/>'


def test_included_files_are_inserted(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(
        f'<mujocoinclude><body name="arm"><joint name="j"/>{BODY}</body></mujocoinclude>'
    )
    file = tmp_path / "robot.xml"
    file.write_text('<mujoco><worldbody><include file="parts/arm.xml"/></worldbody></mujoco>')
    assert [link.name for link in parse_mjcf(file).links] == ["world", "arm"]
    (tmp_path / "parts" / "arm.xml").write_text('<mujoco><include file="parts/arm.xml"/></mujoco>')
    with (
        pytest.warns(FileWarning, match="nested deeper than 20 levels"),
        pytest.raises(ModelError, match="The world has no body"),
    ):
        parse_mjcf(file)


def test_several_bodies_in_the_world():
    """Scenery is left out; arms on the same floor are one machine; a free machine is simulated alone."""
    arm = f'<body name="{{}}" pos="{{}} 0 1"><joint axis="0 1 0"/>{BODY}</body>'
    lamp = '<body name="lamp"><geom size="0.1"/></body>'
    text = f"<mujoco><worldbody>{arm.format('a', 0)}{lamp}{arm.format('b', 1)}</worldbody></mujoco>"
    with pytest.warns(FileWarning, match="body 'lamp': it has no joints; it is scenery"):
        robot = parse_mjcf(text)
    assert [link.name for link in robot.links] == ["world", "a", "b"]
    free = f'<body name="drone"><freejoint/>{BODY}<body name="gun"><joint/>{BODY}</body></body>'
    with pytest.warns(FileWarning, match="body 'a': it is another machine"):
        robot = parse_mjcf(text.replace(lamp, free).replace(arm.format("b", 1), ""))
    assert ([link.name for link in robot.links], robot.base) == (["drone", "gun"], "SE(3)")


def test_bodies_without_names_and_frames():
    text = f"""<mujoco><worldbody><frame pos="1 0 0"><body pos="0 0 1"><joint/>{BODY}
      <body><joint/>{BODY}</body></body></frame></worldbody></mujoco>"""
    _, first, second = parse_mjcf(text).links
    assert (first.name, second.name) == ("world_1", "world_1_1")
    assert_allclose(second.frame.p, [1.0, 0.0, 1.0])


def test_total_mass_bounds_and_gravity_vector():
    text = f"""<mujoco><compiler settotalmass="7"/><option gravity="0.1 0 -9.81"/><worldbody>
      <body name="arm"><joint/>{BODY}</body></worldbody></mujoco>"""
    model = read_mjcf(text, {})()
    assert model.bodies[1].mass == pytest.approx(7.0)
    assert_allclose(model.gravity, [0.1, 0.0, -9.81], rtol=1e-12)
    text = text.replace('settotalmass="7"', 'boundmass="2" boundinertia="0.03"')
    body = read_mjcf(text, {})().bodies[1]
    assert body.mass == 2.0
    assert_allclose(np.diag(body.inertia), [0.03, 0.03, 0.04])


def test_gravity_compensation_carries_a_part_of_the_weight():
    """A pendulum with half of its weight swings at sqrt(m g l / 2 / (I + m l^2)) for small angles."""
    from draisine.analysis.linear import linearise

    text = f"""<mujoco><worldbody><body name="arm" gravcomp="0.5"><joint name="j" axis="0 1 0"/>{BODY}
      </body></worldbody></mujoco>"""
    arm = draisine.compile(read_mjcf(text, {}))
    swing = np.abs(linearise(arm, draisine.state(arm)).eigenvalues())
    assert_allclose(swing, np.sqrt(0.5 * 9.81 * 0.3 / (0.03 + 0.09)), rtol=1e-9)


def test_a_ball_joint_is_three_hinges():
    """Their mass matrix in the drawing is the inertia about the joint."""
    text = f"""<mujoco><worldbody><body name="arm"><joint name="b" type="ball"/>{BODY}</body>
      </worldbody></mujoco>"""
    with pytest.warns(FileWarning, match="joint 'b': three hinges replace the ball joint"):
        arm = draisine.compile(read_mjcf(text, {}))
    M = arm.dynamics(draisine.state(arm)).M
    assert_allclose(M, np.diag([0.02 + 0.09, 0.03 + 0.09, 0.04]), atol=1e-12)


def test_equal_joints_are_coupled():
    text = f"""<mujoco><worldbody><body name="a"><joint name="i"/>{BODY}<body name="b">
      <joint name="j"/>{BODY}</body></body></worldbody><equality>
      <joint joint1="j" joint2="i" polycoef="0.1 2"/></equality></mujoco>"""
    (coupling,) = read_mjcf(text, {})().couplings
    assert coupling.joints == ("j", "i")
    assert coupling.value(0.7, 0.3) == pytest.approx(0.0)


def test_sizes_that_a_geom_does_not_use_are_ignored():
    text = """<mujoco><worldbody><body name="a"><joint/>
      <geom type="capsule" fromto="0 0 0 0 0 1" size="0.1 0.3"/></body></worldbody></mujoco>"""
    volume = np.pi * 0.01 + 4.0 / 3.0 * np.pi * 0.001
    assert read_mjcf(text, {})().bodies[1].mass == pytest.approx(1000.0 * volume)


# --- xacro

XACRO = """<robot name="cart" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="r" value="0.07"/>{body}</robot>"""


def test_xacro_macros_are_expanded(tmp_path, monkeypatch):
    pytest.importorskip("xacro", reason="xacro is not installed")
    monkeypatch.chdir(tmp_path)
    body = cart(CYLINDER.replace('"0.07"', '"${2 * r / 2}"')).partition(">")[2]
    text = XACRO.format(body=body.removesuffix("</robot>"))
    Path("cart.urdf.xacro").write_text(text, encoding="utf-8")
    assert main(["new", "vehicle", "cart", "--from", "cart.urdf.xacro"]) == 0
    assert '"left": 0.07,  # its cylinder' in Path("cart.py").read_text(encoding="utf-8")
    assert main(["new", "vehicle", "bad", "--from", "missing.xacro"]) == 2
    Path("bad.xacro").write_text(text.replace("2 * r", "2 * q"), encoding="utf-8")
    assert main(["new", "vehicle", "bad", "--from", "bad.xacro"]) == 2


def test_xacro_finds_packages(tmp_path, monkeypatch):
    """The folder of --packages replaces the index of ROS for $(find PACKAGE)."""
    pytest.importorskip("xacro", reason="xacro is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources" / "parts" / "urdf").mkdir(parents=True)
    wheels = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="parts">{}'
    body = cart(CYLINDER).partition(">")[2].removesuffix("</robot>")
    macro = f"{wheels.format(body)}</xacro:macro></robot>"
    (tmp_path / "sources" / "parts" / "urdf" / "parts.xacro").write_text(macro, encoding="utf-8")
    include = '<xacro:include filename="$(find parts)/urdf/parts.xacro"/><xacro:parts/>'
    Path("cart.xacro").write_text(XACRO.format(body=include), encoding="utf-8")
    options = ["--from", "cart.xacro", "--packages", "sources"]
    assert main(["new", "vehicle", "cart", *options]) == 0
    assert '"left": 0.07,  # its cylinder' in Path("cart.py").read_text(encoding="utf-8")


def test_stops_are_ascending():
    with pytest.raises(ModelError, match=r"stops \(1.0, 0.5\) must be \(lower, upper\)"):
        read_urdf(
            f"{DECK}{FLAP.format(n='a', z=0.1, mimic='')}</robot>",
            {},
            {"a_hinge": {"stops": (1.0, 0.5)}},
        )()
