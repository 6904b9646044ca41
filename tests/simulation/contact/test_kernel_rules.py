"""Rules of contact rows and forces, routine by routine, with numbers by hand: friction of sliding contacts,
tyre forces, closed forms, projection. Routines run as plain Python; what they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.algebra.patch import PATCH
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact import kernels
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddleStatus,
    make_saddle_point,
)
from draisine.simulation.contact.kernels import (
    ANY_MODE,
    CLOSED,
    CONVERGED_LOAD,
    FORM,
    FORM_PIVOTS,
    FORM_TABLE,
    LOAD_TOLERANCE,
    MAX_CLOSED_FORM_WHEELS,
    MAX_LOAD_ITERATIONS,
    MIN_PIVOT,
    NO_BORDER,
    SIGNATURE_SIZE,
)
from draisine.simulation.contact.status import STATUSES, Status
from draisine.simulation.contact.tolerances import Tolerances

N = 3
C_, TARGET, B, GAP, STRETCH, POINT, NORMAL, CENTRE = 0, 9, 12, 15, 16, 17, 20, 23
ARMED, FOLD, PUSH, LIFT, FORCES, LIFTED, UNEVEN, RATES, ROW = 26, 27, 30, 33, 36, 39, 42, 43, 44
ROLLING, SLIDING = Status.ROLLING, Status.SLIDING


def make_mode(statuses=(ROLLING,), mu=0.5, speeds=(3.0, 4.0, 0.0), acted=0, holds=0):
    """Closed contacts of a body with three translations: rows normal z, along x, across y, with the targets
    7, 8 and 9. Tyres push with 6 N along x and lift with 0.2 along y per newton of load; their forces are
    (1, 2, 3) N and (0.1, 0.2, 0.3) per newton.
    """
    count = len(statuses)
    motion = SimpleNamespace(
        tol=Tolerances(), speeds=N, C=C_, c=TARGET, b=B, gap=GAP, stretch=STRETCH, point=POINT,
        normal=NORMAL, centre=CENTRE, armed=ARMED, fold=FOLD, push=PUSH, lift=LIFT, forces=FORCES,
        lifted=LIFTED, uneven=UNEVEN, rates=RATES, row=ROW, acted=acted, remembered=0, states=0,
        x_q=0, x_v=4, y_v=4, y_z=7, M=0, F=9, held=12, held_c=18, held_b=20, held_gap=22, flow=24, zdot=31,
        turns=0, share=50.0, length=2.0, call=None, table=None,
    )  # fmt: skip
    row = np.zeros(ROW)
    row[:9] = [0, 0, 1, 1, 0, 0, 0, 1, 0]
    row[TARGET : TARGET + 3] = 7.0, 8.0, 9.0
    row[STRETCH], row[PUSH], row[LIFT + 1] = 1.0, 6.0, 0.2
    row[FORCES : FORCES + 3], row[LIFTED : LIFTED + 3] = [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]
    x = np.zeros(100)
    x[4:7] = speeds
    out = np.zeros(40)
    out[:9], out[9:12] = np.eye(3).ravel(), [1.0, 2.0, 3.0]
    return SimpleNamespace(
        motion=motion,
        contacts=SimpleNamespace(
            size=count, features=np.zeros((count + 1) * FEATURE), patches=np.zeros(count + 1, int),
            faces=np.ones(count + 1, int), pair=np.arange(count), x_f=80, x_cell=50,
            cells=np.full((count + 1) * PATCH, 5.0), first=np.zeros(count + 2, int),
            borders=np.zeros(14),
        ),
        plan=np.array([count, 0, 0, 0]), which=np.arange(count), status=np.array(statuses, int),
        mu=np.full(count, mu), holds=holds, x=x, out=out, lam=np.zeros(3 * count),
        seen=np.tile(row, count), system=make_saddle_point(N, 3 * count + holds), work=np.zeros(N),
        order=np.zeros(count, int), modes=np.zeros(1 + 3 * SIGNATURE_SIZE, int),
        tables=np.zeros(9), mode_out=np.zeros(50), x_form=60,
    )  # fmt: skip


# --- features


@pytest.mark.parametrize("patch", [0, 1])
def test_coefficients_of_patches_enter_the_programs(patch):
    s = make_mode()
    s.contacts.features[FEATURE:] = 2.0
    s.contacts.patches[1] = patch
    x = np.zeros(100)
    kernels.put_feature(x, s.contacts, 1)
    assert x[80:88].tolist() == [2.0] * FEATURE
    assert x[50 : 50 + PATCH].tolist() == [5.0 * patch] * PATCH


@pytest.mark.parametrize(
    ("terms", "side", "patch", "expected"),
    [
        ((0.0, 0.0, 0.0), 0, 0, -NO_BORDER),
        ((0.0, 0.0, 1.0), 0, 0, 0.5),
        ((0.0, 0.0, 1.0), 1, 0, -0.5),
        # The astroid f0^(2/3) + f1^(2/3) = f2^(2/3): 0.125^(2/3) = 1/4, the sum of both is 1/2.
        ((0.125, -0.125, 0.5**1.5), 0, 0, 0.0),
        ((0.125, -0.125, 0.0), -1, 0, 0.5 * 0.5**1.5),
        ((0.125, 0.0, 0.0), 0, 0, -0.0625),
        ((0.4, 0.0, 0.0), 0, 1, -0.4),
        ((0.0, 0.0, 0.0), 0, 1, 0.0),
    ],
)
def test_a_fold_separates_one_contact_from_two(terms, side, patch, expected):
    """In lengths of 2 m; single contacts (side 0) lie beyond the fold, pairs inside it."""
    s = make_mode()
    row = np.zeros(ROW)
    row[FOLD : FOLD + 3] = terms
    s.contacts.features[SIDE], s.contacts.patches[0] = side, patch
    found = kernels.fold_excess(s.motion, s.contacts, 0, row)
    assert found == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("armed", "height", "face", "above"),
    [(1.0, 0.1, 1, True), (1.0, -0.1, 1, False), (1.0, -0.1, 0, True), (0.0, 0.1, 1, False)],
)
def test_a_wheel_above_a_face_has_its_centre_outside(armed, height, face, above):
    """The contact point is 0.3 m below the centre, with a gap of `height` - 0.3 m."""
    s = make_mode()
    row = np.zeros(ROW)
    row[ARMED], row[NORMAL + 2], row[CENTRE + 2], row[GAP] = armed, 1.0, 0.3, height - 0.3
    s.contacts.faces[0] = face
    assert kernels.is_above(s.motion, s.contacts, 0, row) == above


# --- friction and forces


@pytest.mark.parametrize(
    ("slip", "expected"),
    [((3.0, 4.0), (0.6, 0.8)), ((0.0, -2.0), (0.0, -1.0)), ((0.0, 0.0), (0.0, 0.0))],
)
def test_the_slip_direction_is_a_unit_vector_or_zero(slip, expected):
    s = make_mode(speeds=(*slip, 5.0))
    found = [kernels.slip_direction(s.x, s.seen, s.motion, axis) for axis in (1, 2)]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("status", "mu", "rows", "normal"),
    [
        (ROLLING, 0.5, 3, (0.0, 0.0, 1.0)),
        (SLIDING, 0.5, 1, (-0.3, -0.4, 1.0)),
        (SLIDING, 0.0, 1, (0.0, 0.0, 1.0)),
        (Status.TYRE, 0.5, 1, (0.0, 0.0, 1.0)),
        (Status.TRACKING_TYRE, 0.0, 2, (0.0, 0.0, 1.0)),
        (Status.SPRUNG_TYRE, 0.0, 0, None),
    ],
)
def test_rows_of_a_status_and_the_drag_of_sliding_contacts(status, mu, rows, normal):
    """With a slip of (3, 4) and mu 0.5 a unit of load drags with (-0.3, -0.4)."""
    s = make_mode([status], mu)
    kernels.assemble_rows(s, s.seen)
    p = s.system
    assert p.rows == rows
    assert p.symmetric == (normal is None or normal[0] == 0.0)
    assert_allclose(p.force, [-1.0, -2.0, -3.0])
    assert p.target[:rows].tolist() == [7.0, 8.0, 9.0][:rows]
    if rows:
        assert_allclose(p.G[0], normal)
        assert_allclose(p.C[0], [0.0, 0.0, 1.0])


@pytest.mark.parametrize(("status", "lifts"), [(Status.TYRE, True), (Status.SPRUNG_TYRE, False)])
def test_tyres_push_and_lift_if_they_have_rows(status, lifts):
    """A prescribed joint along y follows the rows of the contact."""
    s = make_mode([status], acted=1, holds=1)
    s.out[13], s.out[18] = 1.0, 4.0
    kernels.assemble_rows(s, s.seen)
    p = s.system
    assert not p.symmetric
    assert_allclose(p.force, [5.0, -2.0, -3.0])
    assert p.rows == 1 + lifts
    if lifts:
        assert_allclose(p.G[0], [0.0, 0.2, 1.0])
    assert_allclose(p.C[p.rows - 1], [0.0, 1.0, 0.0])
    assert p.target[p.rows - 1] == 4.0


@pytest.mark.parametrize(
    ("statuses", "mu", "acted", "forces"),
    [
        ([ROLLING], 0.5, 0, [10.0, 20.0, 30.0]),
        ([SLIDING], 0.5, 0, [10.0, -3.0, -4.0]),
        ([SLIDING], 0.0, 0, [10.0, 0.0, 0.0]),
        ([Status.TRACKING_TYRE], 0.0, 0, [10.0, 20.0, 0.0]),
        ([Status.TYRE], 0.0, 1, [10.0 + 1.0 + 1.0, 2.0 + 2.0, 3.0 + 3.0]),
        ([Status.SPRUNG_TYRE], 0.0, 1, [1.0, 2.0, 3.0]),
        ([SLIDING, ROLLING], 0.5, 0, [10.0, -3.0, -4.0, 20.0, 30.0, 40.0]),
    ],
)
def test_contact_forces_contain_friction_and_tyres(statuses, mu, acted, forces):
    """Multipliers 10, 20, 30 and 40 N, and a slip of (3, 4)."""
    s = make_mode(statuses, mu, acted=acted)
    s.system.multiplier[:4] = [10.0, 20.0, 30.0, 40.0][: len(s.system.multiplier)]
    kernels.write_contact_forces(s, s.seen, s.lam)
    assert_allclose(s.lam, forces)


@pytest.mark.parametrize(
    ("acted", "status", "uneven", "change"),
    [
        (1, Status.TYRE, 1.0, 4.0),
        (0, Status.TYRE, 1.0, 0.0),
        (1, Status.SPRUNG_TYRE, 1.0, 0.0),
        (1, Status.TYRE, 0.0, 0.0),
    ],
)
def test_loads_of_tyres_with_nonlinear_forces_are_updated(
    monkeypatch, acted, status, uneven, change
):
    """The multiplier of the second contact is the fourth one; the largest change is returned."""
    s = make_mode([ROLLING, status, ROLLING], acted=acted)
    s.seen[ROW + UNEVEN] = uneven
    s.system.multiplier[3] = 4.0
    monkeypatch.setattr(kernels, "update_tyre_load", lambda tol, contacts, k, load: load)
    assert kernels.update_tyre_loads(s, s.seen) == change


# --- accelerations


def rates(monkeypatch, changes, status=SaddleStatus.UNIQUE, inconsistency=0.0):
    """Compute the rates of a mode with given changes of loads; return the result and the calls."""
    s = make_mode()
    s.contacts.features[7] = 999.0
    s.system.x[:] = 5.0, 6.0, 7.0
    s.system.inconsistency = inconsistency
    rest, calls = iter(changes), []
    for name, value in {
        "call": lambda *_: None,
        "evaluate_closed_rows": lambda *_: None,
        "assemble_rows": lambda *_: None,
        "solve_in_mode": lambda p: status,
        "share_redundant": lambda s: None,
        "update_tyre_loads": lambda s, seen: next(rest),
        "write_contact_forces": lambda *_: None,
    }.items():
        monkeypatch.setattr(
            kernels, name, lambda *a, name=name, value=value: calls.append(name) or value(*a)
        )
    ydot = np.zeros(7)
    result = kernels.solve_rates(s, ydot, s.lam, s.seen)
    assert s.contacts.features[7] == 50.0  # loads begin at the share of the weight
    assert (ydot[4:].tolist() == [5.0, 6.0, 7.0]) == (result == 0)
    return result, calls


@pytest.mark.parametrize(
    ("changes", "result", "solutions"),
    [
        ([0.9 * CONVERGED_LOAD], 0, 1),
        ([1.0, 1.1 * CONVERGED_LOAD, 0.0], 0, 3),
        ([0.9 * LOAD_TOLERANCE] * 99, 0, MAX_LOAD_ITERATIONS),
        ([1.1 * LOAD_TOLERANCE] * 99, 1, MAX_LOAD_ITERATIONS),
    ],
)
def test_loads_of_tyres_converge_or_the_state_is_singular(monkeypatch, changes, result, solutions):
    found, calls = rates(monkeypatch, changes)
    assert found == result
    assert calls.count("solve_in_mode") == solutions


@pytest.mark.parametrize(
    ("status", "share", "result", "shared"),
    [
        (SaddleStatus.UNSOLVABLE, 0.0, 1, 0),
        (SaddleStatus.UNIQUE, 1.1, 1, 0),
        (SaddleStatus.UNIQUE, 0.9, 0, 0),
        (SaddleStatus.REDUNDANT, 0.9, 0, 1),
    ],
)
def test_contradictions_and_redundant_forces(monkeypatch, status, share, result, shared):
    found, calls = rates(monkeypatch, [0.0], status, share * Tolerances().contradiction)
    assert found == result
    assert calls.count("share_redundant") == shared


@pytest.mark.parametrize(
    ("form", "value", "pivot", "closed"),
    [
        (1, 1.0, 1.1 * MIN_PIVOT, True),
        (1, 1.0, -1.1 * MIN_PIVOT, True),
        (1, 1.0, 0.9 * MIN_PIVOT, False),
        (1, math.nan, 1.0, False),
        (1, math.inf, 1.0, False),
        (0, 1.0, 1.0, False),
    ],
)
def test_a_closed_form_needs_large_pivots_and_finite_results(
    monkeypatch, form, value, pivot, closed
):
    s = make_mode(mu=0.25)
    s.plan[FORM], s.plan[FORM_PIVOTS] = form, 1
    s.contacts.features[:FEATURE] = 2.0

    def call(address, x, table, out, count):
        out[:7], out[7:10], out[10] = 3.0, 4.0, pivot
        out[8] = value

    monkeypatch.setattr(kernels, "call", call)
    monkeypatch.setattr(kernels, "solve_rates", lambda *_: 9)
    ydot = np.zeros(7)
    with np.errstate(invalid="ignore"):
        assert kernels.flow(s, ydot, s.lam) == (0 if closed else 9)
    assert ydot.tolist() == ([3.0] * 7 if closed else [0.0] * 7)
    assert s.lam.tolist() == ([4.0, 1.0, 4.0] if closed else [0.0] * 3)
    if form:
        assert s.x[60:68].tolist() == [2.0] * FEATURE
        assert s.x[68] == 0.25


def signature(count, codes, plan):
    return [count, *codes, *[0] * (MAX_CLOSED_FORM_WHEELS - len(codes)), *plan]


@pytest.mark.parametrize(
    ("statuses", "found", "form"),
    [
        ([ROLLING, SLIDING], 0, (71, 72, 73)),
        ([ROLLING, ROLLING], 1, (0, 0, 0)),
        ([ROLLING], 0, (81, 82, 83)),
        ([SLIDING], 1, (0, 0, 0)),
        ([ROLLING] * (MAX_CLOSED_FORM_WHEELS + 1), 0, (0, 0, 0)),
    ],
)
def test_a_closed_form_is_found_by_pairs_and_statuses(statuses, found, form):
    """Pair k is that of contact k. Modes of too many wheels have none."""
    s = make_mode(statuses)
    first = signature(2, [STATUSES * 0 + ROLLING, STATUSES * 1 + SLIDING], (71, 72, 73))
    second = signature(1, [STATUSES * 0 + ROLLING], (81, 82, 83))
    s.modes[: 1 + 2 * SIGNATURE_SIZE] = [2, *first, *second]
    s.plan[FORM] = 9
    assert kernels.find_closed_form(s) == found
    if sum(form) == 0:
        assert s.plan[FORM] == 0
    else:
        assert tuple(s.plan[[FORM, FORM_TABLE, FORM_PIVOTS]]) == form


def test_the_end_of_a_complete_list_stands_for_any_mode():
    s = make_mode([SLIDING])
    s.modes[: 1 + SIGNATURE_SIZE] = [1, *signature(ANY_MODE, [], (0, 0, 0))]
    assert kernels.find_closed_form(s) == 0
    assert s.plan[FORM] == 0


# --- redundant forces, projection


@pytest.mark.parametrize(
    ("margin", "symmetric", "calls"),
    [
        (True, True, []),
        (False, True, ["null", "share"]),
        (False, False, ["null", "share", "motion"]),
    ],
)
def test_redundant_forces_are_shared_if_a_margin_is_missing(monkeypatch, margin, symmetric, calls):
    """The motion depends on the loads of sliding contacts. A sprung tyre has no normal multiplier."""
    s = make_mode([ROLLING, Status.SPRUNG_TYRE, SLIDING])
    s.system.symmetric = symmetric
    seen, normals = [], []
    monkeypatch.setattr(kernels, "has_margin", lambda lam, rows, n, *_: normals.extend(n) or margin)
    monkeypatch.setattr(kernels, "find_null_space", lambda p: seen.append("null") or 1)
    monkeypatch.setattr(kernels, "share_redundant_forces", lambda *_: seen.append("share"))
    monkeypatch.setattr(kernels, "write_motion", lambda p: seen.append("motion"))
    kernels.share_redundant(s)
    assert normals == [0, -1, 3]
    assert seen == calls


@pytest.mark.parametrize(
    ("statuses", "holds", "projects"),
    [
        ([], 0, False),
        ([Status.SPRUNG_TYRE], 0, False),
        ([Status.SPRUNG_TYRE, SLIDING], 0, True),
        ([], 1, True),
    ],
)
def test_a_state_is_projected_if_there_are_constraint_rows(monkeypatch, statuses, holds, projects):
    """The quaternion of a base that turns freely is normalised in any case."""
    s = make_mode(statuses, holds=holds)
    s.motion.turns = 1
    s.x[:4] = 0.0, 3.0, 0.0, 4.0
    seen = []
    monkeypatch.setattr(kernels, "project_gaps", lambda s: seen.append("gaps"))
    monkeypatch.setattr(kernels, "project_speeds", lambda s: seen.append("speeds"))
    kernels.project_state(s)
    assert seen == ["gaps", "speeds"] * projects
    assert_allclose(s.x[:4], [0.0, 0.6, 0.0, 0.8])
    s.motion.turns = 0
    s.x[:4] = 0.0, 3.0, 0.0, 4.0
    kernels.project_state(s)
    assert s.x[:4].tolist() == [0.0, 3.0, 0.0, 4.0]


def test_a_gap_is_closed_by_the_shortest_step(monkeypatch):
    """A gap of 0.3 m whose rate is 1.5 times the normal velocity: 0.2 m along the normal. The contact of a
    tyre on a spring keeps its gap; a joint prescribed along x is 0.4 m ahead.
    """
    s = make_mode([SLIDING, Status.SPRUNG_TYRE], holds=1)
    s.out[12], s.out[22] = 1.0, 0.4
    s.seen[GAP], s.seen[STRETCH], s.seen[ROW + GAP] = 0.3, 1.5, 9.0
    s.seen[ROW : ROW + 3] = 0.0, 1.0, 0.0
    monkeypatch.setattr(kernels, "evaluate_closed_rows", lambda s, seen: None)
    moved = []

    def call(address, x, table, out, count):
        moved.append(x[4:7].tolist())
        out[24:28] = [*x[4:7], 0.0]

    monkeypatch.setattr(kernels, "call", call)
    kernels.project_gaps(s)
    assert len(moved) == 2  # the prescribed joint needs the program at the state itself
    assert_allclose(s.x[:4], [-0.4, 0.0, -0.2, 0.0], atol=1e-15)
    assert s.x[4:7].tolist() == [3.0, 4.0, 0.0]
    assert s.system.rows == 2


@pytest.mark.parametrize(
    ("status", "holds", "after"),
    [
        (ROLLING, 0, (0.0, 0.0, 0.0)),
        (SLIDING, 0, (3.0, 4.0, 0.0)),
        (SLIDING, 1, (0.7, 4.0, 0.0)),
    ],
)
def test_speeds_of_closed_contacts_are_those_of_the_ground(monkeypatch, status, holds, after):
    """The body moves with (3, 4, 5); a joint prescribes 0.7 m/s along x."""
    s = make_mode([status], speeds=(3.0, 4.0, 5.0), holds=holds)
    s.out[12], s.out[20] = 1.0, 0.7
    monkeypatch.setattr(kernels, "evaluate_closed_rows", lambda s, seen: None)
    calls = []
    monkeypatch.setattr(kernels, "call", lambda *_: calls.append(0))
    kernels.project_speeds(s)
    assert len(calls) == holds
    assert_allclose(s.x[4:7], after, atol=1e-14)
    assert s.plan[CLOSED] == 1
