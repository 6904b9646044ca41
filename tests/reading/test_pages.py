"""Pages of equations: symbols are unique and defined before use, lines fit, pages stay short,
printers agree.
"""

import re
import shutil
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile
from draisine.algebra.trace import evaluate
from draisine.codegen.formula import PI, Assignment, Definitions, Heading, Symbol, symbols_in
from draisine.codegen.paper import latex
from draisine.errors import MissingPackageError, UnknownNameError
from draisine.experiment.equations import write_page
from draisine.mechanics.base import turns_freely
from draisine.model import Body, Model, Prismatic, Revolute, Wheel, inertia
from draisine.registry import names
from reading.latex_reader import Document, key

PAGES = {
    "snakeboard": (1, {}),
    "rolling_disc": (1, {}),
    "unicycle": (2, {}),
    "roller_racer": (2, {}),
    "whipple": (4, {}),
    "whipple with rider": (5, {"mU": 30.0}),
    "whipple with torus tyres": (5, {"crown": 0.02}),
    "car": (5, {}),
    "trikke": (3, {}),
    "snake": (4, {}),
}
"""Largest number of pages of each machine."""


@pytest.fixture(scope="module")
def bicycle():
    return compile("whipple").equations(full=True)


def crane(*, m: float = 2.0, length: float = 1.0, r: float = 0.3) -> Model:
    """Return a machine of the user: a wheeled frame with a slide and two hinges."""
    hub = (0.0, 0.0, r)
    left = (0.0, 1.0, 0.0)
    up = (0.0, 0.0, 1.0)
    top = (0.1, 0.0, r + length)
    return Model(
        bodies=[
            Body("frame", m, (0.0, 0.1, r + length / 2), inertia(0.2, 0.2, 0.1)),
            Body("arm", m / 2, top, inertia(0.02, 0.03, 0.04)),
            Body("hook", m / 4, (0.1, 0.0, r), inertia(0.01, 0.01, 0.01)),
            Body("wheel", 1.0, hub, inertia(0.02, 0.04, 0.02)),
        ],
        joints=[
            Revolute("slew", "frame", "arm", up, top),
            Prismatic("hoist", "arm", "hook", up, top),
            Revolute("roll", "frame", "wheel", left, hub),
        ],
        contacts=[Wheel("tyre", "wheel", hub, left, r)],
    )


def test_every_symbol_is_defined_once_before_it_is_used(bicycle):
    page = bicycle.page
    known = {PI} | {symbol for _, symbol in page.given} | {turn[0] for turn in page.turns}
    assert len({s.plain for s in known}) == len(known)
    for block in page.blocks:
        if isinstance(block, Definitions):
            for symbol, right in block.lines:
                assert set(symbols_in(right)) <= known, symbol.plain
                assert symbol not in known
                known.add(symbol)
        elif isinstance(block, Assignment):
            assert set(symbols_in(block.matrix)) <= known
    assert len({s.plain for s in known}) == len(known)


def test_equations_are_numbered_in_order(bicycle):
    numbers = [block.number for block in bicycle.page.blocks if hasattr(block, "number")]
    assert numbers == sorted(set(numbers))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("machine", PAGES)
def test_latex_compiles_without_overfull_lines(machine, tmp_path):
    most, arguments = PAGES[machine]
    equations = compile(machine.partition(" ")[0], **arguments).equations()
    equations.save(tmp_path / "page.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert int(re.search(r"\((\d+) pages?", done.stdout)[1]) <= most


def test_symbols_without_a_notation_follow_naming_rules():
    """Evaluating the text of its page gives the results of the mechanics."""
    equations = compile(crane).equations(full=True)
    subject = equations.subject
    rng = np.random.default_rng(5)
    symbols = [graph_name for graph_name, _ in equations.page.given]
    point = {name: rng.uniform(0.3, 0.8) for name in symbols} | dict(subject.nominal)
    missing = [f"p[{k}]" for k in range(3)] + ["t[0]", "turn yaw", "turn lean", "turn pitch"]
    missing += [f"r[{k}]" for k in range(3)] + [f"v[{k}]" for k in range(9)]
    point = dict.fromkeys(missing, 0.4) | point
    read = Document(
        equations.write(), {key(latex.symbol(s)): point[name] for name, s in equations.page.given}
    )
    for name, wanted in (("M", subject.M), ("H", subject.H), (r"F^{\top}", subject.F)):
        exact = evaluate(list(np.ravel(wanted)), point)
        assert_allclose(np.ravel(read.matrices[name]), exact, atol=1e-11 * np.abs(exact).max())


def processor_time(call):
    """Return the processor time (s) of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


@pytest.mark.parametrize(
    ("vehicle", "most"), [("whipple", 60.0), ("snakeboard", 10.0), ("roller_racer", 12.0)]
)
def test_the_cost_of_a_page_is_bounded(vehicle, most):
    """The cost is a ratio to that of a million multiplications, so that it is the same on slow machines."""
    system = compile(vehicle)
    unit = min(processor_time(lambda: sum(k * k for k in range(1_000_000))) for _ in range(3))
    assert processor_time(lambda: str(system.equations())) < most * unit


PLANAR = [name for name in names("vehicle") if not turns_freely(compile(name).model)]


@pytest.mark.parametrize("vehicle", PLANAR)
def test_planar_machines_are_printed_in_given_symbols(vehicle):
    """Rows, masses and forces are in the given symbols, except those of the snake's six links."""
    page = compile(vehicle).equations().page
    given = {symbol for _, symbol in page.given} | {turn[0] for turn in page.turns} | {PI}
    lines = {s.plain: set(symbols_in(x)) <= given for s, x in page.definitions()}
    entries = [name for name in lines if re.fullmatch(r"[MF]_\d+", name)]
    assert all(lines[name] for name in entries) or vehicle == "snake"


def test_pages_are_written_without_sympy(monkeypatch):
    """SymPy is an extra: only its objects need it."""
    monkeypatch.setitem(sys.modules, "sympy", None)
    equations = compile("roller_racer").equations()
    for name in names("printer"):
        assert equations.write(name)
    assert compile("whipple").equations(linear=True).write()
    with pytest.raises(MissingPackageError, match="symbolic"):
        compile("chaplygin_sleigh").sympy()


def test_no_section_is_empty():
    page = compile(crane).equations().page
    for block, following in pairwise(page.blocks):
        if isinstance(block, Heading):
            assert not isinstance(following, Heading)
    text = str(compile(crane).equations())
    assert "Frames of the links" not in text


def test_c_code_explains_every_line_of_the_program():
    """`--detail full --as c` is the straight-line program: arguments, lines and entries with what
    they are.
    """
    text = write_page(compile("roller_racer"), "c", full=True)
    body = text.partition("{\n")[2]
    statements = [
        line for line in body.splitlines() if "=" in line and not re.match(r" */\*.*\*/$", line)
    ]
    assert statements
    assert all(re.search(r"; /\* \S.* \*/$", line) for line in statements)
    assert not [line for line in body.splitlines() if line.rstrip().endswith(";")]
    assert "/* rate of arm rate */" in text
    assert {"u_dot[0]", "v_dot[0]", "lambda[0]"} <= set(re.findall(r"\w+\[0\]", text))


def test_the_page_of_a_slope_mentions_the_yaw():
    text = str(compile("whipple", slope=0.1).equations())
    assert "On a slope the yaw appears" in text
    assert r"s_{\psi}" in text
    assert "On a slope" not in str(compile("whipple").equations())


def values_of(equations, seed=2):
    rng = np.random.default_rng(seed)
    return {s: rng.uniform(0.2, 0.9) for _, s in equations.page.given}


def in_python(language, text):
    """Return lines of a programming language as lines of Python."""
    text = re.sub(r"%.*|^#.*|\(\*.*?\*\)", "", text, flags=re.M)
    text = text.replace("...\n", "").replace("^", "**").replace(":=", "=").replace("$", "_")
    if language == "mathematica":
        text = re.sub(r"\b(Sin|Cos|Tan|Sqrt)\[", lambda m: f"{m[1].lower()}(", text)
        text = text.replace("[", "(").replace("]", ")").replace("{", "[").replace("}", "]")
    if language == "matlab":
        text = re.sub(
            r"= \[(.*?)\];", lambda m: "= [[" + m[1].replace(";", "], [") + "]];", text, flags=re.S
        )
    text = re.sub(r"\blambda\b", "lambda_", text.replace("Matrix(", "(").rstrip())
    return "\n".join(
        re.sub(r"\s*\n\s*", " ", line.strip()) for line in re.split(r"[;:]\s*\n|[;:]$", text)
    )


@pytest.mark.parametrize("language", ["matlab", "maple", "mathematica", "sympy"])
def test_programming_languages_agree_with_latex(language, bicycle):
    given = values_of(bicycle)
    words = {s.plain: x for s, x in given.items()}
    if language == "sympy":
        lines = bicycle.write(language).replace("from sympy import *", "")
        lines = re.sub(r'Symbol\("(\w+)", real=True\)', lambda m: repr(words[m[1]]), lines)
        space = {"Matrix": lambda rows: rows, "Rational": lambda a, b: a / b}
    else:
        lines = in_python(language, bicycle.write(language))
        space = {re.sub("^lambda$", "lambda_", name): x for name, x in words.items()}
    space |= {name: getattr(np, name) for name in ("sin", "cos", "tan", "sqrt")}
    exec(lines, space)
    read = Document(bicycle.write(), {key(latex.symbol(s)): x for s, x in given.items()})
    assert_allclose(space["M_r"], read.matrices["M_{r}"], rtol=1e-12)
    assert_allclose(np.ravel(space["F_r"]), np.ravel(read.matrices[r"F_{r}^{\top}"]), rtol=1e-11)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_compiles_and_agrees_with_latex(bicycle, tmp_path):
    import ctypes

    bicycle.save(tmp_path / "page.c")
    subprocess.run(
        ["cc", "-O1", "-shared", "-fPIC", "page.c", "-o", "page.so", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    given = values_of(bicycle)
    sizes = [
        (block.symbol, sum(len(row) for row in block.matrix.rows))
        for block in bicycle.page.blocks
        if isinstance(block, Assignment)
    ]
    filled = [np.zeros(size) for _, size in sizes]
    function = ctypes.CDLL(str(tmp_path / "page.so")).equations
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in filled]
    function(*[ctypes.c_double(x) for x in given.values()], *pointers)
    read = Document(bicycle.write(), {key(latex.symbol(s)): x for s, x in given.items()})
    for (symbol, _), found in zip(sizes, filled, strict=True):
        assert_allclose(
            found, np.ravel(read.matrices[latex.formula(symbol)]), rtol=1e-11, atol=1e-12
        )


def test_sympy_objects_are_the_closed_form():
    sympy = pytest.importorskip("sympy")
    sleigh = compile("chaplygin_sleigh").sympy()
    m = sympy.Symbol("m", real=True)
    a = sympy.Symbol("a", real=True)
    moment, spin, speed = (sympy.Symbol(x, real=True) for x in ("I", "Omega_z", "V_x"))
    assert sympy.simplify(sleigh.M_r - sympy.diag(m, moment + m * a**2)) == sympy.zeros(2)
    wanted = sympy.Matrix([-m * a * spin**2, m * a * speed * spin])
    assert sympy.simplify(sleigh.F_r - wanted) == sympy.zeros(2, 1)


@pytest.mark.parametrize("vehicle", ["rolling_disc", "chaplygin_sleigh", "snakeboard"])
def test_a_small_machine_is_explained_stage_by_stage(vehicle):
    system = compile(vehicle)
    text = system.explain().write("markdown")
    assert "Every column of $H$ is one admissible motion." in text
    assert not re.search(r"draisine|Return|`|[A-Za-z]\d_", text)
    walked = system.explain().page.matrices()
    page = system.equations().page.matrices()
    assert set(page) >= {"C", "M", "H", "M_r"}
    assert walked["H"] == page["H"]


def test_the_suffix_selects_the_printer():
    endings = {name: compile("cart_pole").equations().write(name) for name in names("printer")}
    assert len(endings) >= 8
    assert all(endings.values())
    with pytest.raises(UnknownNameError, match=r"end with '\.doc'"):
        compile("cart_pole").equations().save("page.doc")


def test_a_notebook_shows_mathml():
    html = compile("cart_pole").equations()._repr_html_()
    assert "<math>" in html
    assert "http" not in html


def test_symbols_are_parsed_from_latex():
    assert Symbol.parse(r"\dot{\phi}_b") == Symbol("phi", ("b",), dots=1)
    assert Symbol.parse(r"c_{\mu}").below == (Symbol("mu"),)
    with pytest.raises(ValueError, match="Write a letter"):
        Symbol.parse("2x")


def test_the_style_of_a_page_does_not_affect_the_notebook():
    """All style rules apply below the element of the page only."""
    text = compile("snakeboard").equations()._repr_html_()
    rules = re.findall(r"^(.*?) \{", text.partition("<style>")[2].partition("</style>")[0], re.M)
    assert len(rules) > 3
    assert all(rule.startswith(".equations") for rule in rules)
