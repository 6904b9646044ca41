"""The command line: verbs over the package, no logic of their own.

Everything heavy is imported inside the commands, so that help is there at once.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from draisine import __version__
from draisine.errors import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from draisine.experiment.check import Finding
    from draisine.experiment.run import Result
    from draisine.system import System

FIRST = "mauny2018/passive-stabilisation"
"""What `draisine run` runs when nothing else is asked for."""

app = App(
    name="draisine",
    help="Exact, fast dynamics of machines that roll, grip and bounce.",
    help_epilogue="With --debug, errors show where they arose.",
    version=__version__,
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
app.register_install_completion_command()


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code of a command line: 0, 1 for a failed run or check, 2 for a mistake in
    what was asked.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [x for x in given if x != "--debug"]
    commands = [name for name in app if not name.startswith("-")]
    if given and not given[0].startswith("-") and given[0] not in commands:
        return _fail(f"no command {given[0]!r}. {did_you_mean(given[0], commands)}", 2)
    try:
        code = app(given, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        if debug:
            raise
        return _fail(str(error), 2)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was written.", 1)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        if debug:
            raise
        return _tell(error)
    return code if isinstance(code, int) else 0


def _tell(error: Exception) -> int:
    """Return the exit code of an error, after telling it."""
    from draisine.errors import DraisineError, SimulationError

    if isinstance(error, SimulationError):
        return _fail(str(error), 1)
    if isinstance(error, DraisineError):
        return _fail(str(error), 2)
    kind = type(error).__name__
    return _fail(f"{kind}: {error}\nThis should not happen; --debug shows where it arose.", 1)


def _fail(text: str, code: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return code


def _console() -> "Console":
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    return Console(width=width, highlight=False, soft_wrap=False)


@contextmanager
def _working(text: str) -> Iterator[None]:
    """Show that something is going on, on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


@app.default
def welcome() -> None:
    """Say what draisine is and what to try first."""
    print(
        f"""draisine {__version__}: exact, fast dynamics of machines that roll, grip and bounce.

Try first:
  draisine run                     a bicycle steadies itself; a table, a figure, the data
  draisine run --animate run.html  the same, to look at from all sides in a browser
  draisine list                    vehicles, scenarios, parameter sets ...
  draisine show whipple            the bicycle: bodies, joints, contacts, parameters
  draisine check                   published numbers against ours
  draisine equations whipple --as c --out bicycle.c    its equations of motion as source code

draisine --help lists all commands, draisine COMMAND --help what they take."""
    )


@app.command(name="list")
def list_(
    kind: Literal[
        "all",
        "vehicles",
        "scenarios",
        "sets",
        "integrators",
        "laws",
        "impacts",
        "formulations",
        "targets",
        "figures",
    ] = "all",
    /,
    *,
    json: bool = False,
) -> None:
    """List what there is: vehicles, scenarios, parameter sets, integrators, laws, targets, figures.

    :param kind: List only this.
    :param json: Print one JSON object.
    """
    from draisine.experiment.library import titles
    from draisine.registry import FOLDERS, names

    found: dict[str, dict[str, str]] = {}
    if kind in ("all", "vehicles"):
        found["vehicles"] = {name: _headline(name) for name in names("vehicle")}
    if kind in ("all", "scenarios"):
        found["scenarios"] = {name: title for name, (_, title) in titles().items()}
    if kind in ("all", "sets"):
        found["sets"] = _sets()
    for each in FOLDERS:
        if each != "vehicle" and kind in ("all", f"{each}s"):
            found[f"{each}s"] = dict.fromkeys(names(each), "")
    if json:
        _print_json(found)
        return
    console = _console()
    for heading, entries in found.items():
        console.print(f"[bold]{heading}[/bold]")
        plain = [name for name, text in entries.items() if not text]
        if plain:
            console.print(f"  {', '.join(plain)}")
        for name, text in entries.items():
            if text:
                console.print(f"  {name:40s} {text}")


def _sets() -> dict[str, str]:
    """Return the parameter sets of each vehicle that has some."""
    from draisine.errors import UnknownNameError
    from draisine.registry import names
    from draisine.vehicles.sets import parameter_sets

    found = {}
    for vehicle in names("vehicle"):
        try:
            found[vehicle] = ", ".join(parameter_sets(vehicle))
        except UnknownNameError:
            continue
    return found


def _headline(vehicle: str) -> str:
    """Return the first sentence that a vehicle's file says about itself, without importing it."""
    import ast
    from importlib.resources import files

    source = files("draisine.vehicles").joinpath(f"{vehicle}.py").read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    return " ".join(text.split("\n\n")[0].split())


@app.command
def show(vehicle: str, /, *, plot: Path | None = None) -> None:
    """Show a vehicle: its tree of bodies, freedoms, contacts, inputs, outputs and parameters.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param plot: Write a side view of its drawing to this file (.png, .svg, .pdf).
    """
    from draisine.registry import find
    from draisine.system import compile

    if plot is not None:
        _check_figure(plot)
    system = compile(vehicle)
    meanings = getattr(find("vehicle", vehicle), "MEANING", {})
    _show(system, meanings)
    if plot is not None:
        from draisine.view.save import save
        from draisine.view.side import drawing

        save(drawing(system.model), plot)
        print(f"drawing: {plot}")


def _show(system: "System", meanings: dict[str, tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.tree import Tree

    model, console = system.model, _console()
    mass = {body.name: float(body.mass) for body in model.bodies}
    base = model.bodies[0].name
    tree = Tree(f"[bold]{base}[/bold], {mass[base]:g} kg, base in {model.base}")
    places = {base: tree}
    waiting = list(model.joints)
    while waiting:
        joint = next(j for j in waiting if j.parent in places)
        waiting.remove(joint)
        kind = type(joint).__name__.lower()
        text = f"[bold]{joint.child}[/bold], {mass[joint.child]:g} kg, by {joint.name} ({kind})"
        places[joint.child] = places[joint.parent].add(text)
    console.print(tree)
    machine = system.machine()
    free, count = len(machine.choice.independent), len(model.speeds)
    console.print(f"{count} speeds, {count - free} constraints: {free} degrees of freedom")
    for contact in model.contacts:
        console.print(f"contact {contact.name}: {type(contact).__name__.lower()} on {contact.body}")
    console.print(f"inputs: {', '.join(model.inputs) or 'none'}")
    outputs = Table("output", "unit", "meaning", title="outputs", title_justify="left")
    for name, unit, meaning in (
        ("yaw", "rad", "heading, positive to the left"),
        ("lean", "rad", "lean, positive to the right"),
        ("pitch", "rad", "pitch, positive nose down"),
        *((o.name, o.unit, o.meaning) for o in model.outputs),
    ):
        outputs.add_row(name, unit, meaning)
    console.print(outputs)
    table = Table("parameter", "value", "unit", "meaning", title="parameters", title_justify="left")
    for name, value in (system.parameters | system.structure).items():
        unit, meaning = meanings.get(name, ("", ""))
        shown = f"{value:.10g}" if isinstance(value, float) else str(value)
        table.add_row(name, shown, unit, meaning)
    console.print(table)


@app.command
def run(
    scenario: str | None = None,
    /,
    *,
    set: Annotated[list[str] | None, Parameter(name="--set")] = None,
    parameter_set: str | None = None,
    initial: Annotated[list[str] | None, Parameter(name="--initial")] = None,
    until: float | None = None,
    dt: float | None = None,
    integrator: str | None = None,
    formulation: str | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    animate: Path | None = None,
    json: bool = False,
) -> int:
    """Run a scenario; without one, a bicycle steadies itself, with a figure and the data.

    :param scenario: A scenario's name, a file of your own (.toml), or a result (.nc, .zarr) to repeat.
    :param set: Change a parameter: --set mB=90 --set lam=18deg.
    :param parameter_set: Take another parameter set of the vehicle.
    :param initial: Change the initial state: --initial forward_speed=5 --initial lean=10deg.
    :param until: How long to run, in s.
    :param dt: Step of fixed-step methods and spacing of samples, in s.
    :param integrator: Another integrator.
    :param formulation: Another derivation of the equations of motion; slow, for passive runs.
    :param out: Write the data (.nc, .zarr, .csv).
    :param plot: Write a figure (.png, .svg, .pdf).
    :param animate: Write a film (.gif, .mp4) or a page that replays the run (.html).
    :param json: Print one JSON object instead of a table.
    """
    from draisine.errors import ParameterError, SimulationError
    from draisine.experiment.library import load
    from draisine.experiment.run import run as carry_out
    from draisine.experiment.store import check_target

    if scenario is None:
        scenario = FIRST
        stem = FIRST.rpartition("/")[2]
        out, plot = out or Path(f"{stem}.nc"), plot or Path(f"{stem}.png")
    if out is not None:
        check_target(out)
    if plot is not None:
        _check_figure(plot)
    if animate is not None:
        _check_film(animate)
    changes = _assignments("vehicle.parameters", "--set", set)
    changes |= _assignments("initial", "--initial", initial)
    asked = {"until": until, "dt": dt, "integrator": integrator, "formulation": formulation}
    changes |= {f"run.{name}": value for name, value in asked.items() if value is not None}
    if parameter_set is not None:
        changes["vehicle.set"] = parameter_set
    loaded = load(scenario, changes)
    if animate is not None and loaded.scenario.kind != "run":
        kind = loaded.scenario.kind
        raise ParameterError(f"--animate goes with runs; {loaded.name} is of the kind {kind!r}.")
    failed = None
    with _working(f"running {loaded.name}"):
        try:
            result = carry_out(loaded)
        except SimulationError as error:
            if error.partial is None:
                raise
            result, failed = error.partial, str(error)
    _report(result, json)
    _keep(result, out, plot, quiet=json)
    if animate is not None and (failed is None or result.data.sizes["time"] > 1):
        _animate(result.data, animate, quiet=json)
    return 0 if failed is None else _fail(failed, 1)


def _assignments(table: str, option: str, given: list[str] | None) -> dict[str, Any]:
    """Return NAME=VALUE options as changes of a scenario."""
    from draisine.errors import ParameterError

    changes: dict[str, Any] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ParameterError(f"{option} {text}: write NAME=VALUE, as in {option} mB=90.")
        try:
            changes[f"{table}.{name.strip()}"] = float(value)
        except ValueError:
            changes[f"{table}.{name.strip()}"] = value.strip()
    return changes


def _check_figure(path: Path) -> None:
    from draisine.experiment.store import FIGURES, check_target

    check_target(path, FIGURES)


def _check_film(path: Path) -> None:
    from draisine.view.animate import check_film

    check_film(path)


def _animate(
    data: Any, path: Path, quiet: bool, fps: float = 20.0, speed: float | None = None
) -> None:
    """Write a film or a replay, and say where."""
    from draisine.errors import SimulationError
    from draisine.view.animate import animate

    try:
        with _working(f"drawing {path}"):
            animate(data, path, fps=fps, speed=speed)
    except KeyboardInterrupt:
        raise SimulationError(f"interrupted; {path} was not written.") from None
    if not quiet:
        print(f"{'replay' if path.suffix == '.html' else 'film'}: {path}")


def _report(result: "Result", json: bool) -> None:
    """Print what a scenario left."""
    from draisine.experiment.report import remarks, summary, table

    if json:
        _print_json(summary(result))
        return
    from rich.table import Table

    console = _console()
    console.print(f"[bold]{result.loaded.name}[/bold]: {result.loaded.scenario.title}")
    rows = table(result)
    if rows:
        drawn = Table("quantity", "unit", *_right("start", "end", "least", "largest"))
        for name, unit, numbers in rows:
            drawn.add_row(name, unit, *(f"{x:.6g}" for x in numbers))
        console.print(drawn)
    if "eigenvalue_real" in result.data:
        console.print(_eigenvalue_table(result.data))
    for line in remarks(result):
        console.print(line)


def _eigenvalue_table(data: Any) -> Any:
    """Return the eigenvalues at some of the speeds."""
    from rich.table import Table

    names = ("weave", "weave_conjugate", "capsize", "castering")
    table = Table(*_right("speed (m/s)", *(f"{n.replace('_', ' ')} (1/s)" for n in names)))
    count = data.sizes["speed"]
    for k in range(0, count, max(1, (count - 1) // 10)):
        row = data.isel(speed=k)
        cells = []
        for name in names:
            one = row.sel(eigenmode=name)
            real, imaginary = float(one["eigenvalue_real"]), float(one["eigenvalue_imaginary"])
            cells.append(f"{real:.6g}" + (f" {imaginary:+.6g}i" if imaginary else ""))
        table.add_row(f"{float(row['speed']):g}", *cells)
    return table


def _right(*headings: str) -> list[Any]:
    """Return headings of columns of numbers."""
    from rich.table import Column

    return [Column(heading, justify="right") for heading in headings]


def _keep(result: "Result", out: Path | None, plot: Path | None, quiet: bool) -> None:
    """Write data and figure, and say where."""
    _keep_data(result.data, out, plot, quiet)


def _keep_data(data: Any, out: Path | None, plot: Path | None, quiet: bool) -> None:
    if out is not None:
        from draisine.experiment.store import write

        write(data, out)
        if not quiet:
            print(f"data: {out}")
    if plot is not None:
        from draisine.registry import find
        from draisine.view.save import save

        save(find("figure", _figure_for(data)).draw(data), plot)
        if not quiet:
            print(f"figure: {plot}")


def _figure_for(data: Any) -> str:
    """Return the figure that tells most of a result."""
    if "time" in data.dims:
        return "overview"
    if "motion" in data.dims:
        return "steady"
    return "eigenvalues" if "eigenvalue_real" in data else "maps"


@app.command
def check(*scenarios: str, json: bool = False) -> int:
    """Hold published numbers against ours; exit with 1 where they disagree.

    :param scenarios: Names or files; without any, all scenarios that ship with the package.
    :param json: Print one JSON object instead of tables.
    """
    from draisine.experiment.check import check as hold
    from draisine.experiment.library import load
    from draisine.experiment.library import scenarios as shipped

    chosen = [load(name) for name in scenarios or shipped()]
    found: dict[str, list[Finding]] = {}
    console = _console()
    for loaded in chosen:
        with _working(f"checking {loaded.name}"):
            found[loaded.name] = hold(loaded)[1]
        if not json:
            bad = [f for f in found[loaded.name] if not f.agrees]
            _verdict(console, loaded.name, found[loaded.name], bad)
            if scenarios or bad:
                _findings(console, found[loaded.name] if scenarios else bad)
    wrong = sum(not f.agrees for fs in found.values() for f in fs)
    if json:
        _print_json({name: [f.as_dict() for f in fs] for name, fs in found.items()})
    elif len(found) > 1:
        total = sum(len(fs) for fs in found.values())
        console.print(f"{total - wrong} of {total} quantities agree.")
    return 1 if wrong else 0


def _verdict(console: "Console", name: str, found: "list[Finding]", bad: "list[Finding]") -> None:
    if not found:
        console.print(f"{name}: expects no numbers.")
        return
    numbers = sum(f.compared for f in found)
    word = f"[red]{len(bad)} DISAGREE[/red]" if bad else "[green]agrees[/green]"
    console.print(f"{name}: {len(found)} quantities, {numbers} numbers, {word}")


def _findings(console: "Console", found: "list[Finding]") -> None:
    """Print one table per block of expected numbers."""
    from itertools import groupby

    from rich.table import Column, Table

    for title, block in groupby(found, key=lambda f: f.block):
        rows = list(block)
        headings = _right("expected", "ours", "deviation", "allowed")
        table = Table(
            Column("quantity", no_wrap=True, min_width=34),
            *headings,
            "",
            Column("worst at", min_width=12),
            title=f"{_escaped(title)} ({rows[0].origin})",
            title_justify="left",
        )
        for f in rows:
            mark = "[green]ok[/green]" if f.agrees else "[red]NO[/red]"
            numbers = (
                f"{f.expected:.9g}",
                f"{f.ours:.9g}",
                f"{f.deviation:.1e}",
                f"{f.allowed:.1e}",
            )
            table.add_row(_escaped(f.quantity), *numbers, mark, f.where)
        console.print(table)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


@app.command
def eigenvalues(
    vehicle: str = "whipple",
    /,
    *,
    speed: str = "0:10:101",
    set: Annotated[list[str] | None, Parameter(name="--set")] = None,
    parameter_set: str | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    json: bool = False,
) -> None:
    """Eigenvalues of a bicycle that runs straight, against speed, and its critical speeds.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: Speeds in m/s, LOW:HIGH:COUNT.
    :param set: Change a parameter: --set mB=90 --set lam=18deg.
    :param parameter_set: Take a parameter set of the vehicle.
    :param out: Write the data (.nc, .zarr, .csv).
    :param plot: Write a figure (.png, .svg, .pdf).
    :param json: Print one JSON object instead of a table.
    """
    from draisine.errors import ParameterError
    from draisine.experiment.library import accept
    from draisine.experiment.run import run as carry_out
    from draisine.experiment.store import check_target

    if out is not None:
        check_target(out)
    if plot is not None:
        _check_figure(plot)
    try:
        low, high, count = speed.split(":")
        speeds = {"low": float(low), "high": float(high), "count": int(count)}
    except ValueError:
        raise ParameterError(f"--speed {speed}: write LOW:HIGH:COUNT, as in 0:10:101.") from None
    parameters = {k.rpartition(".")[2]: v for k, v in _assignments("p", "--set", set).items()}
    machine = {"name": vehicle, "parameters": parameters}
    content = {
        "kind": "linear",
        "title": f"straight running of {vehicle}",
        "vehicle": machine | ({"set": parameter_set} if parameter_set else {}),
        "speeds": speeds,
    }
    result = carry_out(accept("eigenvalues", "eigenvalues", content))
    _report(result, json)
    _keep(result, out, plot, quiet=json)


@app.command
def steady(
    vehicle: str = "whipple",
    /,
    *,
    set: Annotated[list[str] | None, Parameter(name="--set")] = None,
    parameter_set: str | None = None,
    reversed: bool = False,
    out: Path | None = None,
    plot: Path | None = None,
    json: bool = False,
) -> None:
    """Circles that a bicycle runs hands-free, from straight running at its capsize speed to rest.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param set: Change a parameter: --set mB=90 --set lam=18deg.
    :param parameter_set: Take a parameter set of the vehicle.
    :param reversed: Turn the handlebar back to front.
    :param out: Write the data (.nc, .zarr, .csv).
    :param plot: Write a figure (.png, .svg, .pdf).
    :param json: Print one JSON object instead of a table.
    """
    from draisine.experiment.circles import hands_free, remarks, summary, table
    from draisine.experiment.store import check_target

    if out is not None:
        check_target(out)
    if plot is not None:
        _check_figure(plot)
    parameters = {k.rpartition(".")[2]: v for k, v in _assignments("p", "--set", set).items()}
    with _working(f"circles of {vehicle}"):
        data = hands_free(vehicle, parameters, parameter_set, reversed=reversed)
    if json:
        _print_json(summary(data))
    else:
        from rich.table import Table

        units = ("speed (m/s)", "radius (m)", "lean (deg)", "steer (deg)", "yaw rate (deg/s)")
        drawn = Table(*_right(*units, "growth (1/s)"), "stable")
        for row in table(data):
            drawn.add_row(*row)
        console = _console()
        console.print(f"[bold]{_escaped(vehicle)}[/bold]: {data.attrs['title']}")
        console.print(drawn)
        for line in remarks(data):
            console.print(line)
    _keep_data(data, out, plot, quiet=json)


@app.command
def equations(
    vehicle: str,
    /,
    *,
    as_: Annotated[str, Parameter(name="--as")] = "c",
    program: Literal[
        "rate", "observe", "project", "initial", "rows", "frame", "free", "variation"
    ] = "rate",
    set: Annotated[list[str] | None, Parameter(name="--set")] = None,
    mode: Annotated[list[str] | None, Parameter(name="--mode")] = None,
    out: Path | None = None,
) -> None:
    """Write a vehicle's equations as source code: c, python, javascript, jax, latex or json.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param as_: The language.
    :param program: Which equations: rate is the right-hand side of the motion, observe all that can be seen.
    :param set: Choose structure or give a parameter: --set slope=10deg.
    :param mode: The status of a contact: --mode front=open.
    :param out: Write to this file instead of the screen.
    """
    from draisine.experiment.equations import written

    statuses = {k.rpartition(".")[2]: v for k, v in _assignments("mode", "--mode", mode).items()}
    chosen = {k.rpartition(".")[2]: v for k, v in _assignments("p", "--set", set).items()}
    text = written(vehicle, as_, program, chosen, statuses)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    from draisine.experiment.store import write_text

    write_text(text, out)
    print(f"equations: {out}")


@app.command
def plot(
    result: Path,
    /,
    *,
    figure: str | None = None,
    series: Annotated[list[str] | None, Parameter(name="--series")] = None,
    out: Path | None = None,
) -> None:
    """Draw a figure from a stored result.

    :param result: A result that `draisine run --out` wrote (.nc, .zarr).
    :param figure: overview, histories, top, profile, forces, gaps, energies, event_graph, migration,
        phase, maps, eigenvalues or steady.
    :param series: For histories and phase: what to draw, --series lean --series steer.
    :param out: Where to write it (.png, .svg, .pdf); beside the result if not given.
    """
    from draisine.errors import ParameterError
    from draisine.experiment.store import read
    from draisine.registry import find

    target = out or result.with_suffix(".png")
    _check_figure(target)
    data = read(result)
    figure = figure or _figure_for(data)
    if series and figure not in ("histories", "phase"):
        raise ParameterError(f"--series goes with histories and phase, not with {figure}.")
    draw = find("figure", figure).draw
    from draisine.view.save import save

    save(draw(data, names=series) if series else draw(data), target)
    print(f"figure: {target}")


@app.command
def animate(
    result: Path,
    out: Path | None = None,
    /,
    *,
    fps: float = 20.0,
    speed: float | None = None,
) -> None:
    """Write a film of a stored run, or a page that replays it.

    :param result: A run that `draisine run --out` wrote (.nc, .zarr).
    :param out: Where to write it (.gif, .mp4, .html); a page beside the result if not given.
    :param fps: Frames in a second of a film.
    :param speed: Seconds of the run that pass in one: 1 as it was, 0.2 in slow motion.
    """
    from draisine.experiment.store import read

    target = out or result.with_suffix(".html")
    _check_film(target)
    _animate(read(result), target, quiet=False, fps=fps, speed=speed)


@app.command
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from draisine.experiment.scenario import schema as found

    _print_json(found())


def _print_json(found: Any) -> None:
    import json

    print(json.dumps(found, indent=2, allow_nan=False))


if __name__ == "__main__":
    sys.exit(main())
