"""The notebooks of the course run, print what their pages show, and grade themselves: a correct solution
passes, no solution and the known misprints of the paper do not.
"""

import ast
import contextlib
import io
import linecache
import re
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("sympy")

DOCS = Path(__file__).parents[2] / "docs"
COURSE = DOCS / "course"
CHAPTERS = sorted(path.stem for path in COURSE.glob("[0-9]_*.md"))

WRONG = {
    # The centre of a wheel that leans to the other side.
    ("1_wheel", "hub_position"): ("[0, 0, R]", "[0, 0, -R]"),
    # Axes of the world instead of the body.
    ("1_wheel", "angular_velocity_matrix"): ("A.T * A.diff(x)", "A.diff(x) * A.T"),
    ("1_wheel", "mass_matrix"): (
        "+ G.T * I * G",
        "+ G * I * G.T if G.shape[0] == 5 else 2 * G.T * I * G",
    ),
    # Equation (30) as printed vanishes.
    ("1_wheel", "velocity_forces"): ("energy.jacobian(q).T", "momentum.jacobian(q) * qdot"),
    ("1_wheel", "rolling_rows"): ("-R * sp.sin(phi)", "R * sp.sin(phi)"),
    # A vertical steer axis.
    ("2_bicycle", "fork_rotation"): ("R_y(-lam) * R_z(gamma) * R_y(lam)", "R_z(gamma)"),
    ("2_bicycle", "body_terms"): ("np.cross(omega, I @ omega)", "0.0 * omega"),
    # The tangent (10) as printed.
    ("2_bicycle", "contact_equations"): ("-r_F * sp.cos(xi)", "r_F * sp.cos(xi)"),
    # The radius of the rear wheel for both wheels.
    ("2_bicycle", "front_rolling_rows"): ("skew(rim)", "skew(rim * r_R / r_F)"),
    ("3_multipliers", "solve_dae"): ("[D, np.zeros", "[-D, np.zeros"),
    ("3_multipliers", "front_normal_force"): ('+ value["mF"] * value["w"]', ""),
    ("3_multipliers", "front_force"): ("friction = -", "friction = "),
    ("3_multipliers", "add_driving"): ("np.eye(9)[4]", "np.eye(9)[5]"),
    ("4_partitioning", "partition"): ("E[dependent] = -np", "E[dependent] = np"),
    ("4_partitioning", "accelerate"): ("(Q - M @ J)", "Q"),
    ("4_partitioning", "regularity"): ("turned[2] = yaw", "turned[3] = 0.1 * yaw"),
    ("4_partitioning", "close"): ("range(20)", "range(1)"),
    ("4_partitioning", "rate"): ("pdot[[3, 6, 4, 0, 1, 2, 7]]", "pdot[[3, 6, 4, 0, 1, 2, 8]]"),
    ("5_linearisation", "reduced"): ("Q - M @ J", "Q"),
    # Partial derivatives, as (44) is printed.
    ("5_linearisation", "linearise"): ("reduced(V, x, xdot)[1]", "reduced(V, x, 0 * xdot)[1]"),
    ("5_linearisation", "linearise_partially"): ("np.eye(9)[4]", "np.eye(9)[5]"),
    ("6_eigenvalues", "eigenvalues"): ("K0 + V**2 * K2", "K0 + V * K2"),
    # The paper's end of the stable range.
    ("6_eigenvalues", "capsize_speed"): ("return brentq", "return 6.8 + 0.0 * brentq"),
    ("6_eigenvalues", "steer_lag"): ("lean / -steer", "lean / steer"),
    ("7_ride", "ride_rate"): ('u["rear_wheel"]', '-u["rear_wheel"]'),
}
"""A wrong solution for each gap: text of the solution and its replacement."""


@pytest.fixture(scope="module")
def notebooks():
    """Return the script that makes notebooks, as a module."""
    sys.path.insert(0, str(DOCS))
    import notebooks

    yield notebooks
    sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which a student works through all chapters."""
    return tmp_path_factory.mktemp("course")


class Student:
    """Runs the cells of a notebook in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.names = {"__name__": "__main__"}
        self.count = 0

    def run(self, source):
        """Run a cell and return what it prints; the value of a last expression is printed, too."""
        self.count += 1
        first, _, rest = source.partition("\n")
        if first.startswith("%%writefile "):
            (self.folder / first.split()[1]).write_text(rest)
            return ""
        place = f"<cell {id(self)} {self.count}>"
        linecache.cache[place] = (len(source), None, source.splitlines(True), place)
        nodes = ast.parse(source).body
        last = nodes.pop() if isinstance(nodes[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(nodes, []), place, "exec"), self.names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), place, "eval"), self.names)
                if value is not None:
                    print(repr(value))
        return printed.getvalue()


@contextlib.contextmanager
def working_in(folder):
    """Work in a folder, whose modules are imported anew."""
    own = {path.stem for path in [*COURSE.glob("*.py"), *folder.glob("*.py")]}
    own |= {"course", "my_bicycle", "my_rate", "leaning"}
    with contextlib.chdir(folder):
        sys.path.insert(0, str(folder))
        try:
            for name in own:
                sys.modules.pop(name, None)
            yield
        finally:
            sys.path.remove(str(folder))
            for name in own:
                sys.modules.pop(name, None)


def code_cells(notebook):
    """Return the code cells of a notebook without the pictures."""
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and cell["metadata"].get("tags") != ["picture"]
    ]


def verdicts(text):
    """Return the verdicts by exercise that a text contains."""
    return dict(re.findall(r"Exercise (\d\.\d): ([\w ]+)", text))


def test_every_gap_has_a_wrong_solution(notebooks):
    gaps = {
        (chapter, gap["name"])
        for chapter in CHAPTERS
        for gap in notebooks.GAP.finditer((COURSE / f"{chapter}.md").read_text(encoding="utf-8"))
    }
    checked_together = {("6_eigenvalues", "weave_speed"), ("4_partitioning", "complete")}
    assert gaps == {*WRONG} | checked_together


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_solved_chapter(chapter, folder, notebooks):
    """The solved notebook prints what the page shows; each wrong solution fails its own check."""
    page = COURSE / f"{chapter}.md"
    student = Student(folder)
    for file in COURSE.glob("*.py"):
        shutil.copy(file, folder)
    with working_in(folder):
        cells = code_cells(notebooks.notebook(page, is_solved=True))
        for cell in cells:
            printed = student.run(cell["source"])
            expected = cell["outputs"][0]["text"] if cell["outputs"] else ""
            assert printed.split() == expected.split(), cell["source"]
        filled = notebooks.fill_gaps(page.read_text(encoding="utf-8"))
        for (other, name), (right, wrong) in WRONG.items():
            if other != chapter:
                continue
            solution = next(
                found[0] for found in notebooks.FUNCTION.finditer(filled) if found["name"] == name
            )
            assert right in solution, name
            plain = re.sub(r"^(>>>|\.\.\.) ?", "", solution, flags=re.M)
            spoilt = re.sub(r"^(>>>|\.\.\.) ?", "", solution.replace(right, wrong), flags=re.M)
            student.run(spoilt)
            sources = [cell["source"] for cell in cells]
            defined = next(k for k, source in enumerate(sources) if f"def {name}(" in source)
            check = next(source for source in sources[defined:] if "check(" in source)
            if f"def {name}(" in check:  # the cell continues with the check
                check = check[check.index(plain.rstrip()) + len(plain.rstrip()) :]
            found = verdicts(student.run(check))
            assert [v for v in found.values() if v.startswith("not correct")], name
            student.run(plain)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_empty_chapter(chapter, tmp_path, notebooks):
    """Without solutions no exercise passes, and the notebook says so in its last cell."""
    for file in COURSE.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "my_bicycle.py").write_text("from course import constraints, equations\n")
    (tmp_path / "my_rate.py").write_text("complete = rate = close = None\n")
    student = Student(tmp_path)
    printed = ""
    with working_in(tmp_path):
        for cell in code_cells(notebooks.notebook(COURSE / f"{chapter}.md")):
            with contextlib.suppress(Exception):  # as `nbconvert --allow-errors`
                printed += student.run(cell["source"])
    assert "correct" not in {*verdicts(printed).values()}
    assert re.search(r"^0 of \d exercises are correct. Open: ", printed, re.M)


def test_checks_are_identities():
    """The checks contain no numbers of ours: only the benchmark of Meijaard and others is printed."""
    for chapter in CHAPTERS:
        text = (COURSE / f"{chapter}.md").read_text(encoding="utf-8")
        for block in re.findall(r"def check_\w+\(.*?>>> check\(", text, re.S):
            assert not re.findall(r"\d\.\d{4,}", block), chapter


@pytest.mark.parametrize("script", sorted(COURSE.glob("picture_*.py")), ids=lambda path: path.stem)
def test_picture(script, monkeypatch):
    """The pictures of the pages are drawn by the checks' equations, and some page shows each."""
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.syspath_prepend(str(COURSE))
    from pictures import load

    figure = load(script).figure()
    assert figure.axes
    assert all(axes.get_xlabel() or axes.images or not axes.axison for axes in figure.axes[-1:])
    pages = [*COURSE.glob("*.md"), *(DOCS / "tutorial").glob("*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert f"{{look}} course/{script.stem}\n" in shown


def test_slides(tmp_path, monkeypatch):
    """One section per rule of the page, with pictures and formulas inside and nothing to fetch."""
    pytest.importorskip("latex2mathml")
    pytest.importorskip("markdown_it")
    monkeypatch.syspath_prepend(str(DOCS))
    from slides import SOURCE, slides

    picture = tmp_path / "picture.png"
    picture.write_bytes(b"picture")
    made = slides(DOCS / SOURCE, lambda name: picture)
    text = (DOCS / SOURCE).read_text(encoding="utf-8")
    assert made.count("<section>") == len(re.findall(r"^---$", text, re.M))
    assert made.count("<img ") == len(re.findall(r"^```\{look\}|^!\[", text, re.M))
    assert "<math" in made
    assert not re.search(r'src="(?!data:)|href="http|\$', made)
