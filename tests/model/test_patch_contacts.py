"""Contact points of surfaces with smooth patches: against minima by SciPy, and closed forms."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from draisine.algebra.lie import rot_x, rot_z
from draisine.model.surface import Ball, Disc, Ellipsoid, Tip, Torus
from draisine.terrain import SmoothGround, SmoothWarning

SURFACES = {
    "ball": Ball(0.2),
    "torus": Torus(0.3, 0.05),
    "disc": Disc(0.25),
    "ellipsoid": Ellipsoid((0.3, 0.1, 0.2)),
    "tip": Tip(),
}


def contacts(surface, centre, ground):
    """Return all contacts of a surface with the patches of a ground near it: gap, point, normal."""
    valid = []
    for k in ground.near(centre, float(surface.reach) + 0.06):
        feature = ground[k]
        met = surface.contact_with(
            "patch", centre, np.concatenate([feature.numbers, np.zeros(2), feature.cell])
        )
        if feature.excess(met.point, met.normal) <= 1e-9 and met.fold[0] > 0.0:
            valid.append((float(met.gap), met.point, met.normal))
    return sorted(valid, key=lambda contact: contact[0])


def hills(seed, cell=0.25, height=0.02):
    """Return random smooth hills over two metres."""
    x = np.arange(0.0, 2.01, cell)
    z = np.random.default_rng(seed).uniform(0.0, height, (len(x), len(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmoothWarning)
        return SmoothGround(x, x, z)


def least_height(surface, centre, ground):
    """Return the height (m) by which a surface may be lowered onto the ground, by SciPy.

    Points of the surface are its support points in directions given by two angles.
    """

    def above(angles):
        tilt = np.array([np.sin(angles[0]), np.sin(angles[1]), 1.0])
        point = centre + np.asarray(surface.support(tilt / np.linalg.norm(tilt)), float)
        return point[2] - float(ground.height(point[0], point[1]))

    best = None
    for first in (-0.2, 0.2):
        for second in (-0.2, 0.2):
            made = minimize(
                above,
                [first, second],
                method="Nelder-Mead",
                options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 1000},
            )
            if best is None or made.fun < best:
                best = made.fun
    return best


@pytest.mark.parametrize("name", [name for name in SURFACES if name != "tip"])
def test_lowered_by_the_least_height_a_surface_touches(name):
    """SciPy lowers the surface until its lowest point over the ground touches: there the gap is zero."""
    rng = np.random.default_rng(4)
    for seed in range(2):
        ground = hills(seed)
        surface = SURFACES[name].turned(
            rot_z(rng.uniform(0.0, 3.0)) @ rot_x(rng.uniform(-0.5, 0.5))
        )
        centre = np.array([*rng.uniform(0.6, 1.4, 2), 0.4])
        lowered = centre - [0.0, 0.0, least_height(surface, centre, ground)]
        gap, point, normal = contacts(surface, lowered, ground)[0]
        assert abs(gap) < 1e-10
        assert_allclose(point[2], ground.height(point[0], point[1]), atol=1e-9)
        assert normal @ normal == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("name", SURFACES)
def test_a_gap_is_the_distance_along_the_common_normal(name):
    """The ground is `gap` below the contact point along the normal, and its normal is the same."""
    rng = np.random.default_rng(5)
    for seed in range(3):
        ground = hills(seed)
        surface = SURFACES[name].turned(
            rot_z(rng.uniform(0.0, 3.0)) @ rot_x(rng.uniform(-0.5, 0.5))
        )
        centre = np.array([*rng.uniform(0.6, 1.4, 2), float(surface.reach) + 0.05])
        gap, point, normal = contacts(surface, centre, ground)[0]
        foot = point - gap * normal
        assert_allclose(foot[2], ground.height(foot[0], foot[1]), atol=1e-12)
        step = 1e-5
        slopes = [
            (ground.height(*(foot[:2] + d)) - ground.height(*(foot[:2] - d))) / (2 * step)
            for d in step * np.eye(2)
        ]
        steep = np.array([-slopes[0], -slopes[1], 1.0])
        assert_allclose(normal, steep / np.linalg.norm(steep), atol=1e-7)
        assert_allclose(point - centre, surface.support(normal), atol=1e-14)


@pytest.mark.parametrize("name", SURFACES)
def test_a_flat_patch_is_a_face(name):
    """The contact with a patch of a plane is that with a face."""
    slope, across = 0.2, -0.1
    x = np.linspace(-1.0, 1.0, 5)
    ground = SmoothGround(x, x, slope * x[:, None] + across * x + 0.3)
    N = np.array([-slope, -across, 1.0])
    N = N / np.linalg.norm(N)
    surface = SURFACES[name].turned(rot_z(0.4) @ rot_x(0.3))
    centre = np.array([0.13, -0.21, 0.38 + float(surface.reach)])
    face = surface.contact_with("face", centre, np.array([*N, 0.3 * N[2], 0.0, 0.0, 0.0, 0.0]))
    gap, point, normal = contacts(surface, centre, ground)[0]
    assert_allclose(gap, face.gap, atol=1e-14)
    assert_allclose(point, face.point, atol=1e-14)
    assert_allclose(normal, N, atol=1e-14)


def dip(radius):
    """Return a trough along y, the hyperbola z = sqrt(a^2 + x^2) with the radius of curvature a below."""
    x = np.linspace(-2.0, 2.0, 100) * radius  # no knot at the bottom
    return SmoothGround(x, None, np.sqrt(radius**2 + x**2))


@pytest.mark.parametrize("surface", [Ball(0.1), Disc(0.1)], ids=["ball", "disc"])
@pytest.mark.parametrize("ratio", [0.5, 0.99, 1.01, 2.0])
def test_a_wheel_in_a_dip_touches_once_or_twice(surface, ratio):
    """In a wider dip the wheel rests on its bottom. In a tighter one it rests on both sides: a circle of
    radius r touches the hyperbola at x^2 = (r^2 - a^2) / 2 if its centre is at z^2 = 2 (r^2 + a^2).
    """
    r = 0.1
    a = ratio * r
    ground = dip(a)
    height, places = a + r, [0.0]
    if ratio < 1.0:
        height = np.sqrt(2.0 * (r**2 + a**2))
        place = np.sqrt((r**2 - a**2) / 2.0)
        places = [-place, place]
    found = contacts(surface, np.array([0.0, 0.0, height]), ground)
    touching = [contact for contact in found if abs(contact[0]) < 1e-7]
    assert_allclose(sorted(point[0] for _, point, _ in touching), places, atol=1e-4 * r)
    assert len(found) == len(touching)


def test_a_wheel_in_a_valley_touches_both_sides():
    """A V-shaped valley with a rounded bottom: both contacts are at the closed-form points."""
    slope, r = np.tan(0.5), 0.1
    x = np.arange(-0.3, 0.301, 0.01)
    rounding = 0.02
    ground = SmoothGround(x, None, slope * np.sqrt(x**2 + rounding**2))
    height = r / np.cos(0.5)
    for surface in (Ball(r), Torus(r, 0.02), Disc(r)):
        touching = contacts(surface, np.array([0.0, 0.0, height + 0.01]), ground)[:2]
        (first, left, _), (second, right, _) = touching
        assert first == pytest.approx(second, abs=1e-12)
        assert_allclose(left[0], -right[0], atol=1e-12)
        # The hyperbola lies above its asymptotes by less than slope rounding^2 / (2 x).
        assert_allclose(abs(left[0]), r * np.sin(0.5), atol=0.01)
