"""What a new user does first: look at a machine, open what a run left, begin from a robot's file, ask for
one turn, study a parameter.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import draisine
from draisine.cli import main
from draisine.registry import names
from draisine.results.store import load

CART = """
<robot name="cart">
  <link name="deck">
    <inertial><mass value="8"/><inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="left">
    <inertial><mass value="0.6"/>
      <inertia ixx="0.0016" iyy="0.003" izz="0.0016" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="left_axle" type="continuous">
    <parent link="deck"/><child link="left"/><origin xyz="-0.1 0.2 0"/><axis xyz="0 1 0"/>
    <limit effort="2" velocity="10"/>
  </joint>
  <link name="right">
    <inertial><mass value="0.6"/>
      <inertia ixx="0.0016" iyy="0.003" izz="0.0016" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin rpy="1.5707963 0 0"/>
      <geometry><cylinder radius="0.1" length="0.02"/></geometry></collision>
  </link>
  <joint name="right_axle" type="continuous">
    <parent link="deck"/><child link="right"/><origin xyz="-0.1 -0.2 0"/><axis xyz="0 1 0"/>
  </joint>
  <link name="head">
    <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="neck" type="continuous">
    <parent link="deck"/><child link="head"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
  </joint>
  <link name="foot"><collision><geometry><sphere radius="0.03"/></geometry></collision></link>
  <joint name="mount" type="fixed">
    <parent link="deck"/><child link="foot"/><origin xyz="0.2 0 -0.07"/>
  </joint>
</robot>
"""


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: found.append(address) or True)
    return found


def test_every_vehicle_is_a_vehicle_though_a_scenario_has_its_name(monkeypatch):
    monkeypatch.setattr("draisine.cli.show._print_system", lambda system: None)
    for name in names("vehicle"):
        assert main(["show", name]) == 0


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("run incline --until 0.05 --show", "incline.html"),
        ("run incline --until 0.05 --plot slope.svg --show", "slope.svg"),
        ("run meijaard2007/eigenvalues --show", "eigenvalues.png"),
        ("run --until 0.05 --show", "passive-stabilisation.png"),
    ],
)
def test_show_opens_the_visible_output(line, file, opened, tmp_path):
    assert main(line.split()) == 0
    assert opened == [(tmp_path / file).as_uri()]
    assert (tmp_path / file).stat().st_size > 1000


def test_the_package_runs_as_a_module():
    told = subprocess.run(
        [sys.executable, "-m", "draisine", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == draisine.__version__


def test_the_suffix_selects_the_format():
    for file, word in (
        ("a.tex", r"\documentclass"),
        ("a.html", "<math"),
        ("a.c", "void rate("),
        ("a.js", "function rate("),
        ("a.py", "def rate("),
    ):
        assert main(["equations", "chaplygin_sleigh", "--out", file]) == 0
        assert word in Path(file).read_text(encoding="utf-8")


def test_a_turn_has_the_requested_speed_and_radius(capsys):
    assert main(["steady", "--speed", "5", "--radius", "-20", "--json"]) == 0
    turn = {n: x[0] for n, x in json.loads(capsys.readouterr().out)["motions"].items()}
    assert turn["rear_wheel_speed"] == pytest.approx(5.0, rel=1e-12)
    assert turn["yaw_rate"] == pytest.approx(-0.25, rel=1e-12)
    bicycle = draisine.compile("whipple")
    start = draisine.state(
        bicycle,
        lean=turn["lean"],
        steer=turn["steer"],
        yaw_rate=turn["yaw_rate"],
        rear_wheel_speed=5.0,
    )
    run = draisine.simulate(bicycle, start, 2.0, inputs={"steer": turn["steer_torque"]}).to_xarray()
    assert float(abs(run.lean - turn["lean"]).max()) < 1e-9
    x, y, _ = run.contact_point.sel(contact="rear").values.T
    chord = math.hypot(x[-1] - x[0], y[-1] - y[0])
    assert chord == pytest.approx(2.0 * 20.0 * math.sin(0.25), rel=1e-9)


def test_a_robot_becomes_a_vehicle_whose_wheels_are_guessed(capsys):
    Path("cart.urdf").write_text(CART, encoding="utf-8")
    assert main(["new", "vehicle", "robot", "--from", "cart.urdf"]) == 0
    text = Path("robot.py").read_text(encoding="utf-8")
    assert '"left": 0.1,  # a solid disc of its mass and inertia' in text
    assert '"right": 0.1,  # its cylinder' in text
    assert '"foot": Ball(0.03),  # its sphere' in text
    assert "head" not in text
    assert "# Limits of the motors: left_axle 2 N m." in text
    assert main(["new", "scenario", "drive", "--vehicle", "robot.py"]) == 0
    assert main(["run", "drive.toml", "--until", "2", "--out", "drive.nc"]) == 0
    data = load(Path("drive.nc"), trust=True)
    gone = data.position.values[-1] - data.position.values[0]
    assert gone == pytest.approx([2.0, 0.0, 0.0], abs=1e-12)
    foot = float(data.contact_force.sel(contact="foot", direction="normal")[-1])
    assert foot == pytest.approx(9.0 * 9.81 / 3.0, rel=1e-9)
    assert main(["plot", "drive.nc", "--figure", "top,path", "--trust"]) == 0
    Path("robot.py").write_text(text.replace("foot", "deck"), encoding="utf-8")
    Path("cart.urdf").write_text(CART.replace('"continuous"', '"fixed"'), encoding="utf-8")
    capsys.readouterr()
    assert main(["eigenvalues", "robot.py"]) == 2
    assert "The contacts leave no degree of freedom" in capsys.readouterr().err


BALANCER = """<mujoco model="balancer">
  <default><joint axis="0 1 0" damping="0.01"/><geom type="cylinder" size="0.1 0.01" zaxis="0 1 0"/></default>
  <worldbody><geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="torso"><freejoint/>
      <geom type="box" size="0.05 0.1 0.3" pos="0 0 0.3" mass="6"/>
      <body name="left" pos="0 0.2 0"><joint/><geom mass="0.5"/></body>
      <body name="right" pos="0 -0.2 0"><joint/><geom mass="0.5"/></body>
      <body name="head" pos="0 0 0.6"><joint name="pan" axis="0 0 1" range="-90 90"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.1" mass="0.3"/></body>
    </body></worldbody></mujoco>"""


def test_a_robot_of_mujoco_that_falls_is_written_with_a_law_that_keeps_it(capsys):
    """It starts pitched, ends upright, and the torques that hold its speed against dampers are c w."""
    Path("balancer.xml").write_text(BALANCER, encoding="utf-8")
    assert main(["show", "balancer.xml"]) == 2
    assert "draisine new vehicle robot --from balancer.xml" in capsys.readouterr().err
    assert main(["new", "vehicle", "robot", "--from", "balancer.xml"]) == 0
    text = Path("robot.py").read_text(encoding="utf-8")
    assert '"left": 0.1,  # its cylinder' in text
    assert '"pan": {"motion": uniform(0.0)},' in text
    assert "SPRINGS" not in text
    assert main(["new", "scenario", "drive", "--vehicle", "robot.py"]) == 0
    assert "\n[[law]]" in Path("drive.toml").read_text(encoding="utf-8")
    changed = ["--initial", "pitch=10deg", "--until", "8", "--out", "drive.nc"]
    capsys.readouterr()
    assert main(["show", "robot.py"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "velocity of the origin of torso, (0, 0, 0.1) in the drawing, along the heading" in shown
    assert "x, y, z and Vx, Vy, Vz refer to the drawing's origin, carried by torso" in shown
    assert main(["run", "drive.toml", *changed]) == 0
    data = load(Path("drive.nc"), trust=True)
    assert float(data.pitch[0]) == pytest.approx(math.radians(10.0))
    assert float(abs(data.pitch[-1])) < 1e-6
    assert float(data.forward_speed[-1]) == pytest.approx(1.0, abs=1e-6)
    assert float(data.inputs.sel(input="left")[-1]) == pytest.approx(0.01 * 1.0 / 0.1, rel=1e-4)
    for bad, note in (
        (BALANCER.replace('"0 1 0" damping', '"0 1" damping'), "2 numbers instead of 3"),
        (BALANCER.replace("<freejoint/>", '<joint type="screw"/>'), "'screw' is not supported"),
    ):
        Path("bad.xml").write_text(bad, encoding="utf-8")
        capsys.readouterr()
        assert main(["new", "vehicle", "other", "--from", "bad.xml"]) == 0
        assert note in capsys.readouterr().err
        Path("other.py").unlink()


ARM = """<robot name="arm"><link name="world"/><link name="post"><inertial><mass value="2"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="bolt" type="fixed"><parent link="world"/><child link="post"/></joint>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="swing" type="revolute"><parent link="post"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_an_arm_that_is_bolted_to_the_world_hangs(capsys):
    """A pendulum of 1 kg, 0.5 m below its hinge, about its rest: m g l / J = 14.014 / s^2."""
    Path("arm.urdf").write_text(ARM, encoding="utf-8")
    assert main(["new", "vehicle", "arm", "--from", "arm.urdf"]) == 0
    assert "The root link 'world' is the world" in capsys.readouterr().err
    text = Path("arm.py").read_text(encoding="utf-8")
    assert 'BASE = "fixed"' in text and "base=BASE" in text and "HELD" not in text
    assert main(["eigenvalues", "arm.py", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["eigenvalues"]["imaginary"]["swing"]
    assert abs(found[0]) == pytest.approx(math.sqrt(9.81 * 0.5 / (0.1 + 0.25)), rel=1e-6)
    assert main(["new", "scenario", "drop", "--vehicle", "arm.py"]) == 0
    Path("arm.py").write_text(text.replace('"fixed"', '"SE(3)"'), encoding="utf-8")
    assert main(["run", "drop.toml", "--until", "0.1"]) == 0
    assert "no contact carries it: it is in free fall" in capsys.readouterr().out


SLIDER = """<mujoco model="slider"><worldbody><body name="car"><joint name="way" type="slide" axis="1 0 0"/>
  <geom size="0.1" mass="5"/></body></worldbody></mujoco>"""


def test_the_push_of_a_slide_is_in_newtons():
    Path("slider.xml").write_text(SLIDER, encoding="utf-8")
    assert main(["new", "vehicle", "slider", "--from", "slider.xml"]) == 0
    assert main(["new", "scenario", "push", "--vehicle", "slider.py"]) == 0
    lines = Path("push.toml").read_text(encoding="utf-8").splitlines()
    assert [line.split("#")[-1] for line in lines if line.startswith("# value")] == [" N"]


WHEEL = """<link name="{n}"><inertial><mass value="1"/>
  <inertia ixx="0.004" iyy="0.0072" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{n}_axle" type="continuous"><parent link="deck"/><child link="{n}"/>
  <origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/></joint>"""


def test_a_skid_steered_rover_gets_a_comment_about_tyres(capsys):
    """Four wheels on a rigid frame have no turn; two and a caster have."""
    places = {"fl": (0.2, 0.2), "fr": (0.2, -0.2), "rl": (-0.2, 0.2), "rr": (-0.2, -0.2)}
    wheels = "".join(WHEEL.format(n=n, x=x, y=y) for n, (x, y) in places.items())
    deck = CART.partition('<link name="left">')[0]
    Path("skid.urdf").write_text(f"{deck}{wheels}</robot>", encoding="utf-8")
    Path("cart.urdf").write_text(CART, encoding="utf-8")
    for name, skids in (("skid", True), ("cart", False)):
        assert main(["new", "vehicle", name, "--from", f"{name}.urdf"]) == 0
        text = Path(f"{name}.py").read_text(encoding="utf-8")
        assert ("TYRE = BrushTyre(stiffness=10.0, friction=0.8" in text) == skids
    told = capsys.readouterr().err
    assert "fl: the radius is guessed, a solid disc of its mass and inertia." in told


def test_a_study_runs_as_it_is_written():
    """A robot of a file has gravity as its only parameter."""
    Path("stander.xml").write_text(BALANCER, encoding="utf-8")
    assert main(["new", "vehicle", "stander", "--from", "stander.xml"]) == 0
    for vehicle in ("whipple", "segway", "stander.py"):
        assert main(["new", "sweep", "study", "--vehicle", vehicle, "--force"]) == 0
        assert main(["run", "study.toml", "--out", "study.nc", "--force"]) == 0
        assert load(Path("study.nc")).outcome.size == 15


def test_critical_speeds_against_a_parameter_are_those_of_single_bicycles():
    assert (
        main(["eigenvalues", "--set", "c=0.04:0.12:3", "--set", "mB=90", "--out", "study.nc"]) == 0
    )
    data = load(Path("study.nc"))
    for c, weave in zip(data.c.values, data.weave.values, strict=True):
        alone = draisine.critical_speeds(draisine.compile("whipple", c=float(c), mB=90.0))
        assert weave == pytest.approx(float(alone.weave), rel=1e-12)


def test_a_picture_is_replaced_with_its_data(capsys):
    again = ["run", "--out", "mine.nc", "--until", "0.1"]
    for replaced in ("", " (replaced)"):
        assert main(again) == 0
        told = capsys.readouterr().out
        assert f"data: mine.nc{replaced}\nfigure: mine.png{replaced}\n" in told
