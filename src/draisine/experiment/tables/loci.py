"""Root loci of a vehicle: eigenvalues of the linearised motion as one quantity varies."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import driven_inputs, is_two_wheeler
from draisine.analysis.equilibrium.balance import ACCELERATION
from draisine.analysis.root_locus import root_locus
from draisine.errors import ParameterError
from draisine.experiment.tables.inclined import load_motion
from draisine.scenario.validate.mistakes import Mistakes
from draisine.scenario.validate.motion import check_steady_path, read_law
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import with_recipe
from draisine.system.system import System
from draisine.vehicles import INCLINE_PARAMETERS

if TYPE_CHECKING:
    from xarray import Dataset

LOCUS_UNITS = {
    "forward_speed": "m/s",
    "lean": "rad",
    "slope": "rad",
    "camber": "rad",
    "yaw": "rad",
    ACCELERATION: "m/s2",
}
"""Units of the quantities over which the command `eigenvalues` computes a root locus."""


@with_recipe
def compute_root_locus(
    vehicle: str,
    parameters: Mapping[str, Any],
    parameter_set: str | None,
    over: str,
    values: Floats,
    fixed: Mapping[str, float],
    form: str | None = None,
    laws: Sequence[Mapping[str, Any]] = (),
) -> "Dataset":
    """Return the root locus of a vehicle over speed, lean, slope, camber or forward acceleration.

    The inputs in `driven_inputs` are solved for, so that the motion is steady. Control laws, given as tables
    of a scenario, close the loop. The gains of `lqr` and `follow_path` are designed for straight running at
    the fixed speed.

    >>> import numpy as np
    >>> data = compute_root_locus("whipple", {}, None, "lean", np.array([0.0, 0.1]), {"forward_speed": 5.0})
    >>> data.sizes["value"], data.attrs["locus_over"]
    (2, 'lean')
    """
    if "forward_speed" not in (over, *fixed):
        raise ParameterError(
            "A root locus over lean, slope, camber or acceleration needs a constant speed, for example "
            "--speed 5."
        )
    if {"camber", "lean"} <= {over, *fixed}:
        raise ParameterError(
            "--camber and --lean over-determine the motion: on a cambered road, a machine that "
            "runs straight has exactly one lean. Leave one of them out, or use --slope, where the "
            "lean determines the heading."
        )
    constants: dict[str, Any] = dict(fixed)
    # Slope and camber are parameters of the compiled model, not quantities of its steady motion.
    ground = {name: constants.pop(name) for name in INCLINE_PARAMETERS if name in constants}
    system = build_system(vehicle, dict(parameters) | ground, parameter_set)
    start_time = time.perf_counter()
    mistakes = Mistakes()
    for entry in laws:
        if over == "forward_speed" and entry.get("name") == "lqr" and "about" not in entry:
            raise ParameterError(
                "LQR is designed about one steady motion, so it has no root locus over speed. Choose one "
                "speed, for example --speed 5."
            )
    law = read_law(laws, [], system, fixed.get("forward_speed"), mistakes)
    check_steady_path(law, mistakes)
    mistakes.raise_all("--law")
    # A control law that follows a path determines the lean by the curvature of the path.
    if not hasattr(law, "path"):
        constants |= _prescribe_straight_running(system, over, {**constants, **ground})
    form_name: Any = form
    free = driven_inputs(system, law)
    locus = root_locus(system, over, values, free=free, law=law, form=form_name, **constants)
    named = {**constants, **ground}
    others = ", ".join(f"{n} = {x:.6g} {LOCUS_UNITS[n]}" for n, x in named.items())
    names = "".join(f", law {entry['name']}" for entry in laws)
    title = f"eigenvalues over {over.replace('_', ' ')}, {others}".rstrip(", ") + names
    data = locus.to_xarray()
    return data.assign_attrs(title=title, seconds=time.perf_counter() - start_time)


@with_recipe
def compute_scenario_locus(
    scenario: str,
    changes: Mapping[str, Any] | None = None,
    over: str | None = None,
    values: Floats | None = None,
    form: str | None = None,
) -> "Dataset":
    """Return the root locus about the steady motion in which the run of a scenario starts, on its terrain.

    Parameters
    ----------
    scenario
        A scenario with a table `initial.steady`; its terrain, contact options and control laws act.
    changes
        Values of the scenario to replace, by key path.
    over, values
        A quantity of `initial.steady` and its values; by default the motion of the scenario alone.
    form
        Linearisation of accelerating motions, as in `root_locus`.

    Raises
    ------
    ParameterError
        If the run does not start in a steady motion, or `over` is not one of its quantities.
    """
    start_time = time.perf_counter()
    plan, motion = load_motion(scenario, changes)
    prescribed = dict(plan.start.steady.prescribed)
    if over is None:
        over, value = next(iter(prescribed.items()))
        values = np.array([value])
    elif over not in prescribed and over != ACCELERATION:
        raise ParameterError(
            f"{scenario}: its steady motion has no {over}. Vary one of the quantities in [initial.steady]: "
            f"{', '.join(prescribed)}."
        )
    prescribed.pop(over, None)
    fixed = {name: x for name, x in motion.inputs.items() if name not in motion.free}
    locus = root_locus(
        motion.machine.system,
        over,
        np.asarray(values),
        start=motion,
        free=motion.free,
        inputs=fixed,
        law=motion.law,
        form=form,  # type: ignore[arg-type]
        **motion.machine.contact_options,
        **prescribed,
    )
    title = f"{plan.scenario.title}: eigenvalues over {over.replace('_', ' ')}"
    data = locus.to_xarray().assign_attrs(vehicle=plan.system.vehicle.__name__)
    return data.assign_attrs(title=title, seconds=time.perf_counter() - start_time)


def _prescribe_straight_running(
    system: System, over: str, fixed: Mapping[str, float]
) -> dict[str, float]:
    """Return the values that must be prescribed for straight running and are neither varied nor fixed.

    On an inclined road the machine keeps its heading. On a cambered road it finds its lean, on other roads
    a two-wheeler is upright. A given lean on a slope decides the heading.
    """
    names = (over, *fixed)
    is_leaning = "lean" in names
    keeps_heading = "camber" in names or ("slope" in names and not is_leaning)
    straight = {"yaw": 0.0} if keeps_heading and "yaw" not in names else {}
    if is_two_wheeler(system) and "camber" not in names and not is_leaning:
        straight["lean"] = 0.0
    return straight


def tabulate_locus(data: "Dataset", max_rows: int = 21) -> tuple[list[str], list[list[str]]]:
    """Return headings and evenly spaced rows of text for a root locus."""
    angle = data["value"].attrs.get("units") == "rad"
    unit = "deg" if angle else str(data["value"].attrs.get("units", ""))
    used = [
        str(name)
        for name in data["input"].values
        if np.abs(data.input_value.sel(input=name)).max() > 0
    ]
    headings = [f"{str(data.attrs['locus_over']).replace('_', ' ')} ({unit})"]
    headings += [f"{name.replace('_', ' ')} input" for name in used]
    headings += ["growth (1/s)", "its frequency (rad/s)"]
    count = data.sizes["value"]
    rows = []
    for k in np.unique(np.linspace(0, count - 1, min(max_rows, count)).round().astype(int)):
        point = data.isel(value=int(k))
        value = float(np.degrees(point["value"])) if angle else float(point["value"])
        real = point["eigenvalue_real"].values
        imaginary = point["eigenvalue_imaginary"].values
        fastest = int(np.argmax(real))
        inputs = [
            f"{_round_for_print(float(point.input_value.sel(input=name))):.5g}" for name in used
        ]
        rows.append(
            [
                f"{_round_for_print(value):.5g}",
                *inputs,
                f"{_round_for_print(float(real[fastest])):.4f}",
                f"{_round_for_print(abs(float(imaginary[fastest]))):.4f}",
            ]
        )
    return headings, rows


def describe_locus(data: "Dataset") -> list[str]:
    """Return text lines about the linearisation, an early end of the locus, and the computing time."""
    forms = {
        "steady": "about steady motions",
        "frozen": "frozen: derivatives at each instant of an accelerating motion",
        "dalembert": "d'Alembert: at constant speed under the inertial load",
    }
    lines = [forms[data.attrs["form"]]]
    if data.attrs["end"]:
        lines.append(str(data.attrs["end"]))
    return [*lines, f"computed in {data.attrs['seconds']:.3g} s"]


def _round_for_print(number: float) -> float:
    """Round a number for printing; round-off becomes zero without a minus sign."""
    return 0.0 if abs(number) < 5e-10 else number
