"""Torque limits of motors within a time step, as routines.

Problem: a servo of gain k on a wheel of inertia J must be implicit in a step of length h, because explicit it
is unstable for k h > 2 J. If the limit of its motor is reached at the start of the step, the derivative of
the limited torque is zero or that of the torque-speed line. Then nothing in the equations of the step shows
that the servo brakes as soon as the limit is left: the speed passes the command and alternates around it.

Method: an active set. The supplied torque is piecewise linear in the requested torque u and in the joint rate
w, eq. [motor-limits]. Each motor has a `MotorPiece`. The step is solved with the affine function of this
piece, implicit in u and w:

1. `begin_motors`: the pieces at the start of the step.
2. Solve the step. The derivatives of the requested torques predict u and w at its end.
3. `update_motors`: a motor whose u and w at the end belong to another piece changes to it, and step 2 is
   repeated. For a single motor this ends after two changes: the torque falls with the rate, and changes
   between the two limits pass through the request, which is the steepest piece. Newton's method on such a
   function cycles between the flat pieces, unless it starts from the steep one.

A torque that grows with its own joint rate (an unstable law) is limited at the start of the step, explicitly.
So are all motors if the iteration does not end, or if the derivatives make the equations indefinite.
"""

from enum import IntEnum
from math import isfinite

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Matrix, Record, routine

MOTOR_PASSES = 10
"""Largest number of solutions of one time step for the pieces of its motors; more than three are rare."""
TORQUE_RESOLUTION = 1e-9
"""Excess of a requested torque over a limit, as a fraction of the request, below which a motor keeps its
piece; otherwise rounding errors could change it again and again.
"""


class MotorPiece(IntEnum):
    """Pieces of the supplied torque as a function of requested torque and joint rate."""

    EXPLICIT = 0  # the limited torque at the start of the step
    REQUEST = 1  # the requested torque
    UPPER_TORQUE = 2  # the largest torque
    UPPER_LINE = 3  # the torque-speed line for positive torques
    UPPER_ZERO = 4  # no driving torque beyond the no-load speed
    LOWER_TORQUE = 5  # the largest torque in the negative direction
    LOWER_LINE = 6  # the torque-speed line for negative torques
    LOWER_ZERO = 7  # no driving torque beyond the no-load speed in the negative direction


class Motors(Record):
    """Limits and pieces of the m motors of a system with n speeds."""

    count: int  # number m of motors
    speed: Integers  # (m) index of the joint rate among the speeds
    torque: Floats  # (m) N m or N, largest torque
    no_load_speed: Floats  # (m) rad/s or m/s, rate at which the torque-speed line vanishes
    stall_torque: Floats  # (m) N m or N, torque of the torque-speed line at rest
    requested: int  # offset of the requested torques in the output of the system's program
    piece: Integers  # (m) MotorPiece in this step
    slope: Matrix  # (m, n) derivatives of the requested torques with respect to the speeds


@routine
def line_torque(m: Motors, i: int, sign: float, rate: float) -> float:
    """Return the torque of the torque-speed line of motor i in its positive (1) or negative (-1) direction at
    a joint rate, in this direction.
    """
    if not isfinite(m.no_load_speed[i]):
        return m.torque[i]
    return m.stall_torque[i] * (1.0 - sign * rate / m.no_load_speed[i])


@routine
def find_limit_piece(m: Motors, i: int, sign: float, rate: float) -> MotorPiece:
    """Return the piece of the limit of motor i in its positive (1) or negative (-1) direction at a joint
    rate.
    """
    line = line_torque(m, i, sign, rate)
    is_upper = sign > 0.0
    if not line > 0.0:
        return MotorPiece.UPPER_ZERO if is_upper else MotorPiece.LOWER_ZERO
    if line < m.torque[i]:
        return MotorPiece.UPPER_LINE if is_upper else MotorPiece.LOWER_LINE
    return MotorPiece.UPPER_TORQUE if is_upper else MotorPiece.LOWER_TORQUE


@routine
def find_piece(m: Motors, i: int, request: float, rate: float) -> MotorPiece:
    """Return the piece of the torque that motor i supplies for a request at a joint rate."""
    sign = 1.0 if request > 0.0 else -1.0
    limit = min(m.torque[i], max(line_torque(m, i, sign, rate), 0.0))
    if sign * request <= limit:
        return MotorPiece.REQUEST
    return find_limit_piece(m, i, sign, rate)


@routine
def piece_torque(m: Motors, i: int, piece: MotorPiece, request: float, rate: float) -> float:
    """Return the torque of a piece of motor i, beyond its ends as well."""
    if piece is MotorPiece.REQUEST:
        return request
    if piece is MotorPiece.UPPER_TORQUE:
        return m.torque[i]
    if piece is MotorPiece.UPPER_LINE:
        return line_torque(m, i, 1.0, rate)
    if piece is MotorPiece.LOWER_TORQUE:
        return -m.torque[i]
    if piece is MotorPiece.LOWER_LINE:
        return -line_torque(m, i, -1.0, rate)
    return 0.0


@routine
def excess_torque(m: Motors, i: int, out: Floats, v: Floats) -> float:
    """Return the torque of the present piece of motor i minus the limited torque, which the system's program
    contains; `out` is the output of this program at speeds v.
    """
    piece = MotorPiece(m.piece[i])
    request = out[m.requested + i]
    rate = v[m.speed[i]]
    actual = find_piece(m, i, request, rate)
    if piece is MotorPiece.EXPLICIT or piece is actual:
        return 0.0
    return piece_torque(m, i, piece, request, rate) - piece_torque(m, i, actual, request, rate)


@routine
def begin_motors(m: Motors, out: Floats, v: Floats) -> None:
    """Choose the pieces at the start of a step; `out` is the output of the system's program at speeds v."""
    for i in range(m.count):
        m.piece[i] = find_piece(m, i, out[m.requested + i], v[m.speed[i]])


@routine
def make_explicit(m: Motors, out: Floats, v: Floats) -> bool:
    """Use the limited torques at the start of the step, with the speeds v; return whether this changes the
    equations of the step.
    """
    has_changed = False
    for i in range(m.count):
        has_changed = has_changed or excess_torque(m, i, out, v) != 0.0
        m.piece[i] = MotorPiece.EXPLICIT
    return has_changed


@routine
def predict_request(m: Motors, i: int, out: Floats, before: Floats, after: Floats, n: int) -> float:
    """Return the requested torque of motor i at the end of a step, which changes the n speeds from `before`
    to `after`. As in the equations of the step, the part of its derivative that is not symmetric is explicit.
    """
    speed = m.speed[i]
    request = out[m.requested + i]
    for j in range(n):
        share = 1.0 if j == speed else 0.5
        request += share * m.slope[i, j] * (after[j] - before[j])
    return request


@routine
def is_adjacent(piece: MotorPiece, other: MotorPiece) -> bool:
    """Return whether a motor may change between two pieces directly: one is the request, or both are parts of
    one limit that share an end.
    """
    if piece is MotorPiece.REQUEST or other is MotorPiece.REQUEST:
        return True
    is_upper = piece <= MotorPiece.UPPER_ZERO and other <= MotorPiece.UPPER_ZERO
    is_lower = piece >= MotorPiece.LOWER_TORQUE and other >= MotorPiece.LOWER_TORQUE
    return (is_upper or is_lower) and abs(int(piece) - int(other)) == 1


@routine
def choose_next_piece(piece: MotorPiece, target: MotorPiece) -> MotorPiece:
    """Return the next piece of a motor on the way from one piece to another. Between two flat pieces it is
    the steep one: the torque-speed line within one limit, the request between both limits.
    """
    if is_adjacent(piece, target):
        return target
    if piece <= MotorPiece.UPPER_ZERO and target <= MotorPiece.UPPER_ZERO:
        return MotorPiece.UPPER_LINE
    if piece >= MotorPiece.LOWER_TORQUE and target >= MotorPiece.LOWER_TORQUE:
        return MotorPiece.LOWER_LINE
    return MotorPiece.REQUEST


@routine
def update_motors(m: Motors, out: Floats, before: Floats, after: Floats, n: int) -> bool:
    """Change each motor to the piece to which its request and its rate at the end of a step belong; return
    whether all motors keep their pieces.

    Parameters
    ----------
    m
        The motors, with their pieces in the solution of the step.
    out
        Output of the system's program at the start of the step.
    before, after
        (n) speeds at the start and at the end of the step.
    n
        Number of speeds.
    """
    is_same = True
    for i in range(m.count):
        piece = MotorPiece(m.piece[i])
        speed = m.speed[i]
        if piece is MotorPiece.EXPLICIT:
            continue
        if m.slope[i, speed] > 0.0:
            # A torque that grows with its own rate has no unique implicit value.
            if excess_torque(m, i, out, before) != 0.0:
                is_same = False
            m.piece[i] = MotorPiece.EXPLICIT
            continue
        request = predict_request(m, i, out, before, after, n)
        is_request = piece is MotorPiece.REQUEST
        scale = 1.0 - TORQUE_RESOLUTION if is_request else 1.0 + TORQUE_RESOLUTION
        target = find_piece(m, i, scale * request, after[speed])
        if target is not piece:
            m.piece[i] = choose_next_piece(piece, target)
            is_same = False
    return is_same
