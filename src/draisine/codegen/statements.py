"""Statements: the steps of a program combined into expressions of readable length.

A step that is used once becomes part of the expression that uses it. A step that is used more often, or an
expression that becomes too wide, is assigned to a local name. Operations are not reordered: sums and products
keep their parentheses, so that every target language rounds as the program does.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draisine.codegen.program import Instruction, Program, step_arguments

SUM_LEVEL = 1
PRODUCT_LEVEL = 2
ATOM_LEVEL = 3
"""Precedence levels of expressions in ascending order: sums, products, and atoms, which never need
parentheses.
"""

Entry = tuple[str, int]
"""Type of an entry of a named array: (array, index)."""

PROLOGUE_TABLE = "table of the prologue"
"""Name of the array that passes results from the prologue to the body of a program; no other array can have
this name.
"""


@dataclass(frozen=True, slots=True)
class Term:
    """An expression as text, with its precedence and width."""

    text: str
    level: int = ATOM_LEVEL  # precedence level
    width: int = 0  # number of characters
    op: str = ""  # outermost operation
    parts: tuple["Term", ...] = ()  # arguments of the outermost operation
    alone: bool = False  # whether the expression is always assigned to a name

    def with_parentheses(self, level: int) -> str:
        """Return the text of a term, in parentheses if its precedence is below `level`."""
        return self.text if self.level >= level else f"({self.text})"


Compose = Callable[[Instruction, Sequence[Term]], Term]
"""Type of a function that writes one step in a language, from the terms of its arguments."""


@dataclass(frozen=True, slots=True)
class Section:
    """The prologue or the body of a program."""

    steps: list[int]  # indices of the steps
    # Array entry of each step that is read from an array instead of computed, by index of the step
    leaves: dict[int, Entry]
    results: list[tuple[Entry, int]]  # pairs of an array entry and the step that is written to it


@dataclass(frozen=True, slots=True)
class Statement:
    """One assignment of an expression to a local name or to an entry of a result array."""

    step: int  # index of the step whose value is assigned
    place: Entry | None  # entry of a result array; None for a local name
    term: Term  # the assigned expression
    reads: frozenset[int]  # leaves and named steps in the expression
    size: int  # number of steps in the expression


def split_sections(program: Program) -> tuple[Section, Section]:
    """Return the prologue and the body of a program as sections. The prologue writes the entries of the
    array PROLOGUE_TABLE, the body reads them.
    """
    slots = {step: (PROLOGUE_TABLE, k) for k, step in enumerate(program.table)}
    outputs = [
        ((name, k), step)
        for name, entries in program.outputs.items()
        for k, step in enumerate(entries)
    ]
    inputs = {i: (s[1], s[2]) for i, s in enumerate(program.steps) if s[0] == "input"}
    parameters = {i: place for i, place in inputs.items() if program.fixed[i]}
    variables = {i: place for i, place in inputs.items() if not program.fixed[i]}
    prologue = _make_section(program, parameters, [(place, step) for step, place in slots.items()])
    return prologue, _make_section(program, variables | slots, outputs)


def _make_section(
    program: Program, leaves: dict[int, Entry], results: list[tuple[Entry, int]]
) -> Section:
    """Return the section that computes results from leaves, with the steps that it needs."""
    needed: set[int] = set()
    stack = [step for _, step in results]
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack += [] if i in leaves else step_arguments(program.steps[i])
    read = {i: leaves[i] for i in sorted(needed & leaves.keys())}
    steps = [i for i in sorted(needed) if i not in read and program.steps[i][0] != "const"]
    return Section(steps, read, results)


class _Gatherer:
    """Combines the steps of a section into statements. `open` contains the expressions that are not yet
    assigned to a name: (expression, steps that it reads, size in steps) by index of the step.
    """

    def __init__(
        self,
        program: Program,
        section: Section,
        compose: Compose,
        name: Callable[[int], Term],
        width: int,
    ) -> None:
        self.program = program
        self.section = section
        self.compose = compose
        self.name = name
        self.width = width
        self.statements: list[Statement] = []
        self.open: dict[int, tuple[Term, frozenset[int], int]] = {}
        uses = Counter(k for i in section.steps for k in step_arguments(program.steps[i]))
        self.uses = uses + Counter(step for _, step in section.results)

    def operand(self, step_index: int) -> tuple[Term, frozenset[int], int]:
        """Return one step as an operand (its open expression, its name or its number), the steps that the
        operand reads, and its size in steps.
        """
        if step_index in self.open:
            return self.open[step_index]
        step = self.program.steps[step_index]
        if step[0] == "const" and step_index not in self.section.leaves:
            return self.compose(step, []), frozenset(), 0
        return self.name(step_index), frozenset([step_index]), 0

    def assign_to_name(self, step_index: int) -> None:
        """Assign the open expression of one step to a local name."""
        self.statements.append(Statement(step_index, None, *self.open.pop(step_index)))

    def compose_step(self, step_index: int) -> None:
        """Write one step as an expression; the widest arguments are assigned to names until it fits the
        width.
        """
        step = self.program.steps[step_index]
        # Assign the widest argument to a name first, because this shortens the expression most.
        while True:
            parts = [self.operand(k) for k in step[1:]]
            term = self.compose(step, [p[0] for p in parts])
            inner = [k for k in step[1:] if k in self.open]
            if term.width <= self.width or not inner:
                break
            self.assign_to_name(max(inner, key=lambda k: self.open[k][0].width))
        reads = frozenset[int]().union(*[p[1] for p in parts])
        self.open[step_index] = term, reads, 1 + sum(p[2] for p in parts)
        # Compute a step with several uses once, and assign it to a name.
        if self.uses[step_index] != 1 or term.alone:
            self.assign_to_name(step_index)

    def gather_statements(self) -> list[Statement]:
        """Return the statements of the section."""
        for i in self.section.steps:
            self.compose_step(i)
        stores = [Statement(i, place, *self.operand(i)) for place, i in self.section.results]
        return self.statements + stores


def gather_statements(
    program: Program,
    section: Section,
    compose: Compose,
    name: Callable[[int], Term],
    width: int,
) -> list[Statement]:
    """Return the statements of a section: assignments to local names first, then to results.

    An expression exceeds `width` only if a single step with named arguments does.
    """
    return _Gatherer(program, section, compose, name, width).gather_statements()
