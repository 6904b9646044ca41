"""Initial position of a vehicle on smooth ground.

A vehicle on level ground is moved rigidly, so that each wheel has the same distance from the smooth ground as
it had from the level ground. The unknowns are the height and two rotations about the centre of one wheel,
which stays above a given point. Newton's method with minimum-norm steps solves for them (`place_on_smooth`).
A vehicle with more than three wheels cannot touch with all of them: it is lifted until no wheel is below the
ground.

Where the ground has different slopes below the wheels, a vehicle that moves like a rigid body on level ground
would leave it with one wheel and hit it with another. Therefore the speeds change, so that every touching
wheel moves relative to the ground as on level ground (`_follow_ground`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from draisine.algebra.lie import hat, quaternion, rot_about, rotation
from draisine.algebra.patch import PATCH, PATCH_HIGH, PATCH_LOW, PATCH_SCALE
from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, expect_known
from draisine.mechanics.base import free_columns
from draisine.mechanics.constraints import prescribed_joints
from draisine.mechanics.contact.features import FEATURE, contact_rows
from draisine.mechanics.couplings import coupling_rows
from draisine.mechanics.kinematics import geometry, point, point_matrix
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.tree import Tree
from draisine.model import Wheel
from draisine.model.surface import FeatureContact, Surface
from draisine.system.state import State
from draisine.terrain import SmoothGround, Terrain
from draisine.terrain.assembly import MovingGround
from draisine.terrain.division import divide_ground
from draisine.terrain.smooth import UNLIMITED

MAX_PLACE_STEPS = 50
"""Largest number of Newton steps; on gentle hills about six are sufficient."""

PLACE_RESOLUTION = 1e-13
"""Distance (m) from the ground below which the iteration ends; rounding errors of coordinates of 100 m."""

MAX_PLACE_ROTATION = 0.1
"""Largest rotation (rad) per step; with longer steps a wheel could leave its valley."""

BORDER_MARGIN = 1e-9
"""Distance (m) by which the contact point of a patch may lie beyond its border: rounding errors."""

TOUCHING_GAP = 1e-9
"""Distance (m) from the ground up to which a wheel touches after the iteration; it is far above its rounding
errors.
"""

REDUNDANT_SPEED_ROW = 1e-9
"""Singular value of the velocity constraints, as a fraction of their norm, below which a combination of
them is redundant, such as the sideways constraints of two wheels on one axle.
"""

UNIT_MASS_RIDGE = 1e-12
"""Diagonal term added to the mass matrix with unit diagonal, so that coordinates without inertia have a
weight; it is near the rounding errors of the others.
"""

LEVEL = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
"""Values of the face z = 0."""


class _Pose(NamedTuple):
    """Surfaces of all wheels in world axes, and their centres."""

    surfaces: list[Surface]
    centres: list[Floats]  # m


class _Nearest(NamedTuple):
    """Nearest contact of a wheel with smooth ground."""

    contact: FeatureContact
    values: Floats  # values of the patch, then its polynomial


def find_smooth(terrain: Terrain) -> SmoothGround | None:
    """Return the smooth ground of a terrain, also if it moves; None if the terrain is another one."""
    ground = terrain.ground if isinstance(terrain, MovingGround) else terrain
    return ground if isinstance(ground, SmoothGround) else None


def find_place(ground: SmoothGround, name: str, centre: Sequence[float] | None) -> Floats:
    """Return the coordinates (x, y) in m at which a wheel is placed on smooth ground.

    Parameters
    ----------
    ground
        Smooth ground.
    name
        "ground", or the name of a patch, whose middle is the default place.
    centre
        Coordinates (x, y) of the wheel centre (m), or None.

    Raises
    ------
    ParameterError
        If the name is unknown, or the place is neither given nor the middle of a patch.
    """
    names = {ground.name(k): k for k in range(len(ground))}
    expect_known("smooth ground has no", name, ["ground", *names])
    if centre is not None:
        return np.asarray(centre, float)
    cell = (
        np.full(PATCH, UNLIMITED) if name == "ground" else ground.cells(np.array([names[name]]))[0]
    )
    low = cell[PATCH_LOW]
    high = cell[PATCH_HIGH]
    scale = cell[PATCH_SCALE]
    if (np.maximum(np.abs(low), np.abs(high))[scale > 0.0] >= UNLIMITED).any():
        raise ParameterError(
            f"place: the ground {name!r} is unlimited, so it has no centre. State x and y of the "
            "wheel centre, such as centre = [0.0, 0.0]."
        )
    return np.asarray(np.where(scale > 0.0, 0.5 * (low + high), 0.0), float)


def place_on_smooth(
    tree: Tree, ground: SmoothGround, state: State, wheel: Wheel, place: Floats
) -> State:
    """Move a vehicle from level ground onto smooth ground and return the new state.

    Its speeds change so that the touching wheels follow the ground.

    Parameters
    ----------
    tree
        Links of the vehicle.
    ground
        Smooth ground.
    state
        State of the vehicle on the level ground z = 0.
    wheel
        Wheel whose centre is placed.
    place
        Coordinates (x, y) of this centre (m).

    Raises
    ------
    ParameterError
        If the wheels find no place on the ground.
    """
    wheels = list(tree.model.wheels)
    first = wheels.index(wheel)
    level = _place_wheels(tree, wheels, state)
    targets = np.array(
        [float(s.contact_with_face(c, LEVEL).gap) for s, c in zip(*level, strict=True)]
    )
    parts = divide_ground(ground, max(float(each.surface.flattest) for each in wheels))
    size = max(np.ptp(np.array(level.centres), axis=0).max(), float(wheel.surface.reach))

    # Start on the tangent plane, above all hills below the wheels, so that the wheels approach the
    # ground from above.
    R = rotation_to_normal(ground.normal(*place))
    moved = _rotate_vehicle(state, R, np.zeros(3))
    shift = np.array([*place, 0.0]) - _place_wheels(tree, wheels, moved).centres[first]
    shift[2] = 0.0
    moved = replace(moved, p=moved.p + shift)
    pose = _place_wheels(tree, wheels, moved)
    depths = [
        float(ground.height(c[0], c[1])) + float(s.reach) - c[2] for s, c in zip(*pose, strict=True)
    ]
    moved = replace(moved, p=moved.p + [0.0, 0.0, max(depths)])

    for _ in range(MAX_PLACE_STEPS):
        pose = _place_wheels(tree, wheels, moved)
        contacts = [
            _find_nearest_contact(parts, ground, s, c).contact for s, c in zip(*pose, strict=True)
        ]
        errors = np.array([float(met.gap) for met in contacts]) - targets
        hub = pose.centres[first]
        J = np.array(
            [
                [met.normal[2], *(np.cross(met.point - hub, met.normal)[:2] / size)]
                for met in contacts
            ]
        )
        step = np.linalg.lstsq(J, -errors, rcond=1e-9)[0]
        if np.abs(J @ step).max() < PLACE_RESOLUTION:
            break
        turn = np.array([*step[1:], 0.0]) / size
        angle = float(np.linalg.norm(turn))
        if angle > 0.0:
            limited = min(angle, MAX_PLACE_ROTATION)
            moved = _rotate_vehicle(moved, np.asarray(rot_about(turn / angle, limited), float), hub)
        moved = replace(moved, p=moved.p + [0.0, 0.0, step[0]])
    else:
        raise ParameterError(
            f"place: the wheels find no position on the smooth ground at x = {place[0]:g} m, "
            f"y = {place[1]:g} m. Give the centre of a wheel with three coordinates instead."
        )
    # More than three wheels cannot all touch. Lift the vehicle until the deepest wheel touches the
    # ground.
    lift = max(-float(e) / float(met.normal[2]) for e, met in zip(errors, contacts, strict=True))
    moved = replace(moved, p=moved.p + [0.0, 0.0, max(lift, 0.0)])
    pose = _place_wheels(tree, wheels, moved)
    nearest = [_find_nearest_contact(parts, ground, s, c) for s, c in zip(*pose, strict=True)]
    # A wheel touches if its gap is zero, or negative with a deflected tyre, as on level ground.
    touching = {
        each.name: here.values
        for each, here, target in zip(wheels, nearest, targets, strict=True)
        if target <= TOUCHING_GAP and float(here.contact.gap) <= target + TOUCHING_GAP
    }
    return _follow_ground(tree, state, moved, touching)


def _follow_ground(tree: Tree, level: State, moved: State, nearest: dict[str, Floats]) -> State:
    """Return a state whose touching wheels move relative to the ground as on level ground.

    The constraint rows C of the touching wheels at both places give the conditions C v = C_level v_level: no
    normal velocity, and the same slip. Prescribed joints keep their rates, couplings stay closed. Within
    these conditions, the centres of the wheels keep their speeds along and across their headings, in the
    sense of least squares. Among all solutions the change of the speeds has the smallest kinetic energy.

    Parameters
    ----------
    tree
        Links of the vehicle.
    level
        State on the level ground z = 0.
    moved
        The same state at the new place.
    nearest
        Values of the patch below each touching wheel, by name of the wheel.
    """
    model = tree.model
    columns = free_columns(model)
    geo = geometry(tree, level.r)
    speeds = np.asarray(level.v, float)

    def rows(state: State, wheel: Wheel, kind: str, values: Floats) -> tuple[Floats, Floats]:
        """Return the constraint rows (3, speeds) of a wheel, and the rows (2, speeds) of the tangential
        velocity of its centre.
        """
        R = np.asarray(rotation(state.q), float)
        contact = contact_rows(tree, geo, R, np.asarray(state.p, float), wheel, kind, values)
        hub = point(
            geo, tree.place[wheel.body][0], None, tree.point_in_link(wheel.body, wheel.centre)
        )
        P = R @ point_matrix(tree, geo, hub, np.zeros(3))
        tangential = np.array([axis @ P for axis in contact.axes[1:]], float)
        return np.asarray(contact.C, float)[:, columns], tangential[:, columns]

    joints = np.eye(6 + len(model.joints))[6:]
    kept = [*joints[prescribed_joints(model)], *coupling_rows(tree, geo)]
    conditions = [np.asarray(row, float)[None, columns] for row in kept]
    changes = [np.zeros(1) for _ in kept]
    centre_rows = []
    centre_changes = []
    for wheel in model.wheels:
        if wheel.name not in nearest:
            continue
        C_level, T_level = rows(level, wheel, "face", LEVEL)
        C, T = rows(moved, wheel, "patch", nearest[wheel.name])
        conditions.append(C)
        changes.append((C_level - C) @ speeds)
        centre_rows.append(T)
        centre_changes.append((T_level - T) @ speeds)
    if not centre_rows:
        return moved

    # With a unit diagonal, the weights do not depend on the units of the coordinates.
    M = np.asarray(mass_matrix(tree, geo, np.zeros(3)), float)[np.ix_(columns, columns)]
    diagonal = np.diag(M)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    weights = M * np.outer(scale, scale) + UNIT_MASS_RIDGE * np.eye(len(columns))
    # The kinetic energy of a change x of these coordinates is |x|^2 / 2.
    to_speeds = scale[:, None] * np.linalg.inv(np.linalg.cholesky(weights)).T
    A = np.concatenate(conditions) @ to_speeds
    H = np.concatenate(centre_rows) @ to_speeds
    inverse = _pseudo_inverse(A, float(np.linalg.norm(A)))
    x = inverse @ np.concatenate(changes)
    free = H - (H @ inverse) @ A
    x = x + _pseudo_inverse(free, float(np.linalg.norm(H))) @ (
        np.concatenate(centre_changes) - H @ x
    )
    return replace(moved, v=speeds + to_speeds @ x)


def _pseudo_inverse(A: Floats, size: float) -> Floats:
    """Return the pseudo-inverse of a matrix without its singular values below a fraction of `size`."""
    U, values, V = np.linalg.svd(A, full_matrices=False)
    regular = values > REDUNDANT_SPEED_ROW * size
    return np.asarray((V[regular].T / values[regular]) @ U[:, regular].T, float)


def _place_wheels(tree: Tree, wheels: list[Wheel], state: State) -> _Pose:
    """Return surfaces and centres of wheels in world axes at a state."""
    geo = geometry(tree, state.r)
    R = np.asarray(rotation(state.q), float)
    surfaces: list[Surface] = []
    centres = []
    for wheel in wheels:
        link = tree.place[wheel.body][0]
        axes = R @ np.asarray(geo.R0[link], float)
        local = np.asarray(tree.point_in_link(wheel.body, wheel.centre), float)
        origin = R @ np.asarray(geo.o0[link], float) + np.asarray(state.p, float)
        centres.append(origin + axes @ local)
        surfaces.append(wheel.surface.turned(tree.axes_in_link(wheel.body)).turned(axes))
    return _Pose(surfaces, centres)


def _find_nearest_contact(
    parts: Terrain, ground: SmoothGround, surface: Surface, centre: Floats
) -> _Nearest:
    """Return the nearest contact of a wheel with the parts of a smooth ground."""
    clearance = centre[2] - float(ground.height(centre[0], centre[1]))
    best: _Nearest | None = None
    for k in parts.near(centre, max(clearance, float(surface.reach))):
        feature = parts[k]
        values = np.zeros(FEATURE)
        values[: len(feature.numbers)] = feature.numbers
        values = np.concatenate([values, feature.cell])
        met = surface.contact_with("patch", centre, values)
        is_valid = feature.excess(met.point, met.normal) <= BORDER_MARGIN and met.fold[0] > 0.0
        if is_valid and (best is None or met.gap < best.contact.gap):
            best = _Nearest(met, values)
    if best is None:
        raise ParameterError(
            "place: a wheel has no nearest point on the smooth ground at "
            f"x = {centre[0]:.3g} m, y = {centre[1]:.3g} m. Place the machine elsewhere."
        )
    return best


def _rotate_vehicle(state: State, R: Floats, centre: Floats) -> State:
    """Return a state whose vehicle is rotated by R about a point (m)."""
    return replace(
        state,
        q=np.asarray(quaternion(R @ rotation(state.q)), float),
        p=centre + R @ (np.asarray(state.p, float) - centre),
    )


def rotation_to_normal(normal: Floats) -> Floats:
    """Return the rotation matrix (3, 3) by the smallest angle from the vertical to a unit vector (3,)."""
    K = hat(np.array([-normal[1], normal[0], 0.0]))
    return np.asarray(np.eye(3) + K + K @ K / (1.0 + normal[2]), float)
