"""Every feature satisfies the invariants of the design, in combination with the others.

One law per row of the table "Invariants that every feature must satisfy", each over the machines of the
fixed sample, with control law, integrator, projection and inputs drawn by name. `bench/combine.py` runs
the same laws over random combinations.
"""

import random

import numpy as np
import pytest

import draisine
from combine.invariants import dropped, judge, simulate
from combine.machines import SAMPLE, Combination, Machine, compiled, read_combination
from combine.records import record
from draisine.vehicles import parameter_set

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ALL = tuple(SAMPLE)

APPLIES = {
    "units": [name for name in ALL if name not in ("magic", "limited")],
    "turn": [name for name in ALL if name not in ("belt", "chain", "linkage", "arms")],
    "mirror": ["load", "legs", "trolley", "car"],
    "reorder": ["linear", "legs", "car", "trolley"],
    "start_time": ["benchmark", "load", "motorcycle", "torus", "car", "skateboard", "fish"],
    "unfold": ["linear", "car", "trolley"],
    "change_parameters": ["benchmark", "passive", "half", "legs", "trolley", "racer"],
    "formulations": ["benchmark", "legs", "torus", "car", "chain", "linkage"],
    "lanes": [name for name in ALL if name not in ("magic", "half", "arms")],
    "interpreted": ALL,
    "casadi": [name for name in ALL if name not in ("magic", "brush")],
    "c_code": ["benchmark", "load", "legs", "car"],
    "javascript": ["benchmark", "brush", "arms", "trolley", "racer", "belt"],
    "on_terrain": ["benchmark", "linear", "load", "arms", "motorcycle", "torus"],
    "on_smooth_ground": ["benchmark", "motorcycle", "torus", "car", "limited"],
    "drop_turned": ["benchmark", "motorcycle", "trolley"],
    "drop_sampled": ["benchmark", "motorcycle", "trolley"],
    "drop_sliced": ["benchmark", "motorcycle", "trolley"],
    "drop_many": ["benchmark", "load", "limited"],
    "drop_in_c": ["benchmark", "limited"],
    "drop_stored": ["benchmark"],
    "drop_energy": ["benchmark", "motorcycle", "trolley"],
    "drop_gradient": ["benchmark"],
    "sample_spacing": ALL,
    "slices": ALL,
    "storage": ["benchmark", "load", "legs", "car", "racer", "chain"],
    "energy": [name for name in ALL if name not in ("belt", "fish", "magic")],
    "tyre_energy": ["linear", "passive", "motorcycle"],
    "validity_spacing": ["benchmark", "load", "torus"],
    "linear": ["benchmark", "linear", "passive", "motorcycle", "skateboard"],
    "gradient": ["benchmark", "linear", "load", "trolley"],
}
"""To which machines of the sample each law is applied."""

LAWS_OF = {
    "units": ("none", "none", "feedback"),
    "lanes": ("none", "none", "feedback"),
    "storage": ("none", "memory", "python"),
    "energy": ("none", "none", "memory"),
    "slices": ("none", "none", "memory"),
    "linear": ("none", "memory"),
}
"""The control laws that a law is tried with: each needs code of its own."""

INTEGRATORS = {
    "slices": ("rk4", "dop853"),
    "energy": ("rk4", "abm5", "dop853"),
}
SAME_STEPS = ("mirror", "reorder", "unfold", "change_parameters")
"""Other coordinates have other discretisation errors: these laws are tried with adaptive steps."""


def options(law: str, name: str) -> Combination:
    """Return how a machine of the sample is run under a law, the same each time."""
    rng = random.Random(f"{law} {name}")
    known = INTEGRATORS.get(law, ("rk4", "ab4", "abm4", "abm5", "dop853"))
    guided = LAWS_OF.get(law, ("none",))
    return Combination(
        SAMPLE[name],
        law=rng.choice(guided),
        integrator="dop853" if law in SAME_STEPS else rng.choice(known),
        drift=rng.choice(("project", "project", "none")),
        driven=law != "linear" and rng.random() < 0.4,
        seed=rng.randrange(1, 100),
    )


CASES = [(law, name) for law, names in APPLIES.items() for name in names]


@pytest.mark.parametrize(("law", "name"), CASES, ids=lambda x: x)
def test_a_law_holds(law, name):
    if law == "casadi":
        pytest.importorskip("casadi")
    found = judge(law, options(law, name))
    if "there is no" in found.text:
        pytest.skip(found.text)
    assert found.kind == "holds", f"{law}: {options(law, name)}: {found.text}"


def test_an_ideal_wheel_that_slides_passes_the_border_of_a_cell_without_an_impact():
    # An impact leaves one of four ideal wheels sliding; the next patch of the same ground must not stop it.
    found = judge("on_smooth_ground", read_combination("skateboard, driven, seed=433"))
    assert found.kind == "holds", found.text


STEPPED = (
    "whipple rider=seat, seed=7",
    "whipple tyres=load flexible=fork rider=torso, law=guided, seed=541",
)
"""Falls of which a part is in time steps."""

ROUNDING_IN_STEPS = 1e-9
"""Of the largest value: round-off, some thousand times as large after the impacts. An error of second order
in the time step that depends on the world's axes would be 1e-6."""


@pytest.mark.parametrize("law", ["drop_turned", "drop_sampled", "drop_sliced"])
@pytest.mark.parametrize("text", STEPPED)
def test_a_law_holds_in_time_steps(law, text):
    found = judge(law, read_combination(text))
    assert found.kind == "holds", found.text
    assert found.value <= ROUNDING_IN_STEPS, found.text


@pytest.mark.parametrize(
    ("law", "text"),
    [
        ("drop_sliced", "whipple, mu=0.9, solver=time_stepping, ground=shaken, seed=3"),
        ("drop_sampled", "segway, drift=none, solver=time_stepping, ground=shaken, seed=795"),
        ("drop_many", "trolley stops=near, mu=0.4, solver=time_stepping, ground=hills, seed=5"),
        ("drop_energy", "car, mu=0.4, solver=time_stepping, impact=moreau, ground=hills, seed=6"),
        ("drop_mirrored", "skateboard, mu=0.9, solver=time_stepping, ground=kerb, seed=8"),
    ],
)
def test_a_law_holds_for_other_grounds_and_solvers(law, text):
    found = judge(law, read_combination(text))
    assert found.kind == "holds", found.text


@pytest.mark.parametrize("text", STEPPED)
def test_no_two_samples_of_an_arc_are_at_the_same_time(text):
    c = read_combination(text)
    state, given = dropped(c)
    run = simulate(c, state=state, **given)
    assert "time-stepping" in [event.kind for event in run.events]
    assert min(np.diff(arc.t).min() for arc in run.arcs) > 1e-9 * given["numerics"].dt


def test_a_run_that_leaves_events_without_forces_has_a_dataset():
    """Where the loads of tyres contradict each other, forces and the held steer torque do not exist."""
    text = (
        "whipple tyres=magic flexible=fork crown=torus slope=uphill steering=prescribed set=browser"
    )
    c = read_combination(f"{text}, integrator=ab4, seed=189")
    state, given = dropped(c)
    columns = record(simulate(c, state=state, **given))
    assert np.isnan(columns["motion_torque[steer]"].values).any()
    assert np.isfinite(columns["steer"].values).all()


# --- limits: what becomes small, stiff or light enough is as good as absent

STIFF = ("rear_tyre_cornering", "front_tyre_cornering", "rear_tyre_stiffness", "front_tyre_stiffness",
         "rear_tyre_friction", "front_tyre_friction", "flexible_fork_bend", "flexible_fork_twist",
         "flexible_frame_twist", "flexible_front_suspension", "flexible_rear_suspension",
         "torso_spring", "seat_aside", "seat_up")  # fmt: skip
SMALL = ("crown", "slope", "flexible_steer_spring", "flexible_steer_damper",
         "flexible_steer_friction", "arms_upper", "arms_lower", "legs_upper", "legs_lower",
         "torso_damper", "flexible_fork_bend_damper", "flexible_fork_twist_damper", "IE",
         "rear_tyre_trail", "front_tyre_trail", "rear_tyre_arm", "front_tyre_arm",
         "rear_tyre_half_length", "front_tyre_half_length")  # fmt: skip
LIMITS = {
    "linear": Machine("whipple"),
    "load": Machine("whipple"),
    "passive": Machine("whipple"),
    "brush": Machine("whipple"),
    "arms": Machine("whipple"),
    "legs": Machine("whipple"),
    "torus": Machine("rolling_disc"),
    "car": Machine("car"),
}
"""What machines of the sample tend to as their parts become stiff, small or light, all at once."""

FAR, NEAR = 30.0, 300.0
"""By which factors stiffnesses are multiplied, and small quantities divided."""


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_approached_with_order_one(name):
    """Ten times stiffer and smaller parts leave a tenth of the difference."""
    machine, ideal = SAMPLE[name], compiled(LIMITS[name])
    chosen = dict(machine.choices).get("set")
    if chosen is not None:
        ideal = ideal.with_parameters(**parameter_set("whipple", f"{chosen}_jason"))
    c = Combination(machine, integrator="dop853", seed=4)
    numerics = c.numerics(dt=c.until / 4, rtol=1e-9)
    wanted = _place(simulate(c, system=ideal, state=_start(ideal, c), numerics=numerics))
    errors = []
    for factor in (FAR, NEAR):
        known = compiled(machine).parameters
        changes = {n: factor * x for n, x in known.items() if n in STIFF}
        changes |= {n: x / factor for n, x in known.items() if n in SMALL}
        system = compiled(machine).with_parameters(**changes)
        found = _place(simulate(c, system=system, state=_start(system, c), numerics=numerics))
        errors.append(np.abs(found - wanted).max())
    assert errors[1] < 1e-3
    assert 5.0 < errors[0] / errors[1] < 20.0, errors


def _start(system, c):
    return draisine.state(system, **c.start_values)


def _place(run):
    """Return what a run has in common with that of an ideal machine: angles and place."""
    columns = record(run)
    names = [n for n in ("yaw", "lean", "steer", "position[x]", "position[y]") if n in columns]
    return np.array([columns[n].values for n in names])
