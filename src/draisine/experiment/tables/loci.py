"""Root loci of a machine as data: eigenvalues about steady motions while one value changes."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import driven_inputs, is_two_wheeler
from draisine.analysis.equilibrium.balance import ACCELERATION
from draisine.analysis.root_locus import root_locus
from draisine.errors import ParameterError
from draisine.scenario.validate.mistakes import Mistakes
from draisine.scenario.validate.motion import check_steady_path, read_law
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import recorded

if TYPE_CHECKING:
    from xarray import Dataset

UNITS = {"forward_speed": "m/s", "lean": "rad", "slope": "rad", ACCELERATION: "m/s2"}
"""What the locus of a command can be over."""


@recorded
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
    """Return the root locus of a vehicle over its speed, lean, slope or forward acceleration.

    The inputs that keep the motion up are `driven_inputs`. Control laws, as tables of a scenario, close the
    loop; designs (`lqr`, `follow_path`) are those for straight running at the fixed speed.

    >>> import numpy as np
    >>> found = compute_root_locus("whipple", {}, None, "lean", np.array([0.0, 0.1]), {"forward_speed": 5.0})
    >>> found.sizes["value"], found.attrs["locus_over"]
    (2, 'lean')
    """
    if "forward_speed" not in (over, *fixed):
        raise ParameterError(
            "a root locus over lean, slope or acceleration needs a speed: --speed 5."
        )
    own = dict(parameters)
    kept: dict[str, Any] = dict(fixed)
    if "slope" in kept:
        own["slope"] = kept.pop("slope")
    system = build_system(vehicle, own, parameter_set)
    begun = time.perf_counter()
    mistakes = Mistakes()
    for entry in laws:
        if over == "forward_speed" and entry.get("name") == "lqr" and "about" not in entry:
            raise ParameterError(
                "a law of least cost keeps one steady motion: ask for its one speed, as in --speed 5."
            )
    law = read_law(laws, [], system, fixed.get("forward_speed"), mistakes)
    check_steady_path(law, mistakes)
    mistakes.check("--law")
    # The path of a rider decides the lean.
    if is_two_wheeler(system) and over != "lean" and not hasattr(law, "path"):
        kept.setdefault("lean", 0.0)
    choice: Any = form
    free = driven_inputs(system, law)
    found = root_locus(system, over, values, free=free, law=law, form=choice, **kept)
    others = ", ".join(f"{n} = {x:.6g} {UNITS[n]}" for n, x in kept.items())
    names = "".join(f", law {entry['name']}" for entry in laws)
    title = f"eigenvalues over {over.replace('_', ' ')}, {others}".rstrip(", ") + names
    data = found.to_xarray()
    return data.assign_attrs(title=title, seconds=time.perf_counter() - begun)


def table(data: "Dataset", most: int = 21) -> tuple[list[str], list[list[str]]]:
    """Return headings and some rows: the varied value, the inputs, the largest real part and the
    frequency of the root that has it.
    """
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
    for k in np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)):
        one = data.isel(value=int(k))
        value = float(np.degrees(one["value"])) if angle else float(one["value"])
        real, imaginary = one["eigenvalue_real"].values, one["eigenvalue_imaginary"].values
        worst = int(np.argmax(real))
        inputs = [f"{_plain(float(one.input_value.sel(input=name))):.5g}" for name in used]
        rows.append(
            [
                f"{_plain(value):.5g}",
                *inputs,
                f"{_plain(float(real[worst])):.4f}",
                f"{_plain(abs(float(imaginary[worst]))):.4f}",
            ]
        )
    return headings, rows


def remarks(data: "Dataset") -> list[str]:
    """Return lines on the form of the linear systems, where the locus ends, and the time."""
    told = {
        "steady": "about steady motions",
        "frozen": "frozen: derivatives at each instant of an accelerating motion",
        "dalembert": "d'Alembert: at constant speed under the inertial load",
    }
    lines = [told[data.attrs["form"]]]
    if data.attrs["end"]:
        lines.append(str(data.attrs["end"]))
    return [*lines, f"computed in {data.attrs['seconds']:.3g} s"]


def _plain(x: float) -> float:
    return 0.0 if abs(x) < 5e-10 else x
