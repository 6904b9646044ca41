"""`draisine equations`: equations of motion as a typeset page, or as source code."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._files import report_written_file
from draisine.cli._options import NO_MACHINE_OPTIONS, NO_START_OPTIONS, MachineOptions, StartOptions
from draisine.errors import ParameterError

ProgramName = Literal[
    "rate",
    "observe",
    "project",
    "initial",
    "rows",
    "enter",
    "frame",
    "free",
    "variation",
    "simulate",
]
"""Names of the compiled programs of a vehicle that can be written as source code."""


@Parameter(name="*")
@dataclass(frozen=True)
class TextOptions:
    """Options for the language and the content of the equations."""

    as_: Annotated[
        str | None,
        Parameter(
            name="--as",
            help="Source code: c, python, javascript, jax, latex or json, or FILE.py. To read: paper (LaTeX, "
            "or the language of the suffix of --out), html, markdown, sympy, mathematica, maple or matlab. "
            "Default: the language of the suffix of --out, else c.",
        ),
    ] = None
    form: Annotated[
        str | None,
        Parameter(
            help="Another parametrisation of the page, with its frame and symbols: thesis, for the "
            "bicycle."
        ),
    ] = None
    detail: Annotated[
        Literal["short", "full"],
        Parameter(
            help="short: the main equations. full: the complete straight-line program up to accelerations "
            "and multipliers; with --as c, each line with a comment."
        ),
    ] = "short"
    linear: Annotated[
        bool,
        Parameter(
            help="The linear equations of a bicycle that runs straight, as formulas: a page, or --as c."
        ),
    ] = False

    explain: Annotated[
        bool,
        Parameter(
            help="The derivation of the equations of a small machine from its drawing, stage by stage, with "
            "explanations. Default language: Markdown."
        ),
    ] = False

    @property
    def _page_options(self) -> list[str]:
        """Options on the command line that apply to a typeset page only."""
        options = {
            "linear": self.linear,
            "explain": self.explain,
            "detail full": self.detail == "full",
            "form": self.form,
        }
        return [f"--{option}" for option, value in options.items() if value]

    @property
    def first_page_option(self) -> str:
        """The first option on the command line that applies to pages only, or ""."""
        return next(iter(self._page_options), "")

    def check_options(self, program: str) -> None:
        """Raise an error if options contradict each other or the program."""
        if self.as_ in ("casadi", "gymnasium"):
            raise ParameterError(
                f"--as {self.as_} cannot be used on the command line: use draisine.interop.{self.as_} "
                "in Python."
            )
        if self.first_page_option and program != "rate":
            raise ParameterError(
                f"{self.first_page_option} selects a page to read. Leave out --program {program}."
            )
        if (self.explain or self.linear) and len(self._page_options) > 1:
            first, second, *_ = self._page_options
            raise ParameterError(
                f"{first} cannot be combined with {second}. Leave out one of them."
            )

    def page_languages(self, language: str) -> tuple[str, ...]:
        """Return the languages of typeset pages; raise an error if an option needs another language."""
        from draisine.experiment.equations import list_page_languages

        languages = list_page_languages(bool(self.first_page_option))
        if self.first_page_option and language not in languages:
            raise ParameterError(
                f"{self.first_page_option} applies to pages only: use --as {', '.join(languages)}. The "
                f"language {language} has programs only."
            )
        return languages

    def choose_page_format(self, out: Path | None) -> tuple[str, str]:
        """Return the language of a page, and the file suffix that selects it if the language is "paper"."""
        suffix = "" if out is None else out.suffix
        if out is not None and suffix == ".pdf":
            raise ParameterError(
                f"{out}: PDF files are not written. Write LaTeX, --out {out.stem}.tex, and run `pdflatex`, "
                f"or write HTML, --out {out.stem}.html, and print it in a browser."
            )
        if self.as_ is not None:
            return self.as_, suffix
        if self.explain:
            return "paper", suffix or ".md"
        if self.first_page_option and suffix:
            return "paper", suffix
        return SOURCE_LANGUAGES.get(suffix, "paper") if suffix else "c", suffix


SOURCE_LANGUAGES = {".c": "c", ".py": "python", ".js": "javascript", ".json": "json"}
"""Programming languages by file suffix; files with other suffixes are typeset pages."""

NO_TEXT_OPTIONS = TextOptions()
"""Default value of the command's argument: main equations as C source code."""


def equations(
    vehicle: str = "whipple",
    /,
    *,
    program: ProgramName = "rate",
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    begin: StartOptions = NO_START_OPTIONS,
    formulation: str = "projected",
    scenario: str | None = None,
    text: TextOptions = NO_TEXT_OPTIONS,
    out: Path | None = None,
) -> None:
    """Write the equations of a vehicle: a typeset page, or one of its programs as source code.

    Parameters
    ----------
    vehicle
        Name of a vehicle, or FILE.py:function.
    program
        Program to write: rate is the right-hand side of the equations of motion, observe computes all
        outputs, simulate is a complete simulator in c or javascript in the folder --out.
    formulation
        Formulation of the page or of the source code, in its own coordinates; see
        `draisine list formulations`. Source code of formulations other than projected has all contacts
        closed.
    scenario
        With --program simulate: the scenario of a run, instead of a vehicle. On its terrain contacts open,
        close, slide and collide.
    out
        Output file. Default: the screen.
    """
    from draisine.codegen.files import write_text
    from draisine.experiment.equations import write_page, write_program
    from draisine.experiment.simulator import write_scenario_simulator, write_simulator_files
    from draisine.scenario.validate.vehicle import build_system

    text.check_options(program)
    if scenario is not None:
        _check_scenario(program, vehicle, machine, begin)
        files = write_scenario_simulator(scenario, text.as_ or "c", out)
        print("\n".join(f"simulator: {path}" for path in files))
        return
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    statuses = begin.statuses
    _check_program(program, begin, text)
    if program == "simulate":
        _check_projected("--program simulate has", formulation)
        files = write_simulator_files(
            system, text.as_ or "c", out, begin.values, statuses, begin.laws
        )
        print("\n".join(f"simulator: {path}" for path in files))
        return
    language, suffix = text.choose_page_format(out)
    if language in text.page_languages(language):
        _check_page(language, program)
        if text.first_page_option:
            _check_projected(f"{text.first_page_option} has", formulation)
        content = (text.form, text.detail == "full", text.linear, text.explain)
        page = write_page(system, language, statuses, *content, suffix, formulation)
    else:
        page = write_program(system, language, program, statuses, formulation)
    if out is None:
        print(page, end="" if page.endswith("\n") else "\n")
        return
    with report_written_file("equations", out):
        write_text(page, out)


def _check_scenario(
    program: str, vehicle: str, machine: MachineOptions, begin: StartOptions
) -> None:
    """Raise an error if an option is used that does not apply to the simulator of a scenario."""
    if program != "simulate":
        raise ParameterError("--scenario needs a complete simulator: --program simulate.")
    if vehicle != "whipple":
        raise ParameterError(f"--scenario describes the machine. Leave out {vehicle}.")
    options = {
        "--set": machine.set,
        "--parameter-set": machine.parameter_set,
        "--initial": begin.initial,
        "--mode": begin.mode,
        "--law": begin.law,
    }
    for option, value in options.items():
        if value:
            raise ParameterError(
                f"--scenario describes the machine and its initial state. "
                f"Change the scenario instead of {option}."
            )


def _check_page(language: str, program: str) -> None:
    """Raise an error if an option for source code is used with a typeset page."""
    if program != "rate":
        raise ParameterError(
            f"--program {program} needs source code (--as c, python, ...); --as {language} is a page."
        )


def _check_projected(what: str, formulation: str) -> None:
    """Raise an error if a formulation other than the projected one is requested."""
    if formulation != "projected":
        raise ParameterError(
            f"{what} the projected equations only. Leave out --formulation {formulation}."
        )


def _check_program(program: str, begin: StartOptions, text: TextOptions) -> None:
    """Raise an error if an option is used that does not apply to the program."""
    for option, values in (("--law", begin.law), ("--initial", begin.initial)):
        if values and program != "simulate":
            raise ParameterError(f"{option} needs a complete simulator: --program simulate.")
    if text.first_page_option and program != "rate":
        raise ParameterError(
            f"{text.first_page_option} selects a page to read. Leave out --program."
        )
