"""Export all rides as one HTML file with simulators in JavaScript, which needs neither server nor network."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any
from warnings import catch_warnings

from draisine.errors import ParameterError
from draisine.ride.machine import ride_system
from draisine.ride.minify import minify
from draisine.ride.presets import PRESETS, ground_of
from draisine.ride.session import Session
from draisine.ride.variants import describe_bicycle
from draisine.simulation.contact.standalone.engine import write_terrain_engine
from draisine.simulation.source import write_simulator
from draisine.system.system import System
from draisine.vehicles import parameter_sets

PAGE_MODULES = (
    "words",
    "language",
    "vectors",
    "machine",
    "cameras",
    "canvas",
    "solids",
    "bicycle",
    "rider",
    "scenery",
    "webgl",
    "inputs",
    "controls",
    "moments",
    "gauges",
    "dial",
    "chart",
    "plots",
    "tasks",
    "panel",
    "recorder",
    "results",
    "strips",
    "task_view",
    "teacher",
    "links",
    "gestures",
    "smoothness",
    "sound",
    "grounds",
    "link",
    "bicycles",
    "motions",
    "local",
    "main",
)
"""Names of the JavaScript modules of the page; each module imports only modules before it."""

ENGINE_EXPORTS = "create, begin, change, advance, time, state, observe, names, REACHED, reasons"
"""Names that the page uses from the generated simulator for rides on terrains, as a JavaScript list."""

WHEEL_RADII = ("rR", "rF")
"""Names of the bicycle parameters for the radii of the rear and the front wheel."""

SIMULATOR_EXPORTS = "create, step, observe, initial, frame, names"
"""Names that the page uses from a generated simulator for rides on the plane, as a JavaScript list."""

DEFAULT_BICYCLE = ""
"""Key of the bicycle with default parameters in the exported table, whose other keys are parameter sets."""

STEERED_BY_ANGLE = "+angle"
"""Suffix of the name of a simulation task on terrain in which the rider controls the steer angle."""

UNPACK = """\
if (globalThis.DecompressionStream) {
  const packed = document.getElementById("vendor");
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const vendor = document.createElement("script");
  vendor.textContent = await new Response(unpacked).text();
  document.head.append(vendor);
}"""
"""JavaScript that decompresses and runs the bundle of third-party scripts (three.js, uPlot) before the page
starts. In an old browser without `DecompressionStream` the page draws lines instead of surfaces.
"""


def ride_page(
    progress: Callable[[float], None] = lambda part: None, first: str = "steer-torque"
) -> str:
    """Return the HTML text of a page with all presets and all bicycles.

    Parameters
    ----------
    progress
        Function that is called with the completed fraction of the export (0 to 1).
    first
        Name of the preset with which the page starts.

    Returns
    -------
    str
        Text of the HTML file.

    Raises
    ------
    ParameterError
        If `first` is not a predefined ride of a bicycle.
    """
    if first not in PRESETS:
        raise ParameterError(
            f"An exported page supports only the rides --preset {', '.join(PRESETS)}, not {first!r}. "
            "Other machines and scenarios can be ridden without --export."
        )
    sessions = {name: Session(name) for name in dict.fromkeys((first, *PRESETS))}
    kinds = {_kind(sessions[name].system): sessions[name] for name in ("steer-torque", "skate")}
    progress(0.1)
    simulators = ",\n".join(f"{json.dumps(k)}: {_simulator(s)}" for k, s in kinds.items())
    progress(0.2)
    terrain = _terrain(sessions)
    progress(0.4)
    data = {"kinds": {kind: _frame_layout(session) for kind, session in kinds.items()}}
    data["bicycles"] = _bicycles(kinds)
    progress(0.8)
    data["rides"] = {name: _ride(session) for name, session in sessions.items()}
    progress(1.0)
    content = json.dumps(data, allow_nan=False, separators=(",", ":"))
    ride = (
        f"globalThis.draisineRide = {{ simulators: {{\n{simulators}\n}}, terrain: {terrain}, "
        f"...{content} }};"
    )
    modules = "\n".join(["const modules = {};", *(_module(name) for name in PAGE_MODULES)])
    return _inlined(ride, modules)


def _kind(system: System) -> str:
    """Return the key of the simulator of a bicycle: its joint names, which show whether the rider leans."""
    return "+".join(joint.name for joint in system.model.joints)


def _bicycles(kinds: dict[str, Session]) -> dict[str, Any]:
    """Return the descriptions of all bicycles as data for JSON, by name of the parameter set.

    `kinds` maps the key of each simulator to a session that uses it.
    """
    bicycles = {}
    # Suppress warnings about measured parameters: the user has not chosen a bicycle yet.
    with catch_warnings(action="ignore", category=UserWarning):
        for name in (DEFAULT_BICYCLE, *parameter_sets("whipple")):
            bicycle = ride_system(replace(PRESETS["steer-torque"], parameter_set=name or None))
            kind = _kind(bicycle)
            system = kinds[kind].system.with_parameters(**bicycle.parameters)
            bicycles[name] = {"kind": kind} | describe_bicycle(system)
    return bicycles


def _simulator(session: Session) -> str:
    """Return the simulator of a ride on the plane as the text of a JavaScript expression."""
    start = session.stepper.state
    (text,) = write_simulator(session.system, "javascript", start, law=session.law).values()
    return _expression(text, SIMULATOR_EXPORTS)


def _terrain(sessions: dict[str, Session]) -> str:
    """Return one simulator for all rides on terrains as the text of a JavaScript expression.

    It has two tasks per ground: the rider controls the steer torque or the steer angle.
    """
    tasks = {}
    for session in sessions.values():
        if session.terrain is not None:
            ground = ground_of(session.preset)
            tasks[ground] = session.terrain_task(by_angle=False)
            tasks[ground + STEERED_BY_ANGLE] = session.terrain_task(by_angle=True)
    by_angle = [name for name in tasks if name.endswith(STEERED_BY_ANGLE)]
    return _expression(write_terrain_engine(tasks, WHEEL_RADII, by_angle), ENGINE_EXPORTS)


def _expression(text: str, exports: str) -> str:
    """Wrap a generated JavaScript module in an expression; return its text.

    The value of the expression is an object with the names in `exports` (separated by commas).
    """
    return f"(() => {{{minify(text)}\nreturn {{ {exports} }};\n}})()"


def _frame_layout(session: Session) -> dict[str, Any]:
    """Return the layout of frames and commands, which is equal for all bicycles with the same simulator."""
    scene = session.description()
    return {name: scene[name] for name in ("layout", "outputs", "inputs", "joints", "controls")}


def _ride(session: Session) -> dict[str, Any]:
    """Return the description of a preset as data for JSON: texts, initial values, bicycle and ground."""
    scene = session.description()
    start = {"forward_speed": 0.0, "lean_rate": 0.0}
    start |= {f"{j}_rate": 0.0 for j in scene["joints"] if not j.endswith("_wheel")}
    ride = {
        "preset": scene["preset"],
        "presets": scene["presets"],
        "fact": scene["fact"],
        "ground": scene["ground"],
        "rate": scene["rate"],
        "mu": scene["mu"],
        "bicycle": session.preset.parameter_set or DEFAULT_BICYCLE,
        "parameters": session.preset.parameters,
        "start": start | dict(session.preset.start),
        "sticks": session.preset.sticks,
    }
    if session.terrain is None:
        return ride
    state = session.terrain_task(by_angle=False).state
    place = {"q": state.q.tolist(), "p": state.p.tolist()}
    place["radius"] = session.system.parameters[WHEEL_RADII[0]]
    return ride | {"terrain": ground_of(session.preset), "place": place}


def _module(name: str) -> str:
    """Return the text of a module of the page as a script that assigns its exports to `modules.<name>`."""
    text = (files("draisine.ride") / "page" / f"{name}.js").read_text(encoding="utf-8")
    imports = r'^import (\{.*\}) from "\./(\w+)\.js";$'
    text = re.sub(imports, r"const \1 = modules.\2;", text, flags=re.MULTILINE)
    exports = re.findall(r"^export (?:const|class|function) (\w+)", text, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    return f"modules.{name} = (() => {{\n{text}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _inlined(ride: str, modules: str) -> str:
    """Return the text of the HTML page with inline scripts and styles.

    `ride` is the script with simulators and data, `modules` the script with the modules of the page.
    """
    page = files("draisine.ride") / "page"
    text = (page / "index.html").read_text(encoding="utf-8")
    style = (page / "style.css").read_text(encoding="utf-8")
    bundle = page / "vendor.js"
    vendor = bundle.read_bytes() if bundle.is_file() else b""
    packed = base64.b64encode(gzip.compress(vendor, mtime=0)).decode()
    data = ride.replace("</script", r"<\/script")
    scripts = (
        f'<script id="vendor" type="text/plain">{packed}</script>\n<script>\n{data}\n</script>\n'
    )
    text = text.replace('<link rel="stylesheet" href="style.css">', f"<style>\n{style}</style>")
    text = text.replace('<script src="vendor.js"></script>\n', scripts)
    inline = f'<script type="module">\n{UNPACK}\n{modules}\n</script>'
    return text.replace('<script type="module" src="main.js"></script>', inline)
