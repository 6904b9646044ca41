"""`draisine show`: prints the bodies, joints, contacts, outputs and parameters of a vehicle."""

from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._files import check_figure
from draisine.cli._options import NO_MACHINE_OPTIONS, MachineOptions
from draisine.cli._screen import escape_markup, open_console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.tree import Tree

    from draisine.model import Model, Wheel
    from draisine.system.system import System


def show(
    vehicle: str,
    /,
    *,
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    plot: Path | None = None,
    frames: bool = False,
) -> None:
    """Show a vehicle: bodies, degrees of freedom, contacts, inputs, outputs, parameters, and a drawing.

    Parameters
    ----------
    vehicle
        Name of a vehicle, or FILE.py:function.
    plot
        File of the vehicle's drawing (.png, .jpg, .svg, .pdf): side view, or top view of a planar machine.
    frames
        Draw the link frames of `draisine equations --as paper`.
    """
    from draisine.errors import ParameterError, UnknownNameError
    from draisine.registry import ALIASES, names
    from draisine.scenario.library import scenarios
    from draisine.scenario.validate.vehicle import build_system

    vehicles = {*names("vehicle"), *(word for kind, word in ALIASES if kind == "vehicle")}
    if vehicle not in vehicles and any(
        vehicle in (name, name.rpartition("/")[2]) for name in scenarios()
    ):
        raise UnknownNameError(
            f"{vehicle} is a scenario, not a vehicle. `draisine run {vehicle}` runs it; `draisine new "
            f"scenario mine --from {vehicle}` writes it to a file that you can read and change."
        )

    if frames and plot is None:
        raise ParameterError("--frames needs a drawing. Add --plot FILE.png.")
    if plot is not None:
        check_figure(plot)
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    _print_system(system)
    if plot is not None:
        from draisine.view.figures.side import draw_model
        from draisine.view.save import save

        save(draw_model(system.model, frames=frames), plot)
        print(f"drawing: {plot}")


def _print_system(system: "System") -> None:
    """Print bodies, degrees of freedom, contacts, forces, inputs, outputs and parameters of a vehicle."""
    from rich.table import Table

    from draisine.model.names import output_variables, sensor_variables
    from draisine.view.scene.sketch import sketch

    model = system.model
    console = open_console()
    console.print(sketch(model), markup=False)
    console.print(_make_body_tree(model))
    sections = (
        _describe_degrees_of_freedom(system),
        _describe_connection(system),
        _describe_forces(model),
        _describe_redundant_rows(system),
    )
    for section in sections:
        for line in section:
            console.print(line)
    console.print(f"not modelled: {', '.join(_list_omissions(model))}")
    console.print(f"inputs: {', '.join(model.inputs) or 'none'}")
    outputs = Table("output", "unit", "meaning", title="outputs", title_justify="left")
    for name, variable in output_variables(model).items():
        outputs.add_row(name, variable.unit, variable.meaning)
    console.print(outputs)
    if model.sensors:
        sensors = Table("signal", "unit", "meaning", title="sensors", title_justify="left")
        for name, variable in sensor_variables(model).items():
            sensors.add_row(name, variable.unit, variable.meaning)
        console.print(sensors)
    for line in _describe_reference(model):
        console.print(line)
    table = Table("parameter", "value", "unit", "meaning", title="parameters", title_justify="left")
    for name, value in (system.parameters | system.structure).items():
        unit, meaning = system.meanings.get(name, ("", ""))
        meaning = ", ".join(text for text in (meaning, _find_record_type(system, name)) if text)
        text = f"{value:.10g}" if isinstance(value, float) else _format_structure(value)
        table.add_row(name, text, unit, meaning)
    console.print(table)


def _format_structure(value: object) -> str:
    """Format a structural argument of a vehicle as text; a record is shown by its class."""
    from dataclasses import is_dataclass

    if value is None:
        return ""
    return type(value).__name__ if is_dataclass(value) else str(value)


def _find_record_type(system: "System", name: str) -> str:
    """Return the record type of a vehicle argument that is not a number as text."""
    from typing import get_args, get_type_hints

    from draisine.model import JointMotion

    kinds = get_args(get_type_hints(system.vehicle).get(name))
    if JointMotion in kinds:
        return "given as JointMotion"
    classes = [kind for kind in kinds if isinstance(kind, type)]
    records = [kind.__name__ for kind in classes if kind.__module__.startswith("draisine")]
    return f"given as {' or '.join(records)}" if records else ""


def _list_omissions(model: "Model") -> list[str]:
    """Return the names of effects that a model neglects.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> _omissions(whipple())[:3]
    ['tyre slip', 'rolling resistance', 'aerodynamic drag']
    """
    elements = {type(element).__name__ for element in model.elements}
    springs = [x for joint in model.joints for x in (joint.spring, joint.damper)]
    present = {
        "tyre slip": any(wheel.tyre is not None for wheel in model.wheels) or not model.wheels,
        "rolling resistance": "RollingResistance" in elements or not model.wheels,
        "aerodynamic drag": "AirDrag" in elements
        or any(body.drag is not None for body in model.bodies),
        "joint friction": bool({"JointFriction", "StickingFriction"} & elements)
        or not model.joints,
        "joint springs and dampers": any(x != 0.0 for x in springs) or not model.joints,
        "flexible bodies": False,
        "joint play": False,
    }
    return [effect for effect, is_modelled in present.items() if not is_modelled]


def _make_body_tree(model: "Model") -> "Tree":
    """Return the tree of bodies and joints of a model for printing."""
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


def _describe_degrees_of_freedom(system: "System") -> "Iterator[str]":
    """Yield text lines with the number of degrees of freedom, and the contacts."""
    from draisine.model import Wheel

    free = len(system.machine().choice.independent)
    count = len(system.model.speeds)
    yield f"{count} speeds, {count - free} constraints: {free} degrees of freedom"
    for contact in system.model.contacts:
        kind, shape = (type(x).__name__.lower() for x in (contact, contact.surface))
        text = f"contact {contact.name}: {kind} on {contact.body}"
        text += f", {shape}" if contact.surface.sections else ""
        text += f", {_describe_contact_motion(contact)}" if isinstance(contact, Wheel) else ""
        flats = ", ".join(flat.body for flat in getattr(contact, "flats", ()))
        yield text + (f", may touch {flats}" if flats else "")
        if contact.surface.sections and contact.body == system.model.bodies[0].name:
            yield (
                f"x, y, z are the position of the drawing's origin, which turns with the {contact.body}; "
                f"its centre is {escape_markup(f'wheel_centre[{contact.name}, x]')}, y, z"
            )


def _describe_contact_motion(wheel: "Wheel") -> str:
    """Describe the default contact status of a wheel as text (rolling, sliding, tyre)."""
    if wheel.slides:
        return "slides"
    tyre = wheel.tyre
    return f"rolls {'without slip' if tyre is None else f'on a tyre, {type(tyre).__name__}'}"


def _describe_reference(model: "Model") -> "Iterator[str]":
    """Yield a text line about the reference point of the base's position and velocity."""
    speeds = [name for name in model.speeds[: len(model.twist)] if name.startswith("V")]
    if speeds:
        point = f"the drawing's origin, carried by {model.bodies[0].name}"
        yield f"x, y, z and {', '.join(speeds)} refer to {point}; the heading is horizontal"


def _describe_connection(system: "System") -> "Iterator[str]":
    """Yield a text line that states whether joint rates alone determine the motion of the base."""
    from draisine.analysis.connection.case import connection_case

    if system.model.twist and system.model.ground is None:
        case = connection_case(system)
        yield f"connection: {case.kind}; {case.why}"


def _describe_forces(model: "Model") -> "Iterator[str]":
    """Yield text lines with the force elements and the couplings of a model."""
    for element in model.elements:
        states = f"{element.states} states" if element.states != 1 else "1 state"
        yield f"force {element.name}: {type(element).__name__}, {states}"
    for coupling in model.couplings:
        yield f"coupling {coupling.name}: {', '.join(coupling.ends)}"


def _describe_redundant_rows(system: "System") -> "Iterator[str]":
    """Yield text lines about constraint rows that are redundant, always or in the zero configuration."""
    rows = system.survey()
    for row in rows.redundant:
        yield f"row {row}; the minimum-norm forces are reported"
    if rows.singular:
        yield f"the drawing is a singular configuration of the rows {', '.join(rows.singular)}"
