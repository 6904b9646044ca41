"""What can be asked of a run, by name: every variable of its dataset, and what follows from them.

A *series* is a value per time: `lean`, `steer_rate`, `position[x]`, `contact_force[rear, normal]`. A
*question* is a series reduced to one number: `final lean`, `maximum steer`, `time when lean = 45deg`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.metrics import REDUCERS, first_crossings, split_metric
from draisine.errors import ParameterError, did_you_mean, expect_known
from draisine.model import Model
from draisine.model.names import STORED_VARIABLES, dimensions, label_units, output_names, variables
from draisine.results.attributes import validity_of
from draisine.results.bodies import Bodies
from draisine.results.events import EventQuestion, parse_event
from draisine.results.quantities import DERIVED
from draisine.simulation.dataset import OBSERVED
from draisine.simulation.validity import Validity

AXES = ("x", "y", "z")

SeriesLabels = tuple[tuple[str, ...], ...]
"""The labels that a series takes, per dimension after time."""


def stored_series(model: Model) -> dict[str, SeriesLabels]:
    """Return the variables that every run of a model stores, with the labels that each takes."""
    labels = dimensions(model)
    found = {name: tuple(labels[d] for d in one.dims) for name, one in variables(model).items()}
    return {"time": (), **found}


@lru_cache(maxsize=16)
def known_series(model: Model) -> dict[str, SeriesLabels]:
    """Return all series that can be asked of a run of a model, with the labels that each takes."""
    found = stored_series(model) | {"control_state": (tuple(str(k) for k in range(100)),)}
    found |= dict.fromkeys(model.speeds, ())
    wheels = tuple(c.name for c in model.wheels)
    for name, derived in DERIVED.items():
        if wheels or not derived.per_wheel:
            labels: SeriesLabels = (wheels,) if derived.per_wheel else ()
            found[name] = (*labels, AXES) if derived.vector else labels
    return found


_SERIES = re.compile(r"\s*(\w+(?:\.\w+)?)\s*(?:\[([^\]]*)\])?\s*")


def parse_series(text: str, model: Model) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of a series of a model, or say what is wrong with it."""
    return parse_labels(text, known_series(model))


def parse_labels(text: str, known: Mapping[str, SeriesLabels]) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of one of the known quantities, or say what is wrong.

    >>> parse_labels("position[x]", {"position": (("x", "y"),)})
    ('position', ('x',))
    """
    match = _SERIES.fullmatch(text)
    if match is None:
        raise ParameterError(f"{text!r} is not a quantity; write 'lean' or 'position[x]'.")
    name, inside = match.groups()
    expect_known("no quantity", name, known)
    labels = tuple(part.strip() for part in inside.split(",")) if inside is not None else ()
    wanted = known[name]
    if len(labels) != len(wanted):
        example = ", ".join(allowed[0] for allowed in wanted)
        way = f"write '{name}[{example}]'" if wanted else f"write '{name}' alone"
        raise ParameterError(f"{text!r}: {name} takes {len(wanted)} labels; {way}.")
    for label, allowed in zip(labels, wanted, strict=True):
        expect_known(f"{text!r}: no", label, allowed)
    return name, labels


def series(text: str, bodies: Bodies) -> Floats:
    """Return a series of a dataset, one value per time."""
    model, data = bodies.model, bodies.data
    name, labels = parse_series(text, model)
    if name in DERIVED:
        derived = DERIVED[name]
        values = derived.compute(bodies, labels[0] if derived.per_wheel else "")
        return values[:, AXES.index(labels[-1])] if derived.vector else values
    if name in model.speeds:
        return data["speeds"].values[:, model.speeds.index(name)]
    if name in {f"{joint.name}_acceleration" for joint in model.joints}:
        speed = f"{name.removesuffix('_acceleration')}_rate"
        return data["accelerations"].values[:, model.speeds.index(speed)]
    if name not in data:
        raise ParameterError(
            f"this run has no {name!r}: it was made without a law that has states."
        )
    values = data[name].values
    for label, allowed in zip(labels, known_series(model)[name], strict=True):
        k = allowed.index(label)
        if k >= values.shape[1]:
            raise ParameterError(f"{text!r}: this run has only {values.shape[1]} of them.")
        values = values[:, k]
    return values


def observed_entry(text: str, model: Model) -> tuple[str, int] | None:
    """Return which number of a state a series is: a part of what `observe` tells (or r, the shape) and
    the place in it; None of one that is computed from several.
    """
    name, labels = parse_series(text, model)
    if name in DERIVED or name == "time":
        return None if name in DERIVED else ("time", 0)
    joints, own = [joint.name for joint in model.joints], output_names(model)
    base, ending = name.removesuffix("_rate"), name.removesuffix("_acceleration")
    if name in joints or name in own:
        return ("r", joints.index(name)) if name in joints else ("outputs", own.index(name))
    if name in model.speeds:
        return "v", model.speeds.index(name)
    if name != base and base in own:
        return "output_rates", own.index(base)
    if name != ending and ending in joints:
        return "vdot", model.speeds.index(f"{ending}_rate")
    if name not in OBSERVED:
        return None
    allowed = known_series(model)[name]
    places = tuple(names.index(label) for names, label in zip(allowed, labels, strict=True))
    return OBSERVED[name], int(np.ravel_multi_index(places, [len(x) for x in allowed]))


def unit_of(text: str, model: Model) -> str:
    """Return the unit of a series; empty where it has none."""
    name, labels = parse_series(text, model)
    units = {n: one.unit for n, one in (STORED_VARIABLES | variables(model)).items()} | {
        "time": "s"
    }
    units |= {n: one.unit for n, one in DERIVED.items()}
    units |= label_units(model, "speeds")
    if labels and labels[0] in label_units(model, name):
        return label_units(model, name)[labels[0]]
    return "" if units[name] == "1" else units[name]


@dataclass(frozen=True)
class Question:
    """A series, and how it becomes a number."""

    series: str
    reducer: str
    level: float = 0.0

    def unit(self, model: Model) -> str:
        """Return the unit of the number."""
        own = unit_of(self.series, model)
        if self.reducer.startswith("time "):
            return "s"
        if self.reducer == "mean rate of":
            return f"{own}/s" if own else ""
        if self.reducer == "decay rate of":
            return "1/s"
        return "" if self.reducer.startswith("relative ") else own

    def answer(self, bodies: Bodies) -> float:
        """Return the one number."""
        t, x = bodies.data["time"].values, series(self.series, bodies)
        return float(self.reduce(t[None], x[None])[0])

    def reduce(self, t: Floats, x: Floats) -> Floats:
        """Return the numbers of many runs (runs, time)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.reducer == "time when":
                return first_crossings(t, x - self.level)
            return REDUCERS[self.reducer](t, x)


_JUDGEMENTS: dict[str, tuple[str, Callable[[Validity], float | None]]] = {
    "time to fall": ("s", lambda validity: validity.fall_from),
    "time to fault": ("s", lambda validity: next(iter(validity.faults.values()), None)),
    "friction needed": ("", lambda validity: validity.friction_needed),
}
"""What can be asked of the validity of a run; times are not numbers where it does not come to that."""


@dataclass(frozen=True)
class ValidityQuestion:
    """Something that the validity of a run tells."""

    text: str

    def unit(self, model: Model) -> str:
        """Return the unit of the number."""
        return _JUDGEMENTS[self.text][0]

    def answer(self, bodies: Bodies) -> float:
        """Return the one number."""
        validity = validity_of(bodies.data)
        assert validity is not None
        found = _JUDGEMENTS[self.text][1](validity)
        return float("nan") if found is None else found


def parse_question(text: str, model: Model) -> Question | EventQuestion | ValidityQuestion:
    """Return what a text asks for, or say what is wrong with it.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> parse_question("time when lean = 90deg", whipple())
    Question(series='lean', reducer='time when', level=1.5707963267948966)
    """
    text = " ".join(text.split())
    if text in _JUDGEMENTS:
        return ValidityQuestion(text)
    event = parse_event(text, model)
    if event is not None:
        return event
    found = split_metric(text)
    if found is not None:
        reducer, rest, level = found
        parse_series(rest, model)
        return Question(rest, reducer, level)
    first, _, rest = text.partition(" ")
    if rest and "[" not in first:
        raise ParameterError(
            f"{text!r} asks for nothing known. {did_you_mean(first, (*REDUCERS, *_JUDGEMENTS))} "
            "Examples: 'final lean', 'maximum steer', 'time when lean = 45deg', 'collision 1 time'."
        )
    parse_series(text, model)
    raise ParameterError(f"{text!r} changes in time; ask for 'final {text}' or 'maximum {text}'.")
