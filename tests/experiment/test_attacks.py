"""A sample of each campaign of `bench/attacks.py`: valid inputs satisfy the invariants, damaged
ones raise errors of the package with a useful message.
"""

import importlib.util
from pathlib import Path

import pytest

SAMPLES = {
    "scenarios": range(40),
    "parameters": range(10),
    "meshes": range(40),
    "results": range(6),
    "commands": range(10),
    "robots": range(8),
    "laws": range(8),
    "starts": range(20),
}


@pytest.fixture(scope="module")
def campaign():
    path = Path(__file__).parents[2] / "bench" / "attacks.py"
    spec = importlib.util.spec_from_file_location("attacks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", SAMPLES)
def test_attacks_end_in_sound_results_or_typed_errors(campaign, kind):
    ends = [campaign.strike(kind, seed) for seed in SAMPLES[kind]]
    assert [result for result in ends if campaign.is_finding(result)] == []
    legal = [result["end"] for result in ends if result["legal"]]
    assert 0 < len(legal) < len(ends)  # both kinds of attacks are among them
    assert legal.count("sound") >= 0.8 * len(legal)  # and legal ones get past the reader


def test_unexpected_exceptions_are_findings(campaign, monkeypatch):
    def law(rng, folder):
        raise ZeroDivisionError

    monkeypatch.setitem(campaign.LEGAL, "laws", law)
    monkeypatch.setitem(campaign.DAMAGED, "laws", law)
    assert campaign.is_finding(campaign.strike("laws", 0))
