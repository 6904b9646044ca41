"""Films and replays: frames that show something, pages that need nothing else, clear complaints."""

import json
import math
import re
import subprocess
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import draisine
from draisine.algebra.lie import rotation
from draisine.errors import DataError, ModelError, ParameterError
from draisine.experiment.run import run
from draisine.registry import names
from draisine.results.bodies import Bodies, restore_model
from draisine.scenario.library import load
from draisine.terrain import (
    Joined,
    Terrain,
    corner,
    face,
    height_field,
    kerb,
    move_ground,
    plane,
    ramp,
)
from draisine.terrain.motions import Shake, Slide
from draisine.vehicles.bicycle.whipple import whipple
from draisine.view import film as films
from draisine.view.film import FilmStage, animate, frame_times
from draisine.view.replay import replay_page, unit_quaternions
from draisine.view.scene.camera import Camera
from draisine.view.scene.ground import ground_heights, ground_patches, hidden_points
from draisine.view.scene.scene import build_scene
from draisine.view.scene.shapes import machine_outlines, machine_size, mass_centre_balls


@pytest.fixture(scope="module")
def passive():
    return run(load("mauny2018/passive-stabilisation", {"run.until": 1.0})).data


def every(step):
    return lambda known: np.arange(known[0], known[-1] + 1e-9, step)


def motion_in(text):
    match = re.search(r'<script id="motion" type="application/json">(.*?)</script>', text, re.S)
    assert match is not None
    return json.loads(match[1])


def test_a_gif_has_its_frames_and_none_is_blank(passive, tmp_path):
    animate(passive, tmp_path / "run.gif", fps=5.0)
    with Image.open(tmp_path / "run.gif") as film:
        assert film.n_frames == 6
        assert film.size == (640, 360)
        assert film.info["duration"] == 200
        shown = []
        for k in range(film.n_frames):
            film.seek(k)
            shown.append(np.asarray(film.convert("RGB"), float))
    for frame in shown:
        assert (frame.min(axis=2) < 100).mean() > 0.01
        assert (frame.min(axis=2) > 250).mean() > 0.5
    assert all(np.abs(a - b).mean() > 0.5 for a, b in pairwise(shown))
    assert [path.name for path in tmp_path.iterdir()] == ["run.gif"]


def test_speeds_of_films():
    sampled = np.linspace(0.0, 10.0, 1001)
    times, speed = frame_times(sampled, 20.0, None)
    assert (len(times), speed) == (201, 1.0)
    assert_allclose(times[[0, -1]], [0.0, 10.0])
    assert len(frame_times(sampled, 20.0, 0.25)[0]) == 801
    assert frame_times(np.array([0.0, 4000.0]), 20.0, None)[1] == pytest.approx(4000 / 30)
    with pytest.raises(ParameterError, match="higher speed or a lower fps"):
        frame_times(sampled, 20.0, 0.01)


def test_the_machine_has_the_poses_of_the_run(passive):
    """Wheels touch the ground at the contact points of the dataset, and rotate as they roll."""
    motion = build_scene(passive, every(0.1))
    for name, contact in (("rear_wheel", "rear"), ("front_wheel", "front")):
        rim = next(p for p in motion.parts if p.body == name and p.kind == "rim")
        for k in (0, 5, 10):
            points = motion.place(name, rim.points, k)
            lowest = points[np.argmin(points[:, 2])]
            assert_allclose(lowest, motion.tracks[contact][k], atol=0.02)
    spokes = next(p for p in motion.parts if p.kind == "spokes")
    hub, tip = (np.array([motion.place("rear_wheel", spokes.points, k)[i] for k in (0, 1)])
                for i in (0, 1))  # fmt: skip
    a, b = (tip - hub) / 0.3
    rolled = float(passive["shape"].sel(joint="rear_wheel").values[10])
    assert math.acos(a @ b) == pytest.approx(rolled, abs=5e-3)


def test_the_camera_follows(passive):
    motion = build_scene(passive, every(0.1))
    moved = motion.focus[-1] - motion.focus[0]
    assert_allclose(moved[:2], (motion.p[-1, 0] - motion.p[0, 0])[:2], atol=0.2)
    for k in (0, 10):
        camera = Camera.following(motion, k)
        for line in motion.lines(k):
            projected, depth = camera.project(line)
            assert np.abs(projected[:, 1]).max() < 0.8
            assert depth.min() > camera.near
        assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-14)
        assert_allclose(camera.project(motion.focus[k])[0], 0.0, atol=1e-14)


def test_a_frame_shows_time_and_angles(passive):
    stage = FilmStage(build_scene(passive, every(0.5)), 2.0)
    stage.show(1)
    texts = [text.get_text() for text in stage.figure.axes[0].texts]
    lean = math.degrees(float(passive["lean"].sel(time=0.5, method="nearest")))
    assert f"0.50 s\nlean {lean:.1f} deg" in texts[1].replace("\N{MINUS SIGN}", "-")
    assert passive.attrs["title"] in texts
    assert "2 times as fast" in texts
    assert "rear contact" in texts


def test_a_slope_tilts_the_ground_and_not_the_machine():
    data = run(load("mauny2018/incline", {"run.until": 0.1})).data
    motion = build_scene(data, every(0.1))
    slope = math.acos(motion.up[2])
    assert slope == pytest.approx(json.loads(data.attrs["parameters"])["slope"], abs=1e-12)


def test_a_page_needs_nothing_else(passive, tmp_path):
    animate(passive, tmp_path / "run.html", speed=0.5)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    for outside in ("http:", "https:", "//cdn", "src=", "href=", "@import", "url(", "fetch("):
        assert outside not in text
    assert "{{" not in text
    motion = motion_in(text)
    assert motion["title"] == passive.attrs["title"]
    assert motion["speed"] == 0.5
    count = len(motion["time"])
    assert motion["time"][-1] == 1.0
    assert [body["name"] for body in motion["bodies"]] == [
        "frame", "fork", "rear wheel", "front wheel",
    ]  # fmt: skip
    for body in motion["bodies"]:
        assert len(body["position"]) == 3 * count
        q = np.reshape(body["orientation"], (-1, 4))
        assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=2e-5)
        assert np.sum(q[1:] * q[:-1], axis=1).min() > 0
    assert [reading["name"] for reading in motion["readings"]] == ["lean", "steer", "forward speed"]
    assert len(motion["tracks"][0]["points"]) == 3 * count


def test_a_page_is_safe_from_its_title(passive):
    text = replay_page(passive.assign_attrs(title="</script><b>{{motion}}"))
    assert text.count("</script>") == 2
    assert motion_in(text)["title"] == "</script><b>{{motion}}"
    assert (
        motion_in(replay_page(passive.assign_attrs(title="a ride\nthat fell")))["title"]
        == "a ride; that fell"
    )


def test_quaternions_of_all_kinds_of_turns():
    rng = np.random.default_rng(3)
    q = rng.normal(size=(200, 4))
    q[:3] = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    R = np.moveaxis(rotation(q.T), 2, 0)
    assert_allclose(np.abs(np.sum(unit_quaternions(R) * q, axis=1)), 1.0, atol=1e-14)


def test_a_jump_leaves_gaps_in_its_tracks(passive):
    flown = passive.copy(deep=True)
    flown["gap"][20:40] = 0.1
    flown["contact_point"][20:40, :, 2] = 0.1
    flown["contact_point"][60:, :, 2] = -0.5
    motion = build_scene(flown, every(0.01))
    assert np.isnan(motion.tracks["rear"][20:40]).all()
    assert motion.ground == -0.5
    assert_allclose(motion.posts[:, 1, 2], -0.5)
    assert_allclose(motion.posts[:, 0, 2], 0.0, atol=1e-12)
    points = motion_in(replay_page(flown))["tracks"][0]["points"]
    assert None in points
    assert not len(build_scene(passive, every(0.01)).posts)
    FilmStage(motion).show(50)


@pytest.mark.parametrize("vehicle", names("vehicle"))
def test_every_machine_can_be_shown(vehicle):
    system = draisine.compile(vehicle)
    start = draisine.state(system)
    try:
        data = draisine.simulate(system, start, until=0.1).to_xarray()
    except ModelError:  # bodies that may touch each other: these run on a terrain only
        data = draisine.simulate(system, start, until=0.1, terrain=plane()).to_xarray()
    motion = build_scene(data, every(0.05))
    assert motion.size > 0
    assert {part.body for part in motion.parts} | {ball.body for ball in motion.balls}
    stage = FilmStage(motion)
    stage.show(2)
    stage.figure.canvas.draw()
    assert np.asarray(stage.figure.canvas.buffer_rgba())[..., :3].min() < 120
    assert motion_in(replay_page(data))["time"]


def test_parts_of_a_bicycle():
    model = whipple()
    kinds = [(part.body, part.kind) for part in machine_outlines(model)]
    assert kinds[:2] == [("frame", "link"), ("fork", "link")]
    assert ("rear_wheel", "spokes") in kinds
    frame = machine_outlines(model)[0].points
    assert_allclose(frame[0], frame[-1])
    assert any(np.allclose(point, [0.3, 0.0, 0.9]) for point in frame)
    assert [ball.body for ball in mass_centre_balls(model)] == ["frame", "fork"]
    assert 1.5 < machine_size(model) < 2.0
    rider = [part.body for part in machine_outlines(whipple(mU=30.0)) if part.kind == "box"]
    assert rider == ["upper_body"]


def test_mp4_without_ffmpeg_names_alternatives(passive, tmp_path, monkeypatch):
    monkeypatch.setattr(films.shutil, "which", lambda _: None)
    with pytest.raises(DataError, match=r"needs the program ffmpeg.*\.gif or \.html"):
        animate(passive, tmp_path / "run.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(films.shutil.which("ffmpeg") is None, reason="no ffmpeg here")
def test_mp4_with_ffmpeg(passive, tmp_path):
    animate(passive, tmp_path / "run.mp4", fps=5.0)
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"


def test_results_without_motion_are_not_animated(passive, tmp_path):
    with pytest.raises(ParameterError, match="single instant"):
        animate(passive.isel(time=[0]), tmp_path / "a.gif")
    with pytest.raises(ParameterError, match="not a run"):
        animate(run(load("meijaard2007/matrices")).data, tmp_path / "a.html")
    with pytest.raises(DataError, match=r"\.gif, \.mp4, \.html"):
        animate(passive, tmp_path / "a.avi")
    for wrong in ({"fps": 0.0}, {"speed": -1.0}, {"speed": math.nan}):
        with pytest.raises(ParameterError, match="must be a positive number"):
            animate(passive, tmp_path / "a.gif", **wrong)
    assert not list(tmp_path.iterdir())


def test_no_partial_file_remains(passive, tmp_path, monkeypatch):
    def full(*_given, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(DataError, match="No space left"):
        animate(passive, tmp_path / "a.gif", fps=2.0)
    assert not list(tmp_path.iterdir())


def test_bodies_agree_with_the_scene(passive):
    motion = build_scene(passive, every(0.01))
    bodies = Bodies(passive, whipple())
    assert_allclose(motion.p[:, 1], bodies.motions["fork"].p, atol=1e-12)


def grounds():
    x = np.linspace(-3.0, 8.0, 12)
    ground_heights = np.where(x < 0.0, 0.0, 0.1 * x)[:, None] + np.zeros((12, 7))
    return {
        "plane": plane(-0.2, 0.1),
        "ramp": ramp(math.radians(10.0), 0.5),
        "kerb": kerb(2.0, 0.15),
        "corner": corner(0.3, 1.0),
        "mesh": height_field(x, np.linspace(-3.0, 3.0, 7), ground_heights),
    }


@pytest.mark.parametrize("name", ["plane", "ramp", "kerb", "corner", "mesh"])
def test_patches_lie_on_the_faces(name, passive):
    """Corners and lines of a patch are points of one face, within its borders."""
    terrain = grounds()[name]
    motion = build_scene(passive, every(0.5), terrain)
    faces = [terrain[k] for k in range(len(terrain)) if terrain[k].kind == "face"]
    assert len(motion.patches) == len(faces)
    for patch in motion.patches:
        points = np.concatenate([patch.outline, patch.lines.reshape(-1, 3)])
        gaps = [np.abs(points @ f.numbers[:3] - f.numbers[3]).max() for f in faces]
        nearest = faces[int(np.argmin(gaps))]
        assert min(gaps) < 1e-9
        assert max(nearest.excess(x, nearest.numbers[:3]) for x in points) < 1e-9
    shown = FilmStage(motion)
    shown.show(1)
    assert len(shown.faces.get_paths()) > len(faces)
    content = motion_in(replay_page(passive, terrain=terrain))
    assert len(content["patches"]) == len(faces)


def test_the_terrain_of_a_scenario_is_drawn():
    """The jump is seen from a ramp of ten degrees onto level ground half a metre below its lip."""
    data = run(load("mauny2018/ramp-jump", {"run.until": 0.5})).data
    motion = build_scene(data, every(0.1))
    slopes = sorted(math.degrees(math.acos(patch.normal[2])) for patch in motion.patches)
    assert_allclose(slopes, [0.0, 10.0, 90.0], atol=1e-9)
    level = next(patch for patch in motion.patches if patch.normal[2] == 1.0)
    assert_allclose(level.outline[:, 2], -0.5)
    assert not len(motion.posts)
    assert [reading.name for reading in motion.readings][:3] == ["pitch", "lean", "steer"]


def test_heights_below_points():
    ground = ground_patches(grounds()["ramp"], np.zeros(1), np.zeros((1, 3)), 5.0, 1.0)
    points = np.array([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -2.0], [9.0, 0.0, 1.0]])
    expected = [-math.tan(math.radians(10.0)), -0.5, math.nan, math.nan]
    assert_allclose(ground_heights(ground, points), expected, atol=1e-12)


def test_the_lip_hides_points_behind_it():
    ground = ground_patches(grounds()["ramp"], np.zeros(1), np.zeros((1, 3)), 5.0, 1.0)
    points = np.array([[0.2, 0.0, -0.5], [3.0, 0.0, -0.5], [-2.0, 0.0, 0.1], [np.nan] * 3])
    hidden = hidden_points(ground, np.array([-1.0, 0.0, 1.0]), points)
    assert hidden.tolist() == [True, False, False, False]


def test_moving_ground_is_animated(passive):
    """The lines on a belt run backwards with it, in films and in pages."""
    belt = Terrain([move_ground(face("belt", (0.0, 0.0, 1.0), 0.0), Slide((-2.0, 0.0, 0.0)))])
    motion = build_scene(passive, every(0.5), belt)
    first, last = (motion.ground_at(k)[0].lines for k in (0, 1))
    assert_allclose(last - first, np.broadcast_to([-1.0, 0.0, 0.0], first.shape), atol=1e-12)
    content = motion_in(replay_page(passive, terrain=belt))
    assert content["patches"][0]["carrier"] == 0
    assert_allclose(content["carriers"][0]["position"][-3:], [-2.0, 0.0, 0.0], atol=1e-12)


def test_a_moving_mesh_beside_fixed_ground(passive):
    """A slab that shakes by 5 cm follows its motion, the plane below it stays."""
    slab = height_field([-1.0, 3.0], [-1.0, 1.0], [[0.0, 0.0], [0.0, 0.0]])
    ground = Joined(move_ground(slab, Shake((0.0, 0.0, 0.05), math.pi)), plane(height=-1.0))
    motion = build_scene(passive, every(0.5), ground)
    for k, height in ((0, 0.0), (1, 0.05), (2, 0.0)):
        heights_at_k = sorted(float(patch.outline[0, 2]) for patch in motion.ground_at(k))
        assert_allclose(heights_at_k, [-1.0, height], atol=1e-12)
    FilmStage(motion).show(1)


def test_faces_that_look_away_or_are_behind_the_camera_are_not_drawn(passive):
    motion = build_scene(passive, every(0.5), grounds()["ramp"])
    camera = Camera.following(motion, 0)
    (wall,) = (patch for patch in motion.patches if round(float(patch.normal[0]), 3) == 1.0)
    turned = wall.moved(np.diag([-1.0, -1.0, 1.0]), np.zeros(3))
    assert len(camera.face(wall)[0]), "the camera stands beside the ramp and sees the lip's wall"
    assert not len(camera.face(turned)[0])
    for patch in motion.patches:
        flat, depth = camera.face(patch)
        assert np.isfinite(flat).all()
        assert depth >= 0.0


def drawn_by(script, motion, folder):
    """Return the shapes that the script of a page draws of a motion in one frame."""
    (folder / "page.js").write_text(CANVAS + script + "\nconsole.log(JSON.stringify(count));")
    (folder / "motion.json").write_text(motion)
    done = subprocess.run(
        ["node", "page.js"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(films.shutil.which("node") is None, reason="no node here")
def test_crowded_events_on_a_page_are_counted(passive, tmp_path):
    """Of 60 bounces in a hundredth of the run one is named; the count includes all of them."""
    motion, script = re.findall(r"<script[^>]*>(.*?)</script>", replay_page(passive), re.S)
    content = json.loads(motion)
    end = content["time"][-1]
    crowd = [{"time": end * (0.5 + 0.01 * k / 60), "name": "collision rear"} for k in range(60)]
    content["events"] = [{"time": 0.1 * end, "name": "lift-off front"}, *crowd]
    texts = drawn_by(script, json.dumps(content), tmp_path)["text"]
    assert "lift-off front" in texts
    bounces = [text for text in texts if text.startswith("collision rear")]
    assert 1 <= len(bounces) <= 4
    more = sum(int(text.split()[2]) for text in bounces if text.endswith("more"))
    assert len(bounces) + more == 60


@pytest.mark.skipif(films.shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize("terrain", [None, "ramp", "mesh"])
def test_a_page_draws(terrain, passive, tmp_path):
    """The page's own script runs through a frame on a canvas that counts what is drawn."""
    text = replay_page(passive, terrain=grounds().get(terrain))
    motion, script = re.findall(r"<script[^>]*>(.*?)</script>", text, re.S)
    count = drawn_by(script, motion, tmp_path)
    assert count["bad"] == 0
    assert count["stroke"] > 300
    assert any(text.endswith("deg") for text in count["text"])
    assert any(text.endswith("m/s") for text in count["text"])
    assert count["fill"] >= 2 + (0 if terrain is None else len(json.loads(motion)["patches"]) / 4)


def test_a_page_has_events_and_forces():
    """The time strip shows the events of a jump; contact forces equal those of the run."""
    data = run(load("mauny2018/ramp-jump")).data
    content = motion_in(replay_page(data))
    names = [event["name"] for event in content["events"]]
    assert names[:2] == ["lift-off front", "lift-off rear"]
    assert content["hilly"]
    pushes = np.reshape(np.array(content["tracks"][0]["pushes"], float), (-1, 3))
    weight = 9.81 * sum(float(body.mass) for body in restore_model(data).bodies)
    assert 0.2 * weight < pushes[0, 2] < weight


CANVAS = """
const count = { stroke: 0, fill: 0, bad: 0, text: [] };
const look = (...x) => { if (!x.every(Number.isFinite)) count.bad++; };
const context = {
  setTransform() {}, clearRect() {}, beginPath() {}, closePath() {}, moveTo: look, lineTo: look,
  arc: look, stroke() { count.stroke++; }, fill() { count.fill++; }, setLineDash() {},
  fillText(text, x, y) { count.text.push(text); look(x, y); },
  measureText: text => ({ width: 5 * text.length }),
};
const element = () => ({
  getContext: () => context, clientWidth: 800, clientHeight: 500, checked: true, value: 1,
  insertRow: element, insertCell: element, querySelector: element, setPointerCapture() {},
});
const made = {};
const document = { getElementById: id => made[id] ??= element() };
made.motion = { textContent: require("fs").readFileSync("motion.json", "utf8") };
const window = { devicePixelRatio: 1 }, location = { hash: "" };
const requestAnimationFrame = () => {};
"""
"""A browser that only counts."""


def test_smooth_ground_is_drawn_where_it_is():
    """Facets of smooth ground, also of its straight continuation, are at its heights."""
    x = np.linspace(0.0, 4.0, 21)
    smooth = height_field(x, x - 2.0, 0.1 * np.outer(np.sin(x), np.cos(x - 2.0)), smooth=True)
    path = np.column_stack([np.linspace(-0.5, 3.0, 20), np.zeros((20, 2))])
    ground = ground_patches(smooth, np.zeros(20), path, 1.0, 0.5)
    points = np.random.default_rng(0).uniform([-1.0, -0.9, 1.0], [3.5, 0.9, 1.0], (200, 3))
    drawn = ground_heights(ground, points)
    assert np.abs(drawn - smooth.height(points[:, 0], points[:, 1])).max() < 2e-3
