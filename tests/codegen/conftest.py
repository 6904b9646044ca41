"""Programs with which every target is tested."""

import numpy as np
import pytest

from codegen.programs import Case, every_operation, long, wide
from draisine.codegen.cache import Store
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.system.system import compile
from draisine.vehicles.bicycle.whipple import whipple


@pytest.fixture(scope="session")
def small() -> Case:
    return every_operation()


@pytest.fixture(scope="session")
def bicycle(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """Programs of a bicycle on both wheels with nearly upright states; one of them is on tyres."""
    system = compile(whipple, store=Store(tmp_path_factory.mktemp("cache")))
    programs = system.machine().programs
    rng = np.random.default_rng(3)
    q = np.array([1.0, 0.1, 0.05, 0.3])
    cases = {}
    tyre = BrushTyre(12.0, 0.9, 0.1, 0.03)
    tyred = compile(whipple, rear_tyre=tyre, front_tyre=tyre)
    for name in ("rate", "observe", "free", "project", "tyred"):
        drawn = tyred if name == "tyred" else system
        program = tyred.machine().programs["rate"] if name == "tyred" else programs[name]
        inputs = {key: 0.3 * rng.normal(size=size) for key, size in program.inputs.items()}
        inputs |= {"parameters": drawn.values, "q": q / np.linalg.norm(q)}
        cases[name] = Case(program, inputs)
    return cases


@pytest.fixture(params=["small", "rate", "observe", "free", "project", "tyred", "long", "wide"])
def case(request: pytest.FixtureRequest, small: Case, bicycle: dict[str, Case]) -> Case:
    """Return every program in turn."""
    if request.param == "long":
        return long(6000)
    if request.param == "wide":
        return wide(700)
    return small if request.param == "small" else bicycle[request.param]
