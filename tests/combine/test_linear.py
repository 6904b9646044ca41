"""The linear law: every linear output equals differences of the nonlinear right-hand side.

The outputs are the page of formulas (read back from its text, with the factors that its equations give
the matrices), `linearise`, `canonical_matrices`, `eigenvalues` and the program of the slider page. Each
machine has other options switched on: flexible parts, rider, tyres, crown, slope.
"""

import ctypes
import re
import subprocess
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, eigenvalues, linearise, state
from draisine.algebra.scalar import array
from draisine.analysis.bicycle.eigenvalues import is_plain
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.codegen.formula import Symbol
from draisine.codegen.paper import latex
from draisine.codegen.program import run_program
from draisine.errors import ConfigurationError, ParameterError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.mechanics.forces.passive_tyre import PassiveTyre
from draisine.model import Model
from draisine.registry import names
from draisine.vehicles import parameter_set
from draisine.vehicles.bicycle.whipple import whipple
from draisine.view.explore import straight_program
from reading.latex_reader import Document, LatexReader, key

FLEXIBLE = {
    "steer_damper": {"steer_damper": 2.0},
    "steer_spring": {"steer_spring": 20.0, "steer_friction": 0.05},
    "fork and frame": {
        "fork_bend": 3e3,
        "fork_bend_damper": 3.0,
        "fork_twist": 2e3,
        "fork_twist_damper": 1.0,
        "frame_twist": 3e3,
        "frame_twist_damper": 3.0,
    },
    "suspension": {
        "front_suspension": 2e4,
        "front_suspension_damper": 300.0,
        "rear_suspension": 2e4,
        "rear_suspension_damper": 200.0,
        "arm": 0.45,
    },
}
TORSO = {"mU": 30.0, "torso_spring": 400.0, "torso_damper": 20.0}
SEAT = {
    "ahead": 2e4,
    "ahead_damper": 100.0,
    "aside": 3e4,
    "aside_damper": 200.0,
    "up": 5e4,
    "up_damper": 500.0,
}
ARMS = {"shoulder_x": 0.35, "shoulder_y": 0.2, "shoulder_z": 1.3}
ARMS |= {"elbow_x": 0.55, "elbow_y": 0.35, "elbow_z": 1.1}
ARMS |= {"grip_x": 0.8, "grip_y": 0.3, "grip_z": 1.0, "upper": 0.5, "lower": 0.4}
LEGS = {"hip_x": 0.25, "hip_z": 0.95, "axle_x": 0.45, "axle_z": 0.3, "thigh": 0.42}
LEGS |= {"shank": 0.42, "crank": 0.17, "upper": 7.0, "lower": 3.0}

LINEAR = LinearTyre(cornering=9000.0, camber=700.0, relaxation=0.1, trail=0.02)
SCHWALBE = MagicFormula.coefficients(parameter_set("magic_formula", "schwalbe_t03_300kpa"))
FRONT_LOAD = 9.81 * (85.0 * 0.3 + 4.0 * 0.9 + 3.0 * 1.02) / 1.02
"""Static load of the benchmark's front wheel in N: moments about the rear contact."""


def on_springs(load):
    """Return a tyre whose vertical spring carries a load where the wheel just touches."""
    return MagicFormula(relaxation=0.1, vertical=1e5, damping=300.0, preload=load, **SCHWALBE)


def hold_still(t):
    """Return a motion of a joint that rests as drawn."""
    return 0.0, 0.0, 0.0


def tyres(tyre):
    return {"rear_tyre": tyre, "front_tyre": tyre}


@dataclass(frozen=True, eq=False)
class SideDrag:
    """The force `-drag v` on a body against its velocity v to the left; it adds a stiffness in v."""

    body: str
    drag: Any
    states: ClassVar[int] = 0

    @property
    def name(self):
        return f"side drag of {self.body}"

    def __call__(self, readings, z):
        x = readings.heading
        left = array([-x[1], x[0], 0.0])
        com = readings.tree.model.body(self.body).com
        return {self.body: -self.drag * (left @ readings.velocity(self.body, com)) * left}, []


def bicycle_in_oil(*, drag: float = 20.0, g: float = 9.81) -> Model:
    """Return the benchmark's bicycle whose frame feels a side drag in N s/m."""
    return replace(whipple(g=g), forces=[SideDrag("frame", drag)])


EVERYTHING = {
    "flexible": {name: x for part in FLEXIBLE.values() for name, x in part.items()},
    "crown": 0.02,
    **TORSO,
    **tyres(LINEAR),
}

OPTIONS = {
    "ideal": {},
    **{name: {"flexible": parts} for name, parts in FLEXIBLE.items()},
    "torso": TORSO,
    "seat": {**TORSO, "seat": SEAT},
    "arms": {"arms": ARMS},
    "legs": {"legs": LEGS, "pedalling": hold_still},
    "crown": {"crown": 0.02, "flexible": FLEXIBLE["steer_damper"]},
    "slope": {"slope": 0.05, "flexible": FLEXIBLE["steer_spring"]},
    "front tyre alone": {"front_tyre": LINEAR, "flexible": FLEXIBLE["steer_damper"]},
    "passive tyres": tyres(PassiveTyre(cornering=9000.0, arm=0.02, relaxation=0.1)),
    "load tyres on a slope": {"slope": 0.05}
    | tyres(LoadTyre(cornering=12.0, camber=1.0, relaxation=0.1, trail=0.02)),
    "brush tyres": tyres(BrushTyre(12.0, 0.9, relaxation=0.1, half_length=0.03)),
    "magic formula": tyres(MagicFormula(relaxation=0.1, **SCHWALBE)),
    "tyres on springs": {
        "rear_tyre": on_springs(94.0 * 9.81 - FRONT_LOAD),
        "front_tyre": on_springs(FRONT_LOAD),
    },
    "everything": EVERYTHING,
}
"""Options of the benchmark's bicycle."""

OTHERS = {"motorcycle": "motorcycle", "side drag": bicycle_in_oil, "skateboard": "skateboard"}
"""Other vehicles."""

MACHINES = [*OPTIONS, *OTHERS]

SPEED = 5.0
POINTS = (3.0 + 4.0j, -2.0 + 15.0j, 10.0 + 60.0j)
"""Where characteristic polynomials are compared, 1/s."""


STEPS = (1e-6, 2e-6, 4e-6)
"""Steps of the differences in rad, m and their rates: far below the 0.01 rad/s of dry friction."""


@cache
def machine(name):
    """Return a machine, and the input that keeps its speed."""
    options = OPTIONS.get(name, {})
    system = compile(OTHERS.get(name, "whipple"), **options)
    if "slope" not in options:
        return system, {}
    weight, radius = 94.0 * 9.81, 0.3
    return system, {"rear_wheel": weight * np.sin(options["slope"]) * radius}


@cache
def page_of(name):
    """Return the page of a machine."""
    return machine(name)[0].equations(linear=True)


@cache
def differences(name):
    """Return the Jacobian of the right-hand side in straight running by central differences.

    The deviations are those of the base's rotation (a rotation vector in its own axes), its place, the
    joints, the independent speeds and the states of tyres. Those that open contacts are among them:
    gaps stay what they are, which adds eigenvalues zero.
    """
    system, torque = machine(name)
    closed = system.machine()
    y = closed.enter(state(system, forward_speed=SPEED))
    at, w = closed.layout, system.inputs(torque)
    q0 = y[at.q]
    size = 3 + len(y) - 4

    def rates(x):
        moved = np.concatenate([_times(q0, np.append(1.0, x[:3] / 2.0)), y[4:] + x[3:]])
        moved[at.q] /= np.linalg.norm(moved[at.q])
        parts = {part: moved[getattr(at, part)] for part in ("q", "p", "r", "u", "z")}
        out = closed.rate(t=[0.0], w=w, **parts)["rate"]
        conjugate = moved[at.q] * [1.0, -1.0, -1.0, -1.0]
        return np.append(2.0 * _times(conjugate, out[at.q])[1:], out[4:])

    assert np.abs(rates(np.zeros(size))[3 + at.u.start - 4 :]).max() < 1e-8, "it is not steady"
    columns = []
    for unit in np.eye(size):
        near, mid, far = ((rates(h * unit) - rates(-h * unit)) / (2.0 * h) for h in STEPS)
        # Tyres have kinks in their second derivatives, z |z|, whose error grows with h: extrapolate
        # against that first, then against h^2.
        less, more = 2.0 * near - mid, 2.0 * mid - far
        columns.append((4.0 * less - more) / 3.0)
    return np.array(columns).T


def _times(a, b):
    """Return the product of two quaternions."""
    (s, x), (t, y) = (a[0], a[1:]), (b[0], b[1:])
    return np.append(s * t - x @ y, s * y + t * x + np.cross(x, y))


def assert_linear(name, A, rtol=2e-6):
    """Compare characteristic polynomials; deviations that are not in A have eigenvalues zero."""
    J = differences(name)
    for s in POINTS:
        wanted = np.linalg.det((s * np.eye(len(J)) - J) / abs(s))
        found = np.linalg.det((s * np.eye(len(A)) - A) / abs(s)) * (s / abs(s)) ** (len(J) - len(A))
        assert abs(found - wanted) < rtol * abs(wanted), s


class Block:
    """A matrix that multiplies by `*`, as pages write it."""

    def __init__(self, entries):
        self.entries = np.asarray(entries, float)

    def __mul__(self, other):
        return Block(
            self.entries @ other.entries if isinstance(other, Block) else other * self.entries
        )

    __rmul__ = __mul__

    def __add__(self, other):
        return Block(self.entries + other.entries)


def read_page(equations, parameters, speed):
    """Return a page at a speed: its symbols and matrices, and the equations between these."""
    point = dict(parameters) | {"forward speed": speed}
    given = {key(latex.symbol(s)): point[name] for name, s in equations.page.given}
    given |= {"v": speed, "g": point["g"]}
    text = equations.write()
    relations = re.findall(r"^\$(.*?) = (.*?)\$~\(\d+\)", text, re.M)
    return Document(text, given), relations


def page_system(equations, parameters, speed):
    """Return A of the deviations from straight running as the text of a page says it."""
    page, relations = read_page(equations, parameters, speed)
    sections = [("", relations)]
    for k, (left, _) in enumerate(relations):
        if left.startswith("M_{p}"):
            sections = [("", relations[:k]), ("_{p}", relations[k:])]
    parts = [_section(page, index, own) for index, own in sections]
    sizes = np.cumsum([0, *map(len, parts)])
    whole = np.zeros((sizes[-1], sizes[-1]))
    for part, first in zip(parts, sizes, strict=False):
        whole[first : first + len(part), first : first + len(part)] = part
    return whole


def _section(page, index, relations):
    """Return A over (q, u, z) from the equations between matrices of one section."""
    sides = dict(relations)
    motion = next(left for left in sides if left.startswith(f"M{index}"))
    M = np.array(page.matrices[f"M{index}"])
    count = {"u": len(M), "q": _columns(page, index, "K"), "z": _columns(page, index, "E")}
    second_order = r"\ddot{q}" in motion
    edges = np.cumsum([0, count["q"], count["u"], count["z"]])
    unit = np.eye(edges[-1])
    q, u, z = (Block(unit[a:b]) for a, b in pairwise(edges))
    fast = Block(np.zeros((len(M), edges[-1])))
    names = {f"q{index}": q, f"u{index}": u, f"z{index}": z, rf"\dot{{u}}{index}": fast}
    if second_order:
        names |= {rf"\ddot{{q}}{index}": fast, rf"\dot{{q}}{index}": u}

    def value(name):
        if name in names:
            return names[name]
        return Block(page.matrices[name]) if name in page.matrices else page.value(name)

    forces = LatexReader(motion, value).whole().entries
    rates = {"q": u.entries[: count["q"]], "z": np.zeros((0, edges[-1]))}
    for letter in rates:
        right = sides.get(rf"\dot{{{letter}}}{index}")
        if right is not None:
            rates[letter] = LatexReader(right, value).whole().entries
    return np.vstack([rates["q"], -np.linalg.solve(M, forces), rates["z"]])


def _columns(page, index, letter):
    """Return how many columns the matrices of a letter have in a section, zero without any."""
    inner = index.strip("_{}") or "(?!p)"
    pattern = rf"{letter}_\{{{inner}" + ("" if index else f"|{letter}$")
    found = [m for name, m in page.matrices.items() if re.match(pattern, name)]
    return len(found[0][0]) if found else 0


@pytest.mark.parametrize("name", MACHINES)
def test_the_page_has_the_differences_of_the_nonlinear_equations(name):
    system, _ = machine(name)
    A = page_system(page_of(name), system.parameters, SPEED)
    assert_linear(name, A)


@pytest.mark.parametrize("name", MACHINES)
def test_linearise_has_the_differences_of_the_nonlinear_equations(name):
    system, torque = machine(name)
    found = linearise(system, state(system, forward_speed=SPEED), inputs=torque)
    assert_linear(name, found.A)


FREE = [name for name in MACHINES if "slope" not in name]
"""Machines that keep their speed by themselves."""


@pytest.mark.parametrize("name", FREE)
def test_eigenvalues_are_those_of_the_differences(name):
    """`eigenvalues` leaves out what has no part in leaning and steering."""
    system, _ = machine(name)
    wanted = np.linalg.eigvals(differences(name))
    found = eigenvalues(system, [SPEED]).values[0]
    for value in found:
        assert np.abs(wanted - value).min() < 1e-5 * (1.0 + abs(value)), value


PLAIN = ["ideal", "steer_damper", "steer_spring", "arms", "legs", "crown"]


@pytest.mark.parametrize("name", PLAIN)
def test_canonical_matrices_have_the_differences_and_sort_them_by_gravity(name):
    system, _ = machine(name)
    assert is_plain(system)
    found = canonical_matrices(system)
    assert_linear(name, found.A(SPEED))
    heavy = canonical_matrices(system.with_parameters(g=2.0 * system.parameters["g"]))
    for part in ("M", "C0", "C1", "Ks", "K0", "K2"):
        scale = np.abs(found.stiffness(SPEED)).max()
        assert_allclose(getattr(heavy, part), getattr(found, part), atol=1e-10 * scale)


@pytest.mark.parametrize("name", PLAIN)
def test_the_program_of_the_slider_page_has_the_differences(name):
    system, _ = machine(name)
    values = np.array(list(system.parameters.values()))
    found = run_program(straight_program(system), parameters=values)
    M, C0, C1, Ks, K0, K2 = (found[n].reshape(2, 2) for n in ("M", "C0", "C1", "Ks", "K0", "K2"))
    C, K = C0 + SPEED * C1, Ks + system.parameters["g"] * K0 + SPEED**2 * K2
    lower = -np.linalg.solve(M, np.hstack([K, C]))
    assert_linear(name, np.vstack([np.eye(2, 4, 2), lower]))


@pytest.mark.parametrize("name", ["steer_damper", "motorcycle", "suspension"])
def test_the_page_as_c_fills_the_same_matrices(name, tmp_path):
    system, _ = machine(name)
    equations = page_of(name)
    page, _ = read_page(equations, system.parameters, SPEED)
    text = equations.write("c")
    (tmp_path / "page.c").write_text(text, encoding="utf-8")
    command = ["cc", "-O0", "-shared", "-fPIC", "-o", "page.so", "page.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    arguments = re.findall(r"^    double (\*?)(\w+)[,)]", text, re.M)
    point = dict(system.parameters) | {"forward speed": SPEED}
    given = {s.plain: ctypes.c_double(point[name]) for name, s in equations.page.given}
    matrices = {Symbol.parse(symbol).plain: x for symbol, x in page.matrices.items()}
    filled = {n: (ctypes.c_double * np.size(x))() for n, x in matrices.items()}
    passed = [filled[n] if star else given[n] for star, n in arguments]
    ctypes.CDLL(str(tmp_path / "page.so")).equations(*passed)
    for n, matrix in matrices.items():
        assert_allclose(list(filled[n]), np.ravel(matrix), rtol=1e-12, atol=1e-12)


PRINTED = {
    "steer_spring": ("C0", "Ks"),
    "suspension": ("Cp0", "Kps"),
    "magic formula": ("T1", "Tp1"),
}
"""Matrices of springs, dampers and tyres; the index p is that of the motion without lean."""


@pytest.mark.parametrize("language", names("printer"))
@pytest.mark.parametrize("name", PRINTED)
def test_every_printer_writes_the_matrices_of_springs_and_tyres(name, language):
    text = page_of(name).write(language)
    symbols = re.sub(r"<[^>]+>|[\W_]", "", text)  # without tags and marks of subscripts
    assert all(symbol in symbols for symbol in PRINTED[name])


def test_terms_with_other_powers_of_the_speed_have_no_canonical_matrices():
    system, _ = machine("side drag")
    assert not is_plain(system)
    with pytest.raises(ConfigurationError, match="side drag of frame"):
        canonical_matrices(system)
    with pytest.raises(ParameterError, match="powers of speed of the canonical equations"):
        straight_program(system)


def test_the_weave_with_a_steer_damper():
    """A damper of 2 N m s/rad at 5 m/s; it was +0.66+0.55j when it was counted among the terms in v."""
    system, _ = machine("steer_damper")
    values = np.linalg.eigvals(page_system(page_of("steer_damper"), system.parameters, SPEED))
    assert np.abs(values - (-0.598 + 2.899j)).min() < 5e-4


def test_what_has_no_steady_straight_motion_is_refused():
    with pytest.raises(ParameterError, match="does not keep cranks_rate"):
        compile("whipple", legs=LEGS).equations(linear=True)
    with pytest.raises(ParameterError, match="Leave out `form`"):
        machine("ideal")[0].equations(linear=True, form="thesis")
    with pytest.raises(ParameterError, match="`full` does not apply"):
        machine("ideal")[0].equations(linear=True, full=True)
