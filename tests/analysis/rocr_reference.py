"""Independent model of the climbing robot ROCR: thesis section 1.7 with its errata, and reference
numbers.

The equations here are Lagrange's for a body that turns about a fixed point and a tail of given
motion, written out; they share nothing with the package. CYCLES are an independent computation of the
fixed points (closure below 6e-12); its multipliers come from differences, its extremes from samples.
"""

import numpy as np
from scipy.integrate import solve_ivp

a = 0.1
b = 0.02
m0 = 0.199
m1 = 0.1
MS0 = 0.0035
MS1 = 0.03
J0 = 0.00013
J1 = 0.009
Cv = 0.03
g = 9.81
f = 1.5
A = np.pi / 3
w = 2 * np.pi * f
T = 1 / f
SIDE = {1: a / 2, 2: -a / 2}  # position of the middle from each grip along n0, m

CYCLES = {
    "a": {
        "phase": 1.5 * np.pi,
        "joint": "free",
        "Omega0": 6.825063599720387,
        "theta0": 3.1306685466721316,
        "multipliers": [0.330530366178517, 0.30436619618963096],
        "rise": 0.19998806650748066,
        "swing": 3.163440867425055,
        "fastest": 11.425826127003884,
        "torque": 0.5395419649039589,
        "Fn": (-0.33384265565221183, 10.535143786710789),
        "Fs": 8.358621557626137,
        "weights": 3.6690876352788986,
        "Omega": (9.698774589076287, -6.825063599720359),
        "struck": 7.755823000293727,
    },
    "X2": {
        "phase": 1.5 * np.pi,
        "joint": "free",
        "Omega0": 14.824594976297401,
        "theta0": 5.405750104056867,
        "multipliers": [2.707033208853344, 0.037163294070667874],
        "rise": -0.12782516701053018,
        "swing": 4.896463059838986,
        "fastest": 21.0740342435087,
        "torque": 1.3203829773645828,
        "Fn": (-6.27893725083398, 12.37109004301125),
        "Fs": 17.347488466247746,
        "weights": 7.07138474456308,
        "Omega": (21.066529703168342, -14.824594976303672),
        "struck": 28.414261923680794,
    },
    "b": {
        "phase": 3.76,
        "joint": "free",
        "Omega0": 2.408348647894335,
        "theta0": 4.701166649245504,
        "multipliers": [0.2518284880249424, 0.0833531816834196],
        "rise": 0.0022444191165255827,
        "swing": 0.5543834184920424,
        "fastest": 4.559377751712608,
        "torque": 0.24237961808931568,
        "Fn": (2.216280217163181, 4.529019286663508),
        "Fs": 1.2445212444281242,
        "weights": 1.5571838124413988,
        "Omega": (4.5593777517124865, -2.4083486478944147),
        "struck": 1.821480191295108,
    },
    "straight down": {
        "phase": 0.75 * np.pi,
        "joint": "free",
        "Omega0": -2.091182287290269,
        "theta0": 6.21922445616064,
        "multipliers": [0.4449247989607666, 0.037501661929706],
        "rise": -0.199591040403034,
        "swing": 3.0136709515519615,
        "fastest": 12.532019952241532,
        "torque": 0.2168326574536455,
        "Fn": (2.6602609109951607, 4.321483293519828),
        "Fs": 1.9706130279996374,
        "weights": 1.4756443086763968,
        "Omega": (-3.7968683448154916, 2.0911822872889614),
        "struck": 0.6092766641436205,
    },
    "c": {
        "phase": 1.0,
        "joint": "free",
        "Omega0": -13.650207662704231,
        "theta0": 4.058525416104234,
        "multipliers": [0.7476127533570373, 0.14700536320773416],
        "rise": 0.12165152043419876,
        "swing": 4.975458178616907,
        "fastest": 19.272476943530055,
        "torque": 0.3434606933670007,
        "Fn": (-7.235046327644109, 20.255586077371706),
        "Fs": 14.538745630650505,
        "weights": 6.906073033686593,
        "Omega": (-18.569044102112006, 13.650207662701025),
        "struck": -25.287982685073516,
    },
    "held straight": {
        "phase": 1.5 * np.pi,
        "joint": "held",
        "Omega0": -4.360704085122853,
        "theta0": 4.446933044444908,
        "multipliers": [
            -0.36435636594500653 + 0.13941192525310064j,
            -0.36435636594500653 - 0.13941192525310064j,
        ],
        "rise": 0.05246985225363684,
        "swing": 1.197451273380759,
        "fastest": 5.863382462990861,
        "torque": 0.2928667192483681,
        "Fn": (2.8050682896252073, 4.316152200147306),
        "Fs": 1.7947592177891176,
        "weights": 1.4714893256712793,
        "Omega": (5.038205005595899, 4.360704085122244),
        "struck": -9.869604401089358,
    },
    "held inverted": {
        "phase": 1.5 * np.pi,
        "joint": "held",
        "Omega0": -8.769183209524808,
        "theta0": 1.3179380922159054,
        "multipliers": [19.863650194053267, 0.0076617997377255165],
        "rise": -0.05003446477763804,
        "swing": 1.886487648117783,
        "fastest": 10.131607620878846,
        "torque": 0.33086158384485864,
        "Fn": (1.7325065064817629, 2.6024400212767866),
        "Fs": 1.4097882274604254,
        "weights": 1.0090592444508155,
        "Omega": (10.131607620878846, 8.769183209526124),
        "struck": -9.869604401089358,
    },
}

STABLE = {
    "straight": (1.4787338981198144, 6.275991689245909),
    "inverted": (0.6247655058254938, 1.5888934362178984),
}
STILL = 3.751888761136569
UPRIGHT = 4.705268861136133
"""Phase at which the straight gait has no displacement, and phase at which its theta is pi (rad).
"""


def tail(t, phase):
    """Return angle, rate and acceleration of the tail, (1.23)."""
    return (
        A * np.cos(w * t + phase),
        -A * w * np.sin(w * t + phase),
        -A * w**2 * np.cos(w * t + phase),
    )


def centre(theta, Omega, angular, r, rd, rdd, grip):
    """Return the accelerations of the two mass centres in the world, with the grip at rest (m/s2)."""
    out = []
    s = np.array([np.cos(theta), np.sin(theta)])
    n = np.array([-np.sin(theta), np.cos(theta)])

    def swung(arm, rate, acceleration):
        across = np.array([-arm[1], arm[0]])
        return acceleration * across - rate**2 * arm

    for along in (MS0 / m0, b):
        out.append(swung(SIDE[grip] * n + along * s, Omega, angular))
    e = np.array([np.cos(theta + r), np.sin(theta + r)])
    out[1] = out[1] + swung(MS1 / m1 * e, Omega + rd, angular + rdd)
    return out


def angular_acceleration(t, Omega, theta, phase, grip):
    """Return Omegadot (rad/s2) from the balance of moments about the grip."""
    r, rd, rdd = tail(t, phase)
    d = SIDE[grip]
    c = np.cos(r)
    s = np.sin(r)
    Mr = J0 + J1 + m1 * b**2 + 2 * MS1 * b * c + d**2 * (m0 + m1) + 2 * d * MS1 * s
    coupling = J1 + MS1 * (b * c + d * s)
    swirl = MS1 * (d * c - b * s) * (2 * Omega * rd + rd**2)
    weight = g * (
        (MS0 + b * m1) * np.cos(theta) + MS1 * np.cos(theta + r) - d * (m0 + m1) * np.sin(theta)
    )
    return (-Cv * Omega - weight - coupling * rdd - swirl) / Mr


def swing(x, phase, grip=1, start=0.0):
    """Return the motion while one grip holds, with dense output."""

    def rate(t, y):
        return [angular_acceleration(t, y[0], y[1], phase, grip), y[0]]

    return solve_ivp(
        rate, (start, start + T / 2), x, method="DOP853", rtol=1e-13, atol=1e-13, dense_output=True
    )


def torque_and_force(t, Omega, theta, phase, grip):
    """Return the torque of the tail (N m) and the force of the wall (x, y) in N, by Newton and
    Euler.
    """
    r, rd, rdd = tail(t, phase)
    angular = angular_acceleration(t, Omega, theta, phase, grip)
    both = centre(theta, Omega, angular, r, rd, rdd, grip)
    up = np.array([0.0, g])
    force = m0 * (both[0] + up) + m1 * (both[1] + up)
    arm = MS1 / m1 * np.array([np.cos(theta + r), np.sin(theta + r)])
    pull = m1 * (both[1] + up)
    central = J1 - MS1**2 / m1
    torque = central * (angular + rdd) + arm[0] * pull[1] - arm[1] * pull[0]
    return torque, force


def impact(Omega, t, phase, joint, old=1, new=2):
    """Return Omega and rdot after the new grip has closed.

    The angular momentum about the new grip is conserved; for a free joint, also that of the tail
    about the hinge.
    """
    r, rd, _ = tail(t, phase)
    c = np.cos(r)
    s = np.sin(r)

    # Momenta about the middle and the hinge; V is the velocity of the middle in body axes
    def momenta(V, Omega, rd):
        hinge = V + np.array([0.0, b * Omega])
        tip = hinge + MS1 / m1 * (Omega + rd) * np.array([-s, c])
        body = V + np.array([0.0, MS0 / m0 * Omega])
        linear = m0 * body + m1 * tip
        I1 = J1 - MS1**2 / m1
        I0 = J0 - MS0**2 / m0
        place = np.array([b, 0.0]) + MS1 / m1 * np.array([c, s])
        turning = I0 * Omega + MS0 * body[1] + I1 * (Omega + rd)
        turning += m1 * (place[0] * tip[1] - place[1] * tip[0])
        arm = MS1 / m1 * np.array([c, s])
        own = I1 * (Omega + rd) + m1 * (arm[0] * tip[1] - arm[1] * tip[0])
        at_grip = turning + SIDE[new] * -linear[0]  # the new grip is at -SIDE along n0
        return np.array([at_grip, own])

    def held(grip, Omega):  # velocity of the middle if the robot rotates about a grip
        return np.array([-SIDE[grip] * Omega, 0.0])

    before = momenta(held(old, Omega), Omega, rd)
    zero = momenta(held(new, 0.0), 0.0, 0.0)
    K = np.column_stack([momenta(held(new, 1.0), 1.0, 0.0), momenta(held(new, 0.0), 0.0, 1.0)])
    if joint == "free":
        return np.linalg.solve(K, before - zero)
    return np.array([(before[0] - K[0, 1] * rd) / K[0, 0], rd])
