"""A drawing is checked when it is built: each mistake names the thing and the way out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import ModelError
from draisine.model import Blade, Body, Force, Model, Output, Revolute, Wheel, inertia
from draisine.model.quantity import parse_number
from draisine.model.surface import Ball, Surface

UNIT = inertia(1.0, 1.0, 1.0)


def body(name, **more):
    return Body(name, **({"mass": 1.0, "com": (0.0, 0.0, 0.0), "inertia": UNIT} | more))


def hinge(name, parent, child):
    return Revolute(name, parent, child, axis=(0.0, 1.0, 0.0), through=(0.0, 0.0, 0.0))


FRAME = body("frame")
WHEEL = body("wheel")
AXLE = hinge("axle", "frame", "wheel")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"bodies": []}, "at least one body"),
        ({"bodies": [FRAME, body("frame")]}, "'frame' is used twice"),
        ({"bodies": [FRAME, WHEEL]}, "'wheel' is not the child of any joint"),
        ({"bodies": [FRAME, WHEEL], "joints": [hinge("axle", "frame", "wheels")]}, "wheel"),
        ({"bodies": [FRAME, WHEEL], "joints": [AXLE, hinge("b", "frame", "wheel")]}, "two parents"),
        ({"bodies": [FRAME, WHEEL], "joints": [hinge("axle", "wheel", "frame")]}, "is the base"),
        ({"bodies": [FRAME], "base": "SE3"}, "SE(3)"),
        ({"bodies": [FRAME], "forces": [Force("push", "frme", (0, 0, 0))]}, "frame"),
        ({"bodies": [FRAME], "outputs": [Output("yaw", lambda r: 0.0)]}, "reserved for results"),
    ],
)
def test_invalid_models_are_refused(parts, words):
    with pytest.raises(ModelError) as caught:
        Model(**parts)
    assert words in str(caught.value)


def test_cycle_of_joints_is_refused():
    others = [body("a"), body("b")]
    with pytest.raises(ModelError, match="cycle through the bodies"):
        Model([FRAME, *others], [hinge("one", "a", "b"), hinge("two", "b", "a")])


@pytest.mark.parametrize(
    ("base", "speeds"),
    [
        ("SE(3)", ["Vx", "Vy", "Vz", "Wx", "Wy", "Wz"]),
        ("SE(2)", ["Vx", "Vy", "Wz"]),
        ("SO(3)", ["Wx", "Wy", "Wz"]),
        ("translations", ["Vx", "Vy", "Vz"]),
        ("fixed", []),
    ],
)
def test_speeds_are_those_of_the_group_then_of_the_joints(base, speeds):
    model = Model([FRAME, WHEEL], [AXLE], base=base)
    assert list(model.speeds) == [*speeds, "axle_rate"]


def test_inputs_are_torques_of_joints_then_components_of_forces():
    model = Model([FRAME, WHEEL], [AXLE], forces=[Force("push", "frame", (0, 0, 1))])
    assert list(model.inputs) == ["axle", "push.x", "push.y", "push.z"]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_of_a_body_are_finite(bad):
    with pytest.raises(ModelError, match="frame"):
        body("frame", mass=bad)


def test_an_inertia_that_no_mass_can_have_is_reported():
    """The largest principal moment is at most the sum of the two others; measured ones may break this."""
    with pytest.warns(UserWarning, match=r"body 'frame': .*triangle inequality"):
        body("frame", inertia=inertia(1.0, 1.0, 2.5))
    body("frame", inertia=inertia(1.0, 1.0, 2.0))  # a flat body: just possible


def test_inertia_is_a_symmetric_tensor():
    found = inertia(1.0, 2.0, 2.5, xz=0.3)
    assert_allclose(found, np.array(found).T)
    assert found[0, 2] == 0.3


def test_a_wheel_has_a_positive_radius_and_an_axle():
    with pytest.raises(ModelError, match="rear"):
        Wheel("rear", "frame", centre=(0, 0, 0), axle=(0, 0, 0), surface=0.3)
    with pytest.raises(ModelError, match="rear"):
        Wheel("rear", "frame", centre=(0, 0, 0), axle=(0, 1, 0), surface=-0.3)


def test_a_drawing_cannot_change():
    model = Model([FRAME])
    with pytest.raises(AttributeError):
        model.base = "SE(2)"


def test_a_contact_names_its_body():
    with pytest.raises(ModelError, match="frame"):
        Model([FRAME], contacts=[Blade("edge", "fram", point=(0, 0, 0), heading=(1, 0, 0))])


@pytest.mark.parametrize("kind", ["edge", "vertex"])
def test_missing_methods_of_a_surface_are_named(kind):
    class Egg(Ball):
        """A surface whose kinds lack their methods."""

        contact_with_edge = Surface.contact_with_edge
        contact_with_vertex = Surface.contact_with_vertex

    egg = Egg(0.3)
    assert kind in egg.kinds
    with pytest.raises(ModelError, match=f"Surface Egg .* method `contact_with_{kind}`"):
        egg.contact_with(kind, np.zeros(3), np.zeros(7))


@pytest.mark.parametrize("value", [10**400, -(10**400), "1e400", float("nan"), True, None])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match=r"is (too large for|not) a"):
        parse_number(value)


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: Body("b", x),
        lambda x: Body("b", 1.0, (0.0, 0.0, x)),
        lambda x: Body("b", 1.0, (0.0, 0.0, 0.0), np.diag([x, x, x])),
        lambda x: Revolute("j", "a", "b", (0.0, 1.0, 0.0), (x, 0.0, 0.0)),
    ],
)
def test_numbers_whose_products_overflow_are_refused(draw):
    """They used to end in a singular value decomposition that does not converge."""
    with pytest.raises(ModelError, match=r"too large|beyond 1e\+100. Use SI units"):
        draw(1e200)


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "a\nb", "x" * 101])
def test_names_are_those_that_files_can_hold(name):
    """netCDF and Zarr refuse or misread the others, after the run."""
    bodies = [Body("a", 1.0), Body("b", 1.0)]
    with pytest.raises(ModelError, match="invalid name"):
        Model(bodies, [Revolute(name, "a", "b", (0.0, 1.0, 0.0))])
    with pytest.raises(ModelError, match="invalid name"):
        Model(bodies[:1], outputs=[Output(name, lambda readings: 1.0)])
