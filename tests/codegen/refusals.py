"""Errors of the compiler of routines name the file, the line and the source text."""

import linecache
from pathlib import Path

import pytest

from draisine.codegen.routine import Routine
from draisine.codegen.targets._llvm_routine import write_llvm
from draisine.errors import RoutineError


def assert_refused(bad: Routine, line: int, why: str) -> None:
    """Check that a routine cannot be compiled, for a reason that names its file and shows the line, which
    counts from the decorator.
    """
    code = bad.function.__code__
    with pytest.raises(RoutineError, match=why) as error:
        write_llvm([bad])
    number = code.co_firstlineno + line
    assert f"{Path(code.co_filename).name}:{number}: " in str(error.value)
    if line > 0:  # the types of arguments are checked before the text is read
        assert linecache.getline(code.co_filename, number).strip() in str(error.value)
