"""Command lines as users write them: right, almost right and wrong, with the output or the hint.

Eigenvalues and the stable range are those of Meijaard and others (2007), doi:10.1098/rspa.2007.1857.
"""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from draisine.cli import main
from draisine.codegen.cache import Store
from draisine.scenario.library import load, read_template

RIGHT = [
    # command line                                 part of the output
    ("", "draisine run"),
    ("--help", "eigenvalues"),
    ("--version", "0.1.0"),
    ("run --help", "--initial"),
    ("list", "draisine list vehicles"),
    ("list", "locomotion ("),
    ("list jump", "A skater jumps"),
    ("list locomotion", "A snakeboard turns on the spot"),
    ("list tyres", "Brush tyre"),
    ("list all", "The classical Runge-Kutta method"),
    ("list impacts", "Poisson's restitution"),
    ("list vehicles", "whipple"),
    ("list scenarios", "mauny2018/ramp-jump"),
    ("list sets", "benchmark"),
    ("list terrains", "Dimensions: slope, drop"),
    ("show whipple", "3 degrees of freedom"),
    ("show bike", "3 degrees of freedom"),
    ("show bicycle", "3 degrees of freedom"),
    ("show rolling_disc", "contact"),
    ("show segway", "3 degrees of freedom"),
    ("show unicycle", "degrees of freedom"),
    ("run ramp-jump", "mauny2018/ramp-jump: A jump from a ramp"),
    ("run mauny2018/ramp-jump", "mauny2018/ramp-jump: A jump from a ramp"),
    ("run passive-stabilisation --initial speed=5 --until 0.1", "completed: 0.1 s"),
    ("run passive-stabilisation --initial forward_speed=5 --until 0.1", "completed: 0.1 s"),
    ("run incline --until 0.1", "--out incline.nc writes the data"),
    ("run incline --until 0.1 --full", "steer_rate"),
    ("run ramp-jump --set terrain.slope=12deg --until 0.1", "-12 │"),
    ("run passive-stabilisation --until 0.1 --law lqr,costs.steer=2", "completed: 0.1 s"),
    ("run incline --until 0.1 --law steer_into_lean,lean_gain=8,rate_gain=4", "completed: 0.1 s"),
    ("run incline --until 0.1 --input steer=0.5", "incline: with inputs"),
    ("run incline --until 0.1 --set inputs.steer=0.5", "incline: with steer = 0.5"),
    ("run passive-stabilisation --until 0.1 --set law.name=lqr", "completed: 0.1 s"),
    ("list laws", "Options: lean_gain, rate_gain,"),
    ("list scenarios jump", "A skater jumps"),
    ("show bicycle --parameter-set browser_jason", "3 degrees of freedom"),
    ("check matrices", "meijaard2007/matrices"),
    ("check meijaard2007", "meijaard2007/eigenvalues: 17 quantities"),
    ("run ramp-jump --mu 0.8 --until 0.1", "completed: 0.1 s"),
    ("run ramp-jump --until 0.7", "still in the air at the end: --until 1.4"),
    (
        "run ramp-jump --set terrain.slope=45deg --initial speed=7.07",
        "still in the air at the end, rear: --until 3",
    ),
    ("run ramp-jump --set terrain.drop=50cm --until 0.1", "completed: 0.1 s"),
    ("run ramp-jump --set run.until=100ms", "completed: 0.1 s"),
    ("run --set mB=85000g --until 0.1", "completed: 0.1 s"),
    ("list gravity", "Parameters: g, gravity"),
    ("show sharp", "degrees of freedom"),
    ("run ramp-jump --set terrain.drop=1 --until 0.1", "ramp-jump: with drop = 1"),
    ("run ramp-jump --set terrain.slope=12° --until 0.1", "ramp-jump: with slope = 12°"),
    ("run basumandal2007/accelerations", "acceleration ┃"),
    ("run ramp_jump --until 0.1", "mauny2018/ramp-jump: A jump from a ramp"),
    ("new vehicle robot --from segway", "try: draisine show robot.py"),
    ("eigenvalues --speed 5", "-0.775342 ±4.46487i"),
    ("eigenvalues --speed 3,5,7", "1.70676 ±2.31582i"),
    ("eigenvalues --speed 18km/h", "-0.775342 ±4.46487i"),
    ("eigenvalues --speed 5m/s", "-0.775342 ±4.46487i"),
    ("run --initial speed=18km/h --until 0.1", "completed: 0.1 s"),
    ("run --set c=80mm --until 0.1", "completed: 0.1 s"),
    ("eigenvalues bicycle --speed 5", "-0.775342 ±4.46487i"),
    ("eigenvalues bicycle --parameter-set benchmark --speed 5", "-0.775342 ±4.46487i"),
    ("eigenvalues --speed 0:10:11", "stable from 4.29238 m/s to 6.02426 m/s"),
    ("eigenvalues --speed 5 --plot one.png", "figure: one.png"),
    ("eigenvalues cart_pole", "unstable: the fastest grows with exp("),
    ("eigenvalues segway --law lqr --plot roots.png", "no disturbance grows exponentially"),
    ("eigenvalues --speed 5 --law lqr,weights.lean=10,costs.steer=1", "no disturbance grows"),
    ("eigenvalues --speed 3 --law lqr", "steady motion of whipple, law lqr"),
    ("eigenvalues --speed 3 --law lqr", "steer 2 (1/s)"),
    ("cycles --scan 214deg:216deg:3", "families of limit cycles"),
    ("cycles --scan 3.74:3.76:3", "families of limit cycles"),
    ("eigenvalues --speed 0", "5.53094, 3.13164"),
    ("show whipple", "given as JointMotion"),
    ("show whipple", "given as Flexible"),
    ("show car_with_trailers", "given as JointMotion"),
    ("new vehicle scooter", "try: draisine show scooter.py"),
    ("new scenario push --vehicle bicycle", "try: draisine run push.toml"),
    ("new scenario leap --from ramp-jump", "try: draisine run leap.toml"),
    ("run --until 0.1 --out heavy.nc", "figure: heavy.png"),
    ("run --until 0.1 --plot push.jpg", "figure: push.jpg"),
    ("run passive-stabilisation --until 1 --linear", "figure: passive-stabilisation-linear.png"),
    ("--verbose cache", "entries"),
    ("cache", "entries"),
    ("doctor", "cpu"),
    ("help", "eigenvalues"),
    ("help run", "--initial"),
    ("list parameter-sets", "benchmark"),
    ("list vehicle", "whipple"),
    ("steady --speed 5 --radius 20", "20.0000 │"),
    ("steady --speed 5 --radius 20 --plot turn.png", "figure: turn.png"),
    ("steady --speed 5 --lean -10deg", "required torque at the handlebar: "),
    ("eigenvalues --set c=0.04:0.12:3", "0.08 │      4.2924 │        6.0243"),
    ("eigenvalues --set lam=15deg:18deg:2 --plot tilt.png", "critical speeds against lam (tilt"),
    ("equations snakeboard --out board.tex", "equations: board.tex"),
    ("equations --as latex", r"\texttt{parameters}: $w$, $c$, $\lambda$"),
    ("equations snakeboard --out board.c", "equations: board.c"),
    ("new sweep study", "try: draisine run study.toml"),
    ("run mauny2017/controlled-turn --law none", "energy: "),
    (
        "run locomotion/unicycle",
        "`draisine new scenario mine --vehicle unicycle` writes a motion",
    ),
]

WRONG = [
    # command line                                 part of the error message
    ("jump", "Unknown command 'jump'. Did you mean draisine run ramp-jump --show?"),
    ("critical-speeds", "Did you mean draisine eigenvalues?"),
    ("simulate", "Did you mean draisine run?"),
    ("simulate segway", "Did you mean draisine run segway?"),
    ("ramp-jump", "Did you mean draisine run ramp-jump?"),
    ("segway", "Did you mean draisine show segway?"),
    ("turn", "Did you mean draisine steady --speed 5 --radius 20?"),
    ("xyzzy", "Unknown command 'xyzzy'. Available: animate, "),
    ("rnu", "Did you mean 'run'?"),
    ("eigenvalue", "Did you mean 'eigenvalues'?"),
    ("show unicicle", "Did you mean 'unicycle'?"),
    ("show diff", "Did you mean 'differential_platform'?"),
    ("show disc", "Did you mean 'euler_disc' or 'rolling_disc'?"),
    ("eigenvalues --set mb=90", "Did you mean mB (frame with rider, mass)?"),
    (
        "run rolling-disc --initial speed=1 --initial spin=4",
        "lean_rate = 0.5, yaw_rate = -2 belong to the scenario",
    ),
    (
        "run snakeboard-drive --initial rotor=5",
        "the joint 'rotor' follows a prescribed motion, with",
    ),
    (
        "run snakeboard-drive --initial rotor_rate=5",
        "rotor_rate = 5 is not possible: the joint 'rotor' follows",
    ),
    ("run jump", "Did you mean 'mauny2018/ramp-jump', 'locomotion/skater-jump' or"),
    ("run ramp-jmp", "Did you mean 'mauny2018/ramp-jump'?"),
    ("run controlled-turn", "mauny2017/controlled-turn or mauny2018/controlled-turn?"),
    ("run xyzzy", "No similar name exists. See `draisine list scenarios`"),
    ("run mine.toml", "mine.toml: the file does not exist"),
    ("run --speed 3", "Did you mean --initial forward_speed=3?"),
    ("run --lean=10deg", "Did you mean --initial lean=10deg?"),
    ("run --untill 3", "--until"),
    ("run --terrain kerb", "Did you mean --set terrain.shape=kerb?"),
    (
        "run ramp-jump --vehicle car",
        "Did you mean draisine new scenario mine --vehicle car --from ramp-jump?",
    ),
    ("new scenario leap --vehicle cra --from ramp-jump", "Did you mean 'car'?"),
    (
        "new scenario push --vehicle cart_pole --from ramp-jump",
        "cannot be used with the vehicle cart_pole",
    ),
    ("new vehicle mine --vehicle car", "To copy a vehicle, use --from car"),
    ("run --duration=3", "Did you mean --until 3?"),
    ("run --set steer=0.5", "Did you mean --input steer=0.5? In a file it belongs to [inputs]."),
    ("run --input ster=0.5", "no such input. Did you mean 'steer'?"),
    ("run --input steer", "--input steer: write NAME=VALUE, for example --input steer=0.5."),
    ("run --initial speed=5,lean=0.1", "--initial speed=5 --initial lean=0.1"),
    ("run --set mB=90,c=80mm", "Repeat --set for each value: --set mB=90 --set c=80mm"),
    (
        "run ramp-jump --set contact.mu={rear=0.5,front=0.8}",
        "--set contact.mu.rear=0.5 --set contact.mu.front=0.8",
    ),
    ("run ramp-jump --set terrain.shape=curb", "unknown shape of ground. Did you mean 'kerb'?"),
    ("run ramp-jump --set terrain=kerb", "did you mean --set terrain.shape=kerb?"),
    ("run ramp-jump --set vehicle=car", "new scenario mine --vehicle car --from ramp-jump"),
    ("run ramp-jump --animate a.html --animate a.gif", "draisine animate run.nc --out FILE"),
    ("run ramp-jump --set run.until.s=3", "'until' has the value 1.5, which is not a table"),
    ("plot a.nc --figure top --figure forces", "by commas: --figure top,forces"),
    ("plot a.nc --series lean --series steer", "by commas: --series lean,steer"),
    (
        "run --initial speed=5 lean=0.1",
        "Repeat --initial for each value: --initial speed=5 --initial lean=0.1",
    ),
    (
        "run ramp-jump --set slope=12deg",
        "use --set terrain.slope=12deg",
    ),
    ("run ramp-jump --set slope=15", "use --set terrain.slope=15deg"),
    ("run --initial velocity=3", "whipple has no such quantity. Did you mean 'forward_speed'?"),
    ("run --initial roll=0.1", "whipple has no such quantity. Did you mean 'lean'?"),
    ("run --vehicle segway", "Did you mean draisine new scenario mine --vehicle segway?"),
    ("run ramp-jump -o jump.nc", "Unknown option: -o. Did you mean --out jump.nc?"),
    ("run ramp-jump --gif jump.gif", "Did you mean --animate jump.gif?"),
    ("run ramp-jump --html=jump.html", "Did you mean --animate jump.html?"),
    ("run ramp-jump --plot", "--plot needs a value, for example --plot run.png"),
    ("run ramp-jump --animate", "--animate needs a value, for example --animate jump.html"),
    ("run --law pid", "Did you mean 'turn_pi'?"),
    ("show", "for example draisine show whipple"),
    ("plot", "for example draisine plot run.nc --figure top"),
    ("new vehicle", "for example draisine new vehicle scooter, new scenario push, new sweep study"),
    ("new vehicle robot cart.urdf", "Did you mean draisine new vehicle robot --from cart.urdf?"),
    ("new robot.py", "Did you mean draisine new vehicle robot, or draisine new scenario robot?"),
    ("cart.urdf", "Did you mean draisine new vehicle cart --from cart.urdf?"),
    ("robot.xml", "Did you mean draisine new vehicle robot --from robot.xml?"),
    ("import cart.urdf", "Did you mean draisine new vehicle robot --from cart.urdf?"),
    ("study.toml", "Did you mean draisine run study.toml?"),
    ("run.nc", "Did you mean draisine plot run.nc?"),
    ("lqr", "Did you mean draisine eigenvalues segway --law lqr?"),
    ("run --v 5", "Unknown option: --v. Did you mean --initial forward_speed=5?"),
    ("run --velocity=5", "Did you mean --initial forward_speed=5?"),
    ("run --roll-rate 0.5", "Did you mean --initial lean_rate=0.5?"),
    ("run --mB 90", "Did you mean --set mB=90?"),
    ("run --torque 2", "Did you mean --input steer=2?"),
    ("run --steps 100", "Did you mean --dt SECONDS?"),
    ("run ramp-jump --height 2", "Did you mean --set terrain.drop=2?"),
    ("show motorbike", "Did you mean 'motorcycle'?"),
    ("run segway --pitch 0.1", "Did you mean --initial pitch=0.1?"),
    (
        "run pendulum",
        "These vehicles have 'pendulum' in their descriptions: acrobot, cart_pole, segway",
    ),
    ("equations pendulum", "have 'pendulum' in their descriptions: acrobot, cart_pole, segway"),
    ("eigenvalues --at 5", "Did you mean --speed 5?"),
    ("plot run.nc --x time --y lean", "Unknown option: --x. Did you mean --series lean?"),
    ("plot --x time --y lean", "Did you mean --series lean?"),
    ("plot run.nc --x lean --y steer", "Did you mean --figure phase --series lean,steer?"),
    ("ride --preset jump", "Did you mean 'ramp'?"),
    ("ride --preset bump", "Did you mean 'kerb'?"),
    ("ride --vehicle car", "Did you mean draisine ride car?"),
    ("steady --radius 1", "for example draisine steady --radius 1 --speed 1.4"),
    ("steady --v 5", "Did you mean --speed 5?"),
    ("lqr mine.py", "Did you mean draisine eigenvalues mine.py --law lqr?"),
    ("equations segway --as casadi", "use draisine.interop.casadi in Python"),
    ("equations segway --as gymnasium", "use draisine.interop.gymnasium in Python"),
    ("export segway --as gymnasium", "draisine.interop.gymnasium in Python"),
    ("eigenvalues benchmark", "Did you mean whipple --parameter-set benchmark?"),
    ("eigenvalues MyBike.txt", "Did you mean whipple --parameter-set MyBike.txt?"),
    ("explore browser_jason", "Did you mean whipple --parameter-set browser_jason?"),
    ("run ramp-jump --set speed=6", "Did you mean --initial speed=6?"),
    ("run ramp-jump --set forward_speed=6", "Did you mean initial.forward_speed?"),
    ("run ramp-jump --set vehicle.name=car", "new scenario mine --vehicle car --from ramp-jump`"),
    ("run ramp-jump --set terrain.height=2", "terrain.height: is unknown. Did you mean 'drop'?"),
    (
        "run ramp-jump --set terrain.height=2",
        "drop (height of the lip above the level ground behind it",
    ),
    (
        "run ramp-jump --set terrain.shape=kerb",
        "terrain.at: is missing: position of the step along x",
    ),
    (
        "run ramp-jump --set terrain.shape=kerb --set terrain.at=1",
        "Example: --set terrain.shape=kerb --set terrain.rise=0.02",
    ),
    ("run ramp-jump --set terrain.drop=0", "a slope without a drop has the shape 'plane'"),
    ("run ramp-jump --set terrain.drop=5foo", "it is in m) or one with its unit (cm, mm, km)"),
    ("run ramp-jump --linear", "--linear needs a run on the level plane"),
    ("run meijaard2007/eigenvalues --linear", "--linear needs a run on the level plane"),
    ("run --push 0.3", "Did you mean --initial lean_rate=0.3?"),
    ("run --slow 0.2", "Did you mean draisine animate run.nc --speed 0.2?"),
    ("run --movie jump.mp4", "Did you mean --animate jump.mp4?"),
    ("run --csv jump.csv", "Did you mean --out jump.csv?"),
    ("linearize segway", "Did you mean draisine eigenvalues segway?"),
    ("version", "Did you mean draisine --version?"),
    ("-V", "Did you mean --version?"),
    ("list --vehicles", "Did you mean draisine list vehicles?"),
    ("eigenvalues -v 5", "Did you mean --speed 5?"),
    ("eigenvalues cart.urdf", "`draisine new vehicle robot --from cart.urdf` writes robot.py"),
    ("export whipple --as fmu", "Did you mean --as fmi3, which is the default?"),
    ("export segway --as c", "draisine equations segway --program simulate --out FOLDER"),
    ("export segway --as casadi", "draisine.interop.casadi in Python"),
    ("equations whipple --format latex", "Did you mean --as latex?"),
    ("equations whipple --latex", "Did you mean --as latex?"),
    ("equations whipple --as tex", "Did you mean 'latex'?"),
    ("run --initial wheel_speed=3", "Did you mean 'rear_wheel_speed' or"),
    ("run --initial speed=18deg", "this is in m/s"),
    (
        "run --set mass=90",
        "Did you mean mR (mass of the rear wheel) or mB (frame with rider, mass)",
    ),
    ("run --set trail=0.04", "Did you mean c (trail)?"),
    ("run --set wheelbase=1", "Did you mean w (wheelbase)?"),
    ("run --set xyzzy=1", "`draisine show VEHICLE` lists all parameters"),
    ("run --law steer_into_lean", "law[0].lean_gain: is missing"),
    ("run --law lqr,pitch", "write NAME=VALUE"),
    ("run --law lqr,weights.wheel=1", "lqr: no state 'wheel'"),
    ("run --set terrain.slop=12deg", "terrain"),
    ("run ramp-jump --set terrain.slop=12deg", "Did you mean 'slope'?"),
    (
        "run ramp-jump --set terrain.slope=20",
        "20 rad is steeper than vertical; degrees are written '20deg'",
    ),
    ("run --set lam=18", "18 rad is more than a turn; degrees are written '18deg'"),
    ("list scenarios xyzzy", "No name or description contains 'xyzzy'"),
    ("show ramp-jump", "ramp-jump is a scenario, not a vehicle. `draisine run ramp-jump` runs it"),
    ("plot ramp-jump", "`draisine run ramp-jump --out ramp-jump.nc` writes a result"),
    ("explore segway", "Use `draisine eigenvalues segway`"),
    ("run ramp-jump --set drop=1", "Did you mean terrain.drop?"),
    ("run ramp-jump --set terrain.drop=1kg", "'1kg' is not a number; write a plain number"),
    ("animate jump.nc --out jump.gif", "`draisine run SCENARIO --out jump.nc` writes a result"),
    ("eigenvalues --speed fast", "'fast' is not a number"),
    ("eigenvalues --speed 3,-5", "negative"),
    ("eigenvalues --speed 3,,5", "'' is not a number"),
    ("eigenvalues --speed 5 6", "by commas: --speed 5,6"),
    ("eigenvalues cart_pole --speed 5", "cart_pole has no forward_speed"),
    ("eigenvalues --set c=0:0.1:3 --speed 5", "Leave out --speed 5"),
    ("eigenvalues --set trail=0:0.1:3", "Did you mean c (trail)?"),
    ("steady --lean 10deg", "for example draisine steady --lean 0.174533rad --speed 5"),
    ("eigenvalues --speed -3,3", "-3 is negative"),
    (
        "steady --speed 5 --radius 20 --family reversed",
        "--family reversed selects a family of hands-free circles",
    ),
    ("eigenvalues --lean 10deg", "--speed 5"),
    ("eigenvalues --speed 3:5:3 --lean 0:0.1:3", "--speed and --lean are ranges"),
    ("eigenvalues --speed 5 --lean 0.1 --form frozen", "--form frozen needs an acceleration"),
    ("eigenvalues --speed 5 --no-title", "--no-title has no effect without a figure"),
    ("eigenvalues --speed 5 --lean 0.1 --law follow_path,dela=0.2", "Did you mean 'delay'?"),
    ("eigenvalues --speed 5 --acceleration 1 --form thawed", "Available: frozen, dalembert"),
    ("steady --lean 10deg --steer 5deg", "No steady motion found with lean = 0.174533"),
    ("equations bicycle --out b.pdf", "Write LaTeX, --out b.tex, and run `pdflatex`"),
    ("eigenvalues --law lqr", "Compute its eigenvalues at one speed, --speed 5"),
    ("eigenvalues --speed 0:10", "write LOW:HIGH:COUNT, for example 0:10:101"),
    ("eigenvalues --speed 18deg", "'18deg' is an angle, but this is in m/s"),
    ("new vehicle two-wheels", "'two-wheels' is not a valid name of a vehicle"),
    ("new vehicle mine.py", "Did you mean draisine new vehicle mine?"),
    ("new scenario ride --vehicle bicicle", "Did you mean 'bicycle'?"),
    ("new car mine", "vehicle"),
    ("new robot", "Did you mean draisine new vehicle robot, or draisine new scenario robot?"),
    ("show cart.urdf", "`draisine new vehicle robot --from cart.urdf` writes robot.py"),
    ("run robot.xml", "`draisine new vehicle robot --from robot.xml` writes robot.py"),
    ("new vehicle robot --from cart.urdf", "cart.urdf: cannot be read: No such file"),
    ("new vehicle robot --from cart.xml", "cart.xml: cannot be read: No such file"),
    ("equations segway --law lqr", "--law needs a complete simulator: --program simulate"),
    ("export segway --law lqrr", "Did you mean 'lqr'?"),
    (
        "run euler-disc --animate disc.html",
        "`draisine new scenario mine --vehicle euler_disc` writes",
    ),
    ("run scooter.py", "'scooter.py' does not exist"),
    ("ride car --export car.html", "supports only the rides --preset steer-torque, "),
    ("ride ramp-jump --export ramp.html", "scenarios can be ridden without --export"),
    ("ride --preset loop --export loop.html", "--preset steer-torque, steer-angle, steer-lean, "),
    ("open run.html", "run.html: the file does not exist"),
    (
        "sweep mauny2018/drift --out drift.nc",
        "`draisine run FILE.toml --out FILE.nc` writes all runs",
    ),
    ("compare a.nc b.nc", "a.nc: no such file"),
    (
        "plot gone.nc --figure top,forces --out one.png",
        "--out one.png is one file, but --figure selects 2 figures",
    ),
    ("cycles --scan 0:360:61", "Did you mean 0deg:360deg:61?"),
    ("cycles --scan 0deg:360:61", "Did you mean 0deg:360deg:61?"),
    ("cycles --over frequency --scan 1deg:2deg:3", "is an angle, but this is in Hz"),
]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("line", "screen"), RIGHT, ids=[line or "nothing" for line, _ in RIGHT])
def test_right_command_lines_print_their_result(line, screen, capsys):
    assert main(line.split()) == 0
    # Tables break long descriptions into lines.
    assert " ".join(screen.split()) in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("line", "hint"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_command_lines_get_a_hint(line, hint, capsys):
    assert main(line.split()) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert hint in output.err
    assert len(output.err) < 500, "a list of many names is not a hint"


def test_the_last_part_of_a_name_is_enough_if_it_is_unique():
    for name in ("mauny2018/ramp-jump", "mauny2018/incline", "mauny2018/lift-offs"):
        assert load(name.rpartition("/")[2]).name == name


@pytest.mark.parametrize("vehicle", ["car", "unicycle", "segway", "tricycle"])
def test_a_scenario_is_copied_for_another_vehicle(vehicle, capsys):
    assert main(["new", "scenario", "leap", "--vehicle", vehicle, "--from", "ramp-jump"]) == 0
    capsys.readouterr()
    assert main(["run", "leap.toml", "--until", "0.02", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["vehicle"] == vehicle
    assert found["final"]["time"] == 0.02


@pytest.mark.parametrize("vehicle", ["unicycle", "segway"])
def test_a_run_that_ends_by_a_fall_is_not_valid(vehicle, capsys):
    main(["new", "scenario", "leap", "--vehicle", vehicle, "--from", "ramp-jump"])
    capsys.readouterr()
    assert main(["run", "leap.toml"]) == 1
    told, complaint = capsys.readouterr()
    assert "fell: it turned over" in told
    assert "not physically valid: from" in told and "it has fallen" in told
    assert "in the air" not in told
    assert 'set run.expects = ["fall"]' in complaint
    expecting = (
        Path("leap.toml").read_text(encoding="utf-8").replace("[run]", '[run]\nexpects = ["fall"]')
    )
    Path("leap.toml").write_text(expecting, encoding="utf-8")
    assert main(["run", "leap.toml"]) == 0
    assert "it has fallen" in capsys.readouterr().out


def test_initial_values_that_another_vehicle_lacks_are_commented_out():
    text = read_template("mauny2018/ramp-jump").replace("forward_speed", "lean_rate = 0.1\nsteer")
    Path("mine.toml").write_text(text, encoding="utf-8")
    assert main(["new", "scenario", "leap", "--vehicle", "segway", "--from", "mine.toml"]) == 0
    written = Path("leap.toml").read_text(encoding="utf-8")
    assert "\n# steer = 9.84807753012208  # segway does not have it\n" in written
    assert "\nlean_rate = 0.1\n" in written
    assert load("leap.toml").scenario.vehicle.parameter_set is None


def test_warnings_are_notes_of_one_line_each(capsys):
    joints = (f'<joint name="j{k}" axis="0 1 0" armature="0.1"/>' for k in range(2))
    bodies = "".join(
        f'<body name="b{k}" pos="0 0 0.1"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{joint}'
        f'<geom type="cylinder" size="0.1 0.01" zaxis="0 1 0"/></body>'
        for k, joint in enumerate(joints)
    )
    base = '<freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    text = f'<mujoco><worldbody><body name="base">{base}{bodies}</body></worldbody></mujoco>'
    Path("cart.xml").write_text(text, encoding="utf-8")
    assert main(["new", "vehicle", "robot", "--from", "cart.xml"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "'j0': its armature is left out." in line] == told[:1]
    assert all(line.startswith("note: ") for line in told)
    assert len(told) == len(set(told))
    assert main(["show", "robot.py"]) == 0
    assert "armature" not in capsys.readouterr().err  # what a file says is told once
    assert not [line for line in told if "times)" in line]


def test_speed_replaces_the_forward_speed_of_a_scenario(capsys):
    assert main(["run", "incline", "--initial", "speed=2.5", "--until", "0.01", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["final"]["forward_speed"] == pytest.approx(2.5, abs=0.1)


def test_chosen_speeds_are_those_of_the_data(capsys):
    assert main(["eigenvalues", "--speed", "7,3,5", "--out", "chosen.csv"]) == 0
    rows = Path("chosen.csv").read_text(encoding="utf-8").splitlines()
    speed = rows[0].split(",").index("speed")
    assert sorted({float(row.split(",")[speed]) for row in rows[1:]}) == [3.0, 5.0, 7.0]


def test_clearing_the_cache_leaves_other_files(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DRAISINE_CACHE", str(tmp_path))
    (tmp_path / "letter.txt").write_text("dear")
    Store().put("a", b"12")
    Store().put("b", b"3")
    assert main(["cache", "--clear"]) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path}: 2 entries" in out
    assert "2 entries removed" in out
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_doctor_reports_missing_programs_and_leaves_no_files(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DRAISINE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "sympy" else find_spec(name)
    )
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"]["cache"] == f"{tmp_path / 'kept'}: writable"
    assert list((tmp_path / "kept").iterdir()) == []
    assert "not .mp4" in found["programs"]["ffmpeg"]
    assert "draisine[symbolic]" in found["extras"]["symbolic"]
    assert {"python", "draisine", "numpy"} <= set(found["versions"])


def test_doctor_reports_a_cache_that_cannot_be_written(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DRAISINE_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"]["cache"].endswith("code is derived again in every process")


RUNS = {
    "car": ("locomotion/car-four-arcs: ", "(others: car-parking, car-wriggle)"),
    "bicycle": ("mauny2018/passive-stabilisation: ", " more). To write a run of your own: "),
    "snakeboard": (
        "locomotion/snakeboard-drive: ",
        "write a run of your own: `draisine new scenario mine --vehicle snakeboard`",
    ),
    "unicycle": (
        "locomotion/unicycle-balanced: ",
        "write a run of your own: `draisine new scenario mine --vehicle unicycle`",
    ),
    "tricycle": ("tricycle: with forward_speed = 1\n", "this is a default run of the vehicle"),
    "motorcycle": ("motorcycle: with forward_speed = 5.8, lean_rate = 0.2\n", "a default run"),
}


@pytest.mark.parametrize("vehicle", RUNS)
def test_the_name_of_a_vehicle_runs_it(vehicle, capsys):
    """A scenario of the vehicle, or a default run of it; a note names it and other scenarios."""
    assert main(["run", vehicle]) == 0
    told = capsys.readouterr()
    begins, note = RUNS[vehicle]
    assert told.out.startswith(begins)
    assert told.err.startswith(f"note: {vehicle} is a vehicle; ")
    assert note in told.err


def test_a_vehicle_of_the_user_runs_and_can_be_changed(capsys):
    main(["new", "vehicle", "scooter"])
    capsys.readouterr()
    changed = ["--initial", "forward_speed=4", "--set", "c=0.1", "--until", "0.1", "--json"]
    assert main(["run", "scooter.py", *changed]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["vehicle"], found["parameters"]["c"]) == ("scooter.py", 0.1)
    assert found["final"]["time"] == 0.1
    assert 3.5 < found["final"]["forward_speed"] < 4.5


def test_a_scenario_with_the_name_of_a_vehicle_is_checked():
    """The scenario is one state; the name of the vehicle runs a motion, the full name the scenario."""
    assert main(["check", "unicycle"]) == 0
    assert load("locomotion/unicycle").scenario.kind == "state"
    with pytest.warns(UserWarning, match="unicycle is a vehicle; this run uses its scenario"):
        found = load("unicycle")
    assert (found.name, found.scenario.kind) == ("locomotion/unicycle-balanced", "run")
