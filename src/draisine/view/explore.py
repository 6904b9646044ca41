"""HTML page with sliders for the parameters of a bicycle in straight running.

The page shows eigenvalues, critical speeds, root locus and mode shapes, computed in the browser by
generated JavaScript. It is one file and needs neither a server nor a network.

"""

import html
import json
from importlib.resources import files
from typing import Any

import numpy as np

from draisine.analysis.bicycle.eigenvalues import is_plain
from draisine.codegen.program import Program, trace_program
from draisine.codegen.targets.javascript import emit
from draisine.errors import ParameterError, UnknownNameError
from draisine.reading.linear.deviations import StraightRunning
from draisine.system.system import System
from draisine.vehicles import meanings, parameter_set, parameter_sets
from draisine.view.scene.description import describe_machine

MATRIX_POWERS = {"C0": ("C", (0, 0)), "C1": ("C", (1, 0)), "Ks": ("K", (0, 0))}
"""Matrices of the linear equations except M, by name: damping (C) or stiffness (K), and the powers
of speed and gravity that multiply it.
"""
MATRIX_POWERS |= {"K0": ("K", (0, 1)), "K2": ("K", (2, 0))}
"""The same entries for the matrices that are multiplied by gravity (K0) or by the squared speed
(K2).
"""


def explore_page(system: System, origin: str = "as compiled") -> str:
    """Return the HTML text of a page with sliders for the parameters of a bicycle in straight running.

    Parameters
    ----------
    system
        Compiled bicycle whose wheels roll without slip.
    origin
        Text that names the source of the initial parameters.

    Returns
    -------
    str
        Text of the HTML file.

    Raises
    ------
    ParameterError
        The linear equations of the vehicle do not have the canonical form in lean and steer.

    Examples
    --------
    >>> import draisine
    >>> page = explore_page(draisine.compile("whipple"))
    >>> "http" in page.replace("http://www.w3.org/", "")
    False
    """
    name = system.vehicle.__name__
    if not is_plain(system):
        raise ParameterError(
            f"{name} cannot be explored: the page needs a bicycle that rolls without slip (whipple, or your "
            f"own vehicle). Use `draisine eigenvalues {name}` for its eigenvalues, or "
            "draisine.sliders(system) in a notebook."
        )
    code = emit(straight_program(system)).replace("export ", "")
    content = json.dumps(
        _content(system) | {"origin": origin}, allow_nan=False, separators=(",", ":")
    )
    replacements = {
        "title": html.escape(f"{name.replace('_', ' ')}: straight running"),
        "content": content.replace("<", "\\u003c"),
        "generated": code,
        "mathematics": _file("explore.js"),
    }
    text = _file("explore.html")
    for placeholder, replacement in replacements.items():
        text = text.replace("{{" + placeholder + "}}", replacement)
    return text


def straight_program(system: System) -> Program:
    """Return the program that computes the canonical matrices of straight running from the parameters.

    The equations are M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = 0.
    """
    straight = StraightRunning(system.subject())
    lateral = straight.lateral
    present = {(letter, powers) for letter in "CK" for powers in lateral.matrices[letter].terms}
    if (
        not lateral.second_order
        or len(lateral.coordinates) != 2
        or present - {*MATRIX_POWERS.values()}
    ):
        raise ParameterError(
            f"The page needs linear equations in lean and steer with the powers of speed of the canonical "
            f"equations; those of {system.vehicle.__name__} differ. Use draisine.sliders(system) in a "
            "notebook."
        )
    matrices = {"M": list(lateral.mass.ravel())}
    for name, (letter, powers) in MATRIX_POWERS.items():
        matrices[name] = list(lateral.matrices[letter].terms.get(powers, np.zeros((2, 2))).ravel())
    symbols = [straight.subject.parameters[name] for name in system.parameters]
    return trace_program("straight", {"parameters": symbols}, matrices)


def _content(system: System) -> dict[str, Any]:
    """Return the data of the page: parameters with descriptions, parameter sets, shapes of the
    vehicle.
    """
    meanings_by_name = meanings(system.vehicle)
    return {
        "parameters": [
            {"name": name, "value": value, "unit": meanings_by_name.get(name, ("", ""))[0]}
            | {"meaning": meanings_by_name.get(name, ("", ""))[1]}
            for name, value in system.parameters.items()
        ],
        "sets": _sets(system),
        "machine": describe_machine(system.model),
        "steer": _steer_joint(system),
    }


def _sets(system: System) -> dict[str, dict[str, float]]:
    """Return the parameter sets that have exactly the parameters of this vehicle, by name."""
    vehicle = system.vehicle.__name__
    try:
        names = parameter_sets(vehicle)
    except UnknownNameError:
        return {}
    sets = {name: system.parameters | parameter_set(vehicle, name) for name in names}
    return {name: values for name, values in sets.items() if set(values) == set(system.parameters)}


def _steer_joint(system: System) -> int:
    """Return the index of the steering joint: the joint that is not a wheel axle."""
    rolling = {wheel.body for wheel in system.model.wheels}
    return next(k for k, joint in enumerate(system.model.joints) if joint.child not in rolling)


def _file(name: str) -> str:
    """Return the text of a data file of this subpackage."""
    return files("draisine.view").joinpath(name).read_text(encoding="utf-8")
