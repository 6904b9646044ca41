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
from draisine.errors import ParameterError, did_you_mean
from draisine.model import Model
from draisine.model.names import STORED, dimensions, label_units, variables
from draisine.model.quantity import number
from draisine.results.bodies import Bodies
from draisine.results.events import EventQuestion, parse_event
from draisine.results.quantities import DERIVED

AXES = ("x", "y", "z")

Labels = tuple[tuple[str, ...], ...]
"""The labels that a series takes, per dimension after time."""


def stored_series(model: Model) -> dict[str, Labels]:
    """Return the variables that every run of a model stores, with the labels that each takes."""
    labels = dimensions(model)
    found = {name: tuple(labels[d] for d in one.dims) for name, one in variables(model).items()}
    return {"time": (), **found}


@lru_cache(maxsize=16)
def known_series(model: Model) -> dict[str, Labels]:
    """Return all series that can be asked of a run of a model, with the labels that each takes."""
    found = stored_series(model) | {"control_state": (tuple(str(k) for k in range(100)),)}
    found |= dict.fromkeys(model.speeds, ())
    found |= {f"{joint.name}_acceleration": () for joint in model.joints}
    wheels = tuple(c.name for c in model.wheels)
    for name, derived in DERIVED.items():
        if wheels or not derived.per_wheel:
            labels: Labels = (wheels,) if derived.per_wheel else ()
            found[name] = (*labels, AXES) if derived.vector else labels
    return found


_SERIES = re.compile(r"\s*(\w+(?:\.\w+)?)\s*(?:\[([^\]]*)\])?\s*")


def parse_series(text: str, model: Model) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of a series of a model, or say what is wrong with it."""
    return parse_labels(text, known_series(model))


def parse_labels(text: str, known: Mapping[str, Labels]) -> tuple[str, tuple[str, ...]]:
    """Return the name and the labels of one of the known quantities, or say what is wrong.

    >>> parse_labels("position[x]", {"position": (("x", "y"),)})
    ('position', ('x',))
    """
    match = _SERIES.fullmatch(text)
    if match is None:
        raise ParameterError(f"{text!r} is not a quantity; write 'lean' or 'position[x]'.")
    name, inside = match.groups()
    if name not in known:
        raise ParameterError(f"no quantity {name!r}. {did_you_mean(name, known)}")
    labels = tuple(part.strip() for part in inside.split(",")) if inside is not None else ()
    wanted = known[name]
    if len(labels) != len(wanted):
        example = ", ".join(allowed[0] for allowed in wanted)
        way = f"write '{name}[{example}]'" if wanted else f"write '{name}' alone"
        raise ParameterError(f"{text!r}: {name} takes {len(wanted)} labels; {way}.")
    for label, allowed in zip(labels, wanted, strict=True):
        if label not in allowed:
            raise ParameterError(f"{text!r}: no {label!r}. {did_you_mean(label, allowed)}")
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


def unit_of(text: str, model: Model) -> str:
    """Return the unit of a series; empty where it has none."""
    name, labels = parse_series(text, model)
    units = {n: one.unit for n, one in (STORED | variables(model)).items()} | {"time": "s"}
    units |= {n: one.unit for n, one in DERIVED.items()}
    units |= label_units(model, "speeds")
    units |= {f"{joint.name}_acceleration": f"{joint.unit}/s2" for joint in model.joints}
    if labels and labels[0] in label_units(model, name):
        return label_units(model, name)[labels[0]]
    return "" if units[name] == "1" else units[name]


_REDUCERS: dict[str, Callable[[Floats, Floats], float]] = {
    "initial": lambda t, x: float(x[0]),
    "final": lambda t, x: float(x[-1]),
    "maximum": lambda t, x: float(x.max()),
    "minimum": lambda t, x: float(x.min()),
    "mean rate of": lambda t, x: float((x[-1] - x[0]) / (t[-1] - t[0])),
    "mean": lambda t, x: float(np.trapezoid(x, t) / (t[-1] - t[0])),
    "peak": lambda t, x: float(np.abs(x).max()),
    "spread of": lambda t, x: float(x.max() - x.min()),
    "relative spread of": lambda t, x: float((x.max() - x.min()) / abs(x[0])),
    "time of maximum": lambda t, x: float(t[np.argmax(x)]),
    "time of minimum": lambda t, x: float(t[np.argmin(x)]),
}
"""How a series becomes a number; `peak` is the maximum of the absolute value."""

_WHEN = re.compile(r"\s*time when\s+(.+?)\s*=\s*(\S+)\s*")


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
        return "" if self.reducer.startswith("relative ") else own

    def answer(self, bodies: Bodies) -> float:
        """Return the one number."""
        t, x = bodies.data["time"].values, series(self.series, bodies)
        if self.reducer == "time when":
            return first_crossing(t, x - self.level)
        return _REDUCERS[self.reducer](t, x)


def parse_question(text: str, model: Model) -> Question | EventQuestion:
    """Return what a text asks for, or say what is wrong with it.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> parse_question("time when lean = 90deg", whipple())
    Question(series='lean', reducer='time when', level=1.5707963267948966)
    """
    text = " ".join(text.split())
    event = parse_event(text, model)
    if event is not None:
        return event
    when = _WHEN.fullmatch(text)
    if when:
        parse_series(when.group(1), model)
        try:
            return Question(when.group(1), "time when", number(when.group(2)))
        except ValueError as error:
            raise ParameterError(f"{text!r}: {error}.") from None
    for reducer in _REDUCERS:
        if text.startswith(f"{reducer} "):
            rest = text.removeprefix(f"{reducer} ")
            parse_series(rest, model)
            return Question(rest, reducer)
    first, _, rest = text.partition(" ")
    if rest and "[" not in first:
        raise ParameterError(
            f"{text!r} asks for nothing known. {did_you_mean(first, _REDUCERS)} Examples: 'final "
            "lean', 'maximum steer', 'time when lean = 45deg', 'collision 1 time'."
        )
    parse_series(text, model)
    raise ParameterError(f"{text!r} changes in time; ask for 'final {text}' or 'maximum {text}'.")


def first_crossing(t: Floats, x: Floats) -> float:
    """Return when x first passes zero, by the cubic through the four samples around; NaN where it
    never does. Times that stand twice are events: there x may jump, and no cubic goes across.

    >>> t = np.linspace(0.0, 2.0, 21)
    >>> first_crossing(t, t**3 - 0.729)
    0.9
    """
    found = np.nonzero(np.sign(x[1:]) != np.sign(x[0]))[0]
    if x[0] == 0.0 or not len(found):
        return float(t[0]) if x[0] == 0.0 else float("nan")
    k = int(found[0])
    if t[k] == t[k + 1]:
        return float(t[k])
    jumps = np.nonzero(t[1:] == t[:-1])[0] + 1
    first = max(jumps[jumps <= k], default=0)
    last = min(jumps[jumps > k], default=len(t))
    low = max(first, min(k - 1, last - 4))
    around = slice(low, min(low + 4, last))
    cubic = np.polynomial.Polynomial.fit(t[around], x[around], len(t[around]) - 1)
    guess = t[k] - x[k] * (t[k + 1] - t[k]) / (x[k + 1] - x[k])
    slope = cubic.deriv()
    for _ in range(20):
        step = cubic(guess) / slope(guess) if slope(guess) else 0.0
        guess = min(max(guess - step, t[k]), t[k + 1])
    return round(float(guess), 12)
