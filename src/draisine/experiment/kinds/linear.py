"""Scenarios of the kind `linear`: eigenvalues against speed and critical speeds.

The ideal bicycle has canonical matrices M, C0, C1, Ks, K0, K2 of the linearised equations
M q'' + (C0 + v C1) q' + (Ks + g K0 + v^2 K2) q = 0, q = (lean, steer). Two-wheelers with more states
(tyres, flexible parts, control laws) have named eigenmodes that are followed over speed, and other
vehicles are linearised about their steady motions. `simulate_linear` integrates the linear equations
for comparison with a nonlinear run.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import SEARCHED_SPEEDS, critical_speeds_of
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of, is_plain, is_two_wheeler
from draisine.analysis.bicycle.followed import CriticalSpeed, TwoWheeler
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.bicycle.uncertainty import spread
from draisine.analysis.eigenmodes import Eigenmodes, steady_modes
from draisine.analysis.equilibrium import steady_driven
from draisine.analysis.lqr import StateFeedback
from draisine.results.bodies import Bodies
from draisine.results.queries import evaluate_series
from draisine.results.straight import CANONICAL_COORDINATES
from draisine.scenario.plan import Plan
from draisine.scenario.schema import Expected, LinearScenario, RunScenario
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import parameter_deviations

if TYPE_CHECKING:
    from xarray import Dataset


def analyse_straight_running(
    scenario: LinearScenario, system: System, law: Law | None = None
) -> "Dataset":
    """Return matrices, eigenvalues and critical speeds of straight running.

    Lean and steer are positive to the right, as in the benchmark bicycle. The dataset covers the speeds of
    the scenario and those of its measurements, and includes the measured values.
    """
    measured = [block for block in scenario.expected if block.origin == "measured" and block.at]
    speeds = _default_speeds(system) if scenario.speeds is None else scenario.speeds.values()
    v = np.unique([*speeds, *(x for block in measured for x in block.at or ())])
    data = _compute_eigenvalues(system, law, v).assign(_collect_measurements(measured))
    return data.assign(_estimate_uncertainty(scenario, system, law, v))


def simulate_linear(plan: Plan, data: "Dataset") -> "Dataset":
    """Simulate a run on the plane by the linear equations about the steady motion at its initial speed.

    The linear run has the same initial state and the same times; the dataset has the states of the
    linear system.
    """
    assert isinstance(plan.scenario, RunScenario)
    speed: dict[str, Any] = {n: float(data[n][0]) for n in ("forward_speed",) if n in data}
    steady = steady_driven(plan.system, mode=plan.scenario.run.mode, **speed)
    linear = steady.linear()
    bodies = Bodies(data, plan.system.model)
    start = {name: float(evaluate_series(name, bodies)[0]) for name in linear.states}
    title = f"linear, about {speed.get('forward_speed', 0.0):g} m/s"
    return linear.simulate(start, data["time"].values).assign_attrs(title=title)


def _default_speeds(system: System) -> Floats:
    """Return default speeds (m/s) of a linear scenario: 0 to 10 for two-wheelers, 0 for other vehicles."""
    return np.linspace(0.0, 10.0, 101) if is_two_wheeler(system) else np.zeros(1)


def _estimate_uncertainty(
    scenario: LinearScenario, system: System, law: Law | None, speeds: Floats
) -> dict[str, Any]:
    """Return standard deviations of eigenvalues and critical speeds as dataset variables.

    They are propagated from the standard deviations of the parameter set. The result is empty if the set has
    no standard deviations.
    """
    parameter_set = scenario.vehicle.parameter_set
    if not isinstance(parameter_set, str) or not is_two_wheeler(system):
        return {}
    # `spread` requires eigenvalues with named eigenmodes. With state feedback,
    # `_compute_eigenvalues` returns eigenvalues without names.
    if isinstance(law, StateFeedback):
        return {}
    published = parameter_deviations(system.vehicle.__name__, parameter_set)
    # The published standard deviation of a parameter does not apply if the scenario replaces the
    # parameter.
    replaced = scenario.vehicle.parameters
    deviations = {name: sigma for name, sigma in published.items() if name not in replaced}
    if not deviations:
        return {}
    sigma = spread(system, deviations, speeds, law)
    dims = ("speed", "eigenmode")
    variables: dict[str, Any] = {
        f"{name}_speed_deviation": ((), x, {"units": "m/s"}) for name, x in sigma.critical.items()
    }
    variables["eigenvalue_real_deviation"] = (dims, sigma.real, {"units": "1/s"})
    variables["eigenvalue_imaginary_deviation"] = (dims, sigma.imaginary, {"units": "rad/s"})
    return variables


def _collect_measurements(blocks: Sequence[Expected]) -> dict[str, Any]:
    """Return measured values as dataset variables.

    The variables are quantity, speed (m/s), value, standard deviation (NaN if unknown) and speed
    window.
    """
    rows = []
    for block in blocks:
        speeds = block.at if isinstance(block.at, list) else []
        unknown = [np.nan] * len(speeds)
        for quantity, values in block.values.items():
            spreads = block.spread.get(quantity, unknown)
            windows = block.windows or [(v, v) for v in speeds]
            points = zip(
                speeds, np.atleast_1d(values), np.atleast_1d(spreads), windows, strict=True
            )
            rows += [(quantity, v, x, sigma, *window) for v, x, sigma, window in points]
    if not rows:
        return {}
    names, *numbers = (np.array(column) for column in zip(*rows, strict=True))
    units: list[Any] = [{"units": "m/s"}, {}, {}, {"units": "m/s"}, {"units": "m/s"}]
    columns = zip(("speed", "value", "spread", "from", "to"), numbers, units, strict=True)
    return {"measured_quantity": ("measurement", names)} | {
        f"measured_{name}": ("measurement", column, unit) for name, column, unit in columns
    }


def _compute_eigenvalues(system: System, law: Law | None, speeds: Floats) -> "Dataset":
    """Return eigenvalues, critical speeds and canonical matrices at the speeds (m/s) as a dataset."""
    if not is_two_wheeler(system) or isinstance(law, StateFeedback):
        return _linearise_steady(system, law, speeds)
    # Canonical matrices exist for the ideal bicycle only, which has four states and matrices
    # polynomial in the speed.
    if law is not None or not is_plain(system):
        return _follow_eigenmodes(TwoWheeler(system, law), speeds)
    matrices = canonical_matrices(system)
    modes = eigenmodes_of(matrices, speeds)
    critical = critical_speeds_of(matrices)
    data = {
        "M": (("row", "column"), matrices.M, "kg m2"),
        "C0": (("row", "column"), matrices.C0, "kg m2/s"),
        "C1": (("row", "column"), matrices.C1, "kg m"),
        "Ks": (("row", "column"), matrices.Ks, "kg m2/s2"),
        "K0": (("row", "column"), matrices.K0, "kg m"),
        "K2": (("row", "column"), matrices.K2, "kg"),
        "weave_speed": ((), critical.weave, "m/s"),
        "weave_frequency": ((), critical.weave_frequency, "rad/s"),
        "capsize_speed": ((), critical.capsize, "m/s"),
        "double_root_speed": ((), critical.double_root, "m/s"),
        "double_root": ((), critical.double_value, "1/s"),
        "stable_from": ((), critical.stable_from, "m/s"),
        "stable_to": ((), critical.stable_to, "m/s"),
    }
    return _make_dataset(system, modes, data)


def _follow_eigenmodes(running: TwoWheeler, speeds: Floats) -> "Dataset":
    """Return the eigenvalues of the named eigenmodes of a two-wheeler, followed over the speeds (m/s).

    The dataset also contains the lowest speeds at which weave, capsize and wobble change their
    stability. The vehicle may have tyres, flexible parts or a control law.
    """
    modes = running.eigenmodes(speeds)
    low = max(float(speeds.min()), SEARCHED_SPEEDS[0])
    high = float(speeds.max())
    crossings = running.crossings(low, high) if low < high else []
    data: dict[str, Any] = {}
    for name in ("weave", "capsize", "wobble"):
        first = next(
            (x for x in crossings if x.name == name), CriticalSpeed(name, np.nan, np.nan, False)
        )
        data[f"{name}_speed"] = ((), first.speed, "m/s")
        if name != "capsize":
            data[f"{name}_frequency"] = ((), first.frequency, "rad/s")
    records = json.dumps([asdict(crossing) for crossing in crossings])
    dataset = _make_dataset(running.system, modes, data)
    return dataset.assign_attrs(crossings=records, searched_from=low, searched_to=high)


def _linearise_steady(system: System, law: Law | None, speeds: Floats) -> "Dataset":
    """Return the steady motions of a vehicle at the speeds (m/s) and their eigenvalues."""
    modes, motions = steady_modes(system, speeds, law)
    states = np.array([[m.values.get(name, 0.0) for name in modes.states] for m in motions])
    inputs = np.array([list(m.inputs.values()) for m in motions])
    data = {
        "steady_motion": (("speed", "state"), states, "SI"),
        "steady_input": (("speed", "input"), inputs, "SI"),
    }
    dataset = _make_dataset(system, modes, data)
    if isinstance(law, StateFeedback):
        gain = (("fed_input", "fed_state"), law.K, {"units": "SI"})
        labels = {"fed_input": list(law.inputs), "fed_state": list(law.states_read)}
        dataset = dataset.assign(gain=gain).assign_coords(labels)
    return dataset.assign_coords(state=list(modes.states), input=list(system.model.inputs))


def _make_dataset(system: System, modes: Eigenmodes, data: dict[str, Any]) -> "Dataset":
    """Return eigenmodes and further variables (dimensions, values, unit) as one dataset."""
    dataset = modes.to_xarray().assign_coords(
        row=list(CANONICAL_COORDINATES), column=list(CANONICAL_COORDINATES)
    )
    dataset = dataset.assign(
        {name: (dims, values, {"units": unit}) for name, (dims, values, unit) in data.items()}
    )
    return dataset.assign_attrs(vehicle=system.vehicle.__name__)
