"""Parameters of a bicycle with rider from measurements by tape measure and scale; others are
estimated.

The bicycle: shares of mass, centres of mass and radii of gyration are means over bicycles that were
weighed and swung as pendulums (Moore 2012, doi:10.6084/m9.figshare.1198429: Batavus Browser,
Crescendo and Stratos, Gary Fisher, Bianchi Pista, a yellow road bicycle; quantities that depend on the grips
without Fisher and Pista). The mean inertia tensors are physically valid and scale with mass and size only, so
the estimates are physically valid for every input.

The rider: fourteen rigid segments with the mass fractions, lengths, centres of mass and radii of
gyration of de Leva 1996 (men, table 4; doi:10.1016/0021-9290(95)00178-6), scaled by mass and
stature; hips on the saddle, feet at the cranks, hands at the grips. If these points are not stated, they are
means of the measured bicycles, too, like the distances of arms and legs from the mid-plane. Moving arms and
legs are thin rods of the same masses and lengths, elbows bent downwards.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, expect_known

SidePoint = tuple[float, float]
"""Point in the plane of the bicycle: m ahead of the rear axle, m above the ground."""

# Columns: mass relative to the rider's mass; length (mm) of a man with the stature STATURE;
# distance of the mass centre from the first end, and radii of gyration about the fore-and-aft, the
# transverse and the long axis, as fractions of the length.
STATURE = 1741.0
SEGMENTS = {
    "head": (0.0694, 242.9, 0.5002, 0.303, 0.315, 0.261),
    "trunk": (0.4346, 515.5, 0.4310, 0.384, 0.358, 0.197),
    "upper arms": (2 * 0.0271, 281.7, 0.5772, 0.285, 0.269, 0.158),
    "forearms": (2 * 0.0162, 268.9, 0.4574, 0.276, 0.265, 0.121),
    "hands": (2 * 0.0061, 86.2, 0.7900, 0.628, 0.513, 0.401),
    "thighs": (2 * 0.1416, 422.2, 0.4095, 0.329, 0.329, 0.149),
    "shanks": (2 * 0.0433, 440.3, 0.4395, 0.251, 0.246, 0.102),
    "feet": (2 * 0.0137, 258.1, 0.4415, 0.257, 0.245, 0.124),
}
ARM_SEGMENTS = ("upper arms", "forearms", "hands")
LEG_SEGMENTS = ("thighs", "shanks", "feet")
UPPER_SEGMENTS = ("head", "trunk", *ARM_SEGMENTS)
NECK_LENGTH = 603.3  # mm, distance from the hips to the neck of a man with the stature STATURE
ARMS_ASIDE = 0.13  # distance of the arms from the mid-plane, relative to the stature
LEGS_ASIDE = 0.05  # distance of the legs from the mid-plane, relative to the stature
ARM_REACH = 0.95  # reach of a slightly bent arm, relative to the length of the arm
CRANK_LENGTH = 0.17  # length of a usual crank, m

# Mean and standard deviation of ratios over the measured bicycles. Masses are relative to the
# bicycle's mass, the frame to its mass and the wheelbase, wheels to their mass and radius. The fork
# is relative to its mass and the distance from front axle to grips along the steer axis. The
# position of its mass centre along this axis has the deviation of its height, since most grips were
# not measured. The entries of the rider are errors of the segments: 0 or 1 by definition, with the
# deviation of four measured riders (Moore 2012).
BICYCLE_COEFFICIENTS = {
    "rear_wheel_mass": (0.194, 0.039),
    "front_wheel_mass": (0.160, 0.029),
    "fork_mass": (0.213, 0.031),
    "frame_x": (0.327, 0.057),
    "frame_height": (0.487, 0.033),
    "frame_xx": (0.052, 0.009),
    "frame_yy": (0.100, 0.007),
    "frame_zz": (0.058, 0.005),
    "frame_xz": (-0.002, 0.009),
    "rear_wheel_xx": (0.27, 0.06),
    "rear_wheel_yy": (0.42, 0.08),
    "front_wheel_xx": (0.32, 0.07),
    "front_wheel_yy": (0.56, 0.12),
    "fork_ahead": (0.043, 0.037),
    "fork_along": (0.655, 0.053),
    "fork_across": (0.147, 0.022),
    "fork_axial": (0.037, 0.013),
    "fork_mixed": (-0.009, 0.005),
    "fork_yy": (0.124, 0.022),
    "rider_x": (0.0, 0.07),  # position error of the rider's mass centre ahead, m
    "rider_height": (0.0, 0.02),  # position error of the rider's mass centre in height, m
    "rider_xx": (1.0, 0.10),
    "rider_yy": (1.0, 0.11),
    "rider_zz": (1.0, 0.14),
    # Error of the rider's product of inertia, relative to mass times stature squared
    "rider_xz": (0.0, 0.005),
}
MEAN_COEFFICIENTS = {name: mean for name, (mean, _) in BICYCLE_COEFFICIENTS.items()}

# Standard deviations of measurements with a tape, a protractor and household scales (m, rad, kg)
MEASURE_DEVIATIONS = {
    "wheelbase": 0.005,
    "trail": 0.005,
    "head_angle": math.radians(0.7),
    "rear_radius": 0.003,
    "front_radius": 0.003,
    "bicycle_mass": 0.2,
    "rider_mass": 0.5,
    "rider_height": 0.01,
    "rear_wheel_mass": 0.1,
    "front_wheel_mass": 0.1,
    "fork_mass": 0.1,
}
# kg, smallest mass of a rider; a smaller one vanishes in the rounding error of the bicycle's mass
MIN_RIDER_MASS = 1e-9
POINT_DEVIATION = 0.01  # m, standard deviation of saddle, cranks and grips in each direction

_LIMITS = {
    "wheelbase": (0.3, 4.0, "m"),
    "trail": (-1.0, 1.0, "m"),
    "rear_radius": (0.05, 1.0, "m"),
    "front_radius": (0.05, 1.0, "m"),
    "bicycle_mass": (2.0, 200.0, "kg"),
    "rider_mass": (0.0, 300.0, "kg"),
    "rider_height": (0.6, 2.5, "m"),
    "gravity": (0.0, 100.0, "m/s^2"),
}
_DATA_SOURCE = "measured bicycles (doi:10.6084/m9.figshare.1198429)"


@dataclass(frozen=True, slots=True)
class _PlaneMass:
    """Mass properties of a body in the plane of the bicycle, or of a symmetric pair of bodies
    beside it.
    """

    mass: float  # mass, kg
    x: float  # distance of the mass centre ahead of the rear axle, m
    h: float  # height of the mass centre above the ground, m
    xx: float  # moment of inertia about the mass centre, kg m2, as yy, hh and the product xh
    yy: float
    hh: float
    xh: float
    aside: float = 0.0  # distance of each body of a pair from the plane, m


def from_tape_measure(
    *,
    wheelbase: float,
    trail: float,
    head_angle: float,
    rear_radius: float,
    front_radius: float,
    bicycle_mass: float,
    rider_mass: float,
    rider_height: float = 1.75,
    rear_wheel_mass: float | None = None,
    front_wheel_mass: float | None = None,
    fork_mass: float | None = None,
    saddle: SidePoint | None = None,
    cranks: SidePoint | None = None,
    grips: SidePoint | None = None,
    gravity: float = 9.81,
    leaning: bool = False,
    arms: bool = False,
    legs: bool = False,
    stance: bool = False,
    coefficients: Mapping[str, float] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Estimate the benchmark's 26 parameters from simple measurements.

    Parameters
    ----------
    wheelbase, trail, rear_radius, front_radius
        Lengths, m.
    head_angle
        Angle of the steer axis from the horizontal, rad, as manufacturers state it: 72 degrees is 1.257.
    bicycle_mass, rider_mass, rider_height
        Masses, kg, and stature, m. Without a rider, `rider_mass` is zero.
    rear_wheel_mass, front_wheel_mass, fork_mass
        Masses, kg; estimated if None. The fork includes handlebar and stem.
    saddle, cranks, grips
        Points (ahead of the rear axle, above the ground), m; estimated if None.
    gravity
        Gravity, m/s2.
    leaning, arms, legs
        Whether the upper body leans on a hinge at the height of the saddle, the arms hold the bar and the
        legs turn cranks. Their parameters are then among the values, as `whipple` takes them.
    stance
        Whether the rider stands on the pedals, with the hips at `saddle`, and moves in the plane of the
        frame: the value `stance` is then his table. It excludes `leaning`, `arms` and `legs`.
    coefficients
        Ratios in place of the mean `BICYCLE_COEFFICIENTS` of measured bicycles, by name.

    Returns
    -------
    values : dict
        Parameters of `whipple` by name, SI units; `arms` and `legs` are tables.
    explanations : dict
        A sentence for each estimated parameter.

    Raises
    ------
    ParameterError
        If a measurement is out of range or the rider does not reach cranks or grips.
    """
    k = MEAN_COEFFICIENTS | dict(coefficients or {})
    expect_known("Unknown coefficient", k, MEAN_COEFFICIENTS)
    measurements = {
        "wheelbase": wheelbase,
        "trail": trail,
        "rear_radius": rear_radius,
        "front_radius": front_radius,
        "bicycle_mass": bicycle_mass,
        "rider_mass": rider_mass,
        "rider_height": rider_height,
        "gravity": gravity,
    }
    for name, value in measurements.items():
        _check_range(name, value, *_LIMITS[name])
    _check_geometry(wheelbase, trail, head_angle, rear_radius, front_radius)
    lam = math.pi / 2 - head_angle
    said: dict[str, str] = {}
    mass = _distribute_masses(bicycle_mass, rear_wheel_mass, front_wheel_mass, fork_mass, said, k)
    # Means over the measured bicycles: cranks at 0.416 of the wheelbase and 0.167 of the stature,
    # saddle at 0.425 of the stature along the seat tube (1.25 rad), and grips on the steer axis at
    # the height of the saddle.
    cranks = _check_point("cranks", cranks) or (0.416 * wheelbase, 0.167 * rider_height)
    saddle = _check_point("saddle", saddle) or (
        cranks[0] - 0.425 * rider_height * math.cos(1.25),
        cranks[1] + 0.425 * rider_height * math.sin(1.25),
    )
    grips = _check_point("grips", grips) or (
        wheelbase + trail - saddle[1] * math.tan(lam),
        saddle[1],
    )
    frame = _make_frame(mass["B"], wheelbase, k)
    ridden = rider_mass > MIN_RIDER_MASS
    rider = _make_rider_segments(rider_mass, rider_height, saddle, cranks, grips) if ridden else {}
    limbs: dict[str, dict[str, float]] = {}
    if arms:
        limbs["arms"], moving = _make_moving_arms(
            rider, rider_mass, rider_height, saddle, grips, said
        )
        rider = {name: rider[name] for name in rider if name not in ARM_SEGMENTS} | moving
    if legs:
        limbs["legs"], moving = _make_moving_legs(
            rider, rider_mass, rider_height, saddle, cranks, said
        )
        rider = {name: rider[name] for name in rider if name not in LEG_SEGMENTS} | moving
    if stance:
        if leaning or arms or legs:
            raise ParameterError(
                "stance = True is a complete rider and excludes leaning, arms and legs."
            )
        limbs["stance"], rider = _make_rider_on_pedals(
            rider, rider_mass, rider_height, (saddle, cranks, grips), said
        )
    bodies = (
        [frame, _correct_rider(_combine_bodies(rider.values()), rider_height, k)]
        if rider
        else [frame]
    )
    frame_with_rider = _combine_bodies(bodies)
    fork = _make_fork(mass["H"], wheelbase, trail, lam, front_radius, grips, k)
    _explain_frame(said, ridden)
    _explain_others(said)
    values = {
        "w": wheelbase,
        "c": trail,
        "lam": lam,
        "g": gravity,
        "rR": rear_radius,
        "mR": mass["R"],
        "IRxx": k["rear_wheel_xx"] * mass["R"] * rear_radius**2,
        "IRyy": k["rear_wheel_yy"] * mass["R"] * rear_radius**2,
        **_benchmark_values("B", frame_with_rider),
        **_benchmark_values("H", fork),
        "rF": front_radius,
        "mF": mass["F"],
        "IFxx": k["front_wheel_xx"] * mass["F"] * front_radius**2,
        "IFyy": k["front_wheel_yy"] * mass["F"] * front_radius**2,
    }
    if leaning:
        values |= _make_upper_body(rider, saddle, said)
    return {name: float(value) for name, value in values.items()} | limbs, said


def tape_measure_covariance(
    deviations: Mapping[str, float] | None = None, **measures: Any
) -> tuple[dict[str, float], Floats]:
    """Estimate the benchmark's 26 parameters and their covariance from simple measurements.

    The uncertainty of the measurements and the spread of the measured bicycles are propagated to first
    order; all are taken as independent. The result is correlated: a heavier wheel has a larger inertia.

    Parameters
    ----------
    deviations
        Standard deviations of measurements by name, in place of `MEASURE_DEVIATIONS`. Those of points
        apply to each coordinate.
    measures
        Keyword arguments of `from_tape_measure`, for a rigid rider.

    Returns
    -------
    values : dict
        The 26 parameters by name, SI units.
    covariance : ndarray, (26, 26)
        Their covariance in the same order, SI units.

    Examples
    --------
    >>> values, covariance = tape_measure_covariance(
    ...     wheelbase=1.02, trail=0.06, head_angle=1.257, rear_radius=0.34, front_radius=0.34,
    ...     bicycle_mass=14.0, rider_mass=72.0, rider_height=1.78,
    ... )
    >>> place = list(values).index("mF")
    >>> print(f"mF = {values['mF']:.1f} +- {covariance[place, place] ** 0.5:.1f} kg")
    mF = 2.2 +- 0.4 kg
    """
    expect_known("Not among the measurements:", deviations or {}, measures)
    structure = [name for name in ("leaning", "arms", "legs") if measures.get(name)]
    if structure:
        raise ParameterError(f"The covariance is that of a rigid rider; leave out {structure[0]}.")
    points = dict.fromkeys(("saddle", "cranks", "grips"), POINT_DEVIATION)
    sizes = MEASURE_DEVIATIONS | points | dict(deviations or {})
    # Arguments of both points of each central difference
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for name, value in measures.items():
        size = sizes.get(name, 0.0)
        if value is None or not size > 0.0:
            continue
        if name in points:
            (x, h) = value
            d = size
            changes += [({name: (x - d, h)}, {name: (x + d, h)})]
            changes += [({name: (x, h - d)}, {name: (x, h + d)})]
        else:
            # A value of zero means that there is no such part (no rider). It has no uncertainty.
            changes += [({name: value - size}, {name: value + size})] if value else []
    for name, (mean, size) in BICYCLE_COEFFICIENTS.items():
        lower, upper = ({"coefficients": {name: mean + sign * size}} for sign in (-1, 1))
        changes.append((lower, upper))
    values = from_tape_measure(**measures)[0]
    columns = []
    for pair in changes:
        ends = [np.array(list(from_tape_measure(**measures | each)[0].values())) for each in pair]
        columns.append((ends[1] - ends[0]) / 2.0)
    spread = np.array(columns)
    return values, spread.T @ spread


def _check_range(name: str, value: float, lower: float, upper: float, unit: str) -> None:
    """Raise `ParameterError` if a measurement is not between its bounds."""
    if not math.isfinite(value):
        raise ParameterError(f"{name} = {value} is not a finite number.")
    if not lower <= value <= upper:
        raise ParameterError(
            f"{name} = {value:g} {unit} is not between {lower:g} and {upper:g} {unit}; lengths are "
            "in metres, masses in kilograms."
        )


def _check_geometry(
    wheelbase: float, trail: float, head_angle: float, rear_radius: float, front_radius: float
) -> None:
    """Raise `ParameterError` if head angle, wheelbase or trail is not feasible."""
    if not math.isfinite(head_angle) or not math.radians(20) <= head_angle <= math.radians(120):
        raise ParameterError(
            f"head_angle = {head_angle:g} rad is not between 0.349 and 2.094 (20 and 120 degrees "
            f"from the horizontal); if it is in degrees, use math.radians({head_angle:g})."
        )
    if math.hypot(wheelbase, front_radius - rear_radius) <= rear_radius + front_radius:
        raise ParameterError(
            f"wheelbase = {wheelbase:g} m: wheels of radius {rear_radius:g} and {front_radius:g} "
            "m would overlap; measure between the axles, and radii, not diameters."
        )
    offset = front_radius * math.cos(head_angle) - trail * math.sin(head_angle)
    if abs(offset) >= front_radius:
        raise ParameterError(
            f"trail = {trail:g} m with head_angle = {head_angle:g} rad puts the steer axis "
            f"{abs(offset):.3g} m from the front axle, beyond the wheel of radius "
            f"{front_radius:g} m."
        )


def _check_point(name: str, point: SidePoint | None) -> SidePoint | None:
    """Return a point after checking it; None if it is not given."""
    if point is None:
        return None
    ahead, above = point
    if not (math.isfinite(ahead) and math.isfinite(above) and abs(ahead) < 5 and 0 < above < 3):
        raise ParameterError(
            f"{name} = {point}: state metres ahead of the rear axle and metres above the ground."
        )
    return float(ahead), float(above)


def _distribute_masses(
    bicycle_mass: float,
    rear_mass: float | None,
    front_mass: float | None,
    fork_mass: float | None,
    explanations: dict[str, str],
    coefficients: Mapping[str, float],
) -> dict[str, float]:
    """Return the masses (kg) of rear wheel R, front wheel F, fork H and frame B."""
    masses = {}
    for body, name, value in (
        ("R", "rear_wheel_mass", rear_mass),
        ("F", "front_wheel_mass", front_mass),
        ("H", "fork_mass", fork_mass),
    ):
        share = coefficients[name]
        if value is None:
            explanations["m" + body] = (
                f"{share:g} of the bicycle's mass, the mean share over six {_DATA_SOURCE}."
            )
        else:
            _check_range(name, value, 0.0, bicycle_mass, "kg")
        masses[body] = share * bicycle_mass if value is None else value
    masses["B"] = bicycle_mass - sum(masses.values())
    if masses["B"] <= 0:
        raise ParameterError(
            f"The wheels and the fork weigh {sum(masses.values()) - masses['B']:g} kg, but the bicycle only "
            f"bicycle_mass = {bicycle_mass:g} kg: check these masses."
        )
    return masses


def _make_frame(mass: float, wheelbase: float, coefficients: Mapping[str, float]) -> _PlaneMass:
    """Return the mass properties of the frame without rider, scaled by mass and wheelbase."""
    unit = mass * wheelbase**2
    return _PlaneMass(
        mass,
        coefficients["frame_x"] * wheelbase,
        coefficients["frame_height"] * wheelbase,
        xx=coefficients["frame_xx"] * unit,
        yy=coefficients["frame_yy"] * unit,
        hh=coefficients["frame_zz"] * unit,
        xh=coefficients["frame_xz"] * unit,
    )


def _correct_rider(
    rider: _PlaneMass, height: float, coefficients: Mapping[str, float]
) -> _PlaneMass:
    """Return the mass properties of the rider with correction coefficients for the segment model."""
    return replace(
        rider,
        x=rider.x + coefficients["rider_x"],
        h=rider.h + coefficients["rider_height"],
        xx=coefficients["rider_xx"] * rider.xx,
        yy=coefficients["rider_yy"] * rider.yy,
        hh=coefficients["rider_zz"] * rider.hh,
        xh=rider.xh + coefficients["rider_xz"] * rider.mass * height**2,
    )


def _make_fork(
    mass: float,
    wheelbase: float,
    trail: float,
    lam: float,
    radius: float,
    grips: SidePoint,
    coefficients: Mapping[str, float],
) -> _PlaneMass:
    """Return the mass properties of fork and handlebar, scaled by the distance from front axle to
    grips.

    The distance is measured along the steer axis.
    """
    s, c = math.sin(lam), math.cos(lam)
    reach = (wheelbase - grips[0]) * s + (grips[1] - radius) * c
    if reach < 0.1:
        raise ParameterError(
            f"grips = ({grips[0]:.3g}, {grips[1]:.3g}) are not above the front axle along the "
            "steer axis; state them as metres ahead of the rear axle and above the ground."
        )
    ahead = coefficients["fork_ahead"] * reach - (radius * s - trail * c)
    along = coefficients["fork_along"] * reach
    unit = mass * reach**2
    across, axial, mixed = (
        coefficients[f"fork_{name}"] * unit for name in ("across", "axial", "mixed")
    )
    return _PlaneMass(
        mass,
        wheelbase + ahead * c - along * s,
        radius + ahead * s + along * c,
        xx=across * c * c + axial * s * s - 2 * mixed * s * c,
        yy=coefficients["fork_yy"] * unit,
        hh=across * s * s + axial * c * c + 2 * mixed * s * c,
        xh=(across - axial) * s * c + mixed * (c * c - s * s),
    )


def _make_rider_segments(
    mass: float, height: float, saddle: SidePoint, cranks: SidePoint, grips: SidePoint
) -> dict[str, _PlaneMass]:
    """Return the rigid segments of the rider by name (kg, m, kg m2)."""
    scale = height / STATURE
    long = {name: segment[1] * scale for name, segment in SEGMENTS.items()}
    arm = [ARM_REACH * long[name] for name in ARM_SEGMENTS]
    knee = _place_joint("legs", "saddle", saddle, "cranks", cranks, long["thighs"], long["shanks"])
    shoulder = _place_shoulder(long, saddle, grips)
    neck = _point_towards(saddle, shoulder, NECK_LENGTH * scale)
    crown = (neck[0], neck[1] + long["head"])
    elbow = _point_towards(shoulder, grips, arm[0])
    wrist = _point_towards(shoulder, grips, arm[0] + arm[1])
    heel = (cranks[0] - SEGMENTS["feet"][2] * long["feet"], cranks[1])
    legs = LEGS_ASIDE * height
    arms = ARMS_ASIDE * height
    ends = {
        "head": (crown, neck, 0.0),
        "trunk": (shoulder, saddle, 0.0),
        "upper arms": (shoulder, elbow, arms),
        "forearms": (elbow, wrist, arms),
        "hands": (wrist, grips, arms),
        "thighs": (saddle, knee, legs),
        "shanks": (knee, cranks, legs),
        "feet": (heel, (heel[0] + long["feet"], heel[1]), legs),
    }
    return {
        name: _make_segment(name, mass, long[name], start, end, aside)
        for name, (start, end, aside) in ends.items()
    }


def _make_upper_body(
    rider: dict[str, _PlaneMass], saddle: SidePoint, explanations: dict[str, str]
) -> dict[str, float]:
    """Return the parameters of the upper body above the saddle: trunk, head and arms."""
    if not rider:
        raise ParameterError("leaning = True needs a rider: set rider_mass.")
    segments = [rider[name] for name in UPPER_SEGMENTS if name in rider]
    parameters = _benchmark_values("U", _combine_bodies(segments)) | {"zP": -saddle[1]}
    complete = len(segments) == len(UPPER_SEGMENTS)
    names = "Trunk, head and arms" if complete else "Trunk and head"
    explanation = f"{names} of the rider's rigid segments; the hinge is at the saddle's height."
    explanations |= dict.fromkeys(parameters, explanation)
    return parameters


def _place_shoulder(lengths: dict[str, float], saddle: SidePoint, grips: SidePoint) -> SidePoint:
    """Return the position of the shoulder between trunk and slightly bent arms (m)."""
    reach = ARM_REACH * sum(lengths[name] for name in ARM_SEGMENTS)
    return _place_joint("trunk and arms", "saddle", saddle, "grips", grips, lengths["trunk"], reach)


def _make_moving_arms(
    segments: dict[str, _PlaneMass],
    mass: float,
    height: float,
    saddle: SidePoint,
    grips: SidePoint,
    explanations: dict[str, str],
) -> tuple[dict[str, float], dict[str, _PlaneMass]]:
    """Return the table of moving arms for `whipple`, and the mass properties of these arms."""
    long, single_mass = _measure_limbs("arms", segments, mass, height)
    shoulder = _place_shoulder(long, saddle, grips)
    aside = ARMS_ASIDE * height
    upper = long["upper arms"]
    lower = long["forearms"] + long["hands"]
    span = math.dist(shoulder, grips)
    along = (upper**2 - lower**2 + span**2) / (2 * span)
    ux = (grips[0] - shoulder[0]) / span
    uh = (grips[1] - shoulder[1]) / span
    down = math.sqrt(upper**2 - along**2)
    elbow = (shoulder[0] + along * ux + down * uh, shoulder[1] + along * uh - down * ux)
    table = {
        f"{name}_{axis}": x
        for name, point in (("shoulder", shoulder), ("elbow", elbow), ("grip", grips))
        for axis, x in zip("xyz", (point[0], aside, point[1]), strict=True)
    }
    table |= {
        "upper": single_mass["upper arms"],
        "lower": single_mass["forearms"] + single_mass["hands"],
    }
    explanations["arms"] = "Thin rods from shoulders over elbows, bent downwards, to the grips."
    return table, {
        "moving upper arms": _make_rod(2 * table["upper"], shoulder, elbow, aside),
        "moving forearms": _make_rod(2 * table["lower"], elbow, grips, aside),
    }


def _make_moving_legs(
    segments: dict[str, _PlaneMass],
    mass: float,
    height: float,
    saddle: SidePoint,
    cranks: SidePoint,
    explanations: dict[str, str],
) -> tuple[dict[str, float], dict[str, _PlaneMass]]:
    """Return the table of moving legs for `whipple`, and their mass properties with the left pedal
    ahead.
    """
    long, single_mass = _measure_limbs("legs", segments, mass, height)
    aside = LEGS_ASIDE * height
    thigh = long["thighs"]
    shank = long["shanks"] + SEGMENTS["feet"][2] * long["feet"]
    table = {"hip_x": saddle[0], "hip_z": saddle[1], "axle_x": cranks[0], "axle_z": cranks[1]}
    table |= {"thigh": thigh, "shank": shank, "crank": CRANK_LENGTH, "aside": aside}
    table |= {
        "upper": single_mass["thighs"],
        "lower": single_mass["shanks"] + single_mass["feet"],
    }
    _place_joint(
        "legs",
        "saddle",
        saddle,
        "pedals",
        _point_towards(cranks, saddle, -CRANK_LENGTH),
        thigh,
        shank,
    )
    explanations["legs"] = (
        f"Thin rods from the saddle over the knees to pedals on cranks of {CRANK_LENGTH:g} m; feet are "
        "parts of the shanks and lengthen them."
    )
    bodies: dict[str, _PlaneMass] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        pedal = (cranks[0] + sign * CRANK_LENGTH, cranks[1])
        knee = _place_joint("legs", "saddle", saddle, "pedals", pedal, thigh, shank)
        bodies[f"{side} thigh"] = _make_rod(table["upper"], saddle, knee, aside)
        bodies[f"{side} shank"] = _make_rod(table["lower"], knee, pedal, aside)
    return table, bodies


def _make_rider_on_pedals(
    segments: dict[str, _PlaneMass],
    mass: float,
    height: float,
    points: tuple[SidePoint, SidePoint, SidePoint],
    explanations: dict[str, str],
) -> tuple[dict[str, float], dict[str, _PlaneMass]]:
    """Return the table of a standing rider for `whipple`, and the mass properties of all parts of the rider.

    `points` are hips, cranks and grips.
    """
    long, single_mass = _measure_limbs("stance", segments, mass, height)
    hip, axle, grip = points
    shoulder = _place_shoulder(long, hip, grip)
    trunk = _combine_bodies([segments["head"], segments["trunk"]])
    legs = LEGS_ASIDE * height
    arms = ARMS_ASIDE * height
    table = {
        f"{name}_{axis}": x
        for name, point in (("hip", hip), ("shoulder", shoulder), ("grip", grip), ("axle", axle))
        for axis, x in zip("xz", point, strict=True)
    }
    table |= {"trunk": trunk.mass, "trunk_x": trunk.x, "trunk_z": trunk.h}
    table |= {"trunk_xx": trunk.xx, "trunk_yy": trunk.yy, "trunk_zz": trunk.hh}
    table |= {"trunk_xz": trunk.xh, "legs_aside": legs, "arms_aside": arms}
    table |= {
        "thighs": 2 * single_mass["thighs"],
        "shanks": 2 * (single_mass["shanks"] + single_mass["feet"]),
        "upper_arms": 2 * single_mass["upper arms"],
        "forearms": 2 * (single_mass["forearms"] + single_mass["hands"]),
    }
    explanations["stance"] = (
        "Trunk and head of the rider's rigid segments; legs from the cranks to the hips and arms from the "
        "shoulders to the grips, each pair two thin rods of half its length."
    )
    knee = _point_towards(axle, hip, math.dist(axle, hip) / 2)
    elbow = _point_towards(shoulder, grip, math.dist(shoulder, grip) / 2)
    return table, {
        "trunk": trunk,
        "thighs": _make_rod(table["thighs"], knee, hip, legs),
        "shanks": _make_rod(table["shanks"], axle, knee, legs),
        "upper arms": _make_rod(table["upper_arms"], shoulder, elbow, arms),
        "forearms": _make_rod(table["forearms"], elbow, grip, arms),
    }


def _measure_limbs(
    option: str, segments: dict[str, _PlaneMass], mass: float, height: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the lengths (m) of the rider's segments, and the mass (kg) of one segment of each
    pair.
    """
    if not segments:
        raise ParameterError(f"{option} = True needs a rider: set rider_mass.")
    long = {name: segment[1] * height / STATURE for name, segment in SEGMENTS.items()}
    return long, {name: segment[0] * mass / 2 for name, segment in SEGMENTS.items()}


def _make_rod(mass: float, start: SidePoint, end: SidePoint, offset: float) -> _PlaneMass:
    """Return the mass properties of a thin rod between two points, or of a pair of rods beside the
    plane.

    `offset` is the distance of each rod of a pair from the plane (m).
    """
    dx = end[0] - start[0]
    dh = end[1] - start[1]
    unit = mass / 12.0
    return _PlaneMass(
        mass,
        (start[0] + end[0]) / 2,
        (start[1] + end[1]) / 2,
        xx=unit * dh**2,
        yy=unit * (dx**2 + dh**2),
        hh=unit * dx**2,
        xh=-unit * dx * dh,
        aside=offset,
    )


def _make_segment(
    name: str, rider_mass: float, length: float, start: SidePoint, end: SidePoint, offset: float
) -> _PlaneMass:
    """Return the mass properties of a segment of the rider between two points, after de Leva."""
    fraction, _, centre, fore, across, axial = SEGMENTS[name]
    mass = fraction * rider_mass
    span = math.dist(start, end)
    ux = (end[0] - start[0]) / span
    uh = (end[1] - start[1]) / span
    transverse = mass * (fore * length) ** 2
    longitudinal = mass * (axial * length) ** 2
    return _PlaneMass(
        mass,
        start[0] + centre * (end[0] - start[0]),
        start[1] + centre * (end[1] - start[1]),
        xx=longitudinal * ux * ux + transverse * uh * uh,
        yy=mass * (across * length) ** 2,
        hh=longitudinal * uh * uh + transverse * ux * ux,
        xh=(longitudinal - transverse) * ux * uh,
        aside=offset,
    )


def _place_joint(
    limb_name: str,
    start_name: str,
    start: SidePoint,
    end_name: str,
    end: SidePoint,
    first_length: float,
    second_length: float,
) -> SidePoint:
    """Return the joint between two links of given lengths that lead from `start` to `end` (m), bent
    forward or up.
    """
    span = math.dist(start, end)
    if not abs(first_length - second_length) < span < first_length + second_length:
        raise ParameterError(
            f"{end_name} at ({end[0]:.3g}, {end[1]:.3g}) are {span:.3g} m from the {start_name} at "
            f"({start[0]:.3g}, {start[1]:.3g}); the rider's {limb_name} span "
            f"{abs(first_length - second_length):.3g} to {first_length + second_length:.3g} m. "
            f"State the measured {start_name} and {end_name}, or check rider_height."
        )
    ux = (end[0] - start[0]) / span
    uh = (end[1] - start[1]) / span
    along = (first_length**2 - second_length**2 + span**2) / (2 * span)
    aside = math.sqrt(max(first_length**2 - along**2, 0.0))
    side = 1.0 if ux >= uh else -1.0
    return start[0] + along * ux - side * aside * uh, start[1] + along * uh + side * aside * ux


def _point_towards(start: SidePoint, end: SidePoint, length: float) -> SidePoint:
    """Return the point at a distance (m) from start in the direction of end."""
    fraction = length / math.dist(start, end)
    return start[0] + fraction * (end[0] - start[0]), start[1] + fraction * (end[1] - start[1])


def _combine_bodies(bodies: Iterable[_PlaneMass]) -> _PlaneMass:
    """Return several bodies combined into one, by the parallel axis theorem."""
    bodies = list(bodies)
    mass = sum(body.mass for body in bodies)
    x = sum(body.mass * body.x for body in bodies) / mass
    h = sum(body.mass * body.h for body in bodies) / mass
    xx = yy = hh = xh = 0.0
    for body in bodies:
        dx = body.x - x
        dh = body.h - h
        m = body.mass
        xx += body.xx + m * (dh**2 + body.aside**2)
        yy += body.yy + m * (dx**2 + dh**2)
        hh += body.hh + m * (dx**2 + body.aside**2)
        xh += body.xh - m * dx * dh
    return _PlaneMass(mass, x, h, xx, yy, hh, xh)


def _benchmark_values(body_letter: str, body: _PlaneMass) -> dict[str, float]:
    """Return the mass properties of a body by the benchmark's parameter names and axes (z down)."""
    return {
        f"x{body_letter}": body.x,
        f"z{body_letter}": -body.h,
        f"m{body_letter}": body.mass,
        f"I{body_letter}xx": body.xx,
        f"I{body_letter}yy": body.yy,
        f"I{body_letter}zz": body.hh,
        f"I{body_letter}xz": -body.xh,
    }


def _explain_frame(explanations: dict[str, str], has_rider: bool) -> None:
    """Add explanations of how the parameters of the frame were estimated."""
    frame = f"the frame from the mean of six {_DATA_SOURCE}, in units of the wheelbase"
    rider = (
        ", with a rider of rigid segments (doi:10.1016/0021-9290(95)00178-6): hips on the "
        "saddle, feet at the cranks, hands at the grips"
        if has_rider
        else ", without a rider"
    )
    explanations["mB"] = "The bicycle's mass minus wheels, fork and handlebar" + (
        ", plus the rider's mass." if has_rider else "."
    )
    for name in ("xB", "zB"):
        explanations[name] = f"Centre of mass of {frame}{rider}."
    for name in ("IBxx", "IByy", "IBzz", "IBxz"):
        explanations[name] = f"Inertia of {frame}{rider}."


def _explain_others(explanations: dict[str, str]) -> None:
    """Add explanations of how the parameters of fork and wheels were estimated."""
    distance = "the distance along the steer axis from front axle to grips"
    scaled = f"mean of four {_DATA_SOURCE}, scaled by {distance}"
    explanations["xH"] = explanations["zH"] = (
        f"Centre of mass of fork and handlebar: 0.655 of that distance up, 0.043 ahead of the axis; {scaled}."
    )
    for name in ("IHxx", "IHyy", "IHzz", "IHxz"):
        explanations[name] = f"Inertia of fork and handlebar: {scaled}, turned with the steer axis."
    for body, ring, across in (("R", 0.42, 0.27), ("F", 0.56, 0.32)):
        explanations[f"I{body}yy"] = (
            f"A ring of {ring:g} of the wheel's mass at its radius, the rest in the hub: mean of six "
            f"{_DATA_SOURCE}."
        )
        explanations[f"I{body}xx"] = (
            f"{across:g} of mass times radius squared, the mean of six {_DATA_SOURCE} (a flat ring has "
            "half its axial moment)."
        )
