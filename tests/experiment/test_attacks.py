"""A sample of each campaign of `bench/attacks.py`: sound results or typed errors that say something."""

import importlib.util
from pathlib import Path

import pytest

SAMPLES = {
    "scenarios": range(120),
    "parameters": range(12),
    "meshes": range(150),
    "results": range(8),
    "commands": range(10),
    "robots": range(30),
    "laws": range(10),
    "starts": range(24),
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
    assert [one for one in ends if campaign.is_finding(one)] == []
    assert len({one["end"] for one in ends}) > 1  # they are neither all sound nor all alike


def test_findings_are_told_from_errors_of_ours(campaign, monkeypatch):
    def law(rng, folder):
        raise ZeroDivisionError

    monkeypatch.setitem(campaign.KINDS, "laws", law)
    assert campaign.is_finding(campaign.strike("laws", 0))
