"""Options that several commands share, in groups, and their conversion to values in SI units."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

Values = list[str] | None
"""Type of a repeatable option: list of texts NAME=VALUE, None if the option is not used."""

Json = Annotated[bool, Parameter(help="Print a JSON object instead of a table.")]


@Parameter(name="*")
@dataclass(frozen=True)
class MachineOptions:
    """Options for the parameters of a vehicle: a parameter set, and single values."""

    set: Annotated[
        Values,
        Parameter(
            name="--set",
            help="Set a parameter of the vehicle: --set mB=90 --set lam=18deg. With `run`, also a value of "
            "the scenario's tables: --set terrain.slope=12deg.",
        ),
    ] = None
    parameter_set: Annotated[
        str | None,
        Parameter(
            help="Use a parameter set of the vehicle, see `draisine list sets`, or a file of "
            "BicycleParameters (.txt, .yml)."
        ),
    ] = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values of --set by name."""
        return parse_assignments("--set", self.set)


Signed = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
"""Type of an option whose value may begin with a minus sign."""

Laws = Annotated[
    Values,
    Parameter(
        name="--law",
        help="Use this control law instead of the scenario's: --law "
        "steer_into_lean,lean_gain=8,rate_gain=4 or --law lqr,weights.pitch=100; --law none uses no law. "
        "See `draisine list laws`.",
    ),
]


Width = Annotated[
    str | None,
    Parameter(
        help="Width of the figure in print, for example 85mm for one column; the font size is that of "
        "printed text."
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class OutputOptions:
    """Options for the output of a command: data file, figure, table or JSON on the screen."""

    out: Annotated[Path | None, Parameter(help="Write the data (.nc, .zarr, .csv).")] = None
    plot: Annotated[Path | None, Parameter(help="Write a figure (.png, .jpg, .svg, .pdf).")] = None
    width: Width = None
    no_title: Annotated[bool, Parameter(help="Draw the figure without a title.")] = False
    json: Json = False

    def check_outputs(self) -> None:
        """Raise an error if an output file cannot be written, or if an option has no effect."""
        from draisine.cli._files import check_output_paths
        from draisine.errors import ParameterError

        if self.width is not None and self.plot is None:
            raise ParameterError(
                f"--width {self.width} has no effect without a figure. Add --plot FILE.png."
            )
        if self.no_title and self.plot is None:
            raise ParameterError("--no-title has no effect without a figure. Add --plot FILE.png.")
        check_output_paths(self.out, self.plot)

    def write_outputs(self, data: Any, series: list[str] | None = None) -> None:
        """Write the requested data file and figure, and print their paths."""
        from draisine.cli._files import write_result

        options = {"width": self.width, "series": series, "title": not self.no_title}
        write_result(data, self.out, self.plot, self.json, **options)


@Parameter(name="*")
@dataclass(frozen=True)
class StartOptions:
    """Options for the initial state of a vehicle: initial values, contact statuses, control laws."""

    initial: Annotated[
        Values,
        Parameter(
            name="--initial",
            help="Set an initial value: --initial forward_speed=5 --initial lean=10deg.",
        ),
    ] = None
    mode: Annotated[
        Values, Parameter(name="--mode", help="Set the status of a contact: --mode front=open.")
    ] = None
    law: Laws = None

    @property
    def values(self) -> dict[str, Any]:
        """Initial values by name; synonyms such as `speed` are replaced by the names of the model."""
        from draisine.errors import ParameterError
        from draisine.model.names import SYNONYMS

        values: dict[str, Any] = {}
        for name, value in parse_assignments("--initial", self.initial).items():
            model_name = SYNONYMS.get(name, name)
            if model_name in values:
                raise ParameterError(
                    f"--initial sets {model_name} twice, under two names. Set it only once."
                )
            values[model_name] = value
        return values

    @property
    def statuses(self) -> dict[str, Any]:
        """Statuses of contacts (open, rolling, sliding) by name of the contact."""
        return parse_assignments("--mode", self.mode)

    @property
    def laws(self) -> list[dict[str, Any]]:
        """Control laws as tables of a scenario."""
        return parse_laws(self.law or [])


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions(StartOptions):
    """Options that change a scenario before it runs, and the friction coefficient for validity."""

    input: Annotated[
        Values,
        Parameter(
            name="--input",
            help="Apply a constant torque (N m) or force (N) at an input, instead of the scenario's inputs: "
            "--input steer=0.5. `draisine show` lists the inputs of a vehicle.",
        ),
    ] = None
    until: Annotated[str | None, Parameter(help="End time of the run, in s.")] = None
    dt: Annotated[
        str | None, Parameter(help="Step of fixed-step integrators and spacing of samples, in s.")
    ] = None
    integrator: Annotated[
        str | None, Parameter(help="Integrator: a name of `draisine list integrators`, or FILE.py.")
    ] = None
    formulation: Annotated[
        str | None,
        Parameter(
            help="Formulation of the equations of motion. Formulations other than projected are slow."
        ),
    ] = None
    mu: Annotated[
        float | None,
        Parameter(
            help="Friction coefficient. On a terrain wheels slip at this limit; on the level plane the "
            "required friction is compared with it."
        ),
    ] = None
    strict: Annotated[
        bool,
        Parameter(
            help="Stop if a normal force is negative, friction exceeds --mu, or the machine falls."
        ),
    ] = False

    def collect_changes(self, machine: MachineOptions) -> dict[str, Any]:
        """Return the changed values of a scenario by key path."""
        values: dict[str, Any] = {}
        if machine.parameter_set is not None:
            values["vehicle.parameter_set"] = machine.parameter_set
        for name, value in machine.parameters.items():
            is_scenario_key = name.startswith(SCENARIO_TABLES)
            values[name if is_scenario_key else f"vehicle.parameters.{name}"] = value
        if self.law:
            values["law"] = self.laws
        if self.input:
            values["inputs"] = parse_assignments("--input", self.input)
        values |= {f"initial.{n}": x for n, x in self.values.items()}
        values |= {f"run.mode.{n}": x for n, x in self.statuses.items()}
        for name in ("until", "dt"):
            if (text := getattr(self, name)) is not None:
                values[f"run.{name}"] = _parse_seconds(f"--{name}", text)
        for name in ("integrator", "formulation"):
            if getattr(self, name) is not None:
                values[f"run.{name}"] = getattr(self, name)
        return values


NO_MACHINE_OPTIONS = MachineOptions()
"""Default value of command arguments: no parameters are set."""
NO_OUTPUT_OPTIONS = OutputOptions()
"""Default value of command arguments: print a table and write no files."""
NO_START_OPTIONS = StartOptions()
"""Default value of command arguments: no initial values are set."""
NO_RUN_OPTIONS = RunOptions()
"""Default value of command arguments: the scenario is unchanged."""


Trust = Annotated[
    bool,
    Parameter(
        help="Execute Python files that a stored result refers to: its vehicle or control law."
    ),
]


Overwrite = Annotated[
    bool,
    Parameter(help="Replace existing files; without it, default file names get a number."),
]


SCENARIO_TABLES = (
    *("terrain.", "contact.", "initial.", "run.", "speeds.", "cycle.", "gait."),
    *("law.", "law[", "inputs.", "inputs["),
)
"""Prefixes of key paths in a scenario; --set names without a prefix are vehicle parameters."""


OPTION_EXAMPLES = {
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
"""Example of each option that needs a value."""


def parse_range(
    option: str, text: str, example: str, unit: str | None = None
) -> tuple[float, float, int]:
    """Parse a range LOW:HIGH:COUNT of a quantity; return both ends (SI units) and the number of values."""
    import math

    from draisine.errors import ParameterError
    from draisine.model.quantity import parse_number

    try:
        low, high, count = text.split(":")
        number_of_values = int(count)
    except ValueError:
        raise ParameterError(
            f"{option} {text}: write LOW:HIGH:COUNT, for example {example}."
        ) from None
    try:
        ends = parse_number(low, unit), parse_number(high, unit)
    except ValueError as error:
        raise ParameterError(f"{option} {text}: {error}.") from None
    # A number beyond a full turn is most likely in degrees. The margin 0.01 allows for a rounded
    # value of 2 pi.
    without_unit = [x for x, text in zip(ends, (low, high), strict=True) if "deg" not in text]
    if unit == "rad" and any(abs(x) > 2 * math.pi + 0.01 for x in without_unit):
        degrees = ":".join(x if "deg" in x else f"{x}deg" for x in (low, high))
        raise ParameterError(
            f"{option} {text}: angles without a unit are in rad, and this is more than a turn. Did you mean "
            f"{degrees}:{count}?"
        )
    return *ends, number_of_values


def _parse_seconds(option: str, time_text: str) -> float:
    """Parse a time with optional unit (5, 5s, 10ms); return it in s."""
    from draisine.errors import ParameterError
    from draisine.model.quantity import parse_number

    try:
        return parse_number(time_text, "s")
    except ValueError as error:
        raise ParameterError(
            f"{option}: {error}. Write it as in {OPTION_EXAMPLES[option]}."
        ) from None


def parse_numbers(option: str, text: str, example: str, unit: str) -> list[float]:
    """Parse the comma-separated numbers of an option; return them in SI units.

    `unit` is the unit of the quantity; `example` is shown in error messages.
    """
    from draisine.errors import ParameterError
    from draisine.model.quantity import parse_number

    try:
        return [parse_number(x, unit) for x in text.split(",")]
    except ValueError as error:
        raise ParameterError(f"{option} {text}: {error}. Write it as {example}.") from None


def parse_laws(texts: list[str]) -> list[dict[str, Any]]:
    """Parse control laws NAME,KEY=VALUE,... into tables of a scenario; the name `none` is skipped."""
    from draisine.scenario.overrides import nest_dotted_keys

    return [
        {"name": name} | nest_dotted_keys(parse_assignments("--law", values))
        for name, *values in (text.split(",") for text in texts)
        if name != "none"
    ]


def parse_assignments(option: str, texts: list[str] | None) -> dict[str, Any]:
    """Parse options NAME=VALUE into a dictionary; values are numbers, booleans or text."""
    import re

    from draisine.errors import ParameterError

    values: dict[str, Any] = {}
    for text in texts or []:
        name, sign, value = (word.strip() for word in text.partition("="))
        if not sign or not name or not value:
            raise ParameterError(
                f"{option} {text}: write NAME=VALUE, for example {OPTION_EXAMPLES[option]}."
            )
        if name in values:
            raise ParameterError(f"{option} {name} is set twice. Set it only once.")
        if inner := re.findall(r"([\w/]+) *= *([^,{}]+)", value) if value[0] == "{" else []:
            single = " ".join(f"{option} {name}.{key}={x.strip()}" for key, x in inner)
            raise ParameterError(f"Repeat {option} for each value of a table: {single}")
        if several := re.match(r"(.*?),([\w.]+=.*)", value):
            raise ParameterError(
                f"Repeat {option} for each value: {option} {name}={several[1]} {option} {several[2]}"
            )
        try:
            values[name] = float(value)
        except ValueError:
            values[name] = {"true": True, "false": False}.get(value.lower(), value)
    return values
