"""Unusual and damaged robot files: written with notes, or refused with the name of the element."""

import pytest

from draisine.cli import main
from draisine.errors import FileWarning
from draisine.interop.robots.guess import guess
from draisine.interop.robots.mjcf import parse_mjcf
from draisine.interop.robots.urdf import parse_urdf, read_urdf

WRITTEN = 0
REFUSED = 2


def link(name, mass="1", shape=""):
    """Return a URDF link; without mass it has no <inertial>."""
    inertial = f"""<inertial><mass value="{mass}"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""
    return f'<link name="{name}">{inertial if mass else ""}{shape}</link>'


def joint(name, parent, child, kind="continuous", xyz="0 0 0", axis="0 1 0", inside=""):
    """Return a URDF joint."""
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <origin xyz="{xyz}"/><axis xyz="{axis}"/>{inside}</joint>"""


def cylinder(radius):
    """Return a collision cylinder about the axis y."""
    return f"""<collision><origin rpy="1.5707963267948966 0 0"/><geometry>
      <cylinder radius="{radius}" length="0.02"/></geometry></collision>"""


def urdf(*parts):
    """Return a URDF document."""
    return f'<robot name="r">{"".join(parts)}</robot>'


def wheeled(wheel, axle=None):
    """Return a URDF document with one wheel `w` on its base."""
    return urdf(link("base", "5"), wheel, axle or joint("j", "base", "w"))


MESH = '<visual><geometry><mesh filename="package://bot/w.dae"/></geometry></visual>'
TWO_WHEELS = (
    link("base", "5"),
    link("left", shape=cylinder(0.1)),
    link("right", shape=cylinder(0.1)),
    joint("lj", "base", "left", xyz="0 0.2 0"),
    joint("rj", "base", "right", xyz="0 -0.2 0"),
)
EXCHANGED = '<limit lower="1" upper="-1"/>'
INFINITE = '<limit lower="-inf" upper="inf" effort="inf" velocity="inf"/>'
ROUND_OFF = 'ixx="-5e-20" iyy="0"'
BOX = '<collision><geometry><box size="0.02 0.02 0.05"/></geometry></collision>'
POINT_MASS = '<link name="{}"><inertial><mass value="3"/></inertial>{}</link>'
INDEFINITE = """<link name="base"><inertial><mass value="3"/>
  <inertia ixx="-1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
CHAIN = [link(f"k{i}", "0.1") for i in range(30)] + [
    joint(f"f{i}", f"k{i}", f"k{i + 1}", "fixed") for i in range(29)
]

URDF_FILES = {
    "wheels as meshes": (
        wheeled(link("w", shape=MESH)),
        WRITTEN,
        "w: the radius is only in meshes that were not found",
    ),
    "mesh without a file": (
        wheeled(link("w", shape="<visual><geometry><mesh/></geometry></visual>")),
        WRITTEN,
        "these wheels are comments in WHEELS",
    ),
    "caster as a box": (
        urdf(*TWO_WHEELS, link("c", "0.1", BOX), joint("cj", "base", "c", "fixed", "0.2 0 -0.075")),
        WRITTEN,
        "c: it has no horizontal axle; a ball that slides replaces it",
    ),
    "swivel caster": (
        urdf(
            *TWO_WHEELS,
            link("fork", "0.1"),
            link("c", "0.1", cylinder(0.03)),
            joint("swivel", "base", "fork", xyz="0.2 0 0", axis="0 0 1"),
            joint("cj", "fork", "c", xyz="-0.02 0 -0.07"),
        ),
        WRITTEN,
        "",
    ),
    "long chain of fixed joints": (
        urdf(*CHAIN, link("w", shape=cylinder(0.1)), joint("j", "k29", "w")),
        WRITTEN,
        "",
    ),
    "hinge without a shape": (
        wheeled(link("w")),
        WRITTEN,
        "w: the radius is guessed, a solid disc",
    ),
    "no masses": (wheeled(link("w", "")).replace('"5"', '"0"'), WRITTEN, "No link has a mass"),
    "no links": (urdf(), REFUSED, "has no links"),
    "negative mass": (wheeled(link("w", "-1")), WRITTEN, "body 'w': mass -1.0 kg is negative"),
    "no inertia": (
        wheeled(POINT_MASS.format("w", cylinder(0.1))),
        WRITTEN,
        "link 'w': it has a mass but no <inertia>; a point mass is used",
    ),
    "indefinite inertia": (
        urdf(INDEFINITE, link("w", shape=cylinder(0.1)), joint("j", "base", "w")),
        WRITTEN,
        "body 'base': inertia is not positive semidefinite",
    ),
    "mass is no number": (urdf(link("base", "nan")), WRITTEN, "link 'base', mass, value: 'nan'"),
    "mass is a word": (urdf(link("base", "heavy")), WRITTEN, "link 'base', mass, value: 'heavy'"),
    "names with umlauts and quotes": (
        urdf(
            link("Gestell/ä", "5"),
            link("räd 'l'", shape=cylinder(0.1)),
            joint("&quot;ö&quot;", "Gestell/ä", "räd 'l'"),
        ),
        WRITTEN,
        "",
    ),
    "backslash in a name": (
        wheeled(link("w\\", shape=cylinder(0.1)), joint("j", "base", "w\\")),
        WRITTEN,
        "invalid name. Use 1 to 100 characters",
    ),
    "names of Python": (
        urdf(
            link("class", "5"),
            link("import", shape=cylinder(0.1)),
            joint("def", "class", "import"),
        ),
        WRITTEN,
        "",
    ),
    "loop of joints": (
        urdf(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
        WRITTEN,
        "joint 'k': link 'a' is in a loop of joints",
    ),
    "own parent": (
        urdf(link("a"), joint("j", "a", "a")),
        WRITTEN,
        "joint 'j': link 'a' is in a loop",
    ),
    "misspelt parent": (
        wheeled(link("w"), joint("j", "bsae", "w")),
        WRITTEN,
        "joint 'j': no link 'bsae'. Did you mean 'base'?",
    ),
    "joint without a child": (
        urdf(link("base"), '<joint name="j" type="fixed"><parent link="base"/></joint>'),
        WRITTEN,
        "joint 'j': <child link=...> is missing",
    ),
    "two parents": (
        urdf(link("a"), link("b"), link("c"), joint("j", "a", "c"), joint("k", "b", "c")),
        WRITTEN,
        "joint 'k': link 'c' has two parents",
    ),
    "several roots": (
        urdf(link("a"), link("b"), link("c"), joint("j", "a", "c")),
        WRITTEN,
        "Link 'b' is not connected with the robot",
    ),
    "radius of zero": (
        wheeled(link("w", shape=cylinder(0))),
        WRITTEN,
        "link 'w': the radius 0 m of a shape is not positive",
    ),
    "radius below zero": (
        wheeled(link("w", shape=cylinder(-0.1))),
        WRITTEN,
        "link 'w': the radius -0.1 m of a shape is not positive",
    ),
    "radius in millimetres": (
        wheeled(link("w", shape=cylinder(50))),
        WRITTEN,
        "w: the radius is 50 m; the file must be in metres",
    ),
    "infinite radius": (
        wheeled(link("w", shape=cylinder("1e999"))),
        WRITTEN,
        "link 'w', radius: '1e999' is not finite",
    ),
    "axis of zero": (
        wheeled(link("w", shape=cylinder(0.1)), joint("j", "base", "w", axis="0 0 0")),
        WRITTEN,
        "joint 'j': the axis is zero; the joint is fixed",
    ),
    "axis of two numbers": (
        wheeled(link("w"), joint("j", "base", "w", axis="0 1")),
        WRITTEN,
        "joint 'j': '0 1' has 2 numbers instead of 3",
    ),
    "joint without a type": (
        wheeled(link("w"), joint("j", "base", "w", kind="")),
        WRITTEN,
        "joint 'j': type '' is not supported; the joint is fixed",
    ),
    "link twice": (urdf(link("a"), link("a")), WRITTEN, "The name of <link> 'a' is used twice"),
    "joint twice": (
        urdf(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "a", "c")),
        WRITTEN,
        "joint 'j': the name is used twice; it is called 'j_2'",
    ),
    "link without a name": (urdf("<link/>", link("a")), WRITTEN, "A <link> has no name"),
    "default namespace": (
        urdf(*TWO_WHEELS).replace("<robot", '<robot xmlns="http://example.org/urdf"'),
        WRITTEN,
        "",
    ),
    "comments and foreign elements": (
        '<?xml version="1.0"?><!-- a -->'
        + urdf(*TWO_WHEELS, "<!-- b -->", '<gz:plugin a="1"/>').replace(
            "<robot", '<robot xmlns:gz="http://example.org/gz"'
        ),
        WRITTEN,
        "",
    ),
    "unfinished": ('<robot name="r"><link name="a">', REFUSED, "not an XML file"),
    "another format": ("<sdf><model/></sdf>", REFUSED, "must have <robot> at its root, not <sdf>"),
    "mimics itself": (
        wheeled(link("w"), joint("j", "base", "w", inside='<mimic joint="j"/>')),
        WRITTEN,
        "joint 'j', mimic: it mimics itself",
    ),
    "mimics nothing": (
        wheeled(link("w"), joint("j", "base", "w", inside="<mimic/>")),
        WRITTEN,
        "joint 'j', mimic: no moving joint ''",
    ),
    "negative effort": (
        wheeled(link("w"), joint("j", "base", "w", inside='<limit effort="-1" velocity="-2"/>')),
        WRITTEN,
        "joint 'j': effort = -1 is negative; zero is used",
    ),
    "undeclared prefixes": (
        urdf(*TWO_WHEELS, '<gazebo><sensor:camera xlink:href="a"/></gazebo>'),
        WRITTEN,
        "",
    ),
    "comment before the declaration": (
        '\ufeff<!-- a -->\n<?xml version="1.0" encoding="latin-1"?>' + urdf(*TWO_WHEELS) + "\0\n",
        WRITTEN,
        "",
    ),
    "commas between numbers": (
        wheeled(link("w"), joint("j", "base", "w", xyz="1, 0, 0.5")),
        WRITTEN,
        "'1, 0, 0.5' has commas, which are ignored",
    ),
    "four numbers": (
        wheeled(link("w"), joint("j", "base", "w", xyz="1 0 0.5 1")),
        WRITTEN,
        "has 4 numbers instead of 3; the first ones are used",
    ),
    "joint without a name": (
        wheeled(link("w", shape=cylinder(0.1)), joint("", "base", "w")),
        WRITTEN,
        "joint '': it has no name; it is called 'w'",
    ),
    "limits exchanged": (
        wheeled(link("w"), joint("j", "base", "w", "revolute", inside=EXCHANGED)),
        WRITTEN,
        "joint 'j': its lower limit is above the upper one; it has no stops",
    ),
    "infinite limits": (
        wheeled(
            link("w", shape=cylinder(0.1)), joint("j", "base", "w", "revolute", inside=INFINITE)
        ),
        WRITTEN,
        "",
    ),
    "inertia negative by round-off": (
        wheeled(link("w", shape=cylinder(0.1))).replace('ixx="0.01" iyy="0.02"', ROUND_OFF),
        WRITTEN,
        "",
    ),
    "spherical joint of PyBullet": (
        urdf(*TWO_WHEELS, link("head"), joint("neck", "base", "head", "spherical")),
        WRITTEN,
        "joint 'neck': type 'spherical' is not supported; the joint is fixed",
    ),
    "negative damping": (
        wheeled(link("w"), joint("j", "base", "w", inside='<dynamics damping="-1"/>')),
        WRITTEN,
        "joint 'j': damping = -1 is negative; zero is used",
    ),
}

BODY = '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.01"/>'
ARM = f'<body name="arm"><joint name="j"/>{BODY}</body>'
WHEEL = '<body name="w"><joint axis="0 1 0"/><geom type="cylinder" size="0.1 0.02" zaxis="0 1 0"/></body>'


def mjcf(bodies, around="", after=""):
    """Return an MJCF document."""
    return f"<mujoco>{around}<worldbody>{bodies}</worldbody>{after}</mujoco>"


def geom(attributes):
    """Return an MJCF document with a hinged body that has only a geom."""
    return mjcf(f'<body name="b"><joint/><geom {attributes}/></body>')


def motor(attributes):
    """Return an MJCF document with a motor."""
    return mjcf(ARM, after=f"<actuator><motor {attributes}/></actuator>")


NESTED = """<default><joint axis="0 1 0"/><default class="x"><joint damping="1"/>
  <default class="y"><joint armature="0.1"/></default></default></default>"""
COUPLED = f'<body name="a"><joint name="i"/>{BODY}{ARM}</body>'

MJCF_FILES = {
    "nested defaults": (
        mjcf(
            f'<body name="a" childclass="x"><freejoint/>{BODY}'
            f'<body name="b"><joint class="y"/>{BODY}</body></body>',
            NESTED,
        ),
        WRITTEN,
        "",
    ),
    "unknown class": (
        mjcf(f'<body name="b"><joint class="nope"/>{BODY}</body>'),
        WRITTEN,
        "<joint>: no class 'nope' among the defaults",
    ),
    "free joint inside": (
        mjcf(f'<body name="a"><freejoint/>{BODY}<body name="b"><freejoint/>{BODY}</body></body>'),
        WRITTEN,
        "body 'b': only a body of the world can be free",
    ),
    "free body with a hinge": (
        mjcf(f'<body name="b"><joint type="free"/><joint axis="0 1 0"/>{BODY}</body>'),
        WRITTEN,
        "body 'b': it is free; its other joints are left out",
    ),
    "several free bodies": (
        mjcf(f'<body name="a"><freejoint/>{BODY}</body><body name="b"><freejoint/>{BODY}</body>'),
        WRITTEN,
        "body 'b': it is another machine in the world",
    ),
    "no bodies": (mjcf(""), REFUSED, "The world has no body"),
    "no mass": (mjcf('<body name="b"><joint/></body>'), WRITTEN, "No link has a mass"),
    "negative mass": (
        geom('size="0.1" mass="-1"'),
        WRITTEN,
        "body 'b': its mass -1 kg is negative",
    ),
    "infinite mass": (geom('size="0.1" mass="inf"'), WRITTEN, "body 'b', mass: 'inf'"),
    "size of zero": (geom('size="0"'), WRITTEN, "geom of body 'b': '0' must be positive"),
    "size below zero": (geom('size="-0.1"'), WRITTEN, "geom of body 'b': '-0.1' must be positive"),
    "no size": (geom('type="box"'), WRITTEN, "geom of body 'b': 3 numbers are missing"),
    "words as sizes": (geom('type="cylinder" size="a b"'), WRITTEN, "'a b' is not a list"),
    "end points coincide": (
        geom('type="capsule" fromto="0 0 0 0 0 0" size="0.1"'),
        WRITTEN,
        "geom of body 'b': [0.0, 0.0, 0.0] has no direction",
    ),
    "quaternion of zero": (
        mjcf(f'<body name="b" quat="0 0 0 0"><joint/>{BODY}</body>'),
        WRITTEN,
        "body 'b': [0.0, 0.0, 0.0, 0.0] has no direction",
    ),
    "axis of zero": (
        mjcf(f'<body name="b"><joint axis="0 0 0"/>{BODY}</body>'),
        WRITTEN,
        "joint 'b': the axis must not be zero",
    ),
    "body twice": (
        mjcf(ARM + ARM.replace('"j"', '"k"')),
        WRITTEN,
        "body 'arm': the name is used twice; the body is called 'arm_1'",
    ),
    "joint twice": (
        mjcf(ARM + ARM.replace('"arm"', '"leg"')),
        WRITTEN,
        "The joint name 'j' is used twice",
    ),
    "gear is a word": (motor('joint="j" gear="x"'), WRITTEN, "actuator 'j', gear: 'x'"),
    "gear is empty": (motor('joint="j" gear=""'), WRITTEN, "actuator 'j', gear: ''"),
    "motor of no joint": (motor('joint="jj"'), WRITTEN, "actuators jj: their joints do not exist"),
    "one bound of a force": (
        motor('joint="j" forcerange="3"'),
        WRITTEN,
        "actuator 'j', forcerange: '3' has 1 numbers instead of 2",
    ),
    "words as a polynomial": (
        mjcf(COUPLED, after='<equality><joint joint1="j" joint2="i" polycoef="a"/></equality>'),
        WRITTEN,
        "<equality> joint, polycoef: 'a'",
    ),
    "long polynomial": (
        mjcf(
            COUPLED,
            after='<equality><joint joint1="j" joint2="i" polycoef="0 1 0 0 0 0 0"/></equality>',
        ),
        WRITTEN,
        "",
    ),
    "includes itself": (
        f'<mujoco><include file="robot.xml"/><worldbody>{ARM}</worldbody></mujoco>',
        WRITTEN,
        "nested deeper than 20 levels",
    ),
    "includes a folder": (
        f'<mujoco><include file="."/><worldbody>{ARM}</worldbody></mujoco>',
        WRITTEN,
        "The included file '.' does not exist",
    ),
    "words as a range": (
        mjcf(ARM.replace('name="j"', 'name="j" range="a b"')),
        WRITTEN,
        "joint 'j', range: 'a b' is not a list of numbers",
    ),
    "unknown Euler angles": (
        mjcf(ARM, '<compiler eulerseq="abc"/>'),
        WRITTEN,
        "eulerseq 'abc' must be three letters",
    ),
    "gravity upwards": (
        mjcf(f'<body name="a"><freejoint/>{BODY}{WHEEL}</body>', '<option gravity="0 0 9.81"/>'),
        WRITTEN,
        "Gravity points upwards",
    ),
    "negative armature": (
        mjcf(ARM.replace('name="j"', 'name="j" armature="-1"')),
        WRITTEN,
        "joint 'j': armature = -1 is negative; zero is used",
    ),
    "URDF in a file named .xml": (
        urdf(*TWO_WHEELS, "<mujoco><compiler balanceinertia='true'/></mujoco>"),
        WRITTEN,
        "",
    ),
    "fixed joint of PyBullet": (
        mjcf(ARM + ARM.replace("arm", "leg").replace('name="j"', 'name="k" type="fixed"')),
        WRITTEN,
        "joint 'k': type 'fixed' is not supported; the joint is fixed",
    ),
    "names like generated ones": (
        mjcf(
            f'<body name="a"><joint name="i"/><joint name="k" axis="1 0 0"/>{BODY}<body><joint/>{BODY}'
            f'</body><body name="a_1"><joint/>{BODY}<body><joint/>{BODY}</body></body></body>'
        ),
        WRITTEN,
        "",
    ),
    "names with umlauts": (mjcf(ARM.replace("arm", "körper")), WRITTEN, ""),
    "binary": ("<mujoco>\x00</mujoco>", REFUSED, "not an XML file"),
}

FILES = {("robot.urdf", title): case for title, case in URDF_FILES.items()} | {
    ("robot.xml", title): case for title, case in MJCF_FILES.items()
}


@pytest.mark.parametrize(("file", "title"), FILES)
def test_an_unusual_file_is_written_or_refused(file, title, tmp_path, monkeypatch, capsys):
    text, outcome, message = FILES[file, title]
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert main(["new", "vehicle", "unusual", "--from", file]) == outcome
    assert message in capsys.readouterr().err
    written = tmp_path / "unusual.py"
    assert written.exists() == (outcome == WRITTEN)
    if outcome == WRITTEN:
        compile(written.read_text(encoding="utf-8"), "unusual.py", "exec")


def test_a_wheel_without_a_shape_does_not_lift_wheels_with_shapes():
    """An arm without a shape turns freely like a wheel; as a disc it would have a radius of 0.2 m."""
    arm = joint("shoulder", "base", "arm")
    wheels = guess(parse_urdf(urdf(*TWO_WHEELS, link("arm"), arm))).wheels
    assert list(wheels) == ["left", "right"]
    # A rim of radius 0.141 m has the inertia of the disc of 0.2 m: it is a wheel on the same ground.
    rim = joint("j", "base", "rim", xyz="0.2 0 0.0414")
    both = urdf(*TWO_WHEELS, link("rim"), rim)
    wheels = guess(parse_urdf(both)).wheels
    assert list(wheels) == ["left", "right", "rim"]
    assert wheels["rim"].radius == pytest.approx(0.1414)


@pytest.mark.parametrize(("limits", "rolls"), [("-1 1", False), ("-10 10", True)])
def test_joints_of_legs_do_not_roll(limits, rolls):
    """A hinge with a capsule about its axis rolls only if its limits (rad) allow a full turn."""
    text = f"""<mujoco><compiler angle="radian"/><worldbody><body name="torso"><freejoint/>{BODY}
      <body name="hip" pos="0 0.2 0"><joint axis="0 1 0" range="{limits}"/>
      <geom type="capsule" size="0.1 0.1" zaxis="0 1 0"/></body></body></worldbody></mujoco>"""
    assert ("hip" in guess(parse_mjcf(text)).wheels) == rolls


def test_files_in_other_encodings_are_read(tmp_path):
    text = urdf(*TWO_WHEELS).replace("left", "links-f\u00fc\u00df")
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
        file = tmp_path / f"{encoding}.urdf"
        file.write_bytes(text.encode(encoding))
        assert "links-f\u00fc\u00df" in [link.name for link in parse_urdf(file).links]


def test_an_inertia_without_a_mass_is_read():
    """Some files state the inertia of a rotor and no mass; the hinge turns, the slide would be singular."""
    rotor = link("rotor", "0")
    text = urdf(link("base", "5"), rotor, joint("j", "base", "rotor"))
    model = read_urdf(text, {})()
    assert [each.name for each in model.joints] == ["j"]
    assert model.body("rotor").inertia[1, 1] == 0.02
    with pytest.warns(FileWarning, match="joint 'j': it moves no mass; it is fixed"):
        model = read_urdf(text.replace("continuous", "prismatic"), {})()
    assert model.body("base").inertia[1, 1] == 0.04


@pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")
def test_a_ball_in_a_ball_joint_has_no_springs():
    """The three hinges of the ball joint pass through the centre of the ball and do not lift it."""
    ball = '<body name="rear" pos="-0.2 0 -0.05"><joint type="ball"/><geom size="0.05"/></body>'
    guesses = guess(parse_mjcf(mjcf(f'<body name="b"><freejoint/>{BODY}{WHEEL}{ball}</body>')))
    assert guesses.wheels["rear"].shape == "ball"
    assert guesses.springs == {}
