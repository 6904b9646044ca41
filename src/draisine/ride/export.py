"""Export of rides as one HTML file with simulators in JavaScript; it needs neither server nor network."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any
from warnings import catch_warnings

from draisine.errors import ParameterError
from draisine.ride.machine import ride_system
from draisine.ride.presets import PRESETS
from draisine.ride.session import Session
from draisine.ride.variants import describe_bicycle
from draisine.simulation.source import write_simulator
from draisine.system.system import System
from draisine.vehicles import parameter_sets

PAGE_MODULES = (
    "vectors",
    "machine",
    "cameras",
    "canvas",
    "webgl",
    "inputs",
    "controls",
    "words",
    "gauges",
    "plots",
    "link",
    "bicycles",
    "local",
    "main",
)
"""JavaScript modules of the page in the order of their imports."""

SIMULATOR_EXPORTS = "create, step, observe, initial, frame, names"
"""Names of the functions and data of a generated simulator that the page uses."""

DEFAULT_BICYCLE = ""
"""Key of the bicycle with the vehicle's default parameters, in the table of bicycles by parameter set."""


def page_presets() -> list[str]:
    """Return the names of the presets that an exported page supports: those on smooth ground.

    >>> "slope" in page_presets(), "ramp" in page_presets()
    (True, False)
    """
    return [name for name, preset in PRESETS.items() if preset.ground is None]


def ride_page(
    progress: Callable[[float], None] = lambda part: None, first: str = "steer-torque"
) -> str:
    """Return the HTML text of a page with all presets on smooth ground and all bicycles.

    `progress` is called with the completed fraction (0 to 1), `first` is the name of the first preset.
    """
    names = page_presets()
    if first not in names:
        raise ParameterError(
            f"An exported page does not support {first}, only bicycles on smooth ground: --preset "
            f"{', '.join(names)}. Ride others without --export."
        )
    sessions = [Session(names[0]), Session("skate")]
    kinds = {_kind(session.system): session for session in sessions}
    progress(0.1)
    simulators = ",\n".join(f"{json.dumps(k)}: {_simulator(s)}" for k, s in kinds.items())
    progress(0.4)
    data = {"kinds": {kind: _frame_layout(session) for kind, session in kinds.items()}}
    data["bicycles"] = _bicycles(kinds)
    progress(0.7)
    data["rides"] = {name: _ride(name, names) for name in dict.fromkeys((first, *names))}
    progress(1.0)
    content = json.dumps(data, allow_nan=False, separators=(",", ":"))
    ride = f"globalThis.draisineRide = {{ simulators: {{\n{simulators}\n}}, ...{content} }};"
    modules = "\n".join(["const modules = {};", *(_module(name) for name in PAGE_MODULES)])
    return _inlined(ride, modules)


def _kind(system: System) -> str:
    """Return the key of a bicycle's simulator; it differs for bicycles with and without a leaning rider."""
    return "+".join(joint.name for joint in system.model.joints)


def _bicycles(kinds: dict[str, Session]) -> dict[str, Any]:
    """Return the descriptions of all bicycles as plain data, by name of the parameter set."""
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
    """Return the simulator of a ride as the text of a JavaScript expression."""
    start = session.stepper.state
    (text,) = write_simulator(session.system, "javascript", start, law=session.law).values()
    return f"(() => {{\n{_shrunk(text)}\nreturn {{ {SIMULATOR_EXPORTS} }};\n}})()"


def _shrunk(text: str) -> str:
    """Minify generated JavaScript code: short names, no comments."""
    text = re.sub(r"^\s*(export |//.*\n)?", "", text, flags=re.MULTILINE)
    for long, short in (("parameters", "P"), ("table", "T"), ("x", "X"), ("s", "S")):
        text = re.sub(rf"\b{long}_(\d+)\b", rf"{short}\1", text)
    text = re.sub(r";\nconst (?=[PTXS]\d)", ",\n", text)
    return re.sub(r"(?<=[\w)\]]) ([-+*/=]) (?=[\w(])", r"\1", text)


def _frame_layout(session: Session) -> dict[str, Any]:
    """Return the layout of frames and commands, equal for all bicycles with the same simulator."""
    scene = session.description()
    return {name: scene[name] for name in ("layout", "outputs", "inputs", "joints", "controls")}


def _ride(name: str, names: list[str]) -> dict[str, Any]:
    """Return the description of a preset as plain data for the page; `names` are those of all presets."""
    session = Session(name)
    scene = session.description()
    start = {"forward_speed": 0.0, "lean_rate": 0.0}
    start |= {f"{j}_rate": 0.0 for j in scene["joints"] if not j.endswith("_wheel")}
    return {
        "preset": scene["preset"],
        "presets": {each: scene["presets"][each] for each in names},
        "elsewhere": {each: scene["presets"][each] for each in PRESETS if each not in names},
        "ground": scene["ground"],
        "rate": scene["rate"],
        "bicycle": session.preset.parameter_set or DEFAULT_BICYCLE,
        "parameters": session.preset.parameters,
        "start": start | dict(session.preset.start),
        "sticks": session.preset.sticks,
    }


def _module(name: str) -> str:
    """Wrap a JavaScript module of the page in a function that returns its exports; return the text."""
    text = (files("draisine.ride") / "page" / f"{name}.js").read_text(encoding="utf-8")
    imports = r'^import (\{.*\}) from "\./(\w+)\.js";$'
    text = re.sub(imports, r"const \1 = modules.\2;", text, flags=re.MULTILINE)
    exports = re.findall(r"^export (?:const|class|function) (\w+)", text, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    return f"modules.{name} = (() => {{\n{text}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _inlined(ride: str, modules: str) -> str:
    """Return the text of the HTML page with all scripts and styles inline."""
    page = files("draisine.ride") / "page"
    text = (page / "index.html").read_text(encoding="utf-8")
    style = (page / "style.css").read_text(encoding="utf-8")
    bundle = page / "vendor.js"
    vendor = bundle.read_text(encoding="utf-8") if bundle.is_file() else ""
    safe = [script.replace("</script", r"<\/script") for script in (vendor, ride)]
    scripts = "".join(f"<script>\n{script}\n</script>\n" for script in safe)
    text = text.replace('<link rel="stylesheet" href="style.css">', f"<style>\n{style}</style>")
    text = text.replace('<script src="vendor.js"></script>\n', scripts)
    inline = f'<script type="module">\n{modules}\n</script>'
    return text.replace('<script type="module" src="main.js"></script>', inline)
