"""Root loci about steady motions, against straight running and families."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import compile, eigenvalues
from draisine.analysis.root_locus import root_locus
from draisine.errors import ConfigurationError, ParameterError
from draisine.terrain import SmoothGround
from draisine.view.style import parent_figure

BICYCLE = compile("whipple")
DRIVEN = ("steer", "rear_wheel")


def test_over_speed_it_is_straight_running() -> None:
    """Beside the zero of the speed, the eigenvalues are those of the canonical matrices."""
    speeds = np.linspace(2.0, 8.0, 25)
    found = root_locus(BICYCLE, "forward_speed", speeds, free=["steer"], lean=0.0)
    straight = eigenvalues(BICYCLE, speeds).values
    for own, four in zip(found.eigenvalues, straight, strict=True):
        beside = np.delete(own, np.argmin(np.abs(own)))
        assert_allclose(np.sort_complex(beside), np.sort_complex(four), rtol=0, atol=1e-7)
    assert np.abs(np.diff(found.eigenvalues, axis=0)).max() < 2.5
    assert found.form == "steady"


def test_over_a_slope() -> None:
    """Without slope the yaw is cyclic: straight running with two zero eigenvalues."""
    found = root_locus(
        BICYCLE, "slope", np.linspace(0.0, 0.3, 7), free=DRIVEN, forward_speed=5.0, lean=0.0
    )
    assert found.unit == "rad"
    assert "yaw" in found.states
    assert found.eigenvalues.shape == (7, 6)
    assert np.sum(np.abs(found.eigenvalues[0]) < 1e-7) == 2
    straight = eigenvalues(BICYCLE, 5.0).values[0]
    others = found.eigenvalues[0][np.abs(found.eigenvalues[0]) > 1e-7]
    assert_allclose(np.sort_complex(others), np.sort_complex(straight), rtol=0, atol=1e-7)


def test_over_acceleration_in_two_forms() -> None:
    given = {"free": DRIVEN, "forward_speed": 5.0, "lean": 0.0}
    values = [-2.0, 0.0, 2.0]
    frozen = root_locus(BICYCLE, "forward_acceleration", values, **given)
    load = root_locus(BICYCLE, "forward_acceleration", values, form="dalembert", **given)
    assert (frozen.form, load.form) == ("frozen", "dalembert")
    same = np.sort_complex(frozen.eigenvalues[1]), np.sort_complex(load.eigenvalues[1])
    assert_allclose(*same, rtol=0, atol=1e-9)
    for k, one in enumerate(frozen.motions):
        if one.acceleration:
            own = np.sort_complex(one.linear(form="frozen").eigenvalues())
            assert_allclose(np.sort_complex(frozen.eigenvalues[k]), own, rtol=0, atol=1e-12)


def test_it_ends_where_the_family_does() -> None:
    found = root_locus(
        BICYCLE, "lean", np.linspace(0.0, 0.9, 19), free=["steer"], forward_speed=3.0
    )
    assert 5 < len(found.values) < 19
    assert "ends at lean" in found.end
    assert found.end in repr(found)
    with pytest.raises(ConfigurationError, match="No steady motion"):
        root_locus(BICYCLE, "lean", [1.2], free=["steer"], forward_speed=2.0)


def test_it_is_drawn_and_stored(tmp_path) -> None:
    found = root_locus(BICYCLE, "lean", [0.0, 0.1, 0.2], free=["steer"], forward_speed=5.0)
    found.save(tmp_path / "locus.nc")
    data = draisine.load(tmp_path / "locus.nc")
    assert_allclose(data.eigenvalue_real, found.eigenvalues.real)
    assert_allclose(data.input_value.sel(input="steer"), [m.inputs["steer"] for m in found.motions])
    plane, growth = draisine.plot(data)
    assert plane.get_xlabel() == "real part (1/s)"
    assert growth.get_xlabel() == "lean (deg)"
    assert_allclose(growth.get_xlim(), np.degrees([0.0, 0.2]))
    assert parent_figure(plane).get_suptitle()
    with pytest.raises(ParameterError, match="not a root locus"):
        draisine.plot(eigenvalues(BICYCLE, [4.0, 5.0]), "root_locus")


def test_unknown_quantity_is_refused() -> None:
    with pytest.raises(ParameterError, match="unknown quantity or parameter 'leen'"):
        root_locus(BICYCLE, "leen", [0.1], forward_speed=5.0)
    with pytest.raises(ParameterError, match="is empty"):
        root_locus(BICYCLE, "lean", [], forward_speed=5.0)


def test_on_a_terrain_the_eigenvalues_are_those_of_the_ground() -> None:
    """A ball of radius r rolls along a trough of radius R: across, it swings with sqrt(5 g / 7 (R - r)) at
    any speed. Its orientation turns with v / r.
    """
    radius, bend = 0.1, 0.5
    ball = compile("ball", radius=radius)
    across = np.linspace(-2.0, 2.0, 21)
    trough = SmoothGround([-60.0, 0.0, 60.0], across, np.tile(0.5 * across**2 / bend, (3, 1)))
    speeds = [0.5, 1.0, 4.0]
    locus = root_locus(ball, "x_speed", speeds, y=0.0, terrain=trough)
    swing = 1j * np.sqrt(5.0 * 9.81 / (7.0 * (bend - radius)))
    for speed, values in zip(speeds, locus.eigenvalues, strict=True):
        for wanted in (swing, 1j * speed / radius):
            assert np.abs(values - wanted).min() < 1e-6
