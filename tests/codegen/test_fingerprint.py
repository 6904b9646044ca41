"""Digests of Python objects: different objects have different digests, equal ones equal digests."""

import dataclasses
import math
import os
import pathlib
import random
import subprocess
import sys
import time
import zlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import draisine
from draisine.algebra import scalar
from draisine.codegen.fingerprint import fingerprint

GAIN = 1.0


def law(readings, z):
    return {"steer": -GAIN * scalar.sin(readings.rate("steer"))}, []


def twice_inner(x):
    return 2 * inner(x)


def inner(x):
    return x + GAIN


class CallableLaw:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, readings, z):
        return {"steer": -self.gain * readings.rate("steer")}, []


def test_digests_of_functions_depend_on_globals_they_read(monkeypatch):
    before = fingerprint(law), fingerprint(twice_inner)
    monkeypatch.setitem(globals(), "GAIN", 2.0)
    assert fingerprint(law) != before[0]
    assert fingerprint(twice_inner) != before[1]


def test_digests_of_objects_depend_on_their_content():
    assert (
        fingerprint(CallableLaw(1.0))
        == fingerprint(CallableLaw(1.0))
        != fingerprint(CallableLaw(2.0))
    )
    assert fingerprint(CallableLaw(1.0).__call__) != fingerprint(CallableLaw(2.0).__call__)
    assert fingerprint(math.sin) is not None
    assert fingerprint(object()) is None


@pytest.mark.parametrize("kind", ["global", "attribute"])
def test_a_changed_law_is_traced_again(monkeypatch, kind):
    """A changed global or attribute counts, although the function or object has the same identity."""
    system = draisine.compile("whipple")
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5)
    used = law if kind == "global" else CallableLaw(1.0)

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


# --- laws that act differently never share a digest

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(-2, 2, width=16),
        st.text("ab", max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    ),
    max_leaves=8,
)


def number(content):
    """Return a different number for any two values that Python distinguishes."""
    return float(zlib.crc32(repr(content).encode()))


class Slotted:
    __slots__ = ("gain", "other")

    def __init__(self, gain, other=None):
        self.gain, self.other = gain, other

    def __call__(self, readings, z):
        return {"steer": number((self.gain, self.other))}, []


@dataclasses.dataclass(frozen=True)
class Fielded:
    gain: object
    other: object = None
    third: object = None

    def __call__(self, readings, z):
        extra = getattr(self, "extra", None)
        return {"steer": number((self.gain, self.other, self.third, extra))}, []


@dataclasses.dataclass(frozen=True, slots=True)
class Packed:
    gain: object
    other: object = None

    def __call__(self, readings, z):
        return {"steer": number((self.gain, self.other))}, []


class Listed(list):
    def __call__(self, readings, z):
        return {"steer": number((list(self), getattr(self, "gain", None)))}, []


def by_closure(a, b):
    def law(readings, z):
        return {"steer": number((a, b))}, []

    return law


def by_default(a, b):
    def law(readings, z, first=a, *, second=b):
        return {"steer": number((first, second))}, []

    return law


def by_attribute(a, b):
    def law(readings, z):
        return {"steer": number((law.first, law.second))}, []

    law.first, law.second = a, b
    return law


def by_other_function(a, b):
    def told():
        return told.content

    told.content = a

    def law(readings, z):
        return {"steer": number((told(), b))}, []

    return law


def by_class(a, b):
    class Law:
        first = a

        @staticmethod
        def second():
            return b

        def __call__(self, readings, z):
            return {"steer": number((self.first, self.second()))}, []

    return Law()


def by_base(a, b):
    class Base:
        first = a

        @property
        def second(self):
            return b

    class Law(Base):
        def __call__(self, readings, z):
            return {"steer": number((self.first, self.second))}, []

    return Law()


def by_extra_attribute(a, b):
    law = Fielded(a)
    object.__setattr__(law, "extra", b)
    return law


def by_item(a, b):
    law = Listed([a])
    law.gain = b
    return law


def by_alias(a, b):
    """Return a law with two functions of equal code, one of which it calls twice."""

    def make(content):
        def tell():
            return content

        return tell

    tells = [make(a), make(b)]
    chosen = [tells[len(repr(a)) % 2], tells[len(repr(b)) % 2], *tells]

    def law(readings, z):
        return {"steer": number([tell() for tell in chosen])}, []

    return law


def by_sharing(a, b):
    """Return a law that changes one list and reads another one, which may be the same object."""
    first = [a]
    second = first if len(repr(b)) % 2 else [a]

    def law(readings, z):
        first.append(b)
        told = number(second)
        first.pop()
        return {"steer": told}, []

    return law


class Bound(Slotted):
    """A subclass without slots, which has attributes besides the slots of its base class."""


def pushed(readings, z, content):
    return {"steer": number(content)}, []


HOLDERS = [
    by_closure,
    by_default,
    by_attribute,
    by_other_function,
    by_class,
    by_base,
    by_extra_attribute,
    by_item,
    by_alias,
    by_sharing,
    Slotted,
    Fielded,
    Packed,
    lambda a, b: Fielded(a, third=b),
    lambda a, b: Fielded((a, b)),
    lambda a, b: Fielded([a], b),
    lambda a, b: partial(Bound, a, b)(),
    lambda a, b: partial(pushed, content=(a, b)),
    lambda a, b: Fielded(a, b).__call__,
    lambda a, b: Fielded({"a": a, "b": b}),
]


def evaluate_law(law):
    return law(None, z=None)[0]["steer"]


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(HOLDERS), st.sampled_from(HOLDERS), st.tuples(VALUES, VALUES, VALUES, VALUES)
)
def test_laws_of_different_behaviour_have_different_digests(first, second, values):
    """The numbers of a law may be in closure cells, defaults, attributes, slots, classes or containers."""
    one, other = first(*values[:2]), second(*values[2:])
    told = fingerprint(one)
    assert told is not None
    assert told == fingerprint(one)
    if evaluate_law(one) != evaluate_law(other):
        assert told != fingerprint(other)


@given(VALUES, VALUES)
def test_different_data_have_different_digests(a, b):
    if repr(a) != repr(b):
        assert fingerprint(a) != fingerprint(b)
        assert fingerprint((a, [b])) != fingerprint((b, [a]))
    assert fingerprint((a, b)) != fingerprint([a, b])
    assert fingerprint({"a": a}) != fingerprint(("a", a))
    assert fingerprint(((a,), b)) != fingerprint((a, (b,)))


def test_digests_of_numbers_depend_on_type_and_bits():
    kinds = [1, 1.0, True, "1", b"1", 1j, np.float64(1.0), np.float32(1.0), np.array(1.0)]
    assert len({fingerprint(x) for x in [*kinds, 0.0, -0.0, np.array([1.0])]}) == len(kinds) + 3


def clock(readings, z):
    return {"steer": time.time()}, []


def dice(readings, z):
    return {"steer": random.random()}, []


def reader(readings, z):
    with open(os.devnull) as file:
        return {"steer": len(file.read())}, []


def importer(readings, z):
    import nowhere_to_be_found

    return {"steer": nowhere_to_be_found.gain}, []


class Own:
    """An object with its own pickle methods."""

    def __call__(self, readings, z):
        return {}, []

    def __reduce__(self):
        return Own, ()


@pytest.mark.parametrize(
    "law",
    [clock, dice, reader, importer, Own(), object(), random.Random(1), np.random.default_rng(1)],
    ids=lambda law: getattr(law, "__name__", type(law).__name__),
)
def test_objects_without_stable_content_have_no_digest(law):
    assert fingerprint(law) is None
    assert fingerprint({"inside": [law]}) is None


def test_digests_are_equal_in_all_processes():
    """Digests depend neither on the seed of string hashes nor on memory addresses."""
    code = (
        "from draisine.codegen.fingerprint import fingerprint\n"
        "from draisine.control import Step, TimeInputs\n"
        "import draisine\n"
        "law = TimeInputs((Step('steer', 0.5, 1.0),))\n"
        "sets = frozenset('abcdef'), {1.5, 'a', (2, 3)}\n"
        "print(fingerprint((law, sets, draisine.compile('whipple').artifacts.drawing)))"
    )
    told = set()
    for seed in ("0", "1", "2"):
        environment = dict(os.environ, PYTHONHASHSEED=seed)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout.strip())
    assert len(told) == 1
    assert told != {"None"}


def test_paths_have_no_digest():
    """A path has no digest, because the content of its file can change."""
    assert fingerprint(pathlib.Path("a")) is None


def test_digest_of_a_function_depends_on_its_name():
    """Results contain the name of the vehicle, so equal functions of different names differ."""

    def twin(name):
        def vehicle():
            return None

        vehicle.__name__ = name
        return vehicle

    assert fingerprint(twin("a")) != fingerprint(twin("b"))
    assert fingerprint(twin("a")) == fingerprint(twin("a"))
