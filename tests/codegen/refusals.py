"""What is no routine is told with file and line."""

from pathlib import Path

import pytest

from draisine.codegen.routine import Routine
from draisine.codegen.targets._llvm_routine import write
from draisine.errors import RoutineError


def assert_refused(bad: Routine, line: int, why: str) -> None:
    """Hold that a routine cannot be printed, for a reason that names its file and the line, which counts
    from the `def`.
    """
    code = bad.function.__code__
    with pytest.raises(RoutineError, match=why) as error:
        write([bad])
    assert f"{Path(code.co_filename).name}:{code.co_firstlineno + line}: " in str(error.value)
