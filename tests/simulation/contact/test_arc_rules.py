"""Rules of the integration of one arc, routine by routine, with numbers by hand: accepted steps, proximity of
features, crossings of guards, grazing contacts, pulls. Routines run as plain Python; what they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.event_driven import arc_integration as arcs
from draisine.simulation.contact.event_driven.arc_integration import (
    EXPLICIT_LIMIT,
    GRAZE_CAPACITY,
    SAME_PATCH_CONTACT,
    SAMPLE_CAPACITY,
    STEP_NODES,
    ArcClock,
    Proximity,
    RunStatus,
)
from draisine.simulation.contact.event_driven.guards import (
    GUARD_NODES,
    INTERPOLATION_BASIS,
    NO_CROSSING,
    NODE_POSITIONS,
    fit_bernstein,
)
from draisine.simulation.contact.event_driven.radau import RADAU_STAGES
from draisine.simulation.contact.kernels import CLOSED, FORM
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances
from draisine.simulation.trajectory import GuardKind

TOL = Tolerances()
GAP, ARMED, POINT, NORMAL, CENTRE, AXLE, ROW = 0, 1, 2, 5, 8, 11, 14
NODES = INTERPOLATION_BASIS[NODE_POSITIONS:]


def make_arc(kinds=(), contacts=1, wheels=1, closed=(), **clock):
    """An arc of a state with two entries, at time 10 s with a step of 0.5 s, and guards of given kinds."""
    count = len(kinds)
    motion = SimpleNamespace(
        tol=TOL, gap=GAP, armed=ARMED, point=POINT, normal=NORMAL, centre=CENTRE, axle=AXLE, row=ROW,
        x_q=1, acted=0,
    )  # fmt: skip
    columns = SimpleNamespace(
        size=contacts,
        bend=np.zeros(contacts),
        wheels=np.zeros(contacts, int),
        patches=np.zeros(contacts, int),
        planes=np.ones(contacts, int),
        moved=np.zeros(contacts, int),
        carried=np.zeros(contacts, int),
        crown=np.zeros(contacts),
        radius=np.full(contacts, 0.3),
        reach=np.full(contacts, 0.1),
        features=np.zeros(contacts * FEATURE),
        low=np.full(3 * contacts, -1.0),
        high=np.full(3 * contacts, 1.0),
    )
    mode = SimpleNamespace(
        motion=motion,
        contacts=columns,
        plan=np.array([len(closed), 0, 0, 0]),
        which=np.array([*closed, 0]),
        status=np.full(len(closed) + 1, Status.ROLLING),
        mu=np.full(len(closed) + 1, 0.5),
        x=np.zeros(12),
        lam=np.zeros(3 * len(closed) + 3),
        seen=np.zeros((len(closed) + 1) * ROW),
        system=SimpleNamespace(motion_only=False),
    )
    stages = SimpleNamespace(
        n=2, y=np.array([1.0, 2.0]), new=np.array([3.0, 4.0]), k=np.zeros(40), errors=np.zeros(2),
        method=np.zeros(400),
    )  # fmt: skip
    values = {"time": 10.0, "step": 0.5, "last_time": 100.0, "longest_step": 100.0}
    values |= {"input_jump": 100.0, "end_time": 100.0, "horizon": 100.0, "part": NO_CROSSING}
    return SimpleNamespace(
        mode=mode,
        stages=stages,
        turning=SimpleNamespace(states=np.zeros(2 * RADAU_STAGES), seen=np.zeros(ROW)),
        wheels=SimpleNamespace(size=wheels),
        inside=np.full(contacts, TOL.border),
        box=np.zeros(6 * wheels),
        swept=np.tile([-1.0] * 3 + [1.0] * 3, wheels),
        near=np.full(contacts, Proximity.NEAR),
        moved=np.zeros(2 * wheels),
        guards=np.array([count, count]),
        live=np.arange(max(count, 1)),
        kinds=np.array(kinds, int),
        contacts=np.zeros(max(count, 1), int),
        borders=np.zeros(max(count, 1), int),
        slack=np.zeros(len(GuardKind)),
        fall=0.5,
        start=10.0,
        dt=0.1,
        basis=INTERPOLATION_BASIS,
        clock=ArcClock(**(values | clock)),
        times=np.zeros(50),
        samples=np.zeros(100),
        places=np.linspace(0.0, 1.0, STEP_NODES),
        node_times=np.zeros(50),
        nodes=np.zeros(100),
        grazes=np.zeros(2 * GRAZE_CAPACITY),
        values=np.zeros(max(count, 1) * GUARD_NODES),
        local=np.zeros(5 * GUARD_NODES),
        state=np.zeros(2),
        rows=np.zeros(2 * ROW + 2 * ROW),
    )


def record(monkeypatch, **given):
    """Replace routines by functions that return given values, one after the other, and return their calls."""
    calls = []
    for name, values in given.items():
        rest = iter(values) if isinstance(values, list) else None

        def replacement(*arguments, name=name, values=values, rest=rest):
            calls.append(name)
            if callable(values):
                return values(*arguments)
            return values if rest is None else next(rest)

        monkeypatch.setattr(arcs, name, replacement)
    return calls


# --- steps


@pytest.mark.parametrize("fails", [False, True])
def test_a_trial_step_is_that_of_the_last_stage_if_all_stages_exist(monkeypatch, fails):
    """Stages lie before the jump of the inputs at 10.2 s, although the middle of the step is at 10.25 s."""
    c = make_arc(last_time=10.2)
    c.stages.method[arcs.NODE_OFFSET :] = 0.5
    into = np.zeros(2)
    stages = []
    monkeypatch.setattr(
        arcs, "compute_stage_state", lambda g, stage, h, x: x.__setitem__(slice(2), 10.0 * stage)
    )

    def flow(s, rates, lam):
        stages.append(s.x[0])
        return int(fails and len(stages) == 3)

    monkeypatch.setattr(arcs, "flow", flow)
    assert arcs.take_trial_step(c, 0.5, into) != fails
    assert into[0] == 10.0 * len(stages)
    assert stages == [10.2] * (3 if fails else arcs.FIRST_DENSE_STAGE - 1)


@pytest.mark.parametrize("fails", [False, True])
def test_an_implicit_step_ends_at_its_last_stage(monkeypatch, fails):
    c = make_arc(is_implicit=True)
    c.turning.states[-2:] = 7.0, 8.0
    into = np.zeros(2)
    record(monkeypatch, solve_collocation=int(fails))
    assert arcs.take_trial_step(c, 0.5, into) != fails
    assert into.tolist() == ([0.0, 0.0] if fails else [7.0, 8.0])


@pytest.mark.parametrize("acted", [0, 1])
def test_steps_need_forces_only_if_tyres_act(monkeypatch, acted):
    c = make_arc()
    c.mode.motion.acted = acted
    needs = []
    monkeypatch.setattr(
        arcs,
        "shorten_step_until_accepted",
        lambda c: needs.append(c.mode.system.motion_only) or RunStatus.SINGULAR,
    )
    assert arcs.take_accepted_step(c) is RunStatus.SINGULAR
    assert needs == [acted == 0]
    assert not c.mode.system.motion_only


def accept(monkeypatch, c, *, errors=(0.5,), trials=True, turning=0.0, singular=False):
    """Shorten the step of an arc with given errors; return the status and the lengths of the trials."""
    lengths = []
    rest = iter(errors)
    record(
        monkeypatch,
        flow=int(singular),
        slip_turning_rate=turning,
        take_trial_step=lambda c, h, into: lengths.append((h, c.clock.is_implicit)) or trials,
        error_norm=lambda *_: next(rest),
        write_dense_output=lambda *_: next(rest),
        step_reduction=0.25,
        step_growth=2.0,
        compute_stage_state=None,
        fit_dense_output=None,
    )
    return arcs.shorten_step_until_accepted(c), lengths


def test_a_step_is_shortened_until_its_error_is_below_one(monkeypatch):
    c = make_arc()
    status, lengths = accept(monkeypatch, c, errors=(1.0, 5.0, 0.99))
    assert status is RunStatus.RESOLVED
    assert [h for h, _ in lengths] == [0.5, 0.125, 0.03125]
    assert (c.clock.step, c.clock.next_step) == (0.03125, 0.0625)


def test_an_error_that_is_no_number_is_not_accepted(monkeypatch):
    c = make_arc()
    _, lengths = accept(monkeypatch, c, errors=(math.nan, 0.5))
    assert [h for h, _ in lengths] == [0.5, 0.125]


def test_a_step_is_limited_by_the_found_features(monkeypatch):
    c = make_arc(longest_step=0.2)
    assert accept(monkeypatch, c)[1] == [(0.2, False)]


def test_contradicting_rows_have_no_step(monkeypatch):
    assert accept(monkeypatch, make_arc(), singular=True)[0] is RunStatus.SINGULAR


@pytest.mark.parametrize(("time", "least"), [(0.0, TOL.shortest_step), (1e6, 1e-8)])
def test_failed_stages_shorten_the_step_down_to_the_shortest(monkeypatch, time, least):
    """By a factor of ten each; at large times the resolution of time, 1e-14 of it, is the limit."""
    c = make_arc(time=time, step=0.5, end_time=2e6, input_jump=2e6)
    status, lengths = accept(monkeypatch, c, trials=False)
    assert status is RunStatus.STEP_TOO_SMALL
    last = lengths[-1][0]
    assert last >= least > 0.1 * last
    assert lengths[1][0] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("jump", "end", "length"),
    [
        (10.504, 100.0, 0.504),
        (10.506, 100.0, 0.5),
        (10.3, 100.0, 0.3),
        (10.504, 10.5, 0.5),
    ],
)
def test_a_step_that_nearly_reaches_a_jump_of_the_inputs_ends_there(monkeypatch, jump, end, length):
    """Within one hundredth of the step of 0.5 s, unless the run ends with the step."""
    c = make_arc(input_jump=jump, end_time=end)
    assert accept(monkeypatch, c)[1][0][0] == pytest.approx(length, abs=1e-12)


@pytest.mark.parametrize(("share", "implicit"), [(0.99, False), (1.01, True)])
def test_fast_turning_slip_directions_need_an_implicit_step(monkeypatch, share, implicit):
    c = make_arc()
    _, lengths = accept(monkeypatch, c, turning=share * EXPLICIT_LIMIT / 0.5)
    assert lengths == [(0.5, implicit)]


# --- values of guards


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (GuardKind.LEAN, 0.5 - 2.0 * (0.1 * 0.2 + 0.3 * 0.4)),
        (GuardKind.OVERTURN, 1.0 - 2.0 * (0.4**2 + 0.1**2)),
        (GuardKind.GAP, 0.25),
        (GuardKind.NORMAL_FORCE, 5.0),
        (GuardKind.DEFLECTION, -0.25),
        (GuardKind.FRICTION_CONE, 0.5 * 5.0 - 2.5),
        (GuardKind.SLIP, 9.0 + 16.0 - TOL.slip_end**2),
        (GuardKind.FOLD, -0.7),
        (GuardKind.BORDER, -0.9),
    ],
)
def test_values_of_guards(monkeypatch, kind, value):
    """At the quaternion (0.3, 0.4, 0.1, 0.2), the gap 0.25, the force (5, 1.5, -2), the slip (3, 4) and the
    excesses 0.7 and 0.9.
    """
    c = make_arc([kind], closed=[0])
    c.mode.x[1:5] = 0.3, 0.4, 0.1, 0.2
    row = np.full(ROW, 0.25)
    record(
        monkeypatch,
        relative_velocity=lambda x, row, m, axis: (0.0, 3.0, 4.0)[axis],
        fold_excess=0.7,
        single_border_excess=0.9,
    )
    found = arcs.guard_value(c, 0, row, np.array([5.0, 1.5, -2.0]))
    assert found == pytest.approx(value, abs=1e-15)


def test_a_lean_to_the_left_falls_as_one_to_the_right():
    c = make_arc([GuardKind.LEAN])
    for sign in (1.0, -1.0):
        c.mode.x[1:5] = math.cos(0.4), sign * math.sin(0.4), 0.0, 0.0
        value = arcs.guard_value(c, 0, np.zeros(ROW), np.zeros(3))
        assert value == pytest.approx(0.5 - math.sin(0.8))


def test_the_gap_guard_of_a_curved_wheel_is_the_change_of_the_squared_distance():
    """A radius of curvature of 2 m and a gap of 1 m: ((2 + 1)^2 - 2^2) / 4."""
    c = make_arc([GuardKind.GAP])
    c.mode.contacts.bend[0] = 2.0
    assert arcs.guard_value(c, 0, np.ones(ROW), np.zeros(3)) == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (GuardKind.LEAN, None),
        (GuardKind.OVERTURN, None),
        (GuardKind.GAP, ("evaluate_gap", 1)),
        (GuardKind.SLIP, ("evaluate_row", 0)),
        (GuardKind.NORMAL_FORCE, ("flow", None)),
        (GuardKind.FRICTION_CONE, ("flow", None)),
        (GuardKind.DEFLECTION, ("evaluate_gap", 0)),
        (GuardKind.BORDER, ("evaluate_gap", 0)),
        (GuardKind.FOLD, ("evaluate_gap", 0)),
    ],
)
def test_a_guard_evaluates_what_it_needs(monkeypatch, kind, call):
    """Guard 0 is about contact 1 if it is open, about entry 1 of the closed contacts (contact 0) if not."""
    c = make_arc([kind], contacts=2, closed=[1, 0])
    c.contacts[0] = 1
    c.mode.lam[3] = 6.0
    seen = []
    monkeypatch.setattr(arcs, "evaluate_gap", lambda x, b, k, row: seen.append(("evaluate_gap", k)))
    monkeypatch.setattr(arcs, "evaluate_row", lambda x, b, k, row: seen.append(("evaluate_row", k)))
    monkeypatch.setattr(arcs, "flow", lambda *_: seen.append(("flow", None)))
    monkeypatch.setattr(arcs, "guard_value", lambda c, j, row, lam: lam[0])
    assert arcs.evaluate_guard(c, 0) == 6.0
    assert seen == ([] if call is None else [call])


# --- motion of wheels


@pytest.mark.parametrize("outside", [None, 0, 4, 8])
def test_a_step_stays_if_all_its_nodes_are_in_the_searched_boxes(monkeypatch, outside):
    """The node in the middle is the reference."""
    c = make_arc(contacts=2)
    nodes = []
    monkeypatch.setattr(arcs, "evaluate_dense", lambda c, part: nodes.append(part))
    references = []

    def extend(c, middle, is_reference):
        references.append(is_reference)
        return nodes[-1] != (None if outside is None else NODES[outside])

    monkeypatch.setattr(arcs, "extend_wheel_motion", extend)
    monkeypatch.setattr(arcs, "find_proximity_of", lambda c, k, middle: (Proximity.BELOW, 0)[k])
    assert arcs.bound_wheel_motion(c) == (outside is None)
    assert sorted(nodes) == pytest.approx(NODES)
    assert references == [True] + [False] * (GUARD_NODES - 1)
    assert nodes[0] == pytest.approx(0.5)
    assert c.near.tolist() == [Proximity.BELOW, Proximity.AWAY]


def wheel_rows(monkeypatch, *places):
    """Let the wheels' centres and axles be given ones."""
    values = iter(places)

    def evaluate(m, x, wheels, rows):
        centre, axle = next(values)
        rows[CENTRE : CENTRE + 3], rows[AXLE : AXLE + 3] = centre, axle

    monkeypatch.setattr(arcs, "evaluate_gaps", evaluate)


def test_bounds_of_a_wheel_contain_all_states(monkeypatch):
    """The centre moves by (0.3, 0, 0.4), then by half of it; the axle turns by (0.03, 0, -0.04)."""
    c = make_arc()
    reference = c.rows[ROW:]
    start, moved = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.0, 0.4])
    axle, turned = np.array([0.0, 1.0, 0.0]), np.array([0.03, 0.0, -0.04])
    wheel_rows(
        monkeypatch,
        (start, axle),
        (start + moved, axle + turned),
        (start - 0.5 * moved, axle - 0.5 * turned),
    )
    c.moved[:], c.box[:] = 99.0, 99.0
    assert arcs.extend_wheel_motion(c, reference, True)
    assert c.box.reshape(2, 3) == pytest.approx(np.array([start, start]))
    assert c.moved == pytest.approx([TOL.gap_search, 0.0])
    assert arcs.extend_wheel_motion(c, reference, False)
    assert arcs.extend_wheel_motion(c, reference, False)
    assert c.box.reshape(2, 3) == pytest.approx(np.array([start - 0.5 * moved, start + moved]))
    assert c.moved == pytest.approx([1.1 * 0.5 + TOL.gap_search, 1.1 * 0.05])


@pytest.mark.parametrize(
    ("place", "stays"),
    [
        ((0.99, 0.0, -0.99), True),
        ((1.01, 0.0, 0.0), False),
        ((0.0, -1.01, 0.0), False),
        ((0.0, 0.0, 1.01), False),
    ],
)
def test_a_wheel_leaves_the_searched_box_along_any_axis(monkeypatch, place, stays):
    """A box from -1 to 1 m; the second wheel stays."""
    c = make_arc(wheels=2)
    wheel_rows(monkeypatch, (place, (0.0, 1.0, 0.0)))
    assert arcs.extend_wheel_motion(c, c.rows[2 * ROW :], True) == stays


@pytest.mark.parametrize("reach", [True, False])
def test_a_contact_out_of_reach_is_away(monkeypatch, reach):
    record(monkeypatch, is_in_reach=reach, classify_proximity=Proximity.BELOW)
    expected = Proximity.BELOW if reach else Proximity.AWAY
    assert arcs.find_proximity_of(make_arc(), 0, None) is expected


@pytest.mark.parametrize(
    ("height", "beside", "expected"),
    [
        (0.52, False, Proximity.AWAY),
        (0.48, False, Proximity.NEAR),
        (0.48, True, Proximity.AWAY),
        (0.12, False, Proximity.NEAR),
        (0.08, False, Proximity.BELOW),
        (0.08, True, Proximity.AWAY),
    ],
)
def test_a_wheel_over_a_face_is_away_near_or_below(monkeypatch, height, beside, expected):
    """A wheel of 0.3 m, upright on a plane: its rim moves by 0.104 m with the centre and by 1.6 * 0.2 * 0.3
    m with the axle, together by 0.2 m.
    """
    c = make_arc()
    c.mode.contacts.features[2] = 1.0
    c.moved[:] = 0.104, 0.2
    middle = np.zeros(ROW)
    middle[ARMED], middle[CENTRE + 2], middle[AXLE + 1] = 1.0, height, 1.0
    record(monkeypatch, stays_beside_face=beside)
    assert arcs.classify_proximity(c, 0, middle) is expected


def test_proximity_counts_the_tilt_of_the_wheel_and_the_curvature_of_a_patch(monkeypatch):
    """A disc leans by 60 degrees: its lowest point is 0.15 m below the centre. The patch differs by 0.1 m."""
    c = make_arc()
    c.mode.contacts.features[[2, 4]] = 1.0, 0.1
    middle = np.zeros(ROW)
    middle[ARMED], middle[AXLE + 1], middle[AXLE + 2] = 1.0, 0.5, math.sqrt(0.75)
    record(monkeypatch, stays_beside_face=False)
    wanted = ((0.26, Proximity.AWAY), (0.24, Proximity.NEAR), (0.06, Proximity.NEAR))
    for height, expected in (*wanted, (0.04, Proximity.BELOW)):
        middle[CENTRE + 2] = height
        assert arcs.classify_proximity(c, 0, middle) is expected


@pytest.mark.parametrize("change", ["moved", "crown", "armed"])
def test_moving_ground_other_shapes_and_feet_in_swing_are_near(monkeypatch, change):
    c = make_arc()
    c.mode.contacts.features[2] = 1.0
    middle = np.zeros(ROW)
    middle[ARMED], middle[CENTRE + 2], middle[AXLE + 1] = 1.0, 9.0, 1.0
    record(monkeypatch, stays_beside_face=False)
    assert arcs.classify_proximity(c, 0, middle) is Proximity.AWAY
    if change == "moved":
        c.mode.contacts.moved[0] = 1
    elif change == "crown":
        c.mode.contacts.crown[0] = math.nan
    else:
        middle[ARMED] = 0.5
    assert arcs.classify_proximity(c, 0, middle) is Proximity.NEAR


def test_edges_are_traced_by_the_distance_of_their_line(monkeypatch):
    """With the crown of 0.02 m and a motion of 0.1 + 1.6 * 0.2 * 0.3 m as the limit, and the ring 0.28 m."""
    c = make_arc()
    c.mode.contacts.planes[0], c.mode.contacts.crown[0], c.moved[:] = 0, 0.02, (0.1, 0.2)
    middle = np.zeros(ROW)
    middle[ARMED] = 1.0
    traced = []
    monkeypatch.setattr(
        arcs,
        "trace_edge_distance",
        lambda tol, b, k, centre, axle, ring, limit: traced.append((ring, limit)) or 2,
    )
    assert arcs.classify_proximity(c, 0, middle) == Proximity.BELOW
    assert traced[0] == pytest.approx((0.28, 0.216))


# --- samples of guards


def test_guards_of_open_contacts_are_live_if_the_contact_is_near(monkeypatch):
    """Of contacts 0 to 2, 1 is away and 2 below; the guards of closed contacts are always live."""
    kinds = [GuardKind.LEAN, *[GuardKind.GAP] * 3, GuardKind.NORMAL_FORCE]
    c = make_arc(kinds, contacts=3, closed=[0])
    c.live = np.zeros(5, int)
    c.contacts[:] = 0, 0, 1, 2, 0
    c.near[:] = Proximity.NEAR, Proximity.AWAY, Proximity.BELOW
    calls = record(
        monkeypatch,
        evaluate_dense=None,
        flow=lambda s, errors, lam: lam.__setitem__(0, 5.0),
        evaluate_closed_gaps=None,
        evaluate_gap=lambda x, b, k, row: row.__setitem__(GAP, 0.25),
        guard_value=lambda c, j, row, lam: lam[0] if c.kinds[j] > GuardKind.GAP else row[GAP],
    )
    arcs.sample_guards(c)
    assert c.live[: c.guards[1]].tolist() == [0, 1, 4]
    values = c.values.reshape(5, GUARD_NODES)
    assert (values[1] == 0.25).all()
    assert (values[4] == 5.0).all()
    assert calls.count("evaluate_closed_gaps") == 0
    c.mode.plan[FORM] = 1
    arcs.sample_guards(c)
    assert calls.count("evaluate_closed_gaps") == GUARD_NODES
    c.mode.plan[CLOSED] = 0
    calls.clear()
    arcs.sample_guards(c)
    assert calls.count("flow") == 0


def test_the_rows_of_contacts_that_slide_with_friction_are_evaluated(monkeypatch):
    """0 rolls, 1 slides with friction, 2 slides without."""
    c = make_arc(contacts=5, closed=[2, 3, 4])
    c.mode.status[:3] = Status.ROLLING, Status.SLIDING, Status.SLIDING
    c.mode.mu[:3] = 0.5, 0.5, 0.0
    seen = []
    monkeypatch.setattr(arcs, "evaluate_gap", lambda x, b, k, row: seen.append(("gap", k)))
    monkeypatch.setattr(arcs, "evaluate_row", lambda x, b, k, row: seen.append(("row", k)))
    arcs.evaluate_closed_gaps(c.mode)
    assert seen == [("gap", 2), ("row", 3), ("gap", 4)]


@pytest.mark.parametrize(
    ("excess", "patch", "continues", "above", "expected"),
    [
        (0.9, 0, False, True, True),
        (1.1, 0, False, True, False),
        (0.9, 0, False, False, False),
        (0.9, 1, True, True, False),
        (0.9, 1, False, True, True),
        (0.9, 0, True, True, True),
    ],
)
def test_a_contact_is_on_its_feature(monkeypatch, excess, patch, continues, above, expected):
    """Within the allowed excess, above the feature, and not the closed contact of a neighbouring patch."""
    c = make_arc()
    c.mode.contacts.patches[0] = patch
    record(
        monkeypatch,
        evaluate_dense=None,
        evaluate_gap=None,
        border_excess=excess * TOL.border,
        continues_closed_contact=continues,
        is_above=above,
    )
    assert arcs.is_on_feature(c, 0, 0.5) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [(None, True), ("far", False), ("wheel", False), ("face", False), ("none", False)],
)
def test_a_contact_continues_a_closed_one_of_its_wheel_on_a_neighbouring_patch(
    monkeypatch, change, expected
):
    """Their points coincide up to a thousandth of the radius of 0.3 m."""
    c = make_arc(contacts=2, closed=[] if change == "none" else [1])
    distance = (1.1 if change == "far" else 0.9) * SAME_PATCH_CONTACT * 0.3
    c.mode.contacts.patches[:] = 1, 0 if change == "face" else 1
    c.mode.contacts.wheels[1] = int(change == "wheel")
    c.rows[POINT : POINT + 3] = 1.0, 2.0, 3.0
    monkeypatch.setattr(
        arcs,
        "evaluate_gap",
        lambda x, b, k, row: row.__setitem__(slice(POINT, POINT + 3), [1.0, 2.0 - distance, 3.0]),
    )
    assert arcs.continues_closed_contact(c, 0) == expected


# --- crossings


def crossing(monkeypatch, f, kind=GuardKind.GAP, begin=0.0, width=1.0, end=1.0, on=True, **clock):
    """Return the crossing of a guard with polynomial f on an interval."""
    c = make_arc([kind], **clock)
    values = np.array([f(x) for x in NODES])
    fit_bernstein(INTERPOLATION_BASIS, values, c.local[GUARD_NODES:])
    monkeypatch.setattr(
        arcs, "is_on_feature", lambda c, k, part: on if isinstance(on, bool) else on(part)
    )
    return arcs.find_crossing(c, 0, values, begin, width, end)


def test_a_guard_fires_at_its_first_zero(monkeypatch):
    assert crossing(monkeypatch, lambda x: 0.4 - x) == pytest.approx(0.4)
    found = crossing(monkeypatch, lambda x: 0.4 - x, begin=0.25, width=0.5)
    assert found == pytest.approx(0.25 + 0.5 * 0.4)
    assert crossing(monkeypatch, lambda x: 0.4 - x, end=0.3) > 0.3
    assert crossing(monkeypatch, lambda x: 1.4 - x) == NO_CROSSING


def test_a_gap_fires_where_the_contact_is_on_its_feature(monkeypatch):
    """It closes at 0.2, opens at 0.4 and closes at 0.8. Guards of other kinds fire at their first zero."""

    def f(x):
        return -(x - 0.2) * (x - 0.4) * (x - 0.8)

    def on(part):
        return part > 0.5

    assert crossing(monkeypatch, f, on=on) == pytest.approx(0.8)
    assert crossing(monkeypatch, f, on=False) == NO_CROSSING
    assert crossing(monkeypatch, f, GuardKind.NORMAL_FORCE, on=on) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("slope", "kind", "is_first", "expected"),
    [
        (-1.0, GuardKind.NORMAL_FORCE, False, 0.0),
        (1.0, GuardKind.NORMAL_FORCE, False, NO_CROSSING),
        (1.0, GuardKind.FRICTION_CONE, False, NO_CROSSING),
        (1.0, GuardKind.FRICTION_CONE, True, 0.0),
        (1.0, GuardKind.NORMAL_FORCE, True, NO_CROSSING),
        (-1.0, GuardKind.GAP, True, NO_CROSSING),
    ],
)
def test_a_guard_that_is_negative_at_the_start_fires_if_it_decreases(
    monkeypatch, slope, kind, is_first, expected
):
    """A force outside its cone at the start of an arc slips at once. A deep gap does not fire."""
    found = crossing(monkeypatch, lambda x: -2.0 + slope * x, kind, is_first=is_first)
    assert found == expected


def test_a_guard_that_is_negative_at_the_start_fires_after_it_was_positive(monkeypatch):
    """Positive between 0.3 and 0.6."""
    found = crossing(monkeypatch, lambda x: -(x - 0.3) * (x - 0.6), GuardKind.SLIP)
    assert found == pytest.approx(0.6)


def test_later_intervals_do_not_fire_at_their_start(monkeypatch):
    found = crossing(monkeypatch, lambda x: -2.0 - x, GuardKind.SLIP, begin=0.5, width=0.5)
    assert found == NO_CROSSING


@pytest.mark.parametrize(
    ("share", "on", "expected"),
    [(0.9, True, 0.0), (1.1, True, NO_CROSSING), (0.9, False, NO_CROSSING)],
)
def test_a_contact_that_has_just_opened_closes_at_once(monkeypatch, share, on, expected):
    depth = share * TOL.gap_opened
    found = crossing(monkeypatch, lambda x: -depth - 1e-6 * x, on=on)
    assert found == expected


def test_a_gap_that_just_opened_fires_when_it_is_smaller_than_at_the_start(monkeypatch):
    """It begins at -1e-10, rises by less and is back at 0.4; its zero of the first interval is scaled."""

    def f(x):
        return -1e-10 + 1e-10 * x * (0.4 - x)

    assert crossing(monkeypatch, f) == pytest.approx(0.4)
    assert crossing(monkeypatch, f, width=0.5) == pytest.approx(0.2)
    assert crossing(monkeypatch, lambda x: -1e-10 + 1e-10 * x * (1.4 - x)) == NO_CROSSING


@pytest.mark.parametrize(
    ("kind", "on", "expected"),
    [
        (GuardKind.NORMAL_FORCE, False, 0.3),
        (GuardKind.GAP, True, 0.3),
        (GuardKind.GAP, False, NO_CROSSING),
    ],
)
def test_bisection_finds_the_sign_change_of_any_function(monkeypatch, kind, on, expected):
    """A jump from 1 to -1 at 0.3, with the border on the feature for gaps."""
    c = make_arc([kind])
    record(
        monkeypatch,
        evaluate_guard_at=lambda c, j, part: 1.0 if part < 0.3 else -1.0,
        is_on_feature=on,
    )
    assert arcs.bisect_crossing(c, 0, 0.25, 0.25) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    ("first", "last", "crosses"),
    [(1.0, -0.3, True), (1.0, -0.1, False), (-0.3, -0.4, False), (-0.1, -0.3, True), (1, 1, False)],
)
def test_bisection_needs_a_sign_change_beyond_the_tolerance(monkeypatch, first, last, crosses):
    """Of 0.2."""
    c = make_arc([GuardKind.SLIP])
    c.slack[GuardKind.SLIP] = 0.2
    record(monkeypatch, evaluate_guard_at=lambda c, j, part: first + (last - first) * part)
    assert (arcs.bisect_crossing(c, 0, 0.0, 1.0) != NO_CROSSING) == crosses


def first_crossing(monkeypatch, f, before=1.0, kind=GuardKind.SLIP, slack=0.0):
    """Return the first crossing of a guard with values f, and the number of its evaluations."""
    c = make_arc([kind])
    c.slack[:] = slack
    c.values[:] = [f(x) for x in NODES]
    calls = record(monkeypatch, evaluate_guard_at=lambda c, j, part: f(part), is_on_feature=True)
    return arcs.find_first_crossing(c, 0, before), calls.count("evaluate_guard_at")


def test_an_accurate_polynomial_needs_no_more_values(monkeypatch):
    small = 1e-9
    assert first_crossing(monkeypatch, lambda x: 0.4 - x, slack=small) == (pytest.approx(0.4), 0)
    assert first_crossing(monkeypatch, lambda x: 1.4 - x, slack=small) == (NO_CROSSING, 0)
    assert first_crossing(monkeypatch, lambda x: 0.4 - x, before=0.3, slack=small)[0] > 0.3


def test_a_guard_without_a_polynomial_is_bisected_in_ever_shorter_intervals(monkeypatch):
    """A jump at 0.7; and a kink whose tail is far below its values, which excludes a zero at once."""

    def jump(x):
        return 1.0 if x < 0.7 else -1.0

    found, count = first_crossing(monkeypatch, jump)
    assert found == pytest.approx(0.7, abs=1e-12)
    assert count > GUARD_NODES
    assert first_crossing(monkeypatch, lambda x: 9.0 + abs(x - 0.4)) == (NO_CROSSING, 0)


def test_a_guard_that_does_not_exist_on_a_part_of_the_step_fires_beside_it(monkeypatch):
    """It is no number until 0.5 and negative from 0.75 on; where it never exists it does not fire."""

    def f(x):
        return math.nan if x < 0.5 else 0.75 - x

    found, _ = first_crossing(monkeypatch, f)
    assert found == pytest.approx(0.75)
    assert first_crossing(monkeypatch, lambda x: math.nan) == (NO_CROSSING, 0)


@pytest.mark.parametrize(("share", "crosses"), [(0.9, False), (1.1, True)])
def test_a_guard_fires_beyond_its_tolerance(monkeypatch, share, crosses):
    """A dip in the middle of the step."""
    found, _ = first_crossing(
        monkeypatch, lambda x: 4.0 * (x - 0.5) ** 2 - 0.01 * share, slack=0.01
    )
    assert (found != NO_CROSSING) == crosses


def test_crossings_within_the_resolution_are_at_the_start(monkeypatch):
    assert first_crossing(monkeypatch, lambda x: 5e-14 - x)[0] == 0.0


def test_the_first_of_all_guards_fires(monkeypatch):
    """Guard 0 is not live; of guards 1 to 3 the third is first. Later guards search only before it."""
    c = make_arc([GuardKind.SLIP] * 4)
    c.live[:3], c.guards[1] = (1, 2, 3), 3
    befores = []
    parts = {1: 0.5, 2: 0.2, 3: 0.2}
    monkeypatch.setattr(
        arcs, "find_first_crossing", lambda c, j, before: befores.append(before) or parts[j]
    )
    assert arcs.find_first_event(c) == 2
    assert c.clock.part == 0.2
    assert befores == [NO_CROSSING, 0.5, 0.2]
    parts.update(dict.fromkeys(parts, NO_CROSSING))
    assert arcs.find_first_event(c) == -1
    assert c.clock.part == NO_CROSSING


# --- grazing contacts, penetrations


def graze(monkeypatch, f, until=1.0, kind=GuardKind.GAP, on=True, grazes=0):
    """Return times and contacts of the grazes of a guard with values f."""
    c = make_arc([kind], contacts=4, grazes=grazes)
    c.contacts[0] = 3
    c.values[:] = [f(x) for x in NODES]
    record(monkeypatch, is_on_feature=on)
    arcs.record_grazing(c, until)
    return [tuple(g) for g in c.grazes.reshape(-1, 2)[grazes : c.clock.grazes]]


@pytest.mark.parametrize(
    ("share", "grazes"), [(0.9, True), (1.1, False), (-0.9, True), (-1.1, False)]
)
def test_a_gap_with_a_small_minimum_grazes(monkeypatch, share, grazes):
    """At 0.4 of the step of 0.5 s from 10 s."""
    found = graze(monkeypatch, lambda x: (x - 0.4) ** 2 + share * TOL.gap_grazing)
    if grazes:
        assert found == [(pytest.approx(10.2, abs=1e-4), 3.0)]
    else:
        assert found == []


@pytest.mark.parametrize(
    "change",
    [
        {"until": 0.3},
        {"kind": GuardKind.SLIP},
        {"on": False},
        {"grazes": GRAZE_CAPACITY},
    ],
)
def test_minima_that_are_no_grazes(monkeypatch, change):
    """Behind the event, of another guard, beside the feature, or too many."""
    assert graze(monkeypatch, lambda x: (x - 0.4) ** 2, **change) == []


@pytest.mark.parametrize("position", [-0.1, 1.1])
def test_the_end_of_a_step_is_no_minimum(monkeypatch, position):
    small = 1e-3 * TOL.gap_grazing
    assert graze(monkeypatch, lambda x: small * (x - position) ** 2) == []


@pytest.mark.parametrize(("share", "grazes"), [(0.5, 0), (2.0, 1)])
def test_a_dip_within_the_tolerance_of_the_guard_is_rounding(monkeypatch, share, grazes):
    """The gap falls by a share of the tolerance from its value at the start."""
    depth = share * TOL.gap_guard
    found = graze(monkeypatch, lambda x: 4.0 * depth * ((x - 0.5) ** 2 - 0.25))
    assert len(found) == grazes


@pytest.mark.parametrize(
    ("gap", "excess", "above", "near", "expected"),
    [
        (-1.1 * TOL.gap_penetration, -2.0, True, Proximity.NEAR, 1),
        (-0.9 * TOL.gap_penetration, -2.0, True, Proximity.NEAR, -1),
        (-0.11, -2.0, True, Proximity.NEAR, -1),
        (-0.09, -2.0, True, Proximity.NEAR, 1),
        (-0.05, -0.5, True, Proximity.NEAR, -1),
        (-0.05, -2.0, False, Proximity.NEAR, -1),
        (-0.05, -2.0, True, Proximity.AWAY, -1),
        (-0.05, -2.0, True, Proximity.BELOW, 1),
    ],
)
def test_a_contact_penetrates_inside_its_borders(monkeypatch, gap, excess, above, near, expected):
    """Up to the reach of 0.1 m: a deeper wheel is below the ground. Contact 0 is open."""
    c = make_arc(contacts=2)
    c.near[1] = near
    monkeypatch.setattr(arcs, "evaluate_dense", lambda *_: None)
    monkeypatch.setattr(
        arcs, "evaluate_gap", lambda x, b, k, row: row.__setitem__(GAP, (1.0, gap)[k])
    )
    record(monkeypatch, border_excess=excess * TOL.border_inside, is_above=above)
    assert arcs.find_penetration(c, 1.0) == expected


# --- pulls and events


@pytest.mark.parametrize(("length", "end"), [(0.5, 3.0), (0.25, 8.0)])
def test_the_end_of_a_whole_step_is_known(monkeypatch, length, end):
    """A shorter step is repeated; the result is projected."""
    c = make_arc()
    record(
        monkeypatch,
        take_trial_step=lambda c, h, into: into.__setitem__(slice(2), [8.0, 9.0]),
        project_state=lambda s: s.x.__setitem__(2, 7.0),
    )
    arcs.project_step_end(c, length)
    assert c.mode.x[0] == 10.0 + length
    assert c.state.tolist() == [end, 7.0]


@pytest.mark.parametrize(
    ("forces", "expected"),
    [((-0.9, 1.0, -0.5), -1), ((1.0, -1.1, 0.0), 1), ((-2.0, -4.0, -3.0), 1)],
)
def test_the_contact_that_pulls_most(monkeypatch, forces, expected):
    """In tolerances; the state is evaluated before the jump of the inputs."""
    c = make_arc(contacts=3, closed=[0, 1, 2], last_time=10.2)
    c.mode.lam[:9:3] = TOL.pull * np.array(forces)
    c.mode.x[0] = 10.3
    record(monkeypatch, flow=0)
    assert arcs.find_pulling_contact(c) == expected
    assert c.mode.x[0] == 10.2


def located(monkeypatch, f, part, kind=GuardKind.SLIP):
    """Return the time to the event of a guard with the value f(time), and the fractions of the slope."""
    c = make_arc([kind], part=part)
    fractions = []
    record(
        monkeypatch,
        evaluate_guard_at=lambda c, j, share: fractions.append(share) or f(share * 0.5),
        project_step_end=lambda c, h: setattr(c, "h", h),
        evaluate_guard=lambda c, j: f(c.h),
    )
    return arcs.locate_event(c, 0), fractions, c


def test_an_event_is_located_by_newtons_method(monkeypatch):
    """The dense output has its zero at 0.4 s, the projected state at 0.4 + 1e-6 s."""
    found, fractions, _ = located(monkeypatch, lambda t: 3.0 * (0.400001 - t), 0.8)
    assert found == pytest.approx(0.400001, abs=1e-12)
    assert fractions == pytest.approx([0.8, 0.8 - 1e-4])


def test_the_slope_of_a_border_is_taken_behind_it(monkeypatch):
    _, fractions, _ = located(monkeypatch, lambda t: 0.4 - t, 0.8, GuardKind.BORDER)
    assert fractions == pytest.approx([0.8, 0.8 + 1e-4])
    _, fractions, _ = located(monkeypatch, lambda t: 2.5e-5 - t, 5e-5)
    assert fractions == pytest.approx([5e-5, 4.5e-5])


def test_an_event_at_the_start_keeps_the_state(monkeypatch):
    found, fractions, c = located(monkeypatch, lambda t: -1.0, 0.0)
    assert (found, fractions) == (0.0, [])
    assert c.state.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("value", "expected"), [(1e9, 0.5), (-1e9, 0.0)])
def test_an_event_stays_within_its_step(monkeypatch, value, expected):
    found, _, _ = located(monkeypatch, lambda t: value - t, 0.8)
    assert found == expected


def test_a_guard_without_slope_is_where_the_polynomial_has_its_zero(monkeypatch):
    assert located(monkeypatch, lambda t: 5.0, 0.8)[0] == 0.4


def test_the_last_push_is_found_by_bisection(monkeypatch):
    record(monkeypatch, find_pull_after_step=lambda c, h: -1 if h <= 0.3 else 0)
    assert arcs.find_last_push(make_arc(), 0.5) == pytest.approx(0.3, abs=1e-15)
    record(monkeypatch, find_pull_after_step=2)
    assert arcs.find_last_push(make_arc(), 0.5) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(
    ("speeds", "expected"), [((0.9, 0.9), 1), ((1.1, 0.9), 2), ((1.1, 1.1), -1)]
)
def test_the_first_contact_that_creeps(monkeypatch, speeds, expected):
    """Guards 1 and 2 are about slip, of closed contacts 0 and 1."""
    c = make_arc([GuardKind.GAP, GuardKind.SLIP, GuardKind.SLIP], contacts=2, closed=[0, 1])
    c.contacts[:] = 0, 0, 1
    record(
        monkeypatch,
        evaluate_row=lambda x, b, k, row: row.__setitem__(0, speeds[k] * TOL.slip_detected),
        slip_speed=lambda x, row, motion: row[0],
    )
    assert arcs.find_creeping_contact(c) == expected


@pytest.mark.parametrize(
    ("closed", "delay", "pulls", "jump", "creeps", "expected"),
    [
        ([0, 1], 0.4, 1, 2.0, -1, (RunStatus.PULL, 1, 0.2)),
        ([0, 1], 0.4, 1, 2.0, 5, (RunStatus.EVENT, 5, 0.2)),
        ([0, 1], 0.4, 1, 2.0, 0, (RunStatus.EVENT, 0, 0.2)),
        ([0, 1], 0.4, 1, 0.5, -1, (RunStatus.EVENT, 7, 0.2)),
        ([0, 1], 0.4, -1, 2.0, -1, (RunStatus.EVENT, 7, 0.4)),
        ([0, 1], 0.0, 1, 2.0, -1, (RunStatus.EVENT, 7, 0.0)),
        ([], 0.4, 1, 2.0, -1, (RunStatus.EVENT, 7, 0.4)),
    ],
)
def test_a_force_that_jumps_to_a_pull_precedes_the_event(
    monkeypatch, closed, delay, pulls, jump, creeps, expected
):
    """The contact pushes until 0.2 s, where its force is a multiple of the bound of jumps. A creeping contact
    sticks instead.
    """
    c = make_arc(contacts=2, closed=closed)
    if closed:
        c.mode.lam[3] = jump * TOL.force_jump
    kept = []
    record(
        monkeypatch,
        locate_event=delay,
        find_pulling_contact=pulls,
        find_last_push=0.2,
        find_pull_after_step=-1,
        find_creeping_contact=creeps,
        record_samples=lambda c, until: kept.append(until),
    )
    status = arcs.finish_step_at_event(c, 7)
    assert (status, c.clock.subject, c.clock.event_delay) == expected
    assert kept == [c.clock.event_delay]


@pytest.mark.parametrize(("guard", "creeps"), [(0, True), (3, True), (-1, False)])
def test_a_creeping_contact_is_the_cause_of_an_event_at_once(monkeypatch, guard, creeps):
    c = make_arc(event_delay=9.0)
    record(monkeypatch, find_creeping_contact=guard)
    assert arcs.stick_if_creeping(c) == creeps
    assert (c.clock.subject, c.clock.event_delay) == (guard, 0.0)
    assert c.state.tolist() == [1.0, 2.0]


# --- samples, steps of an arc


@pytest.mark.parametrize(
    ("until", "times"),
    [
        (0.25, [10.1, 10.2]),
        (0.2, [10.1]),
        (0.2001, [10.1, 10.2]),
        (0.05, []),
    ],
)
def test_samples_lie_within_a_step(monkeypatch, until, times):
    """Every 0.1 s from 10 s on. That at the start is known, that at the end belongs to the next step."""
    c = make_arc()
    record(monkeypatch, evaluate_dense_output=lambda g, part, into: into.__setitem__(0, part))
    arcs.record_samples(c, until)
    assert c.times[: c.clock.samples] == pytest.approx(times)
    shares = [(t - 10.0) / 0.5 for t in times]
    assert c.samples[: 2 * c.clock.samples : 2] == pytest.approx(shares)


@pytest.mark.parametrize(("until", "count"), [(0.25, STEP_NODES), (0.0, 0), (-0.1, 0)])
def test_dense_output_is_kept_for_steps_with_a_length(monkeypatch, until, count):
    c = make_arc(last_time=10.2)
    parts = []
    record(monkeypatch, evaluate_dense_output=lambda g, part, into: parts.append(part))
    arcs.record_nodes(c, until)
    assert c.clock.nodes == count
    assert parts == pytest.approx(np.linspace(0.0, 0.5, STEP_NODES)[:count])
    assert c.node_times[:count] == pytest.approx(
        np.minimum(10.0 + np.linspace(0.0, 0.25, STEP_NODES), 10.2)[:count]
    )


def integrate(monkeypatch, c, limit=1, **given):
    """Integrate an arc whose steps are accepted without event, unless other results are given."""
    values = {
        "stick_if_creeping": False,
        "take_accepted_step": RunStatus.RESOLVED,
        "bound_wheel_motion": True,
        "sample_guards": None,
        "find_first_event": -1,
        "find_penetration": -1,
        "record_grazing": None,
        "finish_step_at_event": RunStatus.EVENT,
        "record_samples": None,
        "project_step_end": None,
    }
    c.clock.next_step = c.clock.step
    calls = record(monkeypatch, **(values | given))
    return arcs.integrate_arc(c, limit), calls


def test_steps_without_event_advance_until_the_limit(monkeypatch):
    c = make_arc(is_first=True)
    c.state[:] = 5.0, 6.0
    status, _ = integrate(monkeypatch, c, 3)
    assert status is RunStatus.PAUSED
    assert (c.clock.time, c.clock.steps, c.clock.is_first) == (11.5, 3, False)
    assert c.stages.y.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("given", "clock", "expected"),
    [
        ({"take_accepted_step": RunStatus.STEP_TOO_SMALL}, {}, RunStatus.STEP_TOO_SMALL),
        ({"bound_wheel_motion": False}, {}, RunStatus.OUTSIDE_SEARCH),
        ({}, {"horizon": 10.4}, RunStatus.OUTSIDE_SEARCH),
        ({"find_first_event": 3}, {}, RunStatus.EVENT),
        ({"find_first_event": 0}, {}, RunStatus.EVENT),
        ({}, {"input_jump": 10.5}, RunStatus.ARC_END),
        ({}, {"input_jump": 10.6}, RunStatus.PAUSED),
        ({}, {"end_time": 10.5}, RunStatus.ARC_END),
    ],
)
def test_an_arc_ends_for_a_reason(monkeypatch, given, clock, expected):
    assert integrate(monkeypatch, make_arc(**clock), **given)[0] is expected


@pytest.mark.parametrize(
    ("share", "creeps", "expected"),
    [(0.9, True, RunStatus.EVENT), (1.1, True, RunStatus.PAUSED), (0.9, False, RunStatus.PAUSED)],
)
def test_very_short_steps_end_at_a_creeping_contact(monkeypatch, share, creeps, expected):
    c = make_arc(step=share * TOL.creep_step)
    assert integrate(monkeypatch, c, stick_if_creeping=creeps)[0] is expected


def test_a_step_with_a_penetration_is_repeated_with_a_fifth_of_its_length(monkeypatch):
    c = make_arc()
    status, calls = integrate(monkeypatch, c, 2, find_penetration=[4, -1])
    assert status is RunStatus.PAUSED
    assert calls.count("take_accepted_step") == 2
    assert (c.clock.time, c.clock.subject) == (10.1, 4)
    c = make_arc()
    status, _ = integrate(monkeypatch, c, 1000, find_penetration=4)
    assert status is RunStatus.PENETRATION
    assert c.clock.step < TOL.penetration_step < 5.1 * c.clock.step


@pytest.mark.parametrize(
    ("part", "event", "until", "expected"),
    [
        (NO_CROSSING, -1, 0.6, RunStatus.ARC_END),
        (0.7, 2, 0.6, RunStatus.ARC_END),
        (0.5, 2, 0.5, RunStatus.EVENT),
    ],
)
def test_a_step_beyond_the_end_is_repeated_up_to_it(monkeypatch, part, event, until, expected):
    """The run ends after 0.3 s, at 0.6 of the step; an event before the end comes first."""
    c = make_arc(end_time=10.3)
    grazes = []

    def find(c):
        c.clock.part = part
        return event

    status, calls = integrate(
        monkeypatch,
        c,
        find_first_event=find,
        record_grazing=lambda c, until: grazes.append(until),
    )
    assert status is expected
    assert grazes == [pytest.approx(until)]
    assert calls.count("take_accepted_step") == (2 if expected is RunStatus.ARC_END else 1)
    if expected is RunStatus.ARC_END:
        assert c.clock.time == 10.3


def test_the_repeated_last_step_may_fail(monkeypatch):
    results = [RunStatus.RESOLVED, RunStatus.SINGULAR]
    c = make_arc(end_time=10.3)
    found = integrate(monkeypatch, c, take_accepted_step=results)[0]
    assert found is RunStatus.SINGULAR


@pytest.mark.parametrize("counter", ["samples", "nodes"])
@pytest.mark.parametrize(
    ("kept", "steps"), [(SAMPLE_CAPACITY // 2, 3), (SAMPLE_CAPACITY // 2 + 1, 1)]
)
def test_an_arc_pauses_when_half_of_its_storage_is_full(monkeypatch, counter, kept, steps):
    c = make_arc(**{counter: kept})
    assert integrate(monkeypatch, c, 3)[0] is RunStatus.PAUSED
    assert c.clock.steps == steps


# --- reach


@pytest.mark.parametrize(
    ("centre", "plane", "change", "reach"),
    [
        ((0.0, 0.0, 1.29), 1, None, True),
        ((0.0, 0.0, 1.31), 1, None, False),
        ((-1.31, 0.0, 0.0), 1, None, False),
        ((1.2, 1.2, 1.0), 1, None, True),
        ((1.22, 1.22, 1.0), 1, None, False),
        ((1.31, 0.0, 0.0), 1, "radius", True),
        ((0.9, 0.0, 0.0), 0, None, False),
        ((0.9, 0.0, 0.0), 0, "moved", True),
        ((0.9, 0.0, 0.0), 0, "carried", True),
        ((0.9, 0.9, 0.29), 0, None, True),
        ((0.9, 0.9, 0.31), 0, None, False),
    ],
)
def test_features_are_in_reach_of_a_wheel(centre, plane, change, reach):
    """Of a wheel of 0.3 m, for a feature in a cube from -1 to 1 m. An edge through the cube, along (1, 1, 0),
    must be near itself, unless it moves.
    """
    c = make_arc()
    contacts = c.mode.contacts
    contacts.planes[0] = plane
    contacts.features[3:5] = math.sqrt(0.5)
    if change == "radius":
        contacts.radius[0] = math.inf
    elif change:
        getattr(contacts, change)[0] = 1
    c.box[:] = [*centre, *centre]
    assert arcs.is_in_reach(TOL, contacts, c.box, 0) == reach


@pytest.mark.parametrize(("distance", "reach"), [(0.339, True), (0.341, False)])
def test_the_reach_grows_with_the_box_of_the_centre(distance, reach):
    """By a tenth of its longest side, here 0.4 m: between nodes the centre may lie outside the box."""
    c = make_arc()
    c.box[:] = -0.4, 0.0, 1.0 + distance, 0.0, 0.0, 1.1 + distance
    assert arcs.is_in_reach(TOL, c.mode.contacts, c.box, 0) == reach


@pytest.mark.parametrize(("height", "reach"), [(0.63, True), (0.65, False)])
def test_an_edge_is_in_reach_of_the_middle_of_a_box(height, reach):
    """Within the reach of 0.3 + 0.04 m and half the diagonal of 0.6 m, from a box of 0.4 x 0.4 x 0.2 m."""
    c = make_arc()
    c.mode.contacts.planes[0], c.mode.contacts.features[3] = 0, 1.0
    low = np.array([0.0, -0.2, height - 0.1])
    c.box[:] = [*low, *(low + [0.4, 0.4, 0.2])]
    assert arcs.is_in_reach(TOL, c.mode.contacts, c.box, 0) == reach
