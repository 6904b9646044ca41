"""Robots from URDF and MJCF are the machines that one would draw."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import DataError, ModelError
from draisine.interop.mjcf import read_mjcf
from draisine.interop.urdf import read_urdf
from draisine.model.surface import Ball
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
def test_a_robot_rolls_as_the_one_drawn_by_hand(name, by_hand, tmp_path):
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


def test_masses_are_those_of_mujoco():
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
    ("read", "text", "told"),
    [
        (read_urdf, "<mujoco/>", "<robot> at its root"),
        (read_urdf, "<robot", "not an XML file"),
        (read_urdf, "nowhere.urdf", "cannot be read"),
        (read_urdf, URDF.replace('child link="left"', 'child link="lefd"'), "Did you mean 'left'"),
        (read_urdf, URDF.replace('"swivel" type="continuous"', '"swivel" type="planar"'), "planar"),
        (read_urdf, URDF.replace('xyz="0.3 0 0"', 'xyz="0.3 0"'), "2 numbers instead of 3"),
        (read_mjcf, "<mujoco><worldbody/></mujoco>", "here are 0"),
        (
            read_mjcf,
            MJCF.replace('name="swivel"', 'name="swivel" type="ball"'),
            "hinges and slides",
        ),
        (read_mjcf, MJCF.replace('name="fork" ', ""), "has no name"),
    ],
)
def test_what_cannot_be_read_is_told(read, text, told):
    with pytest.raises((DataError, ModelError), match=told):
        read(text, RADII)


def swung(inside, around="", joint='<joint name="swing" axis="0 1 0"/>'):
    """Return a file of one body in the world that has a joint, and what else is said of it."""
    body = f'<body name="arm">{joint}{inside}</body>'
    return f"<mujoco>{around}<worldbody>{body}</worldbody></mujoco>"


ARM = '<inertial pos="0 0 -1" mass="1" diaginertia="0.1 0.1 0.1"/>'
FREE = '<joint axis="0 1 0" type="free"/>'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (swung(ARM, '<include file="x.xml"/>'), "takes parts from other files"),
        (swung(ARM, '<compiler settotalmass="7"/>'), "settotalmass = '7' is not read"),
        (swung(ARM, '<option wind="3 0 0" density="1.2"/>'), "density = '1.2' is not read"),
        (swung(ARM, '<option><flag gravity="disable"/></option>'), "gravity = 'disable'"),
        (swung(ARM, '<equality><joint joint1="swing"/></equality>'), "<equality> is not read"),
        (swung(f"<frame pos='1 0 0'>{ARM}</frame>"), "<frame> is not read"),
        (swung(ARM, joint='<joint name="j" springdamper="1 1"/>'), "springdamper = '1 1'"),
        (swung(ARM, joint='<joint name="j" class="no"/>'), "no class 'no' among the defaults"),
        (swung(ARM, joint='<joint name="j" damping="x"/>'), "'j', damping: 'x' is not a list"),
        (swung(ARM, '<compiler eulerseq="xy"/>'), "eulerseq 'xy'"),
        (swung(ARM + f'<body name="in" pos="1 0 0">{FREE}{ARM}</body>'), "type 'free' is not read"),
        (swung('<geom type="box" size="1 1"/>'), "2 numbers instead of 3"),
        (swung('<geom type="box"/>'), "3 numbers are missing"),
        (swung('<geom size="1" quat="0 0 0 0"/>'), "has no direction"),
        (swung('<geom size="nan"/>'), "'nan' is not finite"),
        (swung(ARM + f'<body name="arm">{ARM}</body>'), "'arm' is there twice"),
    ],
)
def test_what_would_make_another_machine_is_told(text, told):
    with pytest.raises((DataError, ModelError), match=told):
        read_mjcf(text, {})


def test_a_joint_without_a_word_is_a_hinge_about_z():
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
def test_joints_and_masses_are_those_that_mujoco_makes(around, joint):
    """Defaults in two parts are one, springs rest where MuJoCo's rest, masses are as it is told."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = swung(ARM + '<geom size="0.1" contype="0"/>', around, joint)
    theirs, model = mujoco.MjModel.from_xml_string(text), read_mjcf(text, {})()
    (own,) = model.joints
    rest = theirs.qpos_spring[0] - theirs.qpos0[0]
    found = [own.spring, own.damper, own.rest, model.bodies[1].mass]
    assert_allclose(
        found, [theirs.jnt_stiffness[0], theirs.dof_damping[0], rest, theirs.body_mass[1]]
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (URDF.replace('damping="0.02"', 'damping="x"'), "'left_axle', damping: 'x' is not a list"),
        (URDF.replace('mass value="8"', 'mass value="${m}"'), "'frame', mass, value"),
        (URDF.replace('iyy="0.3"', 'iyy="nan"'), "'frame', iyy: 'nan' is not finite"),
        (URDF.replace('link name="fork"', 'link name="left"'), "<link> 'left' is there twice"),
        (
            URDF.replace('"porter">', '"p" xmlns:x="http://ros.org/wiki/xacro"><x:m/>'),
            "write it out first",
        ),
        ("a\0b", "cannot be read: embedded null byte"),
        ("x" * 5000, "cannot be read: File name too long"),
        (".", "cannot be read: Is a directory"),
    ],
)
def test_what_urdf_cannot_mean_is_told(text, told):
    with pytest.raises((DataError, ModelError), match=told) as caught:
        read_urdf(text, RADII)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("radius", [-0.1, 0.0, float("nan"), "big", None, 10**400])
def test_wheels_have_radii(radius):
    with pytest.raises(ModelError, match=r"'left': .* is neither a radius in m nor a surface"):
        read_urdf(URDF, RADII | {"left": radius})


def test_wheels_are_links():
    with pytest.raises(ModelError, match=r"wheel 'lef'.*Did you mean 'left'"):
        read_urdf(URDF, {"lef": 0.1})
    heavy = MJCF.replace('name="swivel"', 'name="swivel" armature="0.1"')
    with pytest.warns(UserWarning, match="'swivel': its armature is left out"):
        read_mjcf(heavy, RADII)
