"""Programs as a numbered list of steps."""

from collections.abc import Mapping, Sequence

from draisine.codegen.program import Program


def emit(program: Program, names: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return one line per step, the names of inputs, then the outputs."""
    lines = [f"{i}: {' '.join(map(str, step))}" for i, step in enumerate(program.steps)]
    lines += [f"{array}: {' '.join(entries)}" for array, entries in (names or {}).items()]
    lines += [f"{name} = {entries}" for name, entries in program.outputs.items()]
    return "\n".join(lines)
