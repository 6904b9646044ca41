"""Programs as a numbered list of steps, for looking at."""

from draisine.codegen.program import Program


def emit(program: Program) -> str:
    """Return one line per step, then the outputs."""
    lines = [f"{i}: {' '.join(map(str, step))}" for i, step in enumerate(program.steps)]
    lines += [f"{name} = {entries}" for name, entries in program.outputs.items()]
    return "\n".join(lines)
