"""Robots from URDF and MJCF are the machines that one would draw."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.linear import linearise
from draisine.errors import DataError, FileWarning, ModelError
from draisine.interop.robots.guess import SPRING_DEFLECTION, guess
from draisine.interop.robots.mjcf import parse_mjcf, read_mjcf
from draisine.interop.robots.robot import RobotWheel
from draisine.interop.robots.urdf import parse_urdf, read_urdf
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.model.motion import uniform
from draisine.model.surface import Ball
from draisine.terrain import plane
from draisine.view.scene.shapes import machine_outlines
from interop.robots import MJCF, RADII, URDF, porter

START = {"left_axle_rate": 6.0, "right_axle_rate": 4.0, "swivel": 0.4}
READERS = {"urdf": (read_urdf, URDF), "mjcf": (read_mjcf, MJCF)}


def ride(vehicle):
    """Return place, heading and angles after half a second on three wheels, under torques."""
    system = draisine.compile(vehicle)
    torques = {"left_axle": 0.3, "right_axle": -0.2}
    run = draisine.simulate(system, draisine.state(system, **START), 0.5, inputs=torques)
    end = run.to_xarray().isel(time=-1)
    place = [*end.position.values, end.yaw, end.swivel, end.caster_axle, end.left_axle]
    return np.array(place, float), end.contact_force.values


@pytest.fixture(scope="module")
def by_hand():
    return ride(porter)


@pytest.mark.parametrize("name", READERS)
def test_a_robot_file_agrees_with_a_manual_model(name, by_hand, tmp_path):
    read, text = READERS[name]
    (tmp_path / "porter.xml").write_text(text)
    vehicle = read(tmp_path / "porter.xml", RADII)
    assert vehicle.__name__ == "porter"
    model = vehicle()
    assert [body.name for body in model.bodies] == ["frame", "left", "right", "fork", "caster"]
    place, forces = ride(vehicle)
    assert_allclose(place, by_hand[0], rtol=1e-9, atol=1e-9)
    assert_allclose(forces, by_hand[1], rtol=1e-7, atol=1e-6)
    assert abs(place[3]) > 0.1  # it has turned


def test_masses_agree_with_mujoco():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = """<mujoco model="shapes"><compiler eulerseq="zyx"/><worldbody>
      <body name="box" pos="0 0 1" euler="20 30 40"><freejoint/>
        <geom type="box" size="0.1 0.2 0.3" density="500"/>
        <geom type="sphere" size="0.1" mass="2" pos="0.3 0 0.1"/>
        <body name="arm" pos="0.2 0.1 0" quat="0.6 0 0.8 0"><joint axis="0 1 0"/>
          <geom type="cylinder" size="0.05 0.3" pos="0 0 0.3"/>
          <geom type="ellipsoid" size="0.1 0.05 0.02" euler="10 0 0"/></body>
      </body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    for k, body in enumerate(read_mjcf(text, {})().bodies, start=1):
        assert_allclose(body.mass, theirs.body_mass[k], rtol=1e-12)
        assert_allclose(body.com, data.xipos[k], atol=1e-12)
        R = data.ximat[k].reshape(3, 3)
        assert_allclose(R @ np.diag(theirs.body_inertia[k]) @ R.T, body.inertia, atol=1e-8)


def test_a_machine_on_a_fixed_base():
    text = """<mujoco><worldbody><body name="arm"><joint name="swing" axis="0 1 0" stiffness="2"
      springref="90"/><joint name="slide" type="slide" axis="0 0 1" damping="3"/>
      <inertial pos="0 0 -1" mass="1" diaginertia="0.1 0.1 0.1"/></body></worldbody></mujoco>"""
    model = read_mjcf(text, {})()
    assert model.base == "fixed"
    swing, slide = model.joints
    assert (swing.parent, swing.child, slide.child) == ("world", "arm_1", "arm")
    assert_allclose([swing.spring, swing.rest, slide.damper], [2.0, np.pi / 2.0, 3.0])


def test_a_ball_may_be_fixed():
    loose = URDF.replace('"caster_axle" type="continuous"', '"caster_axle" type="fixed"')
    model = read_urdf(loose, RADII | {"caster": Ball(0.05)})()
    assert model.contacts[2].body == "fork"
    assert [body.name for body in model.bodies] == ["frame", "left", "right", "fork"]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_urdf, "<mujoco/>", "<robot> at its root"),
        (read_urdf, "<robot", "not an XML file"),
        (read_urdf, "nowhere.urdf", "cannot be read"),
        (read_mjcf, "<mujoco><worldbody/></mujoco>", "The world has no body"),
    ],
)
def test_invalid_files_are_refused(read, text, message):
    with pytest.raises((DataError, ModelError), match=message):
        read(text, RADII)


def swung(inside, around="", joint='<joint name="swing" axis="0 1 0"/>'):
    """Return a file of one body in the world with a joint and further elements."""
    body = f'<body name="arm">{joint}{inside}</body>'
    return f"<mujoco>{around}<worldbody>{body}</worldbody></mujoco>"


ARM = '<inertial pos="0 0 -1" mass="1" diaginertia="0.1 0.1 0.1"/>'
FREE = '<joint axis="0 1 0" type="free"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (swung(ARM, joint='<joint name="j" class="no"/>'), "no class 'no' among the defaults"),
        (swung(ARM, joint='<joint name="j" damping="x"/>'), "'j', damping: 'x' is not a list"),
        (swung(ARM, '<compiler eulerseq="xy"/>'), "eulerseq 'xy'"),
        (swung('<geom type="box" size="1 1"/>'), "2 numbers instead of 3"),
        (swung('<geom type="box"/>'), "3 numbers are missing"),
        (swung('<geom size="1" quat="0 0 0 0"/>'), "has no direction"),
        (swung('<geom size="nan"/>'), "'nan' is not finite"),
        (swung(ARM + f'<body name="arm">{ARM}</body>'), "'arm': the name is used twice"),
    ],
)
def test_malformed_parts_are_reported(text, message):
    with pytest.warns(FileWarning, match=message):
        parse_mjcf(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (swung(ARM, '<include file="x.xml"/>'), "'x.xml' does not exist; it is left out"),
        (swung(ARM, '<option density="1.2"/>'), "density = '1.2' is not modelled"),
        (
            swung(
                f"{ARM}<body name='hand'>{ARM}</body>",
                '<default><joint armature="1"/></default>',
                FREE,
            ),
            "armature = '1' is not modelled",
        ),
        (swung(ARM, '<option><flag passive="disable"/></option>'), "passive = 'disable' is not"),
        (swung(ARM, '<equality><joint joint1="swing"/></equality>'), "constraint is not modelled"),
        (swung(ARM, joint='<joint name="j" springdamper="1 1"/>'), "springdamper = '1 1' is not"),
        (swung(ARM + '<attach model="x"/>'), "<attach> is not modelled"),
        (
            swung(ARM, joint='<joint name="j" stiffness="1 2"/>'),
            "the nonlinear part of stiffness = '1 2' is not modelled",
        ),
        (
            swung(ARM + f'<body name="in" pos="1 0 0">{FREE}{ARM}</body>'),
            "body 'in': only a body of the world can be free",
        ),
        (
            swung(ARM, '<tendon><fixed name="cord" stiffness="3"/></tendon>'),
            "tendon 'cord': its stiffness is not modelled",
        ),
        (swung('<geom type="mesh" mesh="x"/>'), "the mass of a mesh is not known and left out"),
    ],
)
def test_elements_that_are_not_modelled_are_reported(text, message):
    """The rest of the robot can be read."""
    with pytest.warns(FileWarning, match=message):
        robot = parse_mjcf(text)
    assert "arm" in [link.name for link in robot.links]


def test_a_joint_without_attributes_is_a_hinge_about_z():
    (joint,) = read_mjcf(swung(ARM, joint="<joint/>"), {})().joints
    assert (joint.name, joint.axis.tolist(), joint.unit) == ("arm", [0.0, 0.0, 1.0], "rad")


@pytest.mark.parametrize(
    ("around", "joint"),
    [
        (
            '<default><joint stiffness="2"/></default><default><joint damping="3"/></default>',
            "<joint/>",
        ),
        ("", '<joint stiffness="2" damping="3" ref="30" springref="30"/>'),
        ('<compiler inertiafromgeom="true"/>', '<joint stiffness="2" damping="3"/>'),
    ],
)
def test_joints_and_masses_agree_with_mujoco(around, joint):
    """Two default elements form one class; spring rests and masses agree with MuJoCo."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = swung(ARM + '<geom size="0.1" contype="0"/>', around, joint)
    theirs = mujoco.MjModel.from_xml_string(text)
    model = read_mjcf(text, {})()
    (own,) = model.joints
    rest = theirs.qpos_spring[0] - theirs.qpos0[0]
    found = [own.spring, own.damper, own.rest, model.bodies[1].mass]
    assert_allclose(
        found, [theirs.jnt_stiffness[0], theirs.dof_damping[0], rest, theirs.body_mass[1]]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            URDF.replace('"porter">', '"p" xmlns:x="http://ros.org/wiki/xacro"><x:m/>'),
            "the file has xacro macros. Expand them first",
        ),
        ("a\0b", "cannot be read: embedded null byte"),
        ("x" * 5000, "cannot be read: File name too long"),
        (".", "cannot be read: Is a directory"),
    ],
)
def test_invalid_urdf_is_refused(text, message):
    with pytest.raises((DataError, ModelError), match=message) as caught:
        read_urdf(text, RADII)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("radius", [-0.1, 0.0, float("nan"), "big", None, 10**400])
def test_wheels_have_radii(radius):
    with pytest.raises(ModelError, match=r"'left': .* is neither a radius in m nor a surface"):
        read_urdf(URDF, RADII | {"left": radius})


def test_wheels_are_links():
    with pytest.raises(ModelError, match=r"wheel 'lef'.*Did you mean 'left'"):
        read_urdf(URDF, {"lef": 0.1})


def test_an_armature_is_that_of_the_joint():
    heavy = MJCF.replace('name="swivel"', 'name="swivel" armature="0.1"')
    assert read_mjcf(heavy, RADII)().joints[2].armature == 0.1
    told = {"swivel": {"armature": 0.3}}
    joints = {joint.name: joint for joint in read_mjcf(heavy, RADII, told)().joints}
    assert (joints["swivel"].armature, joints["left_axle"].armature) == (0.3, 0.0)


RUBBING = {
    "urdf": ('<dynamics damping="0.02"/>', '<dynamics damping="0.02" friction="0.1"/>'),
    "mjcf": ('name="left_axle"', 'name="left_axle" frictionloss="0.1"'),
}


@pytest.mark.parametrize("name", READERS)
def test_friction_of_a_joint_is_a_force_with_a_warning(name):
    """Dry friction of 0.1 N m takes 0.1 N m times the wheel's rate."""
    read, text = READERS[name]
    with pytest.warns(
        UserWarning, match=r"'left_axle': while its dry friction holds it, .* up to 0.001 rad"
    ):
        model = read(text.replace(*RUBBING[name]), RADII)()
    assert {one.joint: one.torque for one in model.elements}["left_axle"] == 0.1
    other = text.replace(*RUBBING[name]) + "\n"  # a note comes once for a text
    with pytest.warns(UserWarning, match="dry friction holds it"):
        still = read(other, RADII, {"left_axle": {"friction": 0.0}})()
    assert "left_axle" not in {one.joint for one in still.elements}


def test_a_wheel_may_be_off_the_origin_of_its_link(by_hand):
    """The same robot, its left hub 4 cm farther in and the wheel as much farther out."""
    moved = URDF.replace('<origin xyz="0 0.2 0" rpy', '<origin xyz="0 0.16 0" rpy')
    moved = moved.replace(
        """<link name="left">
    <inertial><mass""",
        """<link name="left">
    <inertial><origin xyz="0 0 0.04"/><mass""",
    )
    vehicle = read_urdf(moved, RADII | {"left": RobotWheel(0.1, centre=(0.0, 0.0, 0.04))})
    place, forces = ride(vehicle)
    assert_allclose(place, by_hand[0], rtol=1e-9, atol=1e-9)
    assert_allclose(forces, by_hand[1], rtol=1e-7, atol=1e-6)


def test_joints_have_properties_beyond_the_file():
    told = {"swivel": {"motion": uniform(0.0)}, "left_axle": {"damper": 0.5, "spring": 2.0}}
    model = read_urdf(URDF, RADII | {"caster": RobotWheel(0.05, LoadTyre(10.0, 0.0, 0.05))}, told)()
    joints = {joint.name: joint for joint in model.joints}
    assert joints["swivel"].motion(1.0) == (0.0, 0.0, 0.0)
    assert (joints["left_axle"].spring, joints["left_axle"].damper) == (2.0, 0.5)
    assert model.contacts[2].tyre.cornering == 10.0
    with pytest.raises(ModelError, match=r"no joint 'swivl'. Did you mean 'swivel'"):
        read_urdf(URDF, RADII, {"swivl": {}})
    with pytest.raises(ModelError, match=r"joint 'swivel' takes no 'stiffness'"):
        read_urdf(URDF, RADII, {"swivel": {"stiffness": 1.0}})


@pytest.mark.parametrize(("read", "text"), READERS.values(), ids=READERS)
def test_errors_name_their_file(read, text, tmp_path):
    file = tmp_path / "porter.xml"
    file.write_text(text)
    with pytest.raises(ModelError, match=r"porter.xml: wheel 'lef': no such link"):
        read(file, {"lef": 0.1})


def geom(told):
    """Return mass, mass centre and inertia of a body that has one geom."""
    (body,) = read_mjcf(swung(f"<geom {told}/>", joint="<freejoint/>"), {})().bodies
    return body.mass, body.com, body.inertia


def test_a_capsule_is_a_cylinder_between_two_halves_of_a_ball():
    """By quadrature of discs along its axis; a very short one is a ball, a thin one a rod."""
    r = 0.2
    h = 0.3
    density = 700.0
    u, weight = np.polynomial.legendre.leggauss(40)
    machine_outlines = [(h * u, h * weight, r * r + 0 * u)]
    machine_outlines += [
        (s * (h + r * (u + 1) / 2), r / 2 * weight, r * r * (1 - (u + 1) ** 2 / 4)) for s in (1, -1)
    ]
    z, dz, rr = (np.concatenate(each) for each in zip(*machine_outlines, strict=True))
    mass = density * np.pi * rr @ dz
    axial = density * np.pi * (rr * rr / 2) @ dz
    across = density * np.pi * (rr * rr / 4 + rr * z * z) @ dz
    found, com, tensor = geom(f'type="capsule" size="{r} {h}" density="{density}" pos="1 2 3"')
    assert found == pytest.approx(mass, rel=1e-12)
    assert_allclose(com, [1.0, 2.0, 3.0])
    assert_allclose(tensor, np.diag([across, across, axial]), rtol=1e-12, atol=1e-12)
    assert_allclose(
        geom('type="capsule" size="0.1 1e-9" mass="2"')[2], 0.008 * np.eye(3), rtol=1e-7
    )
    rod = geom('type="capsule" size="1e-6 0.5" mass="3"')[2]
    assert_allclose(rod, np.diag([0.25, 0.25, 0.0]), atol=1e-5)


@pytest.mark.parametrize(
    ("told", "same"),
    [
        (
            'type="cylinder" size="0.1" fromto="1 0 0 1 0.4 0"',
            'type="cylinder" size="0.1 0.2" pos="1 0.2 0" euler="90 0 0"',
        ),
        (
            'type="box" size="0.1" fromto="0 0 1 0 0 0"',
            'type="box" size="0.1 0.1 0.5" pos="0 0 0.5"',
        ),
        ('type="box" size="1 2 3" zaxis="0 0 -2"', 'type="box" size="1 2 3" axisangle="1 0 0 180"'),
        ('type="box" size="1 2 3" zaxis="1 0 1"', 'type="box" size="1 2 3" euler="0 45 0"'),
        (
            'type="box" size="1 2 3" xyaxes="0 2 0 -1 1 0"',
            'type="box" size="1 2 3" axisangle="0 0 1 90"',
        ),
    ],
)
def test_orientations_have_several_forms(told, same):
    for one, other in zip(geom(told), geom(same), strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-9)


def test_massless_geoms_may_have_any_shape():
    text = swung(ARM + '<geom type="mesh" mesh="x"/>') + ""
    assert read_mjcf(text, {})().bodies[1].mass == 1.0
    ball = '<geom size="0.1" mass="2"/>'
    looks = '<geom type="mesh" mesh="x" mass="0"/><geom type="mesh" mesh="y" density="0"/>'
    assert read_mjcf(swung(ball + looks), {})().bodies[1].mass == 2.0


ROVER = """<robot name="rover">
  <link name="hull"><inertial><mass value="18"/>
    <inertia ixx="0.5" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  {corners}
  <link name="mast"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="nod" type="revolute"><parent link="hull"/><child link="mast"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 1 0"/></joint>
</robot>"""
CORNER = """
  <link name="{n}_arm"/>
  <joint name="{n}_strut" type="{kind}"><parent link="hull"/><child link="{n}_arm"/>
    <origin xyz="{x} {y} 0"/><axis xyz="{axis}"/></joint>
  <link name="{n}"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0.03 0" rpy="1.5707963267948966 0 0"/>
      <geometry><cylinder radius="0.1" length="0.05"/></geometry></collision></link>
  <joint name="{n}_axle" type="continuous"><parent link="{n}_arm"/><child link="{n}"/>
    <origin xyz="{arm} 0 0"/><axis xyz="0 1 0"/></joint>"""


def rover(kind="prismatic", axis="0 0 1", arm=0.0):
    """Return a rover on two wheels, each on a strut."""
    places = {"left": 0.3, "right": -0.3}
    corners = (
        CORNER.format(n=n, x=0.0, y=y, kind=kind, axis=axis, arm=arm) for n, y in places.items()
    )
    return parse_urdf(ROVER.format(corners="".join(corners)))


def test_wheels_and_springs_are_guessed():
    """Wheels where cylinders are, springs that carry the machine with a sag, servos that hold."""
    found = guess(rover())
    assert list(found.wheels) == ["left", "right"]
    assert found.wheels["left"] == ("disc", 0.1, (0.0, 0.03, 0.0), "its cylinder")
    spring, damper = found.springs["left_strut"]
    carried = 20.0 / 2.0
    assert spring * SPRING_DEFLECTION * 0.1 == pytest.approx(carried * 9.81, rel=0.02)
    assert damper == pytest.approx(np.sqrt(spring * carried), rel=0.02)
    assert found.held == ["nod"]


TYRE = """
  <link name="{n}_tyre">{shape}<inertial><mass value="0.1"/>
    <inertia ixx="0.0002" iyy="0.0004" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{n}_glue" type="fixed"><parent link="{n}"/><child link="{n}_tyre"/>
    <origin xyz="0 0.01 0"/></joint>"""
CYLINDER = """<collision><origin rpy="1.5707963267948966 0 0"/>
  <geometry><cylinder radius="0.12" length="0.04"/></geometry></collision>"""


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        (CYLINDER, "disc"),
        ('<collision><geometry><sphere radius="0.12"/></geometry></collision>', "ball"),
    ],
)
def test_a_wheel_is_as_large_as_the_tyre_that_is_fixed_to_it(shape, kind):
    """The hub has a cylinder of 0.1 m; the tyre on it rolls, at its own place, and is no wheel itself."""
    tyres = "".join(TYRE.format(n=n, shape=shape) for n in ("left", "right"))
    corners = "".join(
        CORNER.format(n=n, x=0.0, y=y, kind="prismatic", axis="0 0 1", arm=0.0)
        for n, y in (("left", 0.3), ("right", -0.3))
    )
    robot = parse_urdf(ROVER.format(corners=corners + tyres))
    found = guess(robot)
    assert list(found.wheels) == ["left", "right"]
    what = "cylinder" if kind == "disc" else "sphere"
    assert found.wheels["left"] == (kind, 0.12, (0.0, 0.01, 0.0), f"left_tyre's {what}")
    # Springs sag by a part of that radius.
    carried = sum(link.mass.mass for link in robot.links) / 2.0
    spring, _ = found.springs["left_strut"]
    assert spring * SPRING_DEFLECTION * 0.12 == pytest.approx(carried * 9.81, rel=0.02)


def test_a_wheel_without_shapes_is_a_disc_of_all_its_parts():
    """A hub of 0.6 kg and 0.003 kg m2 with a tyre of 0.4 kg and 0.0042 kg m2: r^2 = 2 I / m."""
    tyre = """<link name="tyre"><inertial><mass value="0.4"/>
        <inertia ixx="0.0022" iyy="0.0042" izz="0.0022" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="glue" type="fixed"><parent link="right"/><child link="tyre"/></joint></robot>"""
    found = guess(parse_urdf(URDF.replace("</robot>", tyre))).wheels
    assert found["right"].radius == pytest.approx(np.sqrt(2.0 * 0.0072 / 1.0), rel=1e-4)
    assert found["left"].radius == pytest.approx(0.1)


def test_the_spring_of_a_trailing_arm_scales_with_its_lever():
    slide = guess(rover())
    hinge = guess(rover("revolute", "0 1 0", -0.2))
    for one, other in zip(hinge.springs["left_strut"], slide.springs["left_strut"], strict=True):
        assert one == pytest.approx(0.2**2 * other, rel=0.01)
    assert hinge.held == ["nod"]


def test_other_links_are_not_guessed_as_wheels():
    """A bar that swings, a drum high up, a ball on the mast, a wheel whose shape is askew."""
    porter_wheels = guess(parse_urdf(URDF)).wheels
    assert {n: one.radius for n, one in porter_wheels.items()} == pytest.approx(
        {"left": 0.1, "right": 0.1, "caster": 0.05}
    )
    assert porter_wheels.keys() == guess(parse_mjcf(MJCF)).wheels.keys()
    for shape in (
        '<collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>',
        '<collision><origin xyz="0 0 0.5"/><geometry><sphere radius="0.1"/></geometry></collision>',
    ):
        text = URDF.replace('<link name="left">', f'<link name="left">{shape}')
        text = text.replace(
            'rpy="-1.5707963267948966 0 0"/><axis xyz="0 0 1"', '/><axis xyz="0 1 0"'
        )
        assert "left" not in guess(parse_urdf(text)).wheels


def differential(rpy="-1.57 0 0", ixx=0.0004, iyy=0.00041, com=0.0):
    """Return a robot of two wheels, a motor on each, and a ball of a caster, as people write such files."""
    wheel = f"""
      <link name="{{n}}"><inertial><origin xyz="{com} 0 0"/><mass value="0.3"/>
        <inertia ixx="{ixx}" iyy="{iyy}" izz="0.0007" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="{{n}}_axle" type="continuous"><parent link="deck"/><child link="{{n}}"/>
        <origin xyz="0 {{y}} 0" rpy="{rpy}"/><axis xyz="0 0 1"/><limit effort="2" velocity="9"/></joint>"""
    return f"""<robot name="bot"><link name="deck"><inertial><mass value="5"/>
      <inertia ixx="0.02" iyy="0.04" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
      {wheel.format(n="left", y=0.12)}{wheel.format(n="right", y=-0.12)}
      <link name="caster"/><joint name="ball" type="fixed"><parent link="deck"/>
        <child link="caster"/><origin xyz="-0.1 0 -0.03"/></joint></robot>"""


BOT_WHEELS = {"left": 0.06, "right": 0.06, "caster": Ball(0.03)}


def test_angles_near_right_angles_are_rounded():
    with pytest.warns(UserWarning, match=r"within 0\.002 rad of a right angle, such as 1\.57"):
        rough = read_urdf(differential("-1.57 0 3.14", iyy=0.0004), BOT_WHEELS)()
    exact = read_urdf(differential(f"{-np.pi / 2} 0 {np.pi}", iyy=0.0004), BOT_WHEELS)()
    for one, other in zip(rough.joints, exact.joints, strict=True):
        assert_allclose(one.axis, other.axis, atol=1e-15)
        assert_allclose(np.abs(one.axis), [0.0, 1.0, 0.0], atol=1e-15)
    # The lowest point of a wheel of 0.06 m that leans by 0.02 rad is 0.013 mm higher.
    with pytest.warns(FileWarning, match=r"wheel '(left|right)' is 0\.013 mm above the lowest"):
        tilted = read_urdf(differential("-1.55 0 0", iyy=0.0004), BOT_WHEELS)()
    assert abs(tilted.joints[0].axis[2]) == pytest.approx(np.cos(1.55), rel=1e-12)


def test_almost_symmetric_wheels_are_made_symmetric():
    """The axial moment and the sum of the others stay; the mass centre is put onto the axle."""
    exact = f"{-np.pi / 2} 0 0"
    with pytest.warns(UserWarning, match=r"wheel '(left|right)': its mass is almost symmetric"):
        wheel = read_urdf(differential(exact, com=1e-4), BOT_WHEELS)().body("left")
    assert_allclose(np.diag(wheel.inertia), [0.000405, 0.0007, 0.000405], atol=1e-15)
    assert wheel.com[0] == pytest.approx(0.0, abs=1e-15)
    askew = read_urdf(differential(exact, iyy=0.0005), BOT_WHEELS)().body("left")
    assert_allclose(np.diag(askew.inertia), [0.0004, 0.0007, 0.0005], atol=1e-15)


def test_a_ball_that_is_fixed_to_the_base_beside_wheels_is_a_caster():
    """It slides, so that the machine can turn: two wheels at their rates, on a track of 0.24 m."""
    bot = draisine.compile(read_urdf(differential(f"{-np.pi / 2} 0 0", iyy=0.0004), BOT_WHEELS))
    assert [wheel.closed for wheel in bot.model.wheels] == ["rolling", "rolling", "sliding"]
    start = draisine.state(bot, left_axle_rate=10.0, right_axle_rate=12.0)
    run = draisine.simulate(bot, start, 0.1).to_xarray()
    assert float(run.forward_speed[0]) == pytest.approx(0.06 * 11.0, rel=1e-12)
    assert float(run.yaw_rate[0]) == pytest.approx(0.06 * 2.0 / 0.24, rel=1e-12)


def test_a_caster_slides_without_friction_unless_named():
    """On level ground the robot rolls on; a caster that rubs brakes it. About the line below the axle
    the deck's weight, 0.05 m behind, is borne 0.1 m behind, less what the braking takes off.
    """
    text = differential(f"{-np.pi / 2} 0 0", iyy=0.0004)
    text = text.replace('<mass value="5"/>', '<mass value="5"/><origin xyz="-0.05 0 0"/>')
    bot = draisine.compile(read_urdf(text, BOT_WHEELS))
    load = 5 * 9.81 * 0.05 / (0.1 + 0.1 * 0.06)
    inertia = 5.6 + 2 * 0.0007 / 0.06**2
    start = draisine.state(bot, forward_speed=1.0)
    speeds = []
    for mu in (0.5, {"left": 0.5, "right": 0.5}, {"left": 0.5, "right": 0.5, "caster": 0.1}):
        contact = draisine.ContactOptions(mu=mu, impact="moreau")
        run = draisine.simulate(bot, start, 0.5, terrain=plane(), contact=contact)
        speeds.append(float(run.to_xarray().forward_speed[-1]))
    assert speeds == pytest.approx([1.0, 1.0, 1.0 - 0.5 * 0.1 * load / inertia], rel=1e-9)


BOXED = {
    "urdf": (
        read_urdf,
        """<robot name="cart"><link name="deck"><inertial><mass value="5"/>
          <inertia ixx="0.02" iyy="0.04" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
          <visual><origin xyz="0.1 0 0.05" rpy="0 0 0.3"/><geometry><box size="0.4 0.2 0.1"/></geometry>
          </visual><collision><geometry><box size="9 9 9"/></geometry></collision></link>
          <link name="foot"/><joint name="leg" type="fixed"><parent link="deck"/><child link="foot"/>
          <origin xyz="0 0 -0.1"/></joint></robot>""",
    ),
    "mjcf": (
        read_mjcf,
        """<mujoco><compiler angle="radian"/><worldbody><body name="deck"><freejoint/>
          <geom type="box" size="0.2 0.1 0.05" pos="0.1 0 0.05" euler="0 0 0.3"/>
          <body name="foot" pos="0 0 -0.1"/></body></worldbody></mujoco>""",
    ),
}


@pytest.mark.parametrize("name", BOXED)
def test_a_body_is_shown_by_the_boxes_of_its_file(name):
    """Eight corners at half the sides from the centre, turned by 0.3 rad, over a foot of 2 cm."""
    read, text = BOXED[name]
    model = read(text, {"foot": Ball(0.02)})()
    (line,) = [part.points for part in machine_outlines(model) if part.kind == "box"]
    turn = np.array([[np.cos(0.3), -np.sin(0.3), 0.0], [np.sin(0.3), np.cos(0.3), 0.0], [0, 0, 1]])
    inside = (line - np.array([0.1, 0.0, 0.05 + 0.1 + 0.02])) @ turn
    assert_allclose(np.abs(inside), np.broadcast_to([0.2, 0.1, 0.05], inside.shape), atol=1e-12)
    assert len(np.unique(inside.round(9), axis=0)) == 8


VEHICLE = """
from draisine.interop.robots.urdf import read_urdf
def rover(*, g: float = 9.81):
    return read_urdf({file!r}, {wheels!r})(g=g)
"""


def test_a_warning_about_a_file_is_given_once(tmp_path, recwarn):
    """A vehicle is compiled many times from its file; a changed file warns again."""
    file = tmp_path / "porter.urdf"
    code = tmp_path / "rover.py"
    file.write_text(URDF.replace('damping="0.02"', 'damping="0.02" friction="0.1"'))
    code.write_text(VEHICLE.format(file=str(file), wheels=RADII))
    system = draisine.compile(f"{code}:rover")
    draisine.simulate(system, draisine.state(system), 0.01).to_xarray()
    (note,) = recwarn.list
    assert (str(note.message), note.filename) == (
        "joint 'left_axle': while its dry friction holds it, it deflects by up to 0.001 rad "
        "(StickingFriction).",
        str(file),
    )
    os.utime(file, (1, 1))
    read_urdf(file, RADII)
    assert len(recwarn.list) == 2


BOLTED = """<robot name="arm"><link name="world"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/>
  <mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="world"/><child link="rod"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="3" velocity="1"/></joint></robot>"""


def test_a_root_link_called_world_is_the_world():
    """The arm swings as a pendulum, omega^2 = m g l / (J + m l^2), as nothing holds its joint."""
    with pytest.warns(UserWarning, match="'world' is the world, so the base is fixed"):
        arm = draisine.compile(read_urdf(BOLTED, {}))
    with pytest.warns(UserWarning, match="'world'"):
        assert not guess(parse_urdf(BOLTED + "\n")).held  # a note comes once for a text
    assert arm.model.base == "fixed"
    (motion,) = np.unique(np.abs(linearise(arm, draisine.state(arm)).eigenvalues()).round(9))
    assert motion == pytest.approx(np.sqrt(2 * 9.81 * 0.5 / (0.1 + 2 * 0.25)), rel=1e-8)
    assert read_urdf(BOLTED, {}, base="SE(3)")().base == "SE(3)"
    named = BOLTED.replace('link name="world"/>', 'link name="stand"/>')
    assert parse_urdf(named.replace('parent link="world"', 'parent link="stand"')).base == "SE(3)"


HOPPER = """<mujoco model="hopper"><worldbody><body name="torso" pos="0 0 0.8">
  <joint name="rootz" type="slide" axis="0 0 1" range="-1 1"/><joint name="rooty" axis="0 1 0"/>
  <geom size="0.1" mass="5"/><body name="leg" pos="0 0 -0.3">
  <joint name="knee" type="slide" axis="0 0 1"/><geom size="0.02" mass="0.5"/>
  <body name="foot" pos="0 0 -0.3"><geom size="0.04" mass="0.1"/></body></body></body></worldbody></mujoco>"""


def test_joints_to_the_world_are_neither_sprung_nor_held():
    """A hopper in a plane: slide and hinge of its torso are its freedoms, its knee gives."""
    found = guess(parse_mjcf(HOPPER))
    assert (list(found.wheels), list(found.springs), found.held) == (["foot"], ["knee"], [])


def test_forward_speed_is_that_of_the_root_link_and_its_horizontal_part():
    """A deck that turns about its own origin, 0.06 m above the ground, has that much under it; on a slope
    the speed along the ground is more.
    """
    text = differential(f"{-np.pi / 2} 0 0", iyy=0.0004)
    bot = draisine.compile(read_urdf(text, {"left": 0.06, "right": 0.06}))
    turning = draisine.Stepper(bot, draisine.state(bot, pitch_rate=5.0, forward_speed=0.0)).values()
    assert turning["Vx"] == pytest.approx(-5.0 * 0.06, rel=1e-9)
    start = draisine.state(bot, forward_speed=1.0)
    down = draisine.place(bot, start, plane(slope=-0.1), on="ground")
    seen = draisine.Stepper(bot, down, terrain=plane(slope=-0.1)).values()
    assert seen["forward_speed"] == pytest.approx(np.cos(0.1), rel=1e-9)
    assert seen["left_axle_rate"] == pytest.approx(1.0 / 0.06, rel=1e-9)


def test_nesting_is_not_limited_by_the_recursion_limit():
    """Balls in a row, each bolted to the one before: mass and moments of inertia are sums over the row. The
    size of the balls comes from the innermost of a hundred classes of defaults.
    """
    count = 1200
    radius = 0.1
    spacing = 0.01
    classes = "".join(f'<default class="c{k}"><geom size="{1e-3 * k}"/>' for k in range(101))
    ball = '<body name="b{}" pos="{} 0 0">{}<geom type="sphere" mass="2"/>'
    row = "".join(ball.format(k, spacing, "" if k else "<freejoint/>") for k in range(count))
    text = "<mujoco><default>" + '<default class="far">' * count + "</default>" * count
    text += classes + "</default>" * 101 + "</default><worldbody>"
    text += row.replace("<body", '<body childclass="c100"', 1) + "</body>" * count
    (body,) = read_mjcf(text + "</worldbody></mujoco>", {})().bodies
    assert body.mass == pytest.approx(2.0 * count, rel=1e-12)
    places = spacing * (np.arange(count) - (count - 1) / 2.0)
    about_row = 2.0 * count * 0.4 * radius**2
    across = about_row + 2.0 * (places**2).sum()
    assert np.diag(body.inertia) == pytest.approx([about_row, across, across], rel=1e-10)
