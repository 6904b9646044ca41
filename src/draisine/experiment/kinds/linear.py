"""Straight running as data: canonical matrices, eigenvalues against speed, critical speeds; of machines
that are no bicycles the eigenvalues about their steady motions; and runs by linear equations.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import SEARCHED_SPEEDS, critical_of
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of, is_plain, is_two_wheeler
from draisine.analysis.bicycle.followed import CriticalSpeed, TwoWheeler
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.bicycle.uncertainty import spread
from draisine.analysis.eigenmodes import Eigenmodes, steady_modes
from draisine.analysis.equilibrium import steady_driven
from draisine.analysis.lqr import StateFeedback
from draisine.results.bodies import Bodies
from draisine.results.questions import series
from draisine.results.straight import COORDINATES
from draisine.scenario.plan import Plan
from draisine.scenario.schema import Expected, LinearScenario, RunScenario
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import parameter_deviations

if TYPE_CHECKING:
    from xarray import Dataset


def straight_running(scenario: LinearScenario, system: System, law: Law | None = None) -> "Dataset":
    """Return matrices, eigenvalues and critical speeds of a bicycle that runs straight, in the axes
    of the benchmark (lean and steer to the right); at the scenario's speeds, and at those of its
    measurements, which stand beside.
    """
    measured = [block for block in scenario.expected if block.origin == "measured" and block.at]
    asked = _usual_speeds(system) if scenario.speeds is None else scenario.speeds.values()
    v = np.unique([*asked, *(x for block in measured for x in block.at or ())])
    found = _computed(system, law, v).assign(_measurements(measured))
    return found.assign(_uncertainty(scenario, system, law, v))


def linear_motion(plan: Plan, data: "Dataset") -> "Dataset":
    """Return how a run on the plane that nothing drives goes by the linear equations about the steady
    motion of its first speed: from the same start, at the same times, what of it these equations tell.
    """
    assert isinstance(plan.scenario, RunScenario)
    asked: dict[str, Any] = {n: float(data[n][0]) for n in ("forward_speed",) if n in data}
    about = steady_driven(plan.system, mode=plan.scenario.run.mode, **asked)
    found, bodies = about.linear(), Bodies(data, plan.system.model)
    start = {name: float(series(name, bodies)[0]) for name in found.states}
    title = f"linear, about {asked.get('forward_speed', 0.0):g} m/s"
    return found.simulate(start, data["time"].values).assign_attrs(title=title)


def _usual_speeds(system: System) -> Floats:
    """Return the speeds at which a machine is looked at if nobody says."""
    return np.linspace(0.0, 10.0, 101) if is_two_wheeler(system) else np.zeros(1)


def _uncertainty(
    scenario: LinearScenario, system: System, law: Law | None, v: Floats
) -> dict[str, Any]:
    """Return the standard deviations of eigenvalues and critical speeds where those of the parameters
    are known, as variables of a dataset.
    """
    named, changed = scenario.vehicle.parameter_set, scenario.vehicle.parameters
    if not isinstance(named, str) or not is_two_wheeler(system) or isinstance(law, StateFeedback):
        return {}
    known = parameter_deviations(system.vehicle.__name__, named)
    deviations = {name: size for name, size in known.items() if name not in changed}
    if not deviations:
        return {}
    found = spread(system, deviations, v, law)
    out: dict[str, Any] = {
        f"{name}_speed_deviation": ((), x, {"units": "m/s"}) for name, x in found.critical.items()
    }
    for part, x, unit in (("real", found.real, "1/s"), ("imaginary", found.imaginary, "rad/s")):
        out[f"eigenvalue_{part}_deviation"] = (("speed", "eigenmode"), x, {"units": unit})
    return out


def _measurements(blocks: Sequence[Expected]) -> dict[str, Any]:
    """Return measured numbers by quantity and speed, as variables of a dataset: how they are spread,
    and in which windows of the speed they were measured, where that is known.
    """
    rows = []
    for block in blocks:
        speeds = block.at if isinstance(block.at, list) else []
        unknown = [np.nan] * len(speeds)
        for quantity, values in block.values.items():
            spreads = block.spread.get(quantity, unknown)
            windows = block.windows or [(v, v) for v in speeds]
            told = zip(speeds, np.atleast_1d(values), np.atleast_1d(spreads), windows, strict=True)
            rows += [(quantity, v, x, spread, *window) for v, x, spread, window in told]
    if not rows:
        return {}
    names, *numbers = (np.array(column) for column in zip(*rows, strict=True))
    units: list[Any] = [{"units": "m/s"}, {}, {}, {"units": "m/s"}, {"units": "m/s"}]
    columns = zip(("speed", "value", "spread", "from", "to"), numbers, units, strict=True)
    return {"measured_quantity": ("measurement", names)} | {
        f"measured_{name}": ("measurement", column, unit) for name, column, unit in columns
    }


def _computed(system: System, law: Law | None, v: Floats) -> "Dataset":
    """Return what is computed at speeds v."""
    if not is_two_wheeler(system) or isinstance(law, StateFeedback):
        return _steady(system, law, v)
    if law is not None or not is_plain(system):
        return _followed(TwoWheeler(system, law), v)
    matrices = canonical_matrices(system)
    modes, critical = eigenmodes_of(matrices, v), critical_of(matrices)
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
    return _dataset(system, modes, data)


def _followed(running: TwoWheeler, v: Floats) -> "Dataset":
    """Return the eigenvalues of a two-wheeler that is more than the ideal bicycle, and the speeds at
    which weave, capsize and wobble first change their stability.
    """
    modes = running.eigenmodes(v)
    low, high = max(float(v.min()), SEARCHED_SPEEDS[0]), float(v.max())
    crossings = running.crossings(low, high) if low < high else []
    data: dict[str, Any] = {}
    for name in ("weave", "capsize", "wobble"):
        first = next(
            (x for x in crossings if x.name == name), CriticalSpeed(name, np.nan, np.nan, False)
        )
        data[f"{name}_speed"] = ((), first.speed, "m/s")
        if name != "capsize":
            data[f"{name}_frequency"] = ((), first.frequency, "rad/s")
    told = [asdict(crossing) for crossing in crossings]
    found = _dataset(running.system, modes, data)
    return found.assign_attrs(crossings=json.dumps(told), looked_from=low, looked_to=high)


def _steady(system: System, law: Law | None, v: Floats) -> "Dataset":
    """Return the eigenvalues of any machine about its steady motions, and these motions."""
    modes, motions = steady_modes(system, v, law)
    about = np.array([[one.values.get(name, 0.0) for name in modes.states] for one in motions])
    needed = np.array([list(one.inputs.values()) for one in motions])
    data = {
        "steady_motion": (("speed", "state"), about, "SI"),
        "steady_input": (("speed", "input"), needed, "SI"),
    }
    found = _dataset(system, modes, data)
    if isinstance(law, StateFeedback):
        gain = (("fed_input", "fed_state"), law.K, {"units": "SI"})
        told = {"fed_input": list(law.inputs), "fed_state": list(law.states_read)}
        found = found.assign(gain=gain).assign_coords(told)
    return found.assign_coords(state=list(modes.states), input=list(system.model.inputs))


def _dataset(system: System, modes: Eigenmodes, data: dict[str, Any]) -> "Dataset":
    """Return the eigenvalues of a machine with what else is known, by dimensions, values and unit."""
    found = modes.to_xarray().assign_coords(row=list(COORDINATES), column=list(COORDINATES))
    found = found.assign(
        {name: (dims, values, {"units": unit}) for name, (dims, values, unit) in data.items()}
    )
    return found.assign_attrs(vehicle=system.vehicle.__name__)
