"""Joints as screws: invalid arguments, units of their coordinate."""

import pytest

from draisine.errors import ModelError
from draisine.model import Joint, Prismatic, Revolute

AXIS = (0.0, 0.0, 2.0)


def test_a_coordinate_is_an_angle_where_the_joint_turns():
    for joint, unit, effort in (
        (Revolute("j", "a", "b", AXIS), "rad", "N m"),
        (Prismatic("j", "a", "b", AXIS), "m", "N"),
        (Joint("j", "a", "b", AXIS, slide=0.01), "rad", "N m"),
        (Joint("j", "a", "b", AXIS, turn=0.0, slide=2.0), "m", "N"),
    ):
        assert (joint.unit, joint.effort) == (unit, effort)


@pytest.mark.parametrize(
    ("screw", "words"),
    [
        ({"turn": 0.5}, "turn must be 1"),
        ({"turn": 0.0}, "neither rotates nor translates"),
        ({"slide": float("nan")}, "slide nan is not a number"),
        ({"spring": float("inf")}, "spring inf is not a number"),
        ({"axis": (0, 0, 0)}, "the axis must not be zero"),
    ],
)
def test_invalid_screws_are_refused(screw, words):
    with pytest.raises(ModelError, match=f"joint 'j': .*{words}"):
        Joint(**({"name": "j", "parent": "a", "child": "b", "axis": AXIS} | screw))
