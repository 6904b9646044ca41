"""Rules of forces and gaps at states of a run and of points inside the ground, routine by routine, with
numbers by hand. Routines run as plain Python; what they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.mechanics.contact.elements import ENERGY, POWER
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact import samples, start
from draisine.simulation.contact.kernels import CLOSED, FORM
from draisine.simulation.contact.standalone import observation
from draisine.simulation.contact.start import RIM_DIRECTIONS, RIM_POINTS, RIM_RADIUS_RATIO
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances

TOL = Tolerances()
C_, GAP, NORMAL, ALONG, POINT, FORCES, LIFTED, FOLD, CENTRE, ROW = (
    0,
    3,
    4,
    7,
    10,
    13,
    18,
    23,
    24,
    27,
)
ROLLING, SLIDING, SPRUNG = Status.ROLLING, Status.SLIDING, Status.SPRUNG_TYRE


def make_mode(statuses=(ROLLING,), wheels=None, acted=0):
    """Closed contacts of a system with one speed, and forces (5, 6, 7) N at each."""
    count = len(statuses)
    motion = SimpleNamespace(
        tol=TOL, C=C_, gap=GAP, normal=NORMAL, point=POINT, forces=FORCES, lifted=LIFTED, fold=FOLD,
        centre=CENTRE, row=ROW, speeds=1, states=0, y_v=0, y_z=2, acted=acted, output_size=1, length=2.0,
        held=0,
    )  # fmt: skip
    return SimpleNamespace(
        motion=motion,
        contacts=SimpleNamespace(
            wheels=np.arange(count) if wheels is None else np.array(wheels),
            features=np.zeros(count * FEATURE), patches=np.zeros(count, int), size=count,
        ),
        plan=np.array([count, 0, 0, 0]), which=np.arange(count), status=np.array(statuses, int),
        mu=np.zeros(count), x=np.zeros(9), lam=np.tile([5.0, 6.0, 7.0], count),
        seen=np.zeros(count * ROW), system=SimpleNamespace(pivoted_rows=9), out=np.zeros(1), holds=0,
    )  # fmt: skip


def make_samples(states=2, wheels=1, owners=2, contacts=1):
    return SimpleNamespace(
        wheels=wheels, owners=owners, along=ALONG,
        ydot=np.zeros(2 * states), out=np.zeros(states), generalised=np.zeros(states),
        forces=np.zeros(3 * owners * states), world=np.zeros(3 * owners * states),
        tyres=np.zeros(2 * owners * states), stops=np.zeros(owners * states),
        gaps=np.full(wheels * states, np.inf), points=np.full(3 * wheels * states, np.nan),
        violation=np.zeros(states), convexity=np.full(wheels * states, np.inf),
        jacobians=np.zeros(3 * contacts),
    )  # fmt: skip


def intervals(states=2):
    """One interval with one closed contact."""
    return SimpleNamespace(
        size=1, first_contact=np.array([0, 1]), first_state=np.array([0, states]),
        times=np.arange(2.0), states=np.arange(4.0), which=np.zeros(1, int), status=np.array([SLIDING]),
        mu=np.zeros(1), n_inputs=0, x_inputs=0, inputs=np.zeros(0),
    )  # fmt: skip


# --- forces and gaps of closed contacts


@pytest.mark.parametrize("fails", [False, True])
def test_states_without_a_solution_have_no_forces(monkeypatch, fails):
    """The second of two states. Each state is solved by itself, and rows are those of the first one."""
    s, found = make_mode([SLIDING]), make_samples()
    solved, added = [], []

    def solve(s, ydot, lam, seen):
        solved.append(s.system.pivoted_rows)
        s.system.pivoted_rows = 9
        ydot[:2], lam[:3], seen[:3] = 1.0, 2.0, len(solved)
        return int(fails and len(solved) == 2)

    monkeypatch.setattr(samples, "solve_rates", solve)
    monkeypatch.setattr(
        samples, "add_contact_observation", lambda s, o, i, k: added.append((i, k, s.lam[0]))
    )
    samples.observe_modes(s, intervals(), found)
    last = math.nan if fails else 1.0
    assert_allclose(found.ydot, [1.0, 1.0, last, last])
    assert [one[:2] for one in added] == [(0, 0), (1, 0)]
    assert math.isnan(added[1][2]) == fails
    assert found.jacobians.tolist() == [1.0, 1.0, 1.0]
    assert solved == [0, 0]


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize(("status", "violation"), [(SLIDING, (0.1, 0.3)), (SPRUNG, (0.0, 0.0))])
def test_forces_alone_are_observed_in_closed_form(monkeypatch, form, status, violation):
    """The gap is -0.1 m, then 0.3 m, and the patch's eigenvalue 4. A closed form evaluates no rows."""
    s, found = make_mode([SLIDING]), make_samples()
    s.contacts.patches[0] = 1
    given = intervals()
    given.status[0] = status
    calls = []

    def evaluate(x, contacts, k, row):
        calls.append("gap")
        row[GAP], row[FOLD] = (-0.1, 0.3)[int(x[0])], 4.0

    def flow(s, ydot, lam):
        if not form:
            evaluate(s.x, s.contacts, 0, s.seen)
            calls.pop()
            s.seen[:3] = 8.0 + s.x[0]
        return 0

    monkeypatch.setattr(samples, "find_closed_form", lambda s: s.plan.__setitem__(FORM, form))
    monkeypatch.setattr(samples, "flow", flow)
    monkeypatch.setattr(samples, "evaluate_gap", evaluate)
    monkeypatch.setattr(
        samples, "evaluate_row", lambda x, b, k, row: row.__setitem__(slice(3), 8.0 + x[0])
    )
    samples.observe_forces(s, given, found)
    assert_allclose(found.violation, violation)
    assert found.forces[:3].tolist() == found.forces[6:9].tolist() == [5.0, 6.0, 7.0]
    assert found.convexity.tolist() == [4.0, 4.0]
    assert found.jacobians.tolist() == [8.0] * 3
    assert calls == ["gap", "gap"] * form
    assert s.system.pivoted_rows == -1


def test_forces_alone_do_not_exist_without_a_solution(monkeypatch):
    s, found = make_mode([SLIDING]), make_samples()
    monkeypatch.setattr(samples, "find_closed_form", lambda s: 0)
    monkeypatch.setattr(samples, "flow", lambda s, ydot, lam: int(s.x[0] == 1.0))
    samples.observe_forces(s, intervals(), found)
    assert np.isnan(found.forces[6:9]).all()
    assert found.forces[:3].tolist() == [5.0, 6.0, 7.0]
    assert np.isinf(found.convexity).all()


def observed(monkeypatch, statuses=(ROLLING,), wheels=(0,), acted=0, gap=-0.25, gaps=np.inf):
    """Add the first closed contact to the quantities of its wheel at state 1."""
    s, found = make_mode(statuses, wheels, acted), make_samples()
    found.gaps[1] = gaps
    s.seen[GAP] = gap
    s.seen[NORMAL : NORMAL + 3], s.seen[ALONG : ALONG + 3] = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
    s.seen[POINT : POINT + 3] = 1.0, 2.0, 3.0
    s.seen[FORCES + POWER], s.seen[LIFTED + POWER] = 11.0, 2.0
    s.seen[FORCES + ENERGY], s.seen[LIFTED + ENERGY] = 1.0, 3.0
    s.contacts.features[0] = -1.0
    monkeypatch.setattr(
        samples, "add_generalised_force", lambda m, row, lam, into: into.__setitem__(0, lam[0])
    )
    samples.add_contact_observation(s, found, 1, 0)
    return found


def test_a_contact_force_in_contact_and_world_axes(monkeypatch):
    """Normal z, along x, so that across is y: (5, 6, 7) is (6, 7, 5) in the world."""
    found = observed(monkeypatch)
    assert found.forces[6:9].tolist() == [5.0, 6.0, 7.0]
    assert found.world[6:9].tolist() == [6.0, 7.0, 5.0]
    assert found.generalised.tolist() == [0.0, 5.0]
    assert not found.forces[:6].any()


def test_world_axes_are_right_handed(monkeypatch):
    """Any cyclic exchange of the axes exchanges the components."""
    for turn in range(3):
        s, found = make_mode(), make_samples()
        s.seen[NORMAL + (2 + turn) % 3], s.seen[ALONG + turn] = 1.0, 1.0
        monkeypatch.setattr(samples, "add_generalised_force", lambda *_: None)
        samples.add_contact_observation(s, found, 0, 0)
        assert found.world[:3].tolist() == np.roll([6.0, 7.0, 5.0], turn).tolist()


@pytest.mark.parametrize(
    ("acted", "wheels", "tyres"),
    [(0, (0, 0), (0.0, 0.0)), (1, (0, 1), (21.0, 16.0)), (1, (0, 0), (21.0, 8.0))],
)
def test_a_tyre_on_several_features_has_one_deflection(monkeypatch, acted, wheels, tyres):
    """Power 11 + 2 * 5 W. The energy 1 + 3 * 5 J is the mean over the contacts of the wheel."""
    found = observed(monkeypatch, (ROLLING, ROLLING), wheels, acted)
    assert found.tyres[4:6].tolist() == list(tyres)


@pytest.mark.parametrize(("status", "violation"), [(SLIDING, 0.25), (SPRUNG, 0.0)])
def test_gaps_of_contacts_with_rows_violate_their_constraint(monkeypatch, status, violation):
    assert observed(monkeypatch, [status]).violation.tolist() == [0.0, violation]


@pytest.mark.parametrize(("before", "kept"), [(np.inf, True), (-0.2, True), (-0.3, False)])
def test_the_contact_with_the_smallest_gap_is_that_of_its_wheel(monkeypatch, before, kept):
    found = observed(monkeypatch, gaps=before)
    assert found.gaps[1] == (-0.25 if kept else before)
    assert (found.points[3:].tolist() == [1.0, 2.0, 3.0]) == kept


def test_the_stop_of_a_joint_has_a_direction_and_no_gap(monkeypatch):
    """Owner 1 is a joint; its stop pushes in the negative direction."""
    found = observed(monkeypatch, wheels=(1,))
    assert found.stops.tolist() == [0.0, 0.0, 0.0, -5.0]
    assert np.isinf(found.gaps).all()


def test_closed_contacts_of_a_wheel_are_counted():
    s = make_mode([ROLLING] * 4, wheels=(0, 1, 0, 0))
    s.plan[CLOSED] = 3
    assert [samples.count_contacts(s, wheel) for wheel in range(3)] == [2, 1, 0]


# --- penetration


@pytest.mark.parametrize(
    ("gap", "excess", "above", "expected"),
    [
        (0.0, 0.0, True, True),
        (-1.0, -1.0, True, True),
        (1e-9, -1.0, True, False),
        (-1.0, 1e-9, True, False),
        (-1.0, -1.0, False, False),
    ],
)
def test_a_wheel_touches_or_penetrates_within_borders(monkeypatch, gap, excess, above, expected):
    monkeypatch.setattr(samples, "border_excess", lambda *_: excess)
    monkeypatch.setattr(samples, "is_above", lambda *_: above)
    row = np.zeros(ROW)
    row[GAP] = gap
    assert samples.touches_or_penetrates(make_mode().motion, None, 0, row) == expected


@pytest.mark.parametrize(
    ("gap", "excess", "above", "expected"),
    [
        (-0.3, 0.14, True, True),
        (-0.3, 0.16, True, False),
        (-0.3, 0.0, True, False),
        (-0.3, -0.1, True, False),
        (-0.3, 0.14, False, False),
        (0.3, 0.14, True, False),
    ],
)
def test_a_wheel_penetrates_beside_a_border_by_less_than_its_depth(
    monkeypatch, gap, excess, above, expected
):
    """Excesses are in lengths of 2 m."""
    monkeypatch.setattr(samples, "evaluate_gap", lambda x, b, k, row: row.__setitem__(GAP, gap))
    monkeypatch.setattr(samples, "border_excess", lambda *_: excess)
    monkeypatch.setattr(samples, "is_above", lambda *_: above)
    found = samples.penetrates_beyond_border(make_mode().motion, None, None, 0, np.zeros(ROW))
    assert found == expected


@pytest.mark.parametrize(
    ("gaps", "within", "beyond", "wheels", "inside"),
    [
        ((-1, -1, 1), (1, 0, 1), (0, 0, 0), (0, 0, 0), [0]),
        ((-1, -1, -1), (0, 0, 0), (1, 1, 0), (0, 0, 0), [0, 1]),
        ((-1, -1, -1), (0, 0, 0), (1, 1, 0), (0, 1, 1), []),
        ((-1, -1, -1), (0, 0, 1), (1, 1, 0), (0, 0, 0), [2]),
        ((-1, -1, -1), (0, 0, 1), (1, 1, 0), (0, 0, 1), [2, 0, 1]),
        ((0, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0), []),
    ],
)
def test_penetration_of_two_faces_at_their_edge(monkeypatch, gaps, within, beyond, wheels, inside):
    """If no contact of the wheel penetrates within its borders, two beside their borders count."""
    monkeypatch.setattr(samples, "evaluate_gap", lambda x, b, k, row: row.__setitem__(GAP, gaps[k]))
    monkeypatch.setattr(samples, "touches_or_penetrates", lambda m, b, k, row: bool(within[k]))
    monkeypatch.setattr(samples, "penetrates_beyond_border", lambda m, x, b, k, row: beyond[k] == 1)
    contacts = SimpleNamespace(wheels=np.array(wheels))
    found = np.full(3, -1)
    count = samples.find_penetrating_contacts(
        make_mode().motion, None, contacts, 3, np.zeros(ROW), found
    )
    assert found[:count].tolist() == inside


# --- the nearest feature


def nearest(monkeypatch, rows, *, limit=10.0, sinks=False, touches=False, wheel=0, far=0.0):
    """Find the nearest of contacts with (gap, excess), and the contacts that were evaluated.

    Their boxes begin `far` metres beside the wheel's centre; the wheel has a radius of 0.3 m.
    """
    count = len(rows)
    near = SimpleNamespace(
        size=count, wheels=np.zeros(count, int), low=np.tile([far, 0, 0], count),
        high=np.tile([far + 1.0, 1, 1], count), radius=np.full(count, 0.3),
    )  # fmt: skip
    seen = []

    def evaluate(x, contacts, k, row):
        seen.append(k)
        row[GAP], row[POINT] = rows[k][0], 10.0 + k

    monkeypatch.setattr(samples, "evaluate_gap", evaluate)
    monkeypatch.setattr(samples, "border_excess", lambda m, b, k, row: rows[k][1])
    monkeypatch.setattr(samples, "touches_or_penetrates", lambda *_: touches)
    gap, point = np.full(1, np.inf), np.full(3, np.nan)
    samples.find_nearest_of_wheel(
        make_mode().motion, None, near, wheel, limit, sinks, np.zeros(ROW + 3), gap, point
    )
    return float(gap[0]), float(point[0]), seen


def test_the_nearest_feature_within_its_borders(monkeypatch):
    """Contact 1; 2 is nearer, but beyond its border, and 3 is as near as 1."""
    rows = [(0.5, -1.0), (0.2, 0.5 * TOL.border), (0.1, 1.1 * TOL.border), (0.2, -1.0)]
    assert nearest(monkeypatch, rows)[:2] == (0.2, 11.0)
    assert nearest(monkeypatch, rows, limit=0.2)[0] == np.inf
    assert nearest(monkeypatch, rows, wheel=1) == (np.inf, pytest.approx(math.nan, nan_ok=True), [])


@pytest.mark.parametrize(
    ("gap", "excess", "sinks", "touches", "expected"),
    [
        (-0.9 * TOL.gap_search, -1.0, False, False, -0.9 * TOL.gap_search),
        (-1.1 * TOL.gap_search, -1.0, False, False, np.inf),
        (-0.9 * TOL.gap_search, 0.5 * TOL.border, False, False, 0.0),
        (-0.5, -1.0, True, True, -0.5),
        (-0.5, -1.0, False, True, np.inf),
        (-0.5, -1.0, True, False, np.inf),
        (math.nan, -1.0, False, False, np.inf),
    ],
)
def test_features_above_a_wheel_do_not_count_unless_it_sinks(
    monkeypatch, gap, excess, sinks, touches, expected
):
    """Just outside the border there is no ground to penetrate."""
    found = nearest(monkeypatch, [(gap, excess)], sinks=sinks, touches=touches)
    assert found[0] == expected


@pytest.mark.parametrize(("far", "seen"), [(0.79, [0, 1]), (0.81, [0]), (1.31, [])])
def test_features_beyond_the_nearest_one_are_not_evaluated(monkeypatch, far, seen):
    """Within a limit of 1 m the first is at 0.5 m: the second must begin within 0.5 + 0.3 m."""
    assert nearest(monkeypatch, [(0.5, -1.0), (0.4, -1.0)], limit=1.0, far=far)[2] == seen


def test_only_wheels_without_a_gap_are_searched(monkeypatch):
    """Two states of two wheels; two gaps are known."""
    calls = []
    monkeypatch.setattr(samples, "evaluate_gap", lambda *_: None)
    monkeypatch.setattr(
        samples,
        "find_nearest_of_wheel",
        lambda m, x, near, wheel, limit, sinks, row, gap, point: calls.append((x[0], wheel)),
    )
    gaps, points = np.array([np.inf, 0.1, -0.2, np.inf]), np.ones(12)
    samples.find_nearest(
        make_mode().motion, np.zeros(9), np.array([3.0, 4.0]), np.zeros(4), 2,
        SimpleNamespace(size=2), None, 1.0, False, np.zeros(ROW), gaps, points,
    )  # fmt: skip
    assert calls == [(3.0, 0), (4.0, 1)]
    assert np.isnan(points).tolist() == [True] * 3 + [False] * 6 + [True] * 3


# --- points inside the ground


@pytest.mark.parametrize(
    "axle",
    [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.48, 0.64), (0.64, 0.6, 0.48)],
)
@pytest.mark.parametrize("ring", [0.5, 0.0])
def test_test_points_lie_on_a_circle_about_the_axle(axle, ring):
    """The first point is 0.25 m above the centre; without a ring all points coincide with it."""
    rows = np.array([*axle, 1.0, 2.0, 3.0])
    points = np.zeros((1, 1 + RIM_POINTS, 3))
    start.put_points(
        rows, 6, 3, 0, np.array([ring]), np.array([0.25]), RIM_DIRECTIONS.ravel(), 1, points.ravel()
    )
    first, rim = points[0, 0], points[0, 1:]
    assert first.tolist() == [1.0, 2.0, 3.25]
    centre = np.array([1.0, 2.0, 3.0]) if ring else first
    radius = RIM_RADIUS_RATIO * ring
    assert_allclose(np.linalg.norm(rim - centre, axis=1), radius, atol=1e-15)
    assert_allclose((rim - centre) @ axle, 0.0, atol=1e-15)
    steps_apart = np.linalg.norm(np.roll(rim, 1, axis=0) - rim, axis=1)
    assert_allclose(steps_apart, 2.0 * radius * math.sin(math.pi / RIM_POINTS), atol=1e-12)


@pytest.mark.parametrize(
    ("point", "up", "count"),
    [
        ((0.5, 0.0, 0.5), (0.0, 0.0, 1.0), 1),
        ((0.5, 0.0, 1.5), (0.0, 0.0, 1.0), 0),
        ((0.5, 0.0, -0.5), (0.0, 0.0, 1.0), 0),
        ((1.5, 0.0, 0.5), (0.0, 0.0, 1.0), 0),
        ((1.5, 0.0, 0.5), (-1.0, 0.0, 0.0), 0),
        ((0.5, 0.0, 1.5), (0.0, 0.0, -1.0), 0),
        ((0.5, 0.0, 0.5), (0.0, 0.0, -1.0), 1),
        ((1.0, 0.0, 0.5), (0.0, 0.0, 1.0), 1),
        ((0.5, 0.0, 1.0), (0.0, 0.0, 1.0), 0),
    ],
)
def test_rays_count_the_faces_of_a_slab(point, up, count):
    """Between z = 0 and z = 1 m, for x up to 1 m: a ray that leaves it counts +1, one that enters -1. Feature
    1 of three is no face of the slab.
    """
    numbers = np.zeros((3, 6))
    numbers[0, 2:4], numbers[2, 2] = (1.0, 1.0), -1.0
    borders = np.array([[1.0, 0, 0, 0, 0, 0, 1.0]] * 2)
    counts = np.zeros(1, int)
    start.count_faces(
        numbers.ravel(), borders.ravel(), np.array([0, 1, 1, 2]), np.array([0, 2]), 2,
        np.array(point), 1, np.array(up), counts,
    )  # fmt: skip
    assert counts[0] == count


def test_borders_with_a_normal_bound_rays_too():
    """A N adds 0.4 to the border at x = 1 m: the face ends at 0.6 m."""
    numbers = np.array([0.0, 0, 1, 1, 0, 0])
    borders = np.array([1.0, 0, 0, 0, 0, 0.4, 1.0])
    for x, count in ((0.59, 1), (0.61, 0)):
        counts = np.zeros(1, int)
        start.count_faces(
            numbers, borders, np.array([0, 1]), np.array([0]), 1, np.array([x, 0.0, 0.5]), 1,
            np.array([0.0, 0.0, 1.0]), counts,
        )  # fmt: skip
        assert counts[0] == count


# --- standalone runs


@pytest.mark.parametrize(
    ("stepping", "status", "solved", "added"),
    [(False, 0, True, 2), (False, 1, False, 0), (True, 1, True, 2)],
)
def test_a_standalone_run_is_observed_by_its_method(monkeypatch, stepping, status, solved, added):
    """Time steps have mean forces, and events those of the state, unless it has no solution. The wheel of
    contact 0 has a gap; the nearest feature of wheel 1 is searched.
    """
    s = make_mode([ROLLING, ROLLING])
    s.system.multiplier, s.system.rows = np.array([1.0, 2.0, 3.0]), 3
    s.holds = 1
    found = make_samples(1, wheels=2, owners=2)
    loop = SimpleNamespace(
        arc=SimpleNamespace(
            mode=s, clock=SimpleNamespace(time=3.0), stages=SimpleNamespace(y=np.array([1.0, 2.0])),
            wheels=None,
        ),
        observe=None, table=None, observed=None,
    )  # fmt: skip
    o = SimpleNamespace(
        run=SimpleNamespace(loop=loop, method=SimpleNamespace(is_stepping=stepping)),
        samples=found, x=np.zeros(5), x_rates=3, row=np.zeros(ROW), held=np.zeros(1),
    )  # fmt: skip
    contacts, searched = [], []

    def add(s, samples, i, k):
        contacts.append(k)
        samples.gaps[0] = -0.1

    monkeypatch.setattr(observation, "write_step_forces", lambda o: None)
    monkeypatch.setattr(observation, "solve_rates", lambda *_: status)
    monkeypatch.setattr(observation, "add_contact_observation", add)
    monkeypatch.setattr(observation, "evaluate_gap", lambda *_: None)
    monkeypatch.setattr(
        observation,
        "find_nearest_of_wheel",
        lambda m, x, near, wheel, limit, sinks, *_: searched.append((wheel, sinks)),
    )
    monkeypatch.setattr(observation, "call", lambda *_: None)
    assert observation.observe_contacts(o) == solved
    assert len(contacts) == added
    assert searched == ([(1, stepping)] if added else [(0, stepping), (1, stepping)])
    assert s.plan[CLOSED] == (0 if stepping else 2)
    assert o.held[0] == (0.0 if stepping else 3.0)
