"""The ride as one file: page, simulators as JavaScript, starts; it needs no server and no network."""

import json
import re
from importlib.resources import files
from typing import Any

from draisine.algebra.lie import quaternion
from draisine.ride.presets import PRESETS
from draisine.ride.session import Session
from draisine.simulation.source import write_simulator

MODULES = (
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
    "local",
    "main",
)
"""The modules of the page, each after those that it imports."""

GIVES = "create, step, observe, nominal"
"""What the page takes from a simulator."""


def ride_page() -> str:
    """Return a page that rides all presets on smooth ground by itself."""
    simulators: dict[str, str] = {}
    rides: dict[str, Any] = {}
    names = [name for name, preset in PRESETS.items() if preset.ground is None]
    for name in names:
        session = Session(name)
        kind = str(session.preset.kind)
        if kind not in simulators:
            simulators[kind] = _simulator(session)
        rides[name] = _ride(session, kind, names)
    entries = ",\n".join(f"{json.dumps(kind)}: {text}" for kind, text in simulators.items())
    data = json.dumps(rides, allow_nan=False, separators=(",", ":"))
    ride = f"globalThis.draisineRide = {{ simulators: {{\n{entries}\n}}, rides: {data} }};"
    modules = "\n".join(["const modules = {};", *(_module(name) for name in MODULES)])
    return _inlined(ride, modules)


def _simulator(session: Session) -> str:
    """Return the simulator of a ride as an expression."""
    start = session.stepper.state
    (text,) = write_simulator(session.system, "javascript", start, law=session.law).values()
    plain = re.sub(r"^\s*(export |//.*\n)?", "", text, flags=re.MULTILINE)
    return f"(() => {{\n{plain}\nreturn {{ {GIVES} }};\n}})()"


def _ride(session: Session, kind: str, names: list[str]) -> dict[str, Any]:
    """Return what the page needs to know of a ride."""
    scene = session.description() | {"sliders": {}, "sets": []}
    scene["presets"] = {name: scene["presets"][name] for name in names}
    machine = session.system.machine(None, session.law, session.law.states if session.law else 0)
    start = machine.enter(session.stepper.state, z=session.stepper.law_state)
    return {
        "scene": scene,
        "simulator": kind,
        "start": start.tolist(),
        "turn": quaternion(machine.frame[0]).tolist(),
        "sticks": session.preset.sticks,
    }


def _module(name: str) -> str:
    """Return a module of the page as a scope that gives what it exports."""
    text = (files("draisine.ride") / "page" / f"{name}.js").read_text(encoding="utf-8")
    taken = r'^import (\{.*\}) from "\./(\w+)\.js";$'
    text = re.sub(taken, r"const \1 = modules.\2;", text, flags=re.MULTILINE)
    given = re.findall(r"^export (?:const|class|function) (\w+)", text, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    return f"modules.{name} = (() => {{\n{text}\nreturn {{ {', '.join(given)} }};\n}})();"


def _inlined(ride: str, modules: str) -> str:
    """Return the page with everything that it would load inside."""
    page = files("draisine.ride") / "page"
    text = (page / "index.html").read_text(encoding="utf-8")
    style = (page / "style.css").read_text(encoding="utf-8")
    bundle = page / "vendor.js"
    vendor = bundle.read_text(encoding="utf-8") if bundle.is_file() else ""
    safe = [script.replace("</script", r"<\/script") for script in (vendor, ride)]
    scripts = "".join(f"<script>\n{script}\n</script>\n" for script in safe)
    text = text.replace('<link rel="stylesheet" href="style.css">', f"<style>\n{style}</style>")
    text = text.replace('<script src="vendor.js"></script>\n', scripts)
    own = f'<script type="module">\n{modules}\n</script>'
    return text.replace('<script type="module" src="main.js"></script>', own)
