"""Time series and scalar queries of a run, evaluated by name from stored and derived variables.

A *series* has one value per time: `lean`, `steer_rate`, `position[x]`, `contact_force[rear, normal]`. A
*query* reduces a series to one number: `final lean`, `maximum steer`, `time when lean = 45deg`.
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
from draisine.results.attributes import read_validity
from draisine.results.bodies import Bodies
from draisine.results.events import EventQuery, parse_event
from draisine.results.quantities import DERIVED_QUANTITIES
from draisine.simulation.dataset import OBSERVED_VARIABLES
from draisine.simulation.validity import Validity

SPACE_AXES = ("x", "y", "z")
"""Labels of the components of three-dimensional vectors."""

MAX_CONTROL_STATE_LABELS = 100
"""Largest index of the series `control_state` that a query may name; control laws have far fewer states."""

SeriesLabels = tuple[tuple[str, ...], ...]
"""Allowed labels of a time series, one tuple per dimension after time."""


def stored_series(model: Model) -> dict[str, SeriesLabels]:
    """Return the variables that every run of a model stores: name -> allowed labels."""
    labels = dimensions(model)
    stored = {name: tuple(labels[d] for d in v.dims) for name, v in variables(model).items()}
    return {"time": (), **stored}


@lru_cache(maxsize=16)
def known_series(model: Model) -> dict[str, SeriesLabels]:
    """Return all stored and derived time series of a run of a model: name -> allowed labels."""
    available = stored_series(model)
    available |= {"control_state": (tuple(str(k) for k in range(MAX_CONTROL_STATE_LABELS)),)}
    available |= dict.fromkeys(model.speeds, ())
    wheels = tuple(c.name for c in model.wheels)
    for name, derived in DERIVED_QUANTITIES.items():
        if wheels or not derived.per_wheel:
            labels: SeriesLabels = (wheels,) if derived.per_wheel else ()
            available[name] = (*labels, SPACE_AXES) if derived.vector else labels
    return available


_SERIES_PATTERN = re.compile(r"\s*(\w+(?:\.\w+)?)\s*(?:\[([^\]]*)\])?\s*")


def parse_series(text: str, model: Model) -> tuple[str, tuple[str, ...]]:
    """Parse the name of a time series of a model into name and labels; raise `ParameterError` if unknown."""
    return parse_labels(text, known_series(model))


def parse_labels(text: str, known: Mapping[str, SeriesLabels]) -> tuple[str, tuple[str, ...]]:
    """Parse a text like `position[x]` into name and labels; raise `ParameterError` if unknown.

    >>> parse_labels("position[x]", {"position": (("x", "y"),)})
    ('position', ('x',))
    """
    match = _SERIES_PATTERN.fullmatch(text)
    if match is None:
        raise ParameterError(f"{text!r} is not a quantity; write 'lean' or 'position[x]'.")
    name, inside = match.groups()
    expect_known("no quantity", name, known)
    labels = tuple(label.strip() for label in inside.split(",")) if inside is not None else ()
    dimensions_allowed = known[name]
    if len(labels) != len(dimensions_allowed):
        example = ", ".join(allowed[0] for allowed in dimensions_allowed)
        correction = f"write '{name}[{example}]'" if example else f"write '{name}' alone"
        count = len(dimensions_allowed)
        raise ParameterError(f"{text!r}: {name} has {count} labels; {correction}.")
    for label, allowed in zip(labels, dimensions_allowed, strict=True):
        expect_known(f"{text!r}: no", label, allowed)
    return name, labels


def evaluate_series(text: str, bodies: Bodies) -> Floats:
    """Return a stored or derived time series of a dataset by name, (times,).

    Parameters
    ----------
    text
        Name of the series with labels, like `lean`, `position[x]` or `wheel_centre[rear, z]`.
    bodies
        Motions of the bodies of the dataset.

    Raises
    ------
    ParameterError
        If the series does not exist in this run.
    """
    model = bodies.model
    data = bodies.data
    name, labels = parse_series(text, model)
    if name in DERIVED_QUANTITIES:
        derived = DERIVED_QUANTITIES[name]
        values = derived.compute(bodies, labels[0] if derived.per_wheel else "")
        return values[:, SPACE_AXES.index(labels[-1])] if derived.vector else values
    if name in model.speeds:
        return data["speeds"].values[:, model.speeds.index(name)]
    if name in {f"{joint.name}_acceleration" for joint in model.joints}:
        speed = f"{name.removesuffix('_acceleration')}_rate"
        return data["accelerations"].values[:, model.speeds.index(speed)]
    if name not in data:
        raise ParameterError(f"This run has no {name!r}: none of its control laws has states.")
    values = data[name].values
    for label, allowed in zip(labels, known_series(model)[name], strict=True):
        k = allowed.index(label)
        if k >= values.shape[1]:
            raise ParameterError(f"{text!r}: this run has only {values.shape[1]} such components.")
        values = values[:, k]
    return values


def observed_entry(text: str, model: Model) -> tuple[str, int] | None:
    """Locate a time series in the outputs of the program `observe`: return (name of the output, index in it).

    Return None for derived series, which the program does not compute.

    The output is `r` (joint coordinates) if the series is a joint coordinate.
    """
    name, labels = parse_series(text, model)
    if name in DERIVED_QUANTITIES:
        return None
    if name == "time":
        return "time", 0
    joints = [joint.name for joint in model.joints]
    outputs = output_names(model)
    rate_of = name.removesuffix("_rate")
    acceleration_of = name.removesuffix("_acceleration")
    # Prefer joint coordinates to an output of the same name, which may differ from them by
    # round-off.
    if name in joints:
        return "r", joints.index(name)
    if name in outputs:
        return "outputs", outputs.index(name)
    if name in model.speeds:
        return "v", model.speeds.index(name)
    if name != rate_of and rate_of in outputs:
        return "output_rates", outputs.index(rate_of)
    if name != acceleration_of and acceleration_of in joints:
        return "vdot", model.speeds.index(f"{acceleration_of}_rate")
    if name not in OBSERVED_VARIABLES:
        return None
    allowed = known_series(model)[name]
    index = tuple(names.index(label) for names, label in zip(allowed, labels, strict=True))
    return OBSERVED_VARIABLES[name], int(np.ravel_multi_index(index, [len(x) for x in allowed]))


def series_unit(text: str, model: Model) -> str:
    """Return the SI unit of a time series; an empty string if it is dimensionless."""
    name, labels = parse_series(text, model)
    units = {n: v.unit for n, v in (STORED_VARIABLES | variables(model)).items()} | {"time": "s"}
    units |= {n: derived.unit for n, derived in DERIVED_QUANTITIES.items()}
    units |= label_units(model, "speeds")
    if labels and labels[0] in label_units(model, name):
        return label_units(model, name)[labels[0]]
    return "" if units[name] == "1" else units[name]


@dataclass(frozen=True)
class SeriesQuery:
    """Query that reduces a time series to one number."""

    series: str
    """Name of the time series with labels."""
    reducer: str
    """Reduction over time: one of `analysis.metrics.REDUCERS`, or `time when`."""
    level: float = 0.0
    """Level whose crossing `time when` locates, SI units."""

    def unit(self, model: Model) -> str:
        """Return the SI unit of the query's value."""
        unit = series_unit(self.series, model)
        if self.reducer.startswith("time "):
            return "s"
        if self.reducer == "mean rate of":
            return f"{unit}/s" if unit else ""
        if self.reducer == "decay rate of":
            return "1/s"
        return "" if self.reducer.startswith("relative ") else unit

    def evaluate(self, bodies: Bodies) -> float:
        """Return the value of the query in one run."""
        t = bodies.data["time"].values
        x = evaluate_series(self.series, bodies)
        return float(self.reduce_series(t[None], x[None])[0])

    def reduce_series(self, times: Floats, series: Floats) -> Floats:
        """Return the query's values (runs,) from times (s) and series of many runs, both (runs, time)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.reducer == "time when":
                return first_crossings(times, series - self.level)
            return REDUCERS[self.reducer](times, series)


_VALIDITY_QUANTITIES: dict[str, tuple[str, Callable[[Validity], float | None]]] = {
    "time to fall": ("s", lambda validity: validity.fall_from),
    "time to fault": ("s", lambda validity: next(iter(validity.faults.values()), None)),
    "friction needed": ("", lambda validity: validity.friction_needed),
}
"""Queries on the validity record of a run: name -> (unit, function); None if the event never happens."""


@dataclass(frozen=True)
class ValidityQuery:
    """Query on the validity record of a run."""

    text: str
    """Name of the query, a key of `_VALIDITY_QUANTITIES`."""

    def unit(self, model: Model) -> str:
        """Return the SI unit of the query's value."""
        return _VALIDITY_QUANTITIES[self.text][0]

    def evaluate(self, bodies: Bodies) -> float:
        """Return the value of the query in a run; NaN if the event never happens."""
        validity = read_validity(bodies.data)
        assert validity is not None
        return self.evaluate_validity(validity)

    def evaluate_validity(self, validity: Validity) -> float:
        """Return the value of the query for a validity record; NaN if the event never happens."""
        value = _VALIDITY_QUANTITIES[self.text][1](validity)
        return float("nan") if value is None else value


def parse_query(text: str, model: Model) -> SeriesQuery | EventQuery | ValidityQuery:
    """Parse a scalar query like `final lean`; raise `ParameterError` if the text is not a query.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> parse_query("time when lean = 90deg", whipple())
    SeriesQuery(series='lean', reducer='time when', level=1.5707963267948966)
    """
    text = " ".join(text.split())
    if text in _VALIDITY_QUANTITIES:
        return ValidityQuery(text)
    event = parse_event(text, model)
    if event is not None:
        return event
    reduction = split_metric(text)
    if reduction is not None:
        reducer, name, level = reduction
        parse_series(name, model)
        return SeriesQuery(name, reducer, level)
    first, _, rest = text.partition(" ")
    if rest and "[" not in first:
        raise ParameterError(
            f"{text!r} is not a query. {did_you_mean(first, (*REDUCERS, *_VALIDITY_QUANTITIES))} "
            "Examples: 'final lean', 'maximum steer', 'time when lean = 45deg', 'collision 1 time'."
        )
    parse_series(text, model)
    raise ParameterError(
        f"{text!r} is a series over time. Reduce it to a number: 'final {text}' or 'maximum {text}'."
    )
