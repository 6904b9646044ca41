"""Prologue and body of a program as lines of Python, C or JavaScript.

Compilers and engines handle very long functions badly. Such a function is split into segments, which pass
values to each other in a scratch array.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from draisine.codegen.program import Instruction, Program
from draisine.codegen.statements import (
    ATOM_LEVEL,
    PRODUCT_LEVEL,
    PROLOGUE_TABLE,
    SUM_LEVEL,
    Entry,
    Section,
    Statement,
    Term,
    gather_statements,
)

MAX_EXPRESSION_WIDTH = 72
"""Width of an expression (characters) above which it is split, so that lines with their assignment stay below
100.
"""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment of the prologue or body of a program, which becomes one function of the target
    language.
    """

    loads: list[tuple[int, Entry]]  # pairs (step, input entry that contains its value)
    fetches: list[int]  # steps of earlier segments, whose values are read from the scratch array
    statements: list[Statement]  # assignments of this segment
    keeps: list[int]  # steps of this segment that later segments need: written to the scratch array


def split_statements(section: Section, statements: Sequence[Statement], size: int) -> list[Segment]:
    """Split the statements of a section into segments of about `size` steps each."""
    groups: list[list[Statement]] = [[]]
    counts = [0]
    group_of: dict[int, int] = {}
    for s in statements:
        g = len(groups) - 1
        # Put an assignment of a result into the segment that computes its last operand, so that the
        # operand is still a local name.
        if s.place is not None:
            g = max((group_of[k] for k in s.reads if k in group_of), default=0)
        while counts[g] and counts[g] + s.size > size:
            g += 1
            if g == len(groups):
                groups.append([])
                counts.append(0)
        groups[g].append(s)
        counts[g] += s.size
        if s.place is None:
            group_of[s.step] = g
    reads: list[set[int]] = [set().union(*[s.reads for s in group]) for group in groups]
    pieces = []
    for g, group in enumerate(groups):
        defined = {s.step for s in group if s.place is None}
        fetches = sorted(k for k in reads[g] if k in group_of and k not in defined)
        later = set[int]().union(*reads[g + 1 :])
        loads = [(i, place) for i, place in section.leaves.items() if i in reads[g]]
        pieces.append(Segment(loads, fetches, group, sorted(defined & later)))
    return pieces


def make_identifiers(names: Iterable[str], reserved: Iterable[str]) -> list[str]:
    """Return one identifier per name: the name itself if it is valid, not reserved and not used yet.

    No identifier ends in an underscore and digits, so that `q_3` always is entry 3 of `q`.

    >>> make_identifiers(["q", "lambda", "q", "q_3", "rear-u"], ["lambda"])
    ['q', 'lambda_', 'q_', 'q_3_', 'rear_u']
    """
    used = set(reserved)
    words = list[str]()
    for name in names:
        word = make_identifier(name, used)
        while word in used or re.search(r"_\d+$", word):
            word += "_"
        used.add(word)
        words.append(word)
    return words


def make_identifier(name: str, reserved: Iterable[str]) -> str:
    """Return a name as a valid identifier of the target language; underscores are appended if it is
    reserved.

    >>> make_identifier("free", ["free", "long"]), make_identifier("rear-2", [])
    ('free_', 'rear_2')
    """
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    word = f"_{word}" if not word or word[0].isdigit() else word
    used = set(reserved)
    while word in used:
        word += "_"
    return word


@dataclass(frozen=True, slots=True)
class Notation:
    """Notation of expressions in one programming language; templates are filled by `str.format`."""

    number: Callable[[float], str]  # function from a number to its text
    functions: Mapping[str, str]  # name of the function of the language, by operation
    comparison: str  # template of the comparison a < b, with a number as result
    choice: str  # template of the conditional expression

    def compose_step(self, step: Instruction, args: Sequence[Term]) -> Term:
        """Return one step of a program as an expression."""
        text, level = self._compose_unbracketed(step, args)
        return Term(text, level, len(text), step[0], tuple(args))

    def _compose_unbracketed(self, step: Instruction, args: Sequence[Term]) -> tuple[str, int]:
        """Return one step of a program as an expression, without the checks of `compose_step`."""
        match step[0]:
            case "const":
                text = self.number(step[1])
                return text, SUM_LEVEL if text.startswith("-") else ATOM_LEVEL
            case "add":
                return (
                    f"{args[0].with_parentheses(SUM_LEVEL)} + {args[1].with_parentheses(PRODUCT_LEVEL)}",
                    SUM_LEVEL,
                )
            case "sub":
                return (
                    f"{args[0].with_parentheses(SUM_LEVEL)} - {args[1].with_parentheses(PRODUCT_LEVEL)}",
                    SUM_LEVEL,
                )
            case "mul":
                # The second factor keeps its parentheses, because (a * b) * c and a * (b * c) round
                # differently.
                return (
                    f"{args[0].with_parentheses(PRODUCT_LEVEL)} * {args[1].with_parentheses(ATOM_LEVEL)}",
                    PRODUCT_LEVEL,
                )
            case "neg":
                return f"-{args[0].with_parentheses(PRODUCT_LEVEL)}", SUM_LEVEL
            case "inv":
                return f"1.0 / {args[0].with_parentheses(ATOM_LEVEL)}", PRODUCT_LEVEL
            case "lt":
                return self.comparison.format(*[a.text for a in args]), ATOM_LEVEL
            case "where":
                test = args[0]
                condition = " < ".join(p.text for p in test.parts)
                # Write a comparison as a condition, not as a number that is compared with zero.
                if test.op != "lt":
                    condition = f"{test.text} != 0.0"
                return self.choice.format(condition, args[1].text, args[2].text), ATOM_LEVEL
        return f"{self.functions[step[0]]}({', '.join(a.text for a in args)})", ATOM_LEVEL


class Listing:
    """Prologue or body of a program as text: its segments, and the lines of each segment.

    `sources` and `sinks` map the arrays that the function reads and writes to their names in the text.
    `size` is the largest number of steps of a segment; None means one segment.
    """

    def __init__(
        self,
        program: Program,
        section: Section,
        notation: Notation,
        sources: Mapping[str, str],
        sinks: Mapping[str, str],
        size: int | None = None,
    ) -> None:
        self.section = section
        self.sources = sources
        self.sinks = sinks
        self.statements = gather_statements(
            program, section, notation.compose_step, self._step_term, MAX_EXPRESSION_WIDTH
        )
        self.pieces = split_statements(section, self.statements, size or len(program.steps))
        kept_steps = sorted(i for piece in self.pieces for i in piece.keeps)
        self.scratch = {step: k for k, step in enumerate(kept_steps)}

    def step_name(self, step_index: int) -> str:
        """Return the name of one step in the text: `q_3` for entry 3 of `q`, otherwise `s_` and its index."""
        array, k = self.section.leaves.get(step_index, ("", step_index))
        return f"{self.sources[array]}_{k}" if array else f"s_{k}"

    def _step_term(self, step_index: int) -> Term:
        """Return a step as a term: its number if it is a constant, otherwise its name."""
        name = self.step_name(step_index)
        return Term(name, width=len(name))

    def arrays_read(self, segment: Segment) -> list[str]:
        """Return the names of the arrays that a segment reads."""
        arrays = {place[0] for _, place in segment.loads}
        return [text for array, text in self.sources.items() if array in arrays]

    def arrays_written(self, segment: Segment) -> list[str]:
        """Return the names of the arrays that a segment writes."""
        arrays = {s.place[0] for s in segment.statements if s.place}
        return [text for array, text in self.sinks.items() if array in arrays]

    def write_lines(self, segment: Segment, declare: str) -> list[str]:
        """Return the assignments of a segment as text lines; `declare` is the keyword of a declaration."""
        lines = [
            f"{declare} {self.step_name(i)} = {self.sources[array]}[{k}];"
            for i, (array, k) in segment.loads
        ]
        lines += [f"{declare} s_{i} = scratch[{self.scratch[i]}];" for i in segment.fetches]
        for s in segment.statements:
            target = f"{declare} s_{s.step}"
            if s.place is not None:
                target = f"{self.sinks[s.place[0]]}[{s.place[1]}]"
            lines.append(f"{target} = {s.term.text};")
        return lines + [f"scratch[{self.scratch[i]}] = s_{i};" for i in segment.keeps]


def array_names(program: Program, reserved: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the identifiers of the arrays that the body of a program reads, and of those that it writes.

    Both results map the name of an array in the program to its identifier in the text.
    """
    inputs = [x for x in program.inputs if x != "parameters"]
    names = make_identifiers([*inputs, *program.outputs], [*reserved, "s", "scratch", "table"])
    sources = dict(zip(inputs, names, strict=False)) | {PROLOGUE_TABLE: "table"}
    return sources, dict(zip(program.outputs, names[len(inputs) :], strict=True))


def describe_arrays(program: Program, names: Mapping[str, Sequence[str]] | None) -> list[str]:
    """Return comment lines that list the arrays of a program, their sizes, and the names of their
    entries.
    """
    inputs = [f"{x} ({size})" for x, size in program.inputs.items()]
    outputs = [f"{x} ({len(entries)})" for x, entries in program.outputs.items()]
    lines = [f"Inputs: {', '.join(inputs)}.", f"Outputs: {', '.join(outputs)}."]
    lines += [f"{x}: {', '.join(entries)}." for x, entries in (names or {}).items() if entries]
    return [wrapped for line in lines for wrapped in wrap(line, 96, subsequent_indent="  ")]
