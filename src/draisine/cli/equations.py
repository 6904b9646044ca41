"""`draisine equations`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._keep import tell_file
from draisine.cli._options import MACHINE, START, MachineOptions, StartOptions
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


@Parameter(name="*")
@dataclass(frozen=True)
class TextOptions:
    """How equations are written."""

    as_: Annotated[
        str | None,
        Parameter(
            name="--as",
            help="As source code: c, python, javascript, jax, latex or json, or FILE.py. To read: paper, "
            "which is LaTeX or what the ending of --out says; html, markdown, sympy, mathematica, "
            "maple or matlab. If not given, what the ending of --out says, on the screen c.",
        ),
    ] = None
    form: Annotated[
        str | None,
        Parameter(
            help="Another parametrisation of the paper, with its frame and symbols: thesis, for the "
            "bicycle."
        ),
    ] = None
    detail: Annotated[
        Literal["short", "full"],
        Parameter(
            help="How much the paper has: full is the whole straight-line program in its names, to "
            "accelerations and multipliers; with --as c, too, each line with a comment."
        ),
    ] = "short"
    linear: Annotated[
        bool,
        Parameter(
            help="The linear equations of a bicycle that runs straight, as formulas: a paper, or --as c."
        ),
    ] = False

    explain: Annotated[
        bool,
        Parameter(
            help="The paper has the way from the drawing to the equations of a small machine, stage by "
            "stage, with a sentence on each; Markdown, or what --as or the ending of --out says."
        ),
    ] = False

    @property
    def _page_options(self) -> list[str]:
        """The options that select a page, or what is on it."""
        full = self.detail == "full"
        asked = {
            "linear": self.linear,
            "explain": self.explain,
            "detail full": full,
            "form": self.form,
        }
        return [f"--{option}" for option, given in asked.items() if given]

    @property
    def pages_only(self) -> str:
        """The option, if any, that asks for what only a page has."""
        return next(iter(self._page_options), "")

    def check_options(self, program: str) -> None:
        """Raise if options contradict each other or the program: the walk through the stages has one
        form, and linear equations have one detail.
        """
        if self.as_ in ("casadi", "gymnasium"):
            raise ParameterError(f"--as {self.as_}: draisine.interop.{self.as_} in Python has it.")
        if self.pages_only and program != "rate":
            raise ParameterError(f"{self.pages_only} goes without --program: it asks for a page.")
        if (self.explain or self.linear) and len(self._page_options) > 1:
            first, second, *_ = self._page_options
            raise ParameterError(f"{first} does not combine with {second}; leave out one of them.")

    def pages(self, language: str) -> tuple[str, ...]:
        """Return the languages of pages; refuse one that has programs alone where a page is asked for."""
        from draisine.experiment.equations import page_languages

        found = page_languages(bool(self.pages_only))
        if self.pages_only and language not in found:
            raise ParameterError(
                f"{self.pages_only} goes with --as {', '.join(found)}; {language} has programs alone."
            )
        return found

    def page(self, out: Path | None) -> tuple[str, str]:
        """Return the language of a page, and the ending that decides where that is "paper"."""
        suffix = "" if out is None else out.suffix
        if out is not None and suffix == ".pdf":
            raise ParameterError(
                f"{out}: a page is written as LaTeX, --out {out.stem}.tex, which `pdflatex` makes a PDF of, "
                f"or as HTML, --out {out.stem}.html, which a browser prints."
            )
        if self.as_ is not None:
            return self.as_, suffix
        if self.explain:
            return "paper", suffix or ".md"
        if self.pages_only and suffix:
            return "paper", suffix
        return ENDINGS.get(suffix, "paper") if suffix else "c", suffix


ENDINGS = {".c": "c", ".py": "python", ".js": "javascript", ".json": "json"}
"""What files of source code have in them; others are pages."""

TEXT = TextOptions()


def equations(
    vehicle: str = "whipple",
    /,
    *,
    program: ProgramName = "rate",
    machine: MachineOptions = MACHINE,
    begin: StartOptions = START,
    formulation: str = "projected",
    text: TextOptions = TEXT,
    out: Path | None = None,
) -> None:
    """Write a vehicle's equations: as a paper to read, or one of its programs as source code.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param program: Which equations: rate is the right-hand side of the motion, observe all that can be seen;
        simulate is a whole simulator, in c or javascript, and --out its folder.
    :param formulation: Source code of another derivation, all contacts closed; `draisine list formulations`.
        Pages to read have the projected equations alone.
    :param out: Write to this file instead of the screen.
    """
    from draisine.codegen.files import write_text
    from draisine.experiment.equations import write_equations, write_page
    from draisine.experiment.simulator import write_simulator_files
    from draisine.scenario.validate.vehicle import build_system

    text.check_options(program)
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    statuses = begin.statuses
    _check_program(program, begin, text)
    if program == "simulate":
        _check_projected("--program simulate has", formulation)
        how = text.as_ or "c", out, begin.values, statuses, begin.laws
        files = write_simulator_files(system, *how)
        print("\n".join(f"simulator: {path}" for path in files))
        return
    language, suffix = text.page(out)
    if language in text.pages(language):
        _check_page(language, program, formulation)
        form = text.form, text.detail == "full", text.linear, text.explain
        written = write_page(system, language, statuses, *form, suffix)
    else:
        written = write_equations(system, language, program, statuses, formulation)
    if out is None:
        print(written, end="" if written.endswith("\n") else "\n")
        return
    with tell_file("equations", out):
        write_text(written, out)


def _check_page(language: str, program: str, formulation: str) -> None:
    """Raise if options of source code come with a page."""
    _check_projected(f"Pages to read (--as {language}) have", formulation)
    if program != "rate":
        raise ParameterError(
            f"--program {program} goes with source code (--as c, python, ...); --as {language} is a page."
        )


def _check_projected(what: str, formulation: str) -> None:
    """Raise if another formulation is asked for where only one exists."""
    if formulation != "projected":
        raise ParameterError(
            f"{what} the projected equations alone. --formulation {formulation} goes with source code: --as "
            "c, python, javascript, jax, latex or json."
        )


def _check_program(program: str, begin: StartOptions, text: TextOptions) -> None:
    """Refuse options that a program does not use."""
    for option, given in (("--law", begin.law), ("--initial", begin.initial)):
        if given and program != "simulate":
            raise ParameterError(f"{option} goes with a whole simulator: --program simulate.")
    if text.pages_only and program != "rate":
        raise ParameterError(f"{text.pages_only} goes without --program: it asks for a page.")
