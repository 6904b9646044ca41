"""Rules of single routines, with numbers by hand: friction drag, friction margin, first slip, impacts by
sets, surroundings, tyre forces of samples, time steps.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ContactSetError, SimulationError
from draisine.mechanics.contact.features import FEATURE, LOAD
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.simulation.contact.arc import UnilateralArc
from draisine.simulation.contact.complementarity.active_set import (
    CONTACTS,
    Candidate,
    Trial,
    make_choice,
)
from draisine.simulation.contact.complementarity.sharing import FRICTION_MARGIN, has_margin
from draisine.simulation.contact.event_driven import events
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.event_driven.events import SlipPlan
from draisine.simulation.contact.event_driven.impact import (
    IMPULSE_ENTRIES,
    assemble_impact,
    solve_impact_by_sets,
)
from draisine.simulation.contact.event_driven.rank import Rank
from draisine.simulation.contact.failures import find_failure
from draisine.simulation.contact.kernels import update_tyre_load
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.samples import add_generalised_force, box_distance
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.arc import REST_SPEED_RATIO, TimeStepper
from draisine.simulation.contact.stepping.grid import ADAPT_STEPS
from draisine.simulation.contact.table import shared_pair_table
from draisine.simulation.contact.tolerances import Tolerances, cached_machine_units
from draisine.simulation.options import ContactOptions
from draisine.system.generic import make_generic
from draisine.terrain import Terrain, face, move_ground, plane
from draisine.terrain.motions import Slide
from simulation.contact.conftest import bicycle, classify_rank

TOL = Tolerances()
KEY = ("wheel", "ground")


# --- candidates of an impact


def candidate(status, mu):
    """A contact of a body with three translations: normal z, along x, across y."""
    C = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return Candidate(KEY, C, np.zeros(3), np.zeros(3), mu, status)


def test_friction_of_a_sliding_contact_acts_against_its_slip():
    """With mu 0.5 and a slip of (3, 4), a unit of load drags with (-0.3, -0.4)."""
    column = candidate(Status.SLIDING, 0.5).column(np.array([3.0, 4.0, 0.0]))
    assert_allclose(column[:, 0], [-0.3, -0.4, 1.0])
    assert column.shape == (3, 1)


@pytest.mark.parametrize(
    ("status", "mu", "slip"),
    [
        (Status.SLIDING, 0.5, 0.0),
        (Status.SLIDING, 0.0, 2.0),
        (Status.ROLLING, 0.5, 2.0),
        (Status.ROLLING, np.inf, 2.0),
        (Status.TYRE, 0.0, 2.0),
    ],
)
def test_no_other_contact_drags(status, mu, slip):
    column = candidate(status, mu).column(np.array([slip, 0.0, 0.0]))
    assert_allclose(column[:, 0], [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("load", "separation", "reason"),
    [(-1.0, 1.0, "a:b would pull"), (1.0, -1.0, "c:d would sink"), (1.0, 1.0, "contradict")],
)
def test_the_refusal_of_a_set_names_the_contact_that_pulls_or_sinks(load, separation, reason):
    closed, opened = ("a", "b"), ("c", "d")
    pushes = {closed: np.array([load, 0.0, 0.0])}
    trial = Trial((closed,), pushes, {opened: separation}, np.zeros(1), False)
    assert reason in trial.refusal
    assert trial.refusal.startswith("with a:b closed")


# --- friction margin


@pytest.mark.parametrize(
    ("force", "status", "expected"),
    [
        ((1.0, 0.0, 0.0), Status.ROLLING, True),
        ((1.0, 0.5 - 2.0 * FRICTION_MARGIN, 0.0), Status.ROLLING, True),
        ((1.0, 0.0, 0.5), Status.ROLLING, False),
        ((1.0, 0.3, 0.45), Status.ROLLING, False),
        ((1.0, 0.0, 0.5), Status.SLIDING, True),
        ((2.0, 0.0, 0.9), Status.ROLLING, True),
        ((-1.0, 0.0, 0.0), Status.SLIDING, False),
    ],
)
def test_a_margin_is_missing_near_the_cone_of_a_sticking_contact_or_at_a_pull(
    force, status, expected
):
    """With mu 0.5 and a margin of one hundredth of the largest force."""
    normals, statuses = np.array([0]), np.array([status])
    assert has_margin(np.array(force), 3, normals, statuses, np.array([0.5]), 1) == expected


# --- first slip


N = 3
C, NORMAL_C = 0, 9


def slip_event(vdot=(0.0, 0.0, 0.0), speeds=(0.0, 0.0, 0.0)):
    """A candidate of a body with three translations: normal z, along x, across y; its row is C, c, b."""
    row = np.zeros(15)
    row[:9] = [0, 0, 1, 1, 0, 0, 0, 1, 0]
    motion = SimpleNamespace(tol=TOL, C=C, c=NORMAL_C, b=12, row=15, speeds=N, x_v=0)
    return SimpleNamespace(
        mode=SimpleNamespace(motion=motion, x=np.array(speeds, float)),
        choice=SimpleNamespace(n=N, x=np.array(vdot, float)),
        rows=row,
        sizes=np.array([1, 1]),
        slip_directions=np.zeros(2),
        slip_plan=np.array([SlipPlan.NOTHING]),
        status=np.array([Status.ROLLING]),
        choice_index=np.array([0]),
        chosen=np.array([0]),
    )


def test_slip_begins_along_the_acceleration_of_the_contact_point():
    e = slip_event(vdot=(2.0, -1.0, 0.0))
    events.begin_slip(e, 0, np.array([1.0, -0.3, 0.4]))
    assert_allclose(e.slip_directions, [2.0, -1.0])
    assert e.slip_plan[0] == SlipPlan.BEGIN
    assert e.status[0] == Status.SLIDING


def test_slip_without_acceleration_begins_against_friction():
    """Friction (-3, 4) of size 5 is opposed by the direction (0.6, -0.8)."""
    e = slip_event()
    events.begin_slip(e, 0, np.array([10.0, -3.0, 4.0]))
    assert_allclose(e.slip_directions, [0.6, -0.8])


@pytest.mark.parametrize("force", [(0.5 * TOL.no_load, 1.0, 0.0), (1.0, 0.0, 0.0)])
def test_a_contact_without_load_or_friction_does_not_begin_to_slip(force):
    e = slip_event(vdot=(2.0, 0.0, 0.0))
    events.begin_slip(e, 0, np.array(force))
    assert e.slip_plan[0] == SlipPlan.NOTHING
    assert e.status[0] == Status.ROLLING


@pytest.mark.parametrize(
    ("approach", "plan"), [(2.0, SlipPlan.NOTHING), (0.5, SlipPlan.WATCH), (-1.0, SlipPlan.WATCH)]
)
def test_open_contacts_that_do_not_approach_yet_are_watched(approach, plan):
    """In units of the tolerance; nothing is closed, so that no speed changes."""
    e = slip_event(speeds=(0.0, 0.0, -approach * TOL.no_approach))
    events.apply_slip_onset(e)
    assert e.slip_plan[0] == plan


# --- impacts by sets


def test_impulses_of_an_impact_belong_to_their_contacts():
    """Two balls of 2 and 3 kg hit the ground at 1 and 2 m/s with e = 0.5: impulses (1 + e) m v."""
    n = 2
    masses, speeds = np.array([2.0, 3.0]), np.array([-1.0, -2.0])
    choice = make_choice(n, 0, 2)
    rows = np.zeros((2, 3 * n + 6))
    rows[0, 0] = rows[1, 1] = 1.0
    motion = SimpleNamespace(
        tol=TOL, C=0, c=3 * n, b=3 * n + 3, row=3 * n + 6, speeds=n, x_v=0, M=0, held=4
    )
    e = SimpleNamespace(
        mode=SimpleNamespace(
            motion=motion,
            x=speeds,
            out=np.diag(masses).ravel(),
            contacts=SimpleNamespace(wheels=np.array([0, 1])),
        ),
        choice=choice,
        rows=rows.ravel(),
        sizes=np.array([2, 2]),
        candidates=np.array([0, 1]),
        closed_status=np.full(2, Status.SLIDING),
        choice_index=np.zeros(2, int),
        mu=np.zeros(2),
    )
    assemble_impact(e, 0.5, 0.0, 0.0)
    assert choice.sizes[CONTACTS] == 2
    impulses = np.zeros(2 * IMPULSE_ENTRIES)
    assert solve_impact_by_sets(e, 0, impulses) >= 0
    assert_allclose(impulses.reshape(2, -1)[:, 0], 1.5 * masses * -speeds)
    assert_allclose(choice.x, -1.5 * speeds)


# --- loads, samples, boxes


def test_a_load_changes_by_a_factor_and_stays_above_the_least_one():
    contacts = SimpleNamespace(features=np.zeros(FEATURE))
    for load in (1e9, -1e9):
        contacts.features[LOAD] = 100.0
        change = update_tyre_load(TOL, contacts, 0, load)
        new = contacts.features[LOAD]
        assert (new > 100.0) == (load > 0.0)
        assert TOL.least_load <= new < 1e9
        assert change == pytest.approx(abs(new - 100.0) / (100.0 + TOL.load_step))
    contacts.features[LOAD] = 100.0
    assert update_tyre_load(TOL, contacts, 0, 101.0) == pytest.approx(1.0 / (100.0 + TOL.load_step))
    assert contacts.features[LOAD] == 101.0


def test_moments_of_a_tyre_add_to_the_generalised_force_once():
    """One speed, C = (1, 2, 4). Of the force (10, 6, 5) the tyre makes (0, 1 + 10 * 0.2, 10 * 0.3); its
    generalised force, moments included, is 7 + 10 * 0.5. The rest is 10 * 1 + 3 * 2 + 2 * 4.
    """
    motion = SimpleNamespace(speeds=1, C=0, acted=1, push=3, lift=4, forces=5, lifted=8)
    row = np.array([1.0, 2.0, 4.0, 7.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.2, 0.3])
    force = np.zeros(1)
    add_generalised_force(motion, row, np.array([10.0, 6.0, 5.0]), force)
    assert force[0] == pytest.approx(10.0 + 3.0 * 2.0 + 2.0 * 4.0 + 7.0 + 10.0 * 0.5)


def test_the_distance_of_a_point_from_a_box():
    low, high = np.zeros(3), np.array([1.0, 2.0, 3.0])
    assert box_distance(np.array([0.5, 1.0, 1.0]), low, high) == 0.0
    assert box_distance(np.array([4.0, 6.0, 1.0]), low, high) == pytest.approx(5.0)
    assert box_distance(np.array([-3.0, 1.0, 7.0]), low, high) == pytest.approx(5.0)


# --- surroundings


def tiles(count, motion=None):
    """A floor of more faces than are watched completely, 1 m apart along x."""
    features = [
        face(f"tile {k}", (0.0, 0.0, 1.0), 0.0, [((1, 0, 0), k + 1.0), ((-1, 0, 0), -float(k))])
        for k in range(count)
    ]
    return Terrain([move_ground(one, motion) for one in features] if motion else features)


def query_on(terrain):
    return ContactQuery(make_generic(bicycle(), None, terrain.motions), terrain, np.zeros(3))


def test_the_speed_of_moving_ground_is_that_of_its_motion():
    query = query_on(tiles(70, Slide((-3.0, 0.0, 0.0))))
    boxes = np.zeros(12)
    assert query.ground_speed(0.0, boxes) == pytest.approx(3.0, rel=1e-6)
    assert query_on(tiles(70)).ground_speed(0.0, boxes) == 0.0


def test_a_compliant_tyre_is_thicker_than_drawn_by_its_deflection():
    """A stiffness of 1e5 N/m under 400 N deflects by 4 mm; the crown of 20 mm is drawn deflected."""
    tyre = MagicFormula((1.5, 0.0, 1000.0, 200.0, 1.0, *[0.1] * 9), 0.1, 1e5, 500.0, 400.0)
    system = draisine.compile("whipple", rear_tyre=tyre, crown=0.02)
    table = shared_pair_table(make_generic(system))
    columns = [table.column(wheel, "face", None) for wheel in (0, 1)]
    assert table.floats[3, columns] == pytest.approx([0.024, 0.02])


# --- arcs and time steps


@pytest.mark.parametrize(("length", "expected"), [(1e-9, True), (1e-3, False), (0.0, False)])
def test_an_arc_is_an_instant_by_its_length_whenever_it_begins(length, expected):
    machine = make_generic(bicycle())
    arc = UnilateralArc(machine, 5.0 + np.array([0.0, length]), *[None] * 6)
    assert cached_machine_units(machine).time > 0.1
    assert arc.is_instant == expected


def stepper(system="differential_platform", sampling=(0.0, math.inf), **options):
    system = draisine.compile(system)
    machine = make_generic(system)
    query = ContactQuery(machine, plane(), np.zeros(len(system.model.inputs)))
    y = machine.enter(draisine.state(system), np.zeros(machine.memory))
    contact = ContactOptions(mu=0.8, solver="time_stepping", **options)
    return TimeStepper(query, contact, 0.0, y, 1e-3, sampling=sampling)


def test_slow_contacts_do_not_rebound_in_time_steps():
    """Below 0.03 sqrt(g r), r the size of the largest wheel."""
    steps = stepper()
    expected = REST_SPEED_RATIO * math.sqrt(9.81 * steps.query.wheel_size)
    assert steps.record.rest_speed == pytest.approx(expected, rel=1e-3)
    assert stepper(rest_speed=7.0).record.rest_speed == 7.0


def test_the_length_of_steps_is_chosen_after_the_same_number_however_they_are_called():
    steps = stepper()
    for _ in range(2):
        steps.advance(20, 10.0)
    assert steps.taken == 40
    assert steps.grid.block == 40 - ADAPT_STEPS


def test_samples_of_steps_are_equidistant_whatever_the_calls():
    """Records have room for a few samples first, and are enlarged."""
    steps = stepper(step=1e-3, sampling=(-1e-4, 3e-4))
    for _ in range(5):
        steps.advance(20, 1.0)
    arc = steps.arc()
    assert arc.t[0] == 0.0
    assert_allclose(arc.t[1:-1], 2e-4 + 3e-4 * np.arange(len(arc.t) - 2), rtol=1e-12)
    assert len(arc.t) == 335
    assert arc.t[-1] == steps.t


@pytest.mark.parametrize(("until", "count"), [(0.0100005, 10), (0.0105, 11), (0.01, 10)])
def test_a_very_short_remainder_lengthens_the_last_step(until, count):
    """Steps of 1 ms; a remainder of 0.05 % of a step joins the step before, one of half a step does not."""
    steps = stepper(step=1e-3)
    steps.advance(4, until)
    steps.advance(100, until)
    assert steps.taken == count
    assert steps.t == pytest.approx(until, rel=1e-12)


@pytest.mark.parametrize(("name", "rank"), [("whipple", Rank.INDEPENDENT), ("car", Rank.REDUNDANT)])
def test_wheels_on_a_plane_are_independent_or_exactly_redundant(name, rank):
    system = draisine.compile(name)
    machine = make_generic(system)
    query = ContactQuery(machine, plane(), np.zeros(len(system.model.inputs)))
    y = machine.enter(draisine.state(system), np.zeros(machine.memory))
    wheels = range(len(machine.wheels))
    near = query.find_surroundings(0.0, y, 0.1)
    closed = [(near[k], Status.ROLLING, np.inf) for k in wheels]
    assert classify_rank(query, 0.0, y, closed) is rank
    assert classify_rank(query, 0.0, y, closed[:1]) is Rank.INDEPENDENT


# --- failures


def locking_query(coupling, mass=1.0):
    """A contact along x of a body with two translations, x and z: `coupling` is the part of the normal in
    the row along, so that a unit of load raises its own approach by mu times it.
    """
    row = np.zeros(9)
    row[:6] = [0.0, 1.0, 1.0, coupling, 0.0, 0.0]

    def candidate(contact, rows, mu, status):
        return Candidate(KEY, rows[:6].reshape(3, 2), np.zeros(3), np.zeros(3), mu, status)

    return SimpleNamespace(
        n=2,
        machine=SimpleNamespace(wheels=[None], leave=lambda y: None),
        dynamics=lambda t, y: {"M": mass * np.eye(2)},
        evaluate_rows=lambda t, y, contacts: [row] * len(contacts),
        refuse_edge_in_plane=lambda *_: None,
        tyre=lambda contact: None,
        candidate=candidate,
        speeds=lambda y: np.array([1.0, 0.0]),
        key=lambda contact: KEY,
    )


@pytest.mark.parametrize(
    ("coupling", "mass", "mu", "status", "locks"),
    [
        (0.95, 1.0, 1.0, Status.SLIDING, True),
        (0.5, 1.0, 1.0, Status.SLIDING, False),
        (0.95, 1.0, np.inf, Status.ROLLING, False),
        (0.95, 0.0, 1.0, Status.SLIDING, False),
    ],
)
def test_a_step_fails_because_a_sliding_contact_locks_or_without_a_cause(
    coupling, mass, mu, status, locks
):
    """It locks if friction leaves less than a tenth of the inverse inertia along the normal."""
    run = SimpleNamespace(t=1.0, y=np.zeros(1), closed=[("contact", status, mu)])
    query = locking_query(coupling, mass)
    failure = find_failure(RunStatus.STEP_TOO_SMALL, query, run, None, [])
    assert isinstance(failure.error, ContactSetError if locks else SimulationError)
    assert ("Painlevé" in str(failure.error)) == locks
