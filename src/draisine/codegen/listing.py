"""Listings: functions of a program as lines of a programming language, cut where they are long."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from draisine.codegen.program import Instruction, Program
from draisine.codegen.statements import (
    ATOM,
    PRODUCT,
    SUM,
    TABLE,
    Entry,
    Section,
    Statement,
    Term,
    gather,
)

WIDTH = 72
"""Widest expression before a part of it gets a name."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One function's share: entries to load, steps to fetch and to keep in scratch, statements."""

    loads: list[tuple[int, Entry]]
    fetches: list[int]
    statements: list[Statement]
    keeps: list[int]


def cut(section: Section, statements: Sequence[Statement], size: int) -> list[Segment]:
    """Return the statements in pieces of about `size` steps; values cross through scratch."""
    groups: list[list[Statement]] = [[]]
    counts = [0]
    group_of: dict[int, int] = {}
    for s in statements:
        g = len(groups) - 1
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


def identifiers(names: Iterable[str], reserved: Iterable[str]) -> list[str]:
    """Return one identifier per name, the name itself unless it is no word, reserved or taken.

    None ends in an underscore and digits, so that `q_3` is entry 3 of `q` and nothing else.

    >>> identifiers(["q", "lambda", "q", "q_3", "rear-u"], ["lambda"])
    ['q', 'lambda_', 'q_', 'q_3_', 'rear_u']
    """
    taken = set(reserved)
    words = list[str]()
    for name in names:
        word = free_word(name, taken)
        while word in taken or re.search(r"_\d+$", word):
            word += "_"
        taken.add(word)
        words.append(word)
    return words


def free_word(name: str, reserved: Iterable[str]) -> str:
    """Return a name as a word that is not reserved: underscores behind it where it was.

    >>> free_word("free", ["free", "long"]), free_word("rear-2", [])
    ('free_', 'rear_2')
    """
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    word = f"_{word}" if not word or word[0].isdigit() else word
    taken = set(reserved)
    while word in taken:
        word += "_"
    return word


@dataclass(frozen=True, slots=True)
class Notation:
    """How a language writes numbers, functions, comparisons (as a number) and choices."""

    number: Callable[[float], str]
    functions: Mapping[str, str]
    comparison: str
    choice: str

    def compose(self, step: Instruction, args: Sequence[Term]) -> Term:
        """Return one step as an expression."""
        text, level = self._write(step, args)
        return Term(text, level, len(text), step[0], tuple(args))

    def _write(self, step: Instruction, args: Sequence[Term]) -> tuple[str, int]:
        match step[0]:
            case "const":
                text = self.number(step[1])
                return text, SUM if text.startswith("-") else ATOM
            case "add":
                return f"{args[0].within(SUM)} + {args[1].within(PRODUCT)}", SUM
            case "sub":
                return f"{args[0].within(SUM)} - {args[1].within(PRODUCT)}", SUM
            case "mul":
                return f"{args[0].within(PRODUCT)} * {args[1].within(ATOM)}", PRODUCT
            case "neg":
                return f"-{args[0].within(PRODUCT)}", SUM
            case "inv":
                return f"1.0 / {args[0].within(ATOM)}", PRODUCT
            case "lt":
                return self.comparison.format(*[a.text for a in args]), ATOM
            case "where":
                test = args[0]
                condition = " < ".join(p.text for p in test.parts)
                if test.op != "lt":
                    condition = f"{test.text} != 0.0"
                return self.choice.format(condition, args[1].text, args[2].text), ATOM
        return f"{self.functions[step[0]]}({', '.join(a.text for a in args)})", ATOM


class Listing:
    """One function over named arrays: its pieces, and their lines in a language of the C family.

    `sources` and `sinks` tell how the arrays that it reads and fills are called in the text.
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
        self.statements = gather(program, section, notation.compose, self._term, WIDTH)
        self.pieces = cut(section, self.statements, size or len(program.steps))
        kept = sorted(i for piece in self.pieces for i in piece.keeps)
        self.scratch = {step: k for k, step in enumerate(kept)}

    def name(self, i: int) -> str:
        """Return how a step is called: `q_3` for entry 3 of `q`, else `s_` and its number."""
        array, k = self.section.leaves.get(i, ("", i))
        return f"{self.sources[array]}_{k}" if array else f"s_{k}"

    def _term(self, i: int) -> Term:
        name = self.name(i)
        return Term(name, width=len(name))

    def read(self, piece: Segment) -> list[str]:
        """Return the arrays that a piece reads, as they are called in the text."""
        arrays = {place[0] for _, place in piece.loads}
        return [text for array, text in self.sources.items() if array in arrays]

    def filled(self, piece: Segment) -> list[str]:
        """Return the arrays that a piece fills, as they are called in the text."""
        arrays = {s.place[0] for s in piece.statements if s.place}
        return [text for array, text in self.sinks.items() if array in arrays]

    def lines(self, piece: Segment, declare: str) -> list[str]:
        """Return the assignments of a piece; `declare` stands before a new name."""
        lines = [
            f"{declare} {self.name(i)} = {self.sources[array]}[{k}];"
            for i, (array, k) in piece.loads
        ]
        lines += [f"{declare} s_{i} = scratch[{self.scratch[i]}];" for i in piece.fetches]
        for s in piece.statements:
            target = f"{declare} s_{s.step}"
            if s.place is not None:
                target = f"{self.sinks[s.place[0]]}[{s.place[1]}]"
            lines.append(f"{target} = {s.term.text};")
        return lines + [f"scratch[{self.scratch[i]}] = s_{i};" for i in piece.keeps]


def array_names(program: Program, reserved: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return how the arrays that the body reads, and those it fills, are called in the text."""
    inputs = [x for x in program.inputs if x != "parameters"]
    names = identifiers([*inputs, *program.outputs], [*reserved, "s", "scratch", "table"])
    sources = dict(zip(inputs, names, strict=False)) | {TABLE: "table"}
    return sources, dict(zip(program.outputs, names[len(inputs) :], strict=True))


def describe_arrays(program: Program, names: Mapping[str, Sequence[str]] | None) -> list[str]:
    """Return lines that tell the arrays of a program, their sizes, and the entries that have names."""
    inputs = [f"{x} ({size})" for x, size in program.inputs.items()]
    outputs = [f"{x} ({len(entries)})" for x, entries in program.outputs.items()]
    lines = [f"Inputs: {', '.join(inputs)}.", f"Outputs: {', '.join(outputs)}."]
    lines += [f"{x}: {', '.join(entries)}." for x, entries in (names or {}).items() if entries]
    return [wrapped for line in lines for wrapped in wrap(line, 96, subsequent_indent="  ")]
