"""Two more parametrisations of the Whipple bicycle, and their conversion to the benchmark's 26
parameters.

*moore*: Moore 2012, dissertation, doi:10.6084/m9.figshare.1198429, chapter 2. Lengths are along and
perpendicular to the steer axis: d1 and d3 are the distances of rear and front hub from the axis, d2 is the
distance, along the axis, between the feet of the perpendiculars from both hubs; (l1, l2) is the mass centre
of the rear frame C from the rear hub, (l3, l4) that of the fork E from the front hub. Inertias of C and E are
in axes turned by the tilt of the steer axis.

*jbike6*: the program JBike6 of Schwab, Papadopoulos, Ruina and Dressel, files `JBini_*.m`. Axes x forward and
y up; a body has the principal moments of inertia I11 and I22 in the plane and Izz about its normal, and the
angle alpha from x to the first principal axis. Rider, frame and rack are the rear frame; fork and basket are
the front one, their mass centres in (u, v) axes along the steer axis from its point on the ground.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from draisine.errors import DataError

MOORE = (
    *("rr", "rf", "d1", "d2", "d3", "g"),
    *("l1", "l2", "mc", "ic11", "ic22", "ic33", "ic31"),
    *("l3", "l4", "me", "ie11", "ie22", "ie33", "ie31"),
    *("md", "id11", "id22"),
    *("mf", "if11", "if22"),
)
"""Names of Moore's parameters."""

MOORE_IGNORED = re.compile(r"id33|if33|d4|d5|v")
"""Names in Moore's sets that are ignored: redundant wheel moments, positions of sensors, a speed.
"""


def from_moore(moore_values: Mapping[str, float], source: str) -> dict[str, float]:
    """Return the benchmark's parameters from Moore's; `source` is their origin, for error messages."""
    # Both wheels touch level ground. Hence (d1 + d3) sin(lam) - d2 cos(lam) = rf - rr, from which
    # lam follows.
    reach = math.hypot(moore_values["d1"] + moore_values["d3"], moore_values["d2"])
    if not abs(moore_values["rf"] - moore_values["rr"]) < reach:
        raise DataError(
            f"{source}: d1, d2 and d3 are infeasible with the wheel radii rr and rf; check these lengths."
        )
    lam = math.atan2(moore_values["d2"], moore_values["d1"] + moore_values["d3"]) + math.asin(
        (moore_values["rf"] - moore_values["rr"]) / reach
    )
    c, s = math.cos(lam), math.sin(lam)
    trail = (moore_values["rf"] * s - moore_values["d3"]) / c
    wheelbase = moore_values["d1"] / c + moore_values["rr"] * s / c - trail
    benchmark = {
        "w": wheelbase,
        "c": trail,
        "lam": lam,
        "g": moore_values["g"],
        "rR": moore_values["rr"],
        "rF": moore_values["rf"],
    }
    benchmark |= {
        "mB": moore_values["mc"],
        "mR": moore_values["md"],
        "mH": moore_values["me"],
        "mF": moore_values["mf"],
    }
    benchmark |= {
        "xB": moore_values["l1"] * c + moore_values["l2"] * s,
        "zB": moore_values["l2"] * c - moore_values["l1"] * s - moore_values["rr"],
    }
    benchmark |= {"xH": wheelbase + moore_values["l3"] * c + moore_values["l4"] * s}
    benchmark |= {"zH": moore_values["l4"] * c - moore_values["l3"] * s - moore_values["rf"]}
    benchmark |= {
        "IRxx": moore_values["id11"],
        "IRyy": moore_values["id22"],
        "IFxx": moore_values["if11"],
        "IFyy": moore_values["if22"],
    }
    turn = np.array([[c, -s], [s, c]])
    for body, theirs in (("B", "ic"), ("H", "ie")):
        inertia = np.array(
            [
                [moore_values[f"{theirs}11"], moore_values[f"{theirs}31"]],
                [moore_values[f"{theirs}31"], moore_values[f"{theirs}33"]],
            ]
        )
        tensor = turn.T @ inertia @ turn
        benchmark |= {f"I{body}xx": float(tensor[0, 0]), f"I{body}zz": float(tensor[1, 1])}
        benchmark |= {f"I{body}xz": float(tensor[0, 1]), f"I{body}yy": moore_values[f"{theirs}22"]}
    return benchmark


JBIKE6_BODIES = ("rearwheel", "frontwheel", "rider", "frame", "rack", "fork", "basket")
"""Names of the bodies in JBike6."""

JBIKE6_SUFFIX = ".m"
"""File suffix of JBike6."""

MatlabValue = float | tuple[float, ...]
"""Number or row of numbers in a MATLAB file."""


def read_jbike6(path: Path, text: str) -> dict[str, float]:
    """Return the benchmark's parameters from a file `JBini_*.m` of JBike6.

    Assignments of numbers, rows of numbers and arithmetic of these are read; other statements, texts and
    settings of the program are ignored.
    """
    values: dict[str, MatlabValue] = {"pi": math.pi}
    for number, line in enumerate(text.splitlines(), start=1):
        for statement in line.partition("%")[0].split(";"):
            assignment = re.fullmatch(r"\s*([A-Za-z]\w*)\s*=\s*([^=].*?)\s*", statement)
            if assignment is None or (
                "'" in assignment[2] and not _describes_bicycle(assignment[1])
            ):
                continue
            try:
                values[assignment[1]] = _evaluate_expression(assignment[2], values)
            except (SyntaxError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
                if _describes_bicycle(assignment[1]):
                    raise DataError(
                        f"{path}, line {number}: {statement.strip()!r} cannot be read ({error}). Write "
                        "numbers, rows [I11 I22 Izz], or + - * / ^ of these."
                    ) from None
    return _from_jbike6(values, path)


def _describes_bicycle(name: str) -> bool:
    """Return whether a variable of a JBike6 file describes the bicycle."""
    body = any(name.endswith(suffix) for suffix in JBIKE6_BODIES)
    return body or name in ("wheelbase", "trail", "lambda", "head_angle", "gravity")


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}

_MATLAB_FUNCTIONS: dict[str, Callable[[float], float]] = {
    **{"sin": math.sin, "cos": math.cos, "tan": math.tan, "sqrt": math.sqrt},
}


def _evaluate_expression(text: str, values: Mapping[str, MatlabValue]) -> MatlabValue:
    """Return the value of a MATLAB expression: arithmetic of numbers and names, or a row of such
    values.
    """
    row = re.fullmatch(r"(?:(.*?)\.?\*\s*)?\[(.*)\]", text)
    if row is not None:
        factor = _evaluate_number(row[1], values) if row[1] else 1.0
        entries = [entry for entry in re.split(r"[,\s]+", row[2].strip()) if entry]
        return tuple(factor * _evaluate_number(entry, values) for entry in entries)
    return _evaluate_number(text, values)


def _evaluate_number(text: str, values: Mapping[str, MatlabValue]) -> float:
    """Return the value of an arithmetic MATLAB expression."""
    plain = text.replace(".^", "^").replace(".*", "*").replace("./", "/").replace("^", "**")
    plain = re.sub(r"\blambda\b", "lambda_", plain)  # `lambda` is a keyword of Python
    return _evaluate_node(ast.parse(plain.strip(), mode="eval").body, values)


def _evaluate_node(node: ast.AST, values: Mapping[str, MatlabValue]) -> float:
    """Return the value of an arithmetic syntax tree; raise `ValueError` for any other syntax."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        value = values[node.id.removesuffix("_") if node.id == "lambda_" else node.id]
        if isinstance(value, tuple):
            raise ValueError(f"{node.id} is a row of numbers, but a single number is needed")
        return value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left_operand = _evaluate_node(node.left, values)
        right_operand = _evaluate_node(node.right, values)
        return float(_OPERATORS[type(node.op)](left_operand, right_operand))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_evaluate_node(node.operand, values)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        return _MATLAB_FUNCTIONS[node.func.id](_evaluate_node(node.args[0], values))
    raise ValueError("only numbers, names and + - * / ^ are allowed")


def _from_jbike6(values: Mapping[str, MatlabValue], path: Path) -> dict[str, float]:
    """Return the benchmark's parameters from the variables of JBike6."""

    def read_number(name: str, default: float | None = None) -> float:
        """Return the value of a variable of JBike6, or its default."""
        value = values.get(name, default)
        if value is None or isinstance(value, tuple):
            raise DataError(f"{path}: {name} is missing or not a number; JBike6 needs it.")
        return value

    w = read_number("wheelbase")
    trail = read_number("trail")
    # If a file has both a head angle and a tilt, JBike6 itself uses the head angle.
    has_head_angle = "head_angle" in values
    lam = math.pi / 2 - read_number("head_angle") if has_head_angle else read_number("lambda")
    c, s = math.cos(lam), math.sin(lam)
    rear, front = (
        _combine_bodies(
            [_read_body(values, path, read_number, name, (w + trail, c, s)) for name in names]
        )
        for names in (("rider", "frame", "rack"), ("fork", "basket"))
    )
    benchmark = {"w": w, "c": trail, "lam": lam, "g": read_number("gravity", 9.81)}
    for body, combined in (("B", rear), ("H", front)):
        mass, x, y, plane, around = combined
        # The z axis of the benchmark points down. Therefore the product of inertia changes its
        # sign.
        benchmark |= {f"m{body}": mass, f"x{body}": x, f"z{body}": -y}
        benchmark |= {
            f"I{body}xx": plane[0, 0],
            f"I{body}zz": plane[1, 1],
            f"I{body}xz": -plane[0, 1],
        }
        benchmark |= {f"I{body}yy": around}
    for body, name in (("R", "rearwheel"), ("F", "frontwheel")):
        first, second, around = _read_moments(values, path, name)
        if abs(first - second) > 1e-9 * max(abs(first), abs(second)):
            raise DataError(
                f"{path}: I{name} = [{first:g} {second:g} ...]: both moments of a wheel must be equal."
            )
        benchmark |= {
            f"r{body}": read_number(f"D{name}") / 2.0,
            f"m{body}": read_number(f"m{name}"),
        }
        benchmark |= {f"I{body}xx": first, f"I{body}yy": around}
    return benchmark


def _read_moments(
    values: Mapping[str, MatlabValue], path: Path, name: str
) -> tuple[float, float, float]:
    """Return the principal moments of inertia (I11, I22, Izz) of a body of JBike6, kg m2."""
    value = values.get(f"I{name}", (0.0, 0.0, 0.0))
    if not isinstance(value, tuple) or len(value) != 3:
        raise DataError(f"{path}: I{name} must be a row of three moments, [I11 I22 Izz].")
    first, second, around = value
    return first, second, around


MassPart = tuple[float, float, float, np.ndarray, float]
"""Mass (kg), x and y (up) of the mass centre (m), moments in the plane (2, 2), moment about its
normal (kg m2).
"""


def _read_body(
    values: Mapping[str, MatlabValue],
    path: Path,
    number: Callable[..., float],
    name: str,
    steer: tuple[float, float, float],
) -> MassPart:
    """Return a body of JBike6; `steer` contains the point of the steer axis on the ground (m), and
    cosine and sine of its tilt.
    """
    mass = number(f"m{name}", 0.0)
    alpha = number(f"alphaI{name}", 0.0)
    if name in ("fork", "basket"):
        foot, c, s = steer
        u = number(f"ucm{name}", 0.0)
        v = number(f"vcm{name}", 0.0)
        x = foot + c * u - s * v
        y = s * u + c * v
    else:
        x = number(f"xcm{name}", 0.0)
        y = number(f"ycm{name}", 0.0)
    first, second, around = _read_moments(values, path, name)
    turn = np.array([[math.cos(alpha), -math.sin(alpha)], [math.sin(alpha), math.cos(alpha)]])
    return mass, x, y, turn @ np.diag([first, second]) @ turn.T, around


def _combine_bodies(parts: list[MassPart]) -> MassPart:
    """Return several bodies combined into one, by the parallel axis theorem."""
    mass = math.fsum(part[0] for part in parts)
    if not mass:
        return 0.0, 0.0, 0.0, np.zeros((2, 2)), 0.0
    x = math.fsum(part[0] * part[1] for part in parts) / mass
    y = math.fsum(part[0] * part[2] for part in parts) / mass
    plane = np.zeros((2, 2))
    around = 0.0
    for m, px, py, tensor, normal in parts:
        d = np.array([px - x, py - y])
        plane += tensor + m * (d @ d * np.eye(2) - np.outer(d, d))
        around += normal + m * float(d @ d)
    return mass, x, y, plane, around
