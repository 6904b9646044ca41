"""What is kept on disk is kept under all that it depends on."""

import math

import pytest

import draisine
from draisine.algebra import scalar
from draisine.codegen.fingerprint import fingerprint

GAIN = 1.0


def law(readings, z):
    return {"steer": -GAIN * scalar.sin(readings.rate("steer"))}, []


def doubled(x):
    return 2 * inner(x)


def inner(x):
    return x + GAIN


class Keeper:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, readings, z):
        return {"steer": -self.gain * readings.rate("steer")}, []


def test_a_global_that_a_function_reads_is_part_of_it(monkeypatch):
    before = fingerprint(law), fingerprint(doubled)
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert fingerprint(law) != before[0]
    assert fingerprint(doubled) != before[1]


def test_objects_are_told_by_what_they_hold():
    assert fingerprint(Keeper(1.0)) == fingerprint(Keeper(1.0)) != fingerprint(Keeper(2.0))
    assert fingerprint(Keeper(1.0).__call__) != fingerprint(Keeper(2.0).__call__)
    assert fingerprint(math.sin) is not None
    assert fingerprint(object()) is None


@pytest.mark.parametrize("kind", ["global", "attribute"])
def test_a_law_that_changed_is_traced_anew(monkeypatch, kind):
    """Also within one process, and although the function or object is the same."""
    system = draisine.compile("whipple")
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5)
    used = law if kind == "global" else Keeper(1.0)

    def torque():
        run = draisine.simulate(
            system, start, 0.2, law=used, numerics=draisine.Numerics(integrator="rk4")
        ).to_xarray()
        rate = float(run.speeds.sel(speed="steer_rate")[-1])
        return float(run.inputs.sel(input="steer")[-1]), rate

    first, _ = torque()
    if kind == "global":
        monkeypatch.setitem(globals(), "GAIN", 3.0)
    else:
        used.gain = 3.0
    second, rate = torque()
    assert second != first
    assert second == pytest.approx(-3.0 * (math.sin(rate) if kind == "global" else rate))
