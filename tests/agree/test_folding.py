"""Folding wheels and rotors into their carriers changes nothing that can be read.

Every shipped machine is derived twice, with and without folding, and runs from the same start under
the same inputs. All variables of the two datasets are compared; readings of the folded bodies and of
their contacts are among them.
"""

import functools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.lie import rotation
from draisine.codegen.cache import Store
from draisine.mechanics import tree
from draisine.mechanics.contact.features import contact_rows, contact_rows_on_body
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.kinematics import geometry
from draisine.model import (
    Ball,
    Body,
    Flat,
    Model,
    Output,
    Prismatic,
    Revolute,
    Torus,
    Wheel,
    inertia,
)
from draisine.registry import find, names
from draisine.scenario.first_run import find_first_start
from draisine.simulation.options import ContactOptions, Numerics
from draisine.system.system import compile
from draisine.terrain import plane

ROUND_OFF = 1e-9  # of the largest value of a variable, after 40 steps through both derivations
LEFT, UP = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
POINT = (0.21, -0.13, 0.17)  # position in the zero configuration, m, on no axle

TYRE = LinearTyre(9000.0, 900.0, 0.1)
MACHINES = {name: (name, {}) for name in names("vehicle")}
MACHINES["whipple on torus tyres, with a flexible fork"] = (
    "whipple",
    {"crown": 0.02, "rear_tyre": TYRE, "front_tyre": TYRE, "flexible": {"fork_bend": 2e4}},
)


def watched(vehicle):
    """Return a vehicle with readings of two folded bodies and of their contacts as outputs."""

    @functools.wraps(vehicle)
    def drawn(**arguments):
        model = vehicle(**arguments)
        outputs = list(model.outputs)
        folded = [body.name for body in model.bodies if tree.is_foldable(model, body)][:2]
        for name in folded:
            outputs += [
                Output(f"{name} moves {k}", lambda r, n=name, k=k: r.velocity(n, POINT)[k])
                for k in range(3)
            ]
            outputs += [
                Output(f"{name} is at {k}", lambda r, n=name, k=k: r.position(n, POINT)[k])
                for k in (0, 2)
            ]
        for wheel in [wheel.name for wheel in model.wheels if wheel.body in folded]:
            outputs += [
                Output(f"{reading} of {wheel}", lambda r, n=wheel, f=reading: getattr(r, f)(n))
                for reading in ("travel", "camber", "spin", "gap")
            ]
            outputs.append(Output(f"slip of {wheel}", lambda r, n=wheel: r.slip(n).along))
        return replace(model, outputs=outputs)

    return drawn


def ride(system, start, inputs):
    """Return the start and the dataset of a short run; wheels with flats need a terrain."""
    state = draisine.state(system, **start)
    terrain, numerics = None, Numerics(integrator="rk4", dt=0.005)
    if any(wheel.flats for wheel in system.model.wheels):
        terrain, numerics = plane(), Numerics(dt=0.005)
    run = draisine.simulate(system, state, 0.2, inputs=inputs, terrain=terrain, numerics=numerics)
    return state, run.to_xarray()


@pytest.mark.parametrize("machine", MACHINES)
def test_folding_changes_nothing_that_can_be_read(machine, monkeypatch, tmp_path):
    name, options = MACHINES[machine]
    model = compile(name, **options).model
    if not tree.folded_bodies(model):
        assert len(tree.assemble(model).links) == len(model.bodies)
        return
    vehicle = watched(find("vehicle", name))
    folded = compile(vehicle, **options)
    start, rng = find_first_start(folded), np.random.default_rng(4)
    inputs = {name: float(rng.uniform(-1.0, 1.0)) for name in folded.model.inputs}
    begin, data = ride(folded, start, inputs)
    monkeypatch.setattr(tree, "folded_bodies", lambda model: set())
    whole = compile(vehicle, store=Store(tmp_path), **options)
    assert len(whole.tree.links) == len(model.bodies)
    other_begin, other = ride(whole, start, inputs)
    for part in "qprv":
        # Newton's method leaves some units in the last place of the largest entry
        size = max(1.0, np.abs(getattr(begin, part)).max(initial=0.0))
        assert_allclose(getattr(other_begin, part), getattr(begin, part), rtol=0, atol=1e-13 * size)
    assert set(other) == set(data)
    for variable in data:
        wanted = data[variable].values
        size = max(1.0, np.abs(wanted).max(initial=0.0, where=np.isfinite(wanted)))
        found = other[variable].values
        assert_allclose(found, wanted, rtol=0, atol=ROUND_OFF * size, err_msg=variable)


def tray(*, spread: float = 0.5, m: float = 1.0, aside: float = 0.1, radius: float = 0.05) -> Model:
    """Return a tray hinged about its mass centre, 1 m above the ground, with a ball at the distance
    `aside`.
    """
    centre = (aside, 0.0, 1.0 + radius)
    return Model(
        bodies=[
            Body("post", 1.0),
            Body("tray", 2.0, (0.0, 0.0, 1.0), inertia(spread, spread, spread)),
            Body("ball_x", 0.0),
            Body("ball_z", 0.0),
            Body("ball", m, centre, inertia(*[0.4 * m * radius**2] * 3)),
        ],
        joints=[
            Revolute("tilt", "post", "tray", LEFT, (0.0, 0.0, 1.0)),
            Prismatic("ball_x", "post", "ball_x", (1.0, 0.0, 0.0)),
            Prismatic("ball_z", "ball_x", "ball_z", UP),
            Revolute("turn", "ball_z", "ball", LEFT, centre),
        ],
        contacts=[
            Wheel(
                "ball", "ball", centre, LEFT, Ball(radius), flats=(Flat("tray", (0, 0, 1.0), UP),)
            )
        ],
        outputs=[Output("edge", lambda r: r.position("tray", (0.5, 0.0, 1.0))[2], "m")],
        base="fixed",
    )


def test_a_ball_tilts_a_balanced_tray():
    """Without friction (I + m x^2) alpha = m g x for the tilt of the tray under the ball at x."""
    spread, m, x = 0.5, 2.0, 0.3
    system = compile(tray, spread=spread, m=m, aside=x)
    frictionless = ContactOptions(mu=0.0)
    run = draisine.simulate(
        system, draisine.state(system), 0.05, terrain=plane(), contact=frictionless
    )
    data = run.to_xarray()
    alpha = data["accelerations"].sel(speed="tilt_rate").values[0]
    assert_allclose(alpha, m * 9.81 * x / (spread + m * x * x), rtol=1e-9)
    assert_allclose(data["edge"], 1.0 - 0.5 * np.sin(data["tilt"]), rtol=1e-12)


def wheelset(*, m: float = 1.0) -> Model:
    """A frame on a balanced axle that carries two wheels, one on either side, and an oblique rotor
    that touches nothing."""
    oblique = np.array([0.3, 0.8, -0.5])
    along = np.outer(oblique, oblique) / (oblique @ oblique)
    return Model(
        bodies=[
            Body("frame", m, (0.3, 0.0, 0.5), inertia(0.1, 0.2, 0.3)),
            Body("axle", 2.0, (0.0, 0.0, 0.3), inertia(0.2, 0.1, 0.2)),
            Body("rotor", 0.5, (0.4, 0.1, 0.6), 0.02 * np.eye(3) + 0.01 * along),
        ],
        joints=[
            Revolute("axle", "frame", "axle", LEFT, (0.0, 0.0, 0.3)),
            Revolute("rotor", "frame", "rotor", oblique, (0.4, 0.1, 0.6)),
        ],
        contacts=[
            Wheel("left", "axle", (0.0, 0.4, 0.3), LEFT, Torus(0.3, 0.05)),
            Wheel("right", "axle", (0.0, -0.3, 0.3), LEFT, Torus(0.25, 0.05)),
        ],
    )


def test_wheels_of_one_folded_axle_touch_at_their_own_places():
    model = compile(wheelset).model
    folded, whole = tree.assemble(model), tree.assemble(model, fold=False)
    assert len(folded.links) == 1 and len(whole.links) == 3
    rng = np.random.default_rng(2)
    q, p, r = rng.normal(size=4), rng.normal(size=3), rng.normal(size=2)
    R, v, w = rotation(q / np.linalg.norm(q)), rng.normal(size=8), rng.normal(size=2)
    one, two = (multiplier.evaluate_free_dynamics(each, R, p, r, v, w) for each in (folded, whole))
    for part in ("M", "F", "C", "c", "gaps"):
        found, wanted = (np.asarray(getattr(out, part), float) for out in (one, two))
        assert_allclose(found, wanted, rtol=0, atol=1e-13, err_msg=part)
    edge = np.array([0.4, -0.2, 0.1, 0.0, 0.6, 0.8, 0.0])
    for wheel in model.wheels:
        for kind, feature in (("face", np.array([0.0, 0.6, 0.8, 0.1])), ("edge", edge)):
            rows = [
                contact_rows(each, geometry(each, r), R, p, wheel, kind, feature).C
                for each in (folded, whole)
            ]
            assert_allclose(*(np.asarray(C, float) for C in rows), rtol=0, atol=1e-13)
        flat = Flat("frame", (0.1, 0.2, 0.9), (0.1, -0.2, -1.0))
        rows = [
            contact_rows_on_body(each, geometry(each, r), R, p, wheel, flat).C
            for each in (folded, whole)
        ]
        assert_allclose(*(np.asarray(C, float) for C in rows), rtol=0, atol=1e-13)


@pytest.mark.parametrize("mass", [1.0, 1e-9], ids=["kilograms", "micrograms"])
def test_symmetry_does_not_depend_on_the_unit_of_mass(mass):
    def rotor(uneven):
        spread = mass * inertia(0.02, 0.03, 0.02 + uneven)
        return Model(
            bodies=[Body("carrier", mass), Body("rotor", mass, (0.0, 0.0, 0.0), spread)],
            joints=[Revolute("spin", "carrier", "rotor", LEFT)],
        )

    assert tree.folded_bodies(rotor(0.0)) == {"rotor"}
    assert tree.folded_bodies(rotor(1e-3)) == set()
