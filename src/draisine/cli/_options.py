"""Options that several commands share, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

Values = list[str] | None
"""What options NAME=VALUE give."""

Json = Annotated[bool, Parameter(help="Print one JSON object instead of a table.")]


@Parameter(name="*")
@dataclass(frozen=True)
class MachineOptions:
    """Which machine: a parameter set of a vehicle, and changes to it."""

    set: Annotated[
        Values,
        Parameter(
            name="--set",
            help="Change a parameter: --set mB=90 --set lam=18deg; of a scenario that is run also a value "
            "of its tables: --set terrain.slope=12deg.",
        ),
    ] = None
    parameter_set: Annotated[
        str | None,
        Parameter(
            help="Take a parameter set of the vehicle, `draisine list sets`, or a file of "
            "BicycleParameters (.txt, .yml)."
        ),
    ] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were set one by one."""
        return assignments("--set", self.set)


Signed = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
"""Numbers that may be negative."""

Laws = Annotated[
    Values,
    Parameter(
        name="--law",
        help="A control law with its numbers, instead of the scenario's: --law "
        "steer_into_lean,lean_gain=8,rate_gain=4, --law lqr,weights.pitch=100; none: without. "
        "`draisine list laws`.",
    ),
]


Width = Annotated[
    str | None,
    Parameter(
        help="How wide the figure will be printed, 85mm in one column: letters stay as large as those of "
        "the text."
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class OutputOptions:
    """What is left of the work: data, a figure, a table or JSON on the screen."""

    out: Annotated[Path | None, Parameter(help="Write the data (.nc, .zarr, .csv).")] = None
    plot: Annotated[Path | None, Parameter(help="Write a figure (.png, .jpg, .svg, .pdf).")] = None
    width: Width = None
    no_title: Annotated[bool, Parameter(help="Leave the headline of the figure out.")] = False
    json: Json = False

    def check(self) -> None:
        """Refuse a data file or a figure that cannot be written."""
        from draisine.cli._keep import check_targets
        from draisine.errors import ParameterError

        if self.width is not None and self.plot is None:
            raise ParameterError(
                f"--width {self.width} is that of a figure: --plot FILE.png draws one."
            )
        if self.no_title and self.plot is None:
            raise ParameterError("--no-title is that of a figure: --plot FILE.png draws one.")
        check_targets(self.out, self.plot)

    def keep(self, data: Any, series: list[str] | None = None) -> None:
        """Write data and figure, of some series, if they are told, and say where."""
        from draisine.cli._keep import keep

        options = {"width": self.width, "series": series, "title": not self.no_title}
        keep(data, self.out, self.plot, self.json, **options)


@Parameter(name="*")
@dataclass(frozen=True)
class StartOptions:
    """How a machine starts: its state, the status of its contacts, who is at the controls."""

    initial: Annotated[
        Values,
        Parameter(
            name="--initial",
            help="The initial state: --initial forward_speed=5 --initial lean=10deg.",
        ),
    ] = None
    mode: Annotated[
        Values, Parameter(name="--mode", help="The status of a contact: --mode front=open.")
    ] = None
    law: Laws = None

    @property
    def values(self) -> dict[str, Any]:
        """What the state is asked for, under the model's own names."""
        from draisine.errors import ParameterError
        from draisine.model.names import SYNONYMS

        found: dict[str, Any] = {}
        for name, value in assignments("--initial", self.initial).items():
            own = SYNONYMS.get(name, name)
            if own in found:
                raise ParameterError(f"--initial {name}: it means {own}, which is given, too.")
            found[own] = value
        return found

    @property
    def statuses(self) -> dict[str, Any]:
        """The statuses of contacts, by name."""
        return assignments("--mode", self.mode)

    @property
    def laws(self) -> list[dict[str, Any]]:
        """The control laws, as a scenario's file would have them."""
        return law_tables(self.law or [])


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions(StartOptions):
    """How a scenario is changed before it runs, and what the run is held against."""

    input: Annotated[
        Values,
        Parameter(
            name="--input",
            help="A constant torque (N m) or force (N) at an input, instead of the scenario's inputs: "
            "--input steer=0.5. `draisine show` tells the inputs of a vehicle.",
        ),
    ] = None
    until: Annotated[str | None, Parameter(help="How long to run, in s.")] = None
    dt: Annotated[
        str | None, Parameter(help="Step of fixed-step methods and spacing of samples, in s.")
    ] = None
    integrator: Annotated[str | None, Parameter(help="Another integrator, or FILE.py.")] = None
    formulation: Annotated[
        str | None,
        Parameter(help="Another derivation of the equations of motion; slow, for passive runs."),
    ] = None
    mu: Annotated[
        float | None,
        Parameter(
            help="The friction there is: on a terrain wheels slip beyond it, on the level plane it is "
            "held against what the run needs."
        ),
    ] = None
    strict: Annotated[
        bool,
        Parameter(
            help="Stop where the ground would have to pull, friction passes --mu, or it falls."
        ),
    ] = False

    def changes(self, machine: MachineOptions) -> dict[str, Any]:
        """Return values by key path of a scenario."""
        found: dict[str, Any] = {}
        if machine.parameter_set is not None:
            found["vehicle.parameter_set"] = machine.parameter_set
        for n, x in machine.parameters.items():
            found[n if n.startswith(TABLES) else f"vehicle.parameters.{n}"] = x
        if self.law:
            found["law"] = self.laws
        if self.input:
            found["inputs"] = assignments("--input", self.input)
        found |= {f"initial.{n}": x for n, x in self.values.items()}
        found |= {f"run.mode.{n}": x for n, x in self.statuses.items()}
        for name in ("until", "dt"):
            if (text := getattr(self, name)) is not None:
                found[f"run.{name}"] = _seconds(f"--{name}", text)
        for name in ("integrator", "formulation"):
            if getattr(self, name) is not None:
                found[f"run.{name}"] = getattr(self, name)
        return found


MACHINE, OUTPUT, START, RUN = MachineOptions(), OutputOptions(), StartOptions(), RunOptions()
"""Nothing asked for."""


Trust = Annotated[
    bool,
    Parameter(help="Run the code that a stored result names: the file of its vehicle or law."),
]


Overwrite = Annotated[
    bool,
    Parameter(help="Replace files that are there; without it, names that were not given count up."),
]


TABLES = (
    *("terrain.", "contact.", "initial.", "run.", "speeds.", "cycle.", "gait."),
    *("law.", "law[", "inputs.", "inputs["),
)
"""How a value of a scenario's own tables begins, where others are parameters of its vehicle."""


EXAMPLES = {
    "--set": "--set mB=90",
    "--initial": "--initial lean=10deg",
    "--input": "--input steer=0.5",
    "--mode": "--mode front=open",
    "--deviation": "--deviation steer=0.2deg",
    "--prior": "--prior c=5mm",
    "--phase": "--phase 270deg",
    "--law": "--law steer_into_lean,lean_gain=8,rate_gain=4",
    "--animate": "--animate jump.html",
    "--figure": "--figure top,forces",
    "--from": "--from segway",
    "--mu": "--mu 0.8",
    "--out": "--out run.nc",
    "--plot": "--plot run.png",
    "--speed": "--speed 3,5,7",
    "--until": "--until 10",
    "--dt": "--dt 0.01",
}
"""How options are written that want a value."""


def span(option: str, text: str, example: str, unit: str | None = None) -> tuple[float, float, int]:
    """Return what LOW:HIGH:COUNT stands for, of a quantity in a unit. A plain number beyond a whole
    turn is hardly an angle in radians: it has to say its unit.
    """
    import math

    from draisine.errors import ParameterError
    from draisine.model.quantity import number

    try:
        low, high, count = text.split(":")
        many = int(count)
    except ValueError:
        raise ParameterError(f"{option} {text}: write LOW:HIGH:COUNT, as in {example}.") from None
    try:
        ends = number(low, unit), number(high, unit)
    except ValueError as error:
        raise ParameterError(f"{option} {text}: {error}.") from None
    plain = [x for x, told in zip(ends, (low, high), strict=True) if "deg" not in told]
    if unit == "rad" and any(abs(x) > 2 * math.pi + 0.01 for x in plain):
        degrees = ":".join(x if "deg" in x else f"{x}deg" for x in (low, high))
        raise ParameterError(
            f"{option} {text}: plain angles are in rad, and this is more than a turn. Did you mean "
            f"{degrees}:{count}?"
        )
    return *ends, many


def _seconds(option: str, text: str) -> float:
    """Return a time that an option gives, 5, 5s or 10ms."""
    from draisine.errors import ParameterError
    from draisine.model.quantity import number

    try:
        return number(text, "s")
    except ValueError as error:
        raise ParameterError(f"{option}: {error}, as in {EXAMPLES[option]}.") from None


def numbers(option: str, text: str, example: str, unit: str) -> list[float]:
    """Return what numbers with commas between them stand for, of a quantity in a unit."""
    from draisine.errors import ParameterError
    from draisine.model.quantity import number

    try:
        return [number(x, unit) for x in text.split(",")]
    except ValueError as error:
        raise ParameterError(f"{option} {text}: {error}. Write it as {example}.") from None


def law_tables(given: list[str]) -> list[dict[str, Any]]:
    """Return what options NAME,KEY=VALUE,... give, as a scenario's file would have it; `none` gives
    nothing.
    """
    from draisine.scenario.overrides import nest

    named = (text.split(",") for text in given)
    return [
        {"name": name} | nest(assignments("--law", numbers))
        for name, *numbers in named
        if name != "none"
    ]


def assignments(option: str, given: list[str] | None) -> dict[str, Any]:
    """Return what options NAME=VALUE give: numbers, true or false, else text."""
    import re

    from draisine.errors import ParameterError

    found: dict[str, Any] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ParameterError(f"{option} {text}: write NAME=VALUE, as in {EXAMPLES[option]}.")
        name, value = name.strip(), value.strip()
        if name in found:
            raise ParameterError(f"{option} {name}: it is given twice; give it once.")
        if inner := re.findall(r"([\w/]+) *= *([^,{}]+)", value) if value[0] == "{" else []:
            way = " ".join(f"{option} {name}.{key}={x.strip()}" for key, x in inner)
            raise ParameterError(f"each value of a table has an option of its own: {way}")
        if several := re.match(r"(.*?),([\w.]+=.*)", value):
            raise ParameterError(
                f"each value has an option of its own: {option} {name}={several[1]} {option} {several[2]}"
            )
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = {"true": True, "false": False}.get(value.lower(), value)
    return found
