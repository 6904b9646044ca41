"""HTML page with sliders for the parameters of a two-wheeler in straight running.

The page shows eigenvalues, critical speeds, a root locus and mode shapes. Generated JavaScript computes them
in the browser. The page is one file and needs neither a server nor a network.

A bicycle that rolls without slip has canonical matrices; its critical speeds are roots of polynomials. Tyres,
riders and compliant parts add states. For two-wheelers with such states, for example the motorcycle, the
generated code evaluates the linear equations at each speed, and the page computes their eigenvalues by QR
iterations.
"""

import html
import json
from contextlib import suppress
from importlib.resources import files
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array
from draisine.analysis.bicycle.eigenvalues import is_plain, is_two_wheeler
from draisine.codegen.program import Program, trace_program
from draisine.codegen.targets.javascript import emit
from draisine.errors import ParameterError, UnknownNameError
from draisine.reading.linear.deviations import StraightRunning
from draisine.system.system import System
from draisine.vehicles import meanings, parameter_set, parameter_sets
from draisine.view.scene.description import describe_machine

MATRIX_POWERS = {"C0": ("C", (0, 0)), "C1": ("C", (1, 0)), "Ks": ("K", (0, 0))}
"""Matrices of the canonical equations M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = 0, except M. Each
name maps to the term of the equations, damping (C) or stiffness (K), and to the powers of v and g that
multiply it.
"""
MATRIX_POWERS |= {"K0": ("K", (0, 1)), "K2": ("K", (2, 0))}
"""Entries for the stiffness matrices that are multiplied by gravity (K0) and by the squared speed (K2)."""


def explore_page(system: System, origin: str = "as compiled") -> str:
    """Return the HTML text of a page with sliders for the parameters of a two-wheeler in straight running.

    Parameters
    ----------
    system
        Compiled bicycle or motorcycle, with or without tyres.
    origin
        Description of the source of the initial parameter values, which the page displays.

    Returns
    -------
    str
        Text of the HTML file.

    Raises
    ------
    ParameterError
        If the vehicle is not a two-wheeler that can run straight at any speed.

    Examples
    --------
    >>> import draisine
    >>> page = explore_page(draisine.compile("whipple"))
    >>> "http" in page.replace("http://www.w3.org/", "")
    False
    """
    name = system.vehicle.__name__
    if not is_two_wheeler(system):
        raise ParameterError(
            f"{name} cannot be explored: the page needs a bicycle or motorcycle (whipple, motorcycle, or "
            f"your own vehicle). Use `draisine eigenvalues {name}` for its eigenvalues, or "
            "draisine.sliders(system) in a notebook."
        )
    program, states = _program(system)
    content = _content(system) | states | {"origin": origin}
    code = emit(program).replace("export ", "")
    data = json.dumps(content, allow_nan=False, separators=(",", ":"))
    replacements = {
        "title": html.escape(f"{name.replace('_', ' ')}: straight running"),
        "content": data.replace("<", "\\u003c"),
        "generated": code,
        "mathematics": _file("explore.js") + _file("explore_states.js"),
    }
    text = _file("explore.html")
    for placeholder, replacement in replacements.items():
        text = text.replace("{{" + placeholder + "}}", replacement)
    return text


def _program(system: System) -> tuple[Program, dict[str, Any]]:
    """Return the program that the page evaluates, and a description of its states.

    The description is empty if the linear equations have the canonical form of a bicycle.
    """
    if is_plain(system):
        with suppress(ParameterError):  # on a slope, the load adds other powers of the speed
            return straight_program(system), {}
    return running_program(system)


def straight_program(system: System) -> Program:
    """Return the program that computes the canonical matrices of a bicycle from its parameters.

    The linear equations of straight running are M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = 0 with q =
    (lean, steer), forward speed v and gravity g. `ParameterError` is raised if the equations of the system do
    not have this form.
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


def running_program(system: System) -> tuple[Program, dict[str, Any]]:
    """Return the program of the linear equations of straight running at a speed, and the states.

    With coordinates q, speeds u and states z of tyres and compliant parts, the equations are M udot = U x,
    qdot = Q x and zdot = Z x, where x = (q, u, z). The program maps parameters and speed (m/s) to M (`mass`)
    and to the stacked matrices Q, U, Z (`rates`).
    """
    straight = StraightRunning(system.subject())
    lateral = straight.lateral
    if set(lateral.coordinates[:2]) != {"lean", "steer"}:
        raise ParameterError(
            f"The page needs lean and steer among the coordinates; {system.vehicle.__name__} has "
            f"{', '.join(lateral.coordinates)}."
        )
    blocks: dict[str, Array] = {x: matrix.entries for x, matrix in lateral.matrices.items()}
    still = np.zeros((len(lateral.coordinates), len(lateral.states)))
    rates = np.vstack(
        [
            np.hstack([blocks["H"], blocks["G"], still]),
            -np.hstack([blocks["K"], blocks["C"], blocks["E"]]),
            np.hstack([blocks["S"], blocks["R"], blocks["T"]]),
        ]
    )
    parameters = [straight.subject.parameters[name] for name in system.parameters]
    program = trace_program(
        "straight",
        {"parameters": parameters, "speed": [straight.motion.v]},
        {"mass": list(lateral.mass.ravel()), "rates": list(rates.ravel())},
    )
    joints = [joint.name for joint in system.model.joints]
    states = {
        "coordinates": lateral.coordinates,
        "moved": [joints.index(x) if x in joints else -1 for x in lateral.coordinates],
        "speeds": len(lateral.speeds),
        "hidden": len(lateral.states),
    }
    return program, states


def _content(system: System) -> dict[str, Any]:
    """Return the data of the page for JSON: parameters with units and meanings, parameter sets, shapes."""
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
        "axles": _axles(system),
    }


def _sets(system: System) -> dict[str, dict[str, float]]:
    """Return the parameter sets of the vehicle by name, as complete dictionaries of parameter values.

    Sets with a parameter that the compiled system lacks are left out.
    """
    vehicle = system.vehicle.__name__
    try:
        names = parameter_sets(vehicle)
    except UnknownNameError:
        return {}
    sets = {name: system.parameters | parameter_set(vehicle, name) for name in names}
    return {name: values for name, values in sets.items() if set(values) == set(system.parameters)}


def _steer_joint(system: System) -> int:
    """Return the index of the steering joint of a bicycle: the first joint that is not a wheel axle."""
    rolling = {wheel.body for wheel in system.model.wheels}
    return next(k for k, joint in enumerate(system.model.joints) if joint.child not in rolling)


def _axles(system: System) -> list[int]:
    """Return the indices of the joints that are wheel axles: the child body of the joint is a wheel."""
    rolling = {wheel.body for wheel in system.model.wheels}
    return [k for k, joint in enumerate(system.model.joints) if joint.child in rolling]


def _file(name: str) -> str:
    """Return the text of the data file `name` in the folder of this subpackage."""
    return files("draisine.view").joinpath(name).read_text(encoding="utf-8")
