"""What the programs of `bench` name is there."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def mutants():
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "bench" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_file_that_is_broken_has_tests_that_could_notice(mutants):
    assert mutants.ROOMS == ("mechanics", "simulation", "analysis", "terrain")
    for room in mutants.ROOMS:
        for file in mutants.files_of(room):
            tests = mutants.tests_of(file)
            assert tests
            names = [name for group in tests for name in group.split()]
            assert [name for name in names if not (ROOT / name).exists()] == []


def test_a_sample_of_mutants_depends_on_the_seed_alone(mutants):
    first, again, other = (
        [
            (mutant.file, mutant.line, mutant.after)
            for mutant in mutants.sample(8, seed, ["terrain"])
        ]
        for seed in (0, 0, 1)
    )
    assert first == again != other
