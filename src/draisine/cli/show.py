"""`draisine show`."""

from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._keep import check_figure
from draisine.cli._options import MACHINE, MachineOptions
from draisine.cli._screen import escape, open_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.tree import Tree

    from draisine.model import Model, Wheel
    from draisine.system.system import System


def show(
    vehicle: str,
    /,
    *,
    machine: MachineOptions = MACHINE,
    plot: Path | None = None,
    frames: bool = False,
) -> None:
    """Show a vehicle: a drawing, its bodies, freedoms, contacts, inputs, outputs and parameters.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param plot: Write its drawing to this file (.png, .jpg, .svg, .pdf): from its side, or from above where
        it lies flat.
    :param frames: The drawing has the links' frames of `draisine equations --as paper`.
    """
    from draisine.errors import ParameterError, UnknownNameError
    from draisine.registry import ALIASES, names
    from draisine.scenario.library import scenarios
    from draisine.scenario.validate.vehicle import build_system

    known = {*names("vehicle"), *(word for kind, word in ALIASES if kind == "vehicle")}
    if vehicle not in known and any(
        vehicle in (name, name.rpartition("/")[2]) for name in scenarios()
    ):
        raise UnknownNameError(
            f"{vehicle} is a scenario: `draisine run {vehicle}` runs it, `draisine new scenario mine --from "
            f"{vehicle}` writes it as a file to read and to change."
        )

    if frames and plot is None:
        raise ParameterError("--frames are drawn: --plot FILE.png writes the drawing.")
    if plot is not None:
        check_figure(plot)
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    _show(system)
    if plot is not None:
        from draisine.view.figures.side import drawing
        from draisine.view.save import save

        save(drawing(system.model, frames=frames), plot)
        print(f"drawing: {plot}")


def _show(system: "System") -> None:
    from rich.table import Table

    from draisine.model.names import outputs as output_variables
    from draisine.view.scene.sketch import sketch

    model, console = system.model, open_console()
    console.print(sketch(model), markup=False)
    console.print(_bodies(model))
    for part in (_freedoms(system), _connection(system), _forces(model), _repeated(system)):
        for line in part:
            console.print(line)
    console.print(f"not modelled: {', '.join(_omissions(model))}")
    console.print(f"inputs: {', '.join(model.inputs) or 'none'}")
    outputs = Table("output", "unit", "meaning", title="outputs", title_justify="left")
    for name, one in output_variables(model).items():
        outputs.add_row(name, one.unit, one.meaning)
    console.print(outputs)
    for line in _reference(model):
        console.print(line)
    table = Table("parameter", "value", "unit", "meaning", title="parameters", title_justify="left")
    for name, value in (system.parameters | system.structure).items():
        unit, meaning = system.meanings.get(name, ("", ""))
        meaning = ", ".join(text for text in (meaning, _record(system, name)) if text)
        shown = f"{value:.10g}" if isinstance(value, float) else _shown(value)
        table.add_row(name, shown, unit, meaning)
    console.print(table)


def _shown(value: object) -> str:
    """Return what decides the structure of a vehicle: a record by the name of its class, since its
    numbers are parameters.
    """
    from dataclasses import is_dataclass

    if value is None:
        return ""
    return type(value).__name__ if is_dataclass(value) else str(value)


def _record(system: "System", name: str) -> str:
    """Return how an argument is given that is no number: by which record."""
    from typing import get_args, get_type_hints

    from draisine.model import JointMotion

    kinds = get_args(get_type_hints(system.vehicle).get(name))
    if JointMotion in kinds:
        return "given as JointMotion"
    classes = [one for one in kinds if isinstance(one, type)]
    own = [one.__name__ for one in classes if one.__module__.startswith("draisine")]
    return f"given as {' or '.join(own)}" if own else ""


def _omissions(model: "Model") -> list[str]:
    """Return which effects a machine leaves out.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> _omissions(whipple())[:3]
    ['slip of tyres', 'rolling resistance', 'air']
    """
    elements = {type(element).__name__ for element in model.elements}
    springs = [x for joint in model.joints for x in (joint.spring, joint.damper)]
    present = {
        "slip of tyres": any(wheel.tyre is not None for wheel in model.wheels) or not model.wheels,
        "rolling resistance": "RollingResistance" in elements or not model.wheels,
        "air": "AirDrag" in elements or any(body.drag is not None for body in model.bodies),
        "friction of joints": "JointFriction" in elements or not model.joints,
        "springs and dampers of joints": any(x != 0.0 for x in springs) or not model.joints,
        "elasticity of bodies": False,
        "play": False,
    }
    return [effect for effect, there in present.items() if not there]


def _bodies(model: "Model") -> "Tree":
    """Return the tree of bodies and joints."""
    from rich.tree import Tree

    mass = {body.name: float(body.mass) for body in model.bodies}
    base = model.bodies[0].name
    places = {base: Tree(f"[bold]{base}[/bold], {mass[base]:g} kg, base in {model.base}")}
    waiting = list(model.joints)
    while waiting:
        joint = next(j for j in waiting if j.parent in places)
        waiting.remove(joint)
        kind = type(joint).__name__.lower()
        text = f"[bold]{joint.child}[/bold], {mass[joint.child]:g} kg, by {joint.name} ({kind})"
        places[joint.child] = places[joint.parent].add(text)
    return places[base]


def _freedoms(system: "System") -> "Iterator[str]":
    """Yield how many freedoms there are, and what takes them away."""
    from draisine.model import Wheel

    free, count = len(system.machine().choice.independent), len(system.model.speeds)
    yield f"{count} speeds, {count - free} constraints: {free} degrees of freedom"
    for contact in system.model.contacts:
        kind, shape = (type(x).__name__.lower() for x in (contact, contact.surface))
        text = f"contact {contact.name}: {kind} on {contact.body}"
        text += f", {shape}" if contact.surface.sections else ""
        text += f", {_motion(contact)}" if isinstance(contact, Wheel) else ""
        flats = ", ".join(flat.body for flat in getattr(contact, "flats", ()))
        yield text + (f", may touch {flats}" if flats else "")
        if contact.surface.sections and contact.body == system.model.bodies[0].name:
            yield (
                f"its position is that of the drawing's origin, which turns with the {contact.body}; its "
                f"middle is at {escape(f'wheel_centre[{contact.name}, x]')}, y, z"
            )


def _motion(wheel: "Wheel") -> str:
    """Return how a wheel moves where nothing else is said."""
    if wheel.slides:
        return "slides"
    tyre = wheel.tyre
    return f"rolls {'without slip' if tyre is None else f'on a tyre, {type(tyre).__name__}'}"


def _reference(model: "Model") -> "Iterator[str]":
    """Yield which point the place and the velocity of the base are of."""
    speeds = [name for name in model.speeds[: len(model.twist)] if name.startswith("V")]
    if speeds:
        point = f"the drawing's origin, carried by {model.bodies[0].name}"
        yield f"x, y, z and {', '.join(speeds)} are those of {point}; the heading is level"


def _connection(system: "System") -> "Iterator[str]":
    """Yield whether the joints alone decide how the base moves."""
    from draisine.analysis.connection.case import connection_case

    if system.model.twist and system.model.ground is None:
        case = connection_case(system)
        yield f"connection: {case.kind}; {case.why}"


def _forces(model: "Model") -> "Iterator[str]":
    """Yield the force elements and the couplings."""
    for element in model.elements:
        told = f"{element.states} states" if element.states != 1 else "1 state"
        yield f"force {element.name}: {type(element).__name__}, {told}"
    for coupling in model.couplings:
        yield f"coupling {coupling.name}: {', '.join(coupling.ends)}"


def _repeated(system: "System") -> "Iterator[str]":
    """Yield which rows repeat others, always or in the drawing."""
    rows = system.survey()
    for spare in rows.redundant:
        yield f"row {spare}; forces are shared by least norm"
    if rows.singular:
        yield f"the drawing is a singular shape of the rows {', '.join(rows.singular)}"
