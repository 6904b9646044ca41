"""Tasks of the ride page: solved and failed by scripted riders, judged, kept and read by teachers."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from draisine.ride.presets import PRESETS, page_words
from ride.conftest import wait_for

HERE = Path(__file__).parent
AXE = HERE.parents[1] / "node_modules" / "axe-core" / "axe.min.js"
TASKS = [name for name, preset in PRESETS.items() if preset.task]
FAILURES = {
    "slalom": "task.touched",
    "circle": "circle.left",
    "slow": "task.ended",
    "lane": "lane.late",
    "landing": "landing.apart",
    "stop": "stop.over",
    "ice": "task.ended",
}
"""How the bad rider of each task fails."""


def run_in_node(folder, script, *arguments):
    done = subprocess.run(["node", script, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ridden(node_folder):
    """How the good and the bad rider of each task end."""
    for name in ("riders.js", "ride_task.js"):
        shutil.copy(HERE / name, node_folder)
    return run_in_node(node_folder, "ride_task.js")


@pytest.mark.parametrize("name", TASKS)
def test_a_good_rider_solves_the_task_and_a_bad_one_fails(ridden, name):
    good, bad = ridden[name]["good"], ridden[name]["bad"]
    assert (good["solved"], good["reason"], good["status"]) == (True, "task.solved", 0)
    assert good["progress"] > 0.9
    assert (bad["solved"], bad["reason"]) == (False, FAILURES[name])


ASTRAY = """
import { TASKS } from "./tasks.js";
const judged = {};
for (const [name, { judge }] of Object.entries(TASKS)) {
  const court = judge(), rest = { status: 0, time: 1, part: () => [0, 0], output: () => 2 };
  const frame = (x, y) => ({ ...rest, contacts: [[x, y], [x + 1, y]] });
  court.see(frame(-15, 0));
  judged[name] = court.see(frame(-15, 7))?.reason ?? null;
}
console.log(JSON.stringify(judged));
"""


def test_who_leaves_the_road_does_not_ride_on_for_ever(node_folder):
    """Seven metres beside the road there is no way back to the cones; slow riding has no course."""
    (node_folder / "astray.js").write_text(ASTRAY)
    judged = run_in_node(node_folder, "astray.js")
    courses = ("slalom", "circle", "stop", "ice")
    assert {judged[name] for name in courses} == {"task.left"}
    assert judged["lane"] == "lane.early"
    assert judged["slow"] is None


CONSTANTS = """
import { TASKS } from "./tasks.js";
console.log(JSON.stringify(TASKS));
"""


@pytest.fixture(scope="module")
def constants(node_folder):
    """The numbers of the tasks, and the right answers."""
    (node_folder / "constants.js").write_text(CONSTANTS)
    return run_in_node(node_folder, "constants.js")


NUMBER = re.compile(r"(?<![\w/.])\d+(?:\.\d+)?(?!\w|/s)")


def test_the_numbers_in_the_texts_are_those_of_the_tasks(constants):
    start = {name: PRESETS[name].start.get("forward_speed") for name in TASKS}
    lean = math.tan(math.radians(9.0))
    centripetal = start["circle"] ** 2 / (9.81 * constants["circle"]["numbers"]["radius"])
    assert abs(math.degrees(math.atan(centripetal)) - 9.0) < 0.5
    assert lean == pytest.approx(centripetal, abs=0.01)
    assert math.degrees(math.atan(PRESETS["ice"].mu)) == pytest.approx(3.0, abs=0.2)
    expected = {
        "slalom": {},
        "circle": {
            constants["circle"]["numbers"]["radius"],
            constants["circle"]["numbers"]["tolerance"],
            start["circle"],
            9,
            0.163,
        },
        "slow": {
            constants["slow"]["numbers"]["seconds"],
            start["slow"],
            constants["slow"]["numbers"]["speed"],
        },
        "lane": {},
        "landing": {constants["landing"]["numbers"]["apart"]},
        "stop": {start["stop"], constants["stop"]["numbers"]["zone"]},
        "ice": {PRESETS["ice"].mu, constants["ice"]["numbers"]["end"], 3},
    }
    assert constants["slalom"]["numbers"]["count"] == 6
    assert round(centripetal, 3) == 0.163
    for name in TASKS:
        preset = PRESETS[name]
        found = {
            float(x)
            for x in NUMBER.findall(" ".join((preset.lesson, preset.question, preset.answer)))
        }
        assert found == set(map(float, expected[name])), name


def test_every_task_has_three_choices_of_which_one_is_right(constants):
    words = page_words()
    assert constants.keys() == set(TASKS)
    for name, task in constants.items():
        assert task["right"] in range(3)
        assert all(f"{name}.choice.{k}" in words for k in range(3))


def page_riders():
    """Return a script that defines the riders in a page."""
    text = (HERE / "riders.js").read_text(encoding="utf-8").replace("export ", "")
    return f"window.riders = (() => {{\n{text}\nreturn makeRiders(ride.tasks);\n}})();"


RIDE = """([name, kind]) => {
  const rider = window.riders[name][kind], still = { steer: 0, faster: 0, slower: 0, brake: 0, front: 0 };
  cancelAnimationFrame(ride.next);
  document.getElementById("preset").value = name;
  document.getElementById("preset").onchange();
  const asked = document.getElementById("task").open && ride.paused;
  document.querySelectorAll("#task-choices input")[kind === "good" ? 0 : 1].click();
  document.getElementById("task-start").click();
  ride.inputs.read = () => (ride.frame ? rider(ride.frame) : still);
  ride.engine.due = () => (ride.frame ? 17 : 0);
  for (let k = 0; k < 4000 && ride.task; k++) ride.ask(1 / 60);
  ride.draw();
  return { asked, open: document.getElementById("task").open, paused: ride.paused,
    result: document.getElementById("task-result").textContent, time: ride.frame.time,
    plot: document.querySelectorAll("#task-plot polyline").length, calls: ride.picture.calls ?? 0 };
}"""


@pytest.mark.parametrize("name", TASKS)
def test_tasks_are_predicted_ridden_and_explained_in_the_browser(offline, name):
    words = page_words()
    offline.evaluate(page_riders())
    for kind, reason in (("bad", FAILURES[name]), ("good", "task.solved")):
        seen = offline.evaluate(RIDE, [name, kind])
        assert seen["asked"] or kind == "good"
        assert seen["open"] and seen["paused"] and seen["plot"] == 3
        assert seen["result"] == words[reason]["en"]
        assert offline.inner_text("#task-answer") == words[f"{name}.answer"]["en"]
        assert offline.inner_text("#task-sentence")
        assert seen["calls"] <= 150
    kept = json.loads(offline.evaluate("ride.results.file()"))["tasks"][name]
    assert kept["attempts"] == 2
    assert kept["best"] == pytest.approx(seen["time"])
    assert isinstance(kept["predicted"], bool)
    assert offline.complaints == []


def test_a_teacher_reads_result_files(offline, exported, tmp_path):
    """Files without names become a table; other files are refused by name."""
    head = {"format": "draisine task results", "version": 1}
    first = head | {"tasks": {"slalom": {"attempts": 3, "best": 17.25, "predicted": True}}}
    second = head | {
        "tasks": {
            "slalom": {"attempts": 1, "best": None, "predicted": False},
            "ice": {"attempts": 2, "best": 8.0, "predicted": True},
        }
    }
    for name, content in (("ada", first), ("bo", second), ("wrong", {"format": "other"})):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    page = offline.context.new_page()
    page.goto(f"{exported.as_uri()}#teacher")
    page.wait_for_selector("#teacher-results th")
    page.set_input_files("#teacher-files", sorted(tmp_path.iterdir()))
    wait_for_text = "document.querySelectorAll('#teacher-results tbody tr').length === 3"
    page.wait_for_function(wait_for_text)
    rows = page.evaluate("teacher.rows()")
    assert [row[0] for row in rows] == ["file", "ada", "bo", "solved / predicted"]
    column = 1 + TASKS.index("slalom")
    assert [row[column] for row in rows[1:]] == [
        "17.3 s, 3 attempts, first prediction right",
        "not solved, 1 attempts, first prediction wrong",
        "1 / 1",
    ]
    assert rows[1][1 + TASKS.index("ice")] == "not tried"
    assert "wrong.json" in page.inner_text("#teacher-errors")
    assert not page.is_visible("#view")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (npm ci)")
@pytest.mark.parametrize("view", ["prediction", "feedback", "teacher", "phone"])
def test_the_windows_of_tasks_and_the_table_are_accessible(offline, exported, view):
    page = offline
    if view == "teacher":
        page = offline.context.new_page()
        page.goto(f"{exported.as_uri()}#teacher")
        page.wait_for_selector("#teacher-results th")
    elif view == "phone":
        page.set_viewport_size({"width": 390, "height": 844})
    elif view == "prediction":
        page.select_option("#preset", "slalom")
    else:
        page.evaluate(page_riders())
        page.evaluate(RIDE, ["stop", "good"])
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run().then((result) => JSON.stringify(result.violations))")
    assert [v["id"] for v in json.loads(found) if v["impact"] in ("serious", "critical")] == []


def test_results_contain_numbers_only(offline):
    """Neither names nor times of day are stored."""
    offline.evaluate(page_riders())
    offline.evaluate(RIDE, ["stop", "good"])
    stored = json.loads(offline.evaluate("localStorage.getItem('draisine-results')"))
    assert stored.keys() == {"format", "version", "tasks"}
    assert all(row.keys() == {"attempts", "best", "predicted"} for row in stored["tasks"].values())
    wait_for(offline, "document.getElementById('task').open")
    with offline.expect_download() as saved:
        offline.click("#task-save")
    assert json.loads(Path(saved.value.path()).read_text()) == stored
    offline.evaluate("document.getElementById('forget-results').onclick()")
    assert json.loads(offline.evaluate("ride.results.file()"))["tasks"] == {}
