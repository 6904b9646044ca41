"""Moore's and JBike6's parametrisations: published numbers, and JBike6's own equations."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.straight import MATRIX_SIGNS, canonical_matrices
from draisine.errors import DataError
from draisine.vehicles import parameter_set
from draisine.vehicles.bicycle import from_values, read_bicycle

# The benchmark bicycle in Moore's parameters, as PyDy's example of the Carvallo-Whipple bicycle has them.
MOORE = {
    "rf": 0.35, "rr": 0.3, "g": 9.81,
    "d1": 0.9534570696121849, "d2": 0.2676445084476887, "d3": 0.03207142672761929,
    "ic11": 7.178169776497895, "ic22": 11.0, "ic31": 3.8225535938357873, "ic33": 4.821830223502103,
    "id11": 0.0603, "id22": 0.12,
    "ie11": 0.05841337700152972, "ie22": 0.06, "ie31": 0.009119225261946298,
    "ie33": 0.007586622998470264,
    "if11": 0.1405, "if22": 0.28,
    "l1": 0.4707271515135145, "l2": -0.47792881146460797,
    "l3": -0.00597083392418685, "l4": -0.3699518200282974,
    "mc": 85.0, "md": 2.0, "me": 4.0, "mf": 3.0,
}  # fmt: skip

JBIKE6 = """
% JBini_mine.m
name = 'mine';            % texts are skipped
angle_units = 2;
gravity = 9.80665;
wheelbase = 1.03; %meters
lambda =  0.2967;
head_angle = pi/2-lambda;
offset=0.044;
Drearwheel = 0.6858; mrearwheel = 8.5;
Irearwheel =  [0.095625 0.095625  0.19125];
alphaIrearwheel = 0;
Dfrontwheel =  0.6858;
mfrontwheel = 1.84;
trail = (Dfrontwheel/2*sin(lambda)-offset)/cos(lambda);
Ifrontwheel = 0.8*mfrontwheel*Dfrontwheel^2/4.*[1/2 1/2 1];
alphaIfrontwheel = 0;
mrider = 80; xcmrider = 0.3; ycmrider = 1.2;
Irider = [10.53112887414928 2.46887112585073 12];
alphaIrider = -0.25957305712326;
mframe = 2.5; xcmframe = 0.4; ycmframe = 0.6;
Iframe = [0.05857864376269   0.34142135623731   0.4];
alphaIframe = 0.39269908169872;
mfork = 1.5; ucmfork = 0.01; vcmfork = Dfrontwheel;
Ifork = [0.096, 0.0006, 0.096];
alphaIfork = lambda;
mbasket = 0.7; ucmbasket = 0.02; vcmbasket = 0.9;
Ibasket = [0.01 0.02 0.02];
alphaIbasket = 0.1;
mrack = 4; xcmrack = 0.4; ycmrack = 0.55;
Irack = [0.02 0.02 0.02];
alphaIrack = 0;
"""


def test_moores_numbers_are_the_benchmark():
    expected = parameter_set("whipple", "benchmark")
    assert_allclose([from_values(MOORE)[name] for name in expected], list(expected.values()),
                    rtol=1e-12, atol=1e-15)  # fmt: skip


@pytest.mark.parametrize("suffix", [".txt", ".yml"])
def test_moores_files_are_read(tmp_path, suffix):
    path = tmp_path / f"benchmark{suffix}"
    if suffix == ".txt":
        path.write_text("\n".join(f"{name} = {value!r}+/-0.01" for name, value in MOORE.items()))
    else:
        rows = "".join(f"  {name}: {value!r}\n" for name, value in MOORE.items())
        path.write_text(f"parameterization: Moore2012\nvalues:\n{rows}")
    assert read_bicycle(path)["c"] == pytest.approx(0.08, rel=1e-12)
    assert draisine.compile("whipple", parameter_set=str(path)).parameters["w"] == pytest.approx(
        1.02
    )


def test_infeasible_parameters_of_moore_are_refused():
    with pytest.raises(DataError, match="infeasible with the wheel radii"):
        from_values(MOORE | {"rf": 3.0})
    with pytest.raises(DataError, match="ie31 missing"):
        from_values({name: value for name, value in MOORE.items() if name != "ie31"})
    with pytest.raises(DataError, match="asymmetric"):
        from_values(MOORE | {"ic12": 0.1})


def jbike6_matrices(p):
    """M0, C1, K0, K2 by the formulas of JBike6 (lean right, steer left), written from its manual:
    the inertias of the front assembly about the steer axis and of the whole about the rear contact."""
    c, s = math.cos(p["lam"]), math.sin(p["lam"])
    bodies = {
        "rear wheel": (p["mR"], 0.0, p["rR"], np.diag([p["IRxx"], p["IRxx"]])),
        "front wheel": (p["mF"], p["w"], p["rF"], np.diag([p["IFxx"], p["IFxx"]])),
        "frame": (p["mB"], p["xB"], -p["zB"], np.array([[p["IBxx"], -p["IBxz"]],
                                                        [-p["IBxz"], p["IBzz"]]])),
        "fork": (p["mH"], p["xH"], -p["zH"], np.array([[p["IHxx"], -p["IHxz"]],
                                                       [-p["IHxz"], p["IHzz"]]])),
    }  # fmt: skip

    def whole(names, about=None):
        m = sum(bodies[n][0] for n in names)
        centre = sum(bodies[n][0] * np.array(bodies[n][1:3]) for n in names) / m
        about = centre if about is None else about
        total = np.zeros((2, 2))
        for n in names:
            mass, x, y, own = bodies[n]
            d = np.array([x, y]) - about
            total += own + mass * (d @ d * np.eye(2) - np.outer(d, d))
        return m, centre, total

    mt, ct, T = whole(bodies, np.zeros(2))
    mf, cf, F = whole(["front wheel", "fork"])
    u = c * (cf[0] - p["w"] - p["c"]) + s * cf[1]
    steer = np.array([-s, c])
    Fll = mf * u * u + steer @ F @ steer
    Flx = -mf * cf[1] * u + F[0] @ steer
    Fly = mf * cf[0] * u + F[1] @ steer
    k = p["c"] * c / p["w"]
    Sr = p["IRyy"] / p["rR"]
    Sf = p["IFyy"] / p["rF"]
    St = Sr + Sf
    nu = mf * u + mt * ct[0] * k
    M = [[T[0, 0], Flx + k * T[0, 1]], [Flx + k * T[0, 1], Fll + 2 * k * Fly + k * k * T[1, 1]]]
    C = [[0.0, -(Sf * c + k * St) + T[0, 1] * c / p["w"] - k * mt * ct[1]],
         [Sf * c + k * St, c / p["w"] * Fly + k * (nu + c / p["w"] * T[1, 1])]]  # fmt: skip
    K0 = [[-mt * ct[1], nu], [nu, -nu * s]]
    K2 = [[0.0, -c / p["w"] * (St + mt * ct[1])], [0.0, c / p["w"] * (s * Sf + nu)]]
    return tuple(np.array(x) for x in (M, C, K0, K2))


def test_a_file_of_jbike6_has_the_matrices_of_jbike6(tmp_path):
    path = tmp_path / "JBini_mine.m"
    path.write_text(JBIKE6)
    values = read_bicycle(path)
    found = canonical_matrices(draisine.compile("whipple", parameter_set=str(path)))
    for mine, theirs in zip(
        (found.M, found.C1, found.K0, found.K2), jbike6_matrices(values), strict=True
    ):
        assert_allclose(mine, MATRIX_SIGNS * theirs, atol=1e-9 * np.abs(theirs).max())


def test_the_bodies_of_jbike6_are_put_together(tmp_path):
    """Masses, mass centres and traces of the inertias add up."""
    path = tmp_path / "JBini_mine.m"
    path.write_text(JBIKE6)
    p = read_bicycle(path)
    lam = 0.2967
    trail = (0.3429 * math.sin(0.2967) - 0.044) / math.cos(0.2967)
    assert_allclose([p["lam"], p["c"], p["g"]], [lam, trail, 9.80665], rtol=1e-12)
    assert p["mB"] == pytest.approx(86.5)
    assert p["xB"] == pytest.approx((80 * 0.3 + 2.5 * 0.4 + 4 * 0.4) / 86.5)
    assert p["zB"] == pytest.approx(-(80 * 1.2 + 2.5 * 0.6 + 4 * 0.55) / 86.5)
    fork = [
        (1.5, 0.01, 0.6858),
        (0.7, 0.02, 0.9),
    ]
    x = sum(m * (u * math.cos(lam) - v * math.sin(lam)) for m, u, v in fork) / 2.2
    assert p["xH"] == pytest.approx(1.03 + trail + x)
    assert p["IFyy"] == pytest.approx(0.8 * 1.84 * 0.6858**2 / 4)
    assert p["IFxx"] == pytest.approx(0.5 * p["IFyy"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("wheelbase = 1.03;", ""), "wheelbase is missing"),
        (("Irider = [10.53112887414928 2.46887112585073 12];", "Irider = 3;"), "row of three"),
        (("mrider = 80;", "mrider = load('x');"), "cannot be read"),
        (("mframe = 2.5;", "mframe = eye(2);"), "cannot be read"),
        (("[0.095625 0.095625", "[0.1 0.2"), "both moments of a wheel must be equal"),
    ],
)
def test_invalid_jbike6_files_are_refused(tmp_path, change, told):
    path = tmp_path / "JBini_mine.m"
    path.write_text(JBIKE6.replace(*change))
    with pytest.raises(DataError, match=told):
        read_bicycle(path)
