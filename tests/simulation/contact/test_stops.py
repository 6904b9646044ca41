"""Steering stops: the handlebar hits them, rests on them and leaves them."""

import numpy as np
import pytest

import draisine
from draisine.errors import ParameterError
from draisine.terrain import plane
from simulation.contact.conftest import bicycle, placed

LIMIT = {"steer": (-0.5, 0.6)}


def test_handlebar_stops_in_flight_and_momentum_stays():
    """A plastic hit in the air: an inner impulse keeps linear and angular momentum."""
    state = placed((0.0, 0.0, 2.0), rates=(4.0, 20.0, 20.0))
    made = draisine.simulate(
        bicycle(), state, 0.3, terrain=plane(), contact=draisine.ContactOptions(stops=LIMIT)
    )
    hit = made.events[0]
    assert hit.kind == "collision" and hit.contacts == (("steer", "upper stop"),)
    assert hit.before.r[0] == pytest.approx(0.6, abs=1e-12)
    assert hit.after.v[6] == pytest.approx(0.0, abs=1e-12)
    assert hit.gain < 0
    for key in ("momentum", "angular_momentum"):
        jump = made.arcs[1].observations[key][:, 0] - made.arcs[0].observations[key][:, -1]
        assert np.abs(jump).max() < 1e-9
    for arc in made.arcs:
        assert arc.y[:, 7].max() < 0.6 + 1e-9


def test_handlebar_rebounds_elastically():
    state = placed((0.0, 0.0, 2.0), rates=(-4.0, 0.0, 0.0))
    made = draisine.simulate(
        bicycle(),
        state,
        0.3,
        terrain=plane(),
        contact=draisine.ContactOptions(stops=LIMIT, impact="newton"),
    )
    hit = made.events[0]
    assert hit.contacts == (("steer", "lower stop"),)
    assert hit.after.v[6] == pytest.approx(-hit.before.v[6], rel=1e-12)
    assert abs(hit.gain) < 1e-9


def test_torque_holds_the_handlebar_against_its_stop_and_lets_it_go():
    state = draisine.state(bicycle(), forward_speed=5.0)
    near = {"steer": (-0.02, 0.02)}
    made = draisine.simulate(
        bicycle(),
        state,
        1.0,
        terrain=plane(),
        inputs={"steer": 1.0},
        contact=draisine.ContactOptions(stops=near, fall=0.3, mu=0.9, impact="moreau"),
    )
    kinds = [(event.kind, event.contacts) for event in made.events]
    assert ("collision", (("steer", "upper stop"),)) in kinds
    assert max(arc.y[:, 7].max() for arc in made.arcs) < 0.02 + 1e-9


def test_wrong_stops_say_so():
    state = placed((0.0, 0.0, 1.0))
    with pytest.raises(ParameterError, match="no joint"):
        draisine.simulate(
            bicycle(),
            state,
            0.1,
            terrain=plane(),
            contact=draisine.ContactOptions(stops={"stear": (-1, 1)}),
        )
    with pytest.raises(ParameterError, match=r"must be \(lower, upper\)"):
        draisine.simulate(
            bicycle(),
            state,
            0.1,
            terrain=plane(),
            contact=draisine.ContactOptions(stops={"steer": (1, -1)}),
        )
