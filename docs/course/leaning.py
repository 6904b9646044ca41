"""The bicycle with a guided upper body: `draisine ride --rate leaning.py:rate --preset steer-lean`."""

import my_bicycle
import numpy as np
import sympy as sp
from my_bicycle import body_terms, constraints
from my_rate import close

MASS, HEIGHT, HINGE, RADIUS = 30.0, 1.05, 0.75, 0.15
"""Mass (kg), height of mass centre and hinge (m), radius of gyration (m) of the upper body."""

# All coordinates except xi, then eta. Points are drawn as in chapter 2.
NAMES = ("x_C", "y_C", "phi", "theta", "psi", "beta", "gamma", "epsilon", "xi", "eta")
p = sp.Matrix(sp.symbols(NAMES, real=True))
pdot = sp.Matrix([sp.Symbol(f"{name}dot", real=True) for name in NAMES])
x_C, y_C, phi, theta, psi, beta, gamma, epsilon, xi, eta = p
R_REAR, FRAME_MASS = 0.3, my_bicycle.MASSES[1]
BODY_CENTRE = sp.Matrix([0.3, 0, HEIGHT])
WHOLE_CENTRE = sp.Matrix([0.3, 0, 0.9])
REST_CENTRE = (FRAME_MASS * WHOLE_CENTRE - MASS * BODY_CENTRE) / (FRAME_MASS - MASS)


def turn(axis, a):
    """Return the rotation matrix about an axis of the drawing: 0 is x, 1 is y, 2 is z."""
    k, m = (axis + 1) % 3, (axis + 2) % 3
    R = sp.eye(3)
    R[k, k], R[k, m], R[m, k], R[m, m] = sp.cos(a), -sp.sin(a), sp.sin(a), sp.cos(a)
    return R


def steiner(mass, from_centre):
    """Return the inertia matrix of a point mass about the mass centre of frame and rider."""
    d = np.array(from_centre, float).ravel()
    return mass * (d @ d * np.eye(3) - np.outer(d, d))


frame = turn(2, phi) * turn(0, theta) * turn(1, beta)
hub = sp.Matrix([x_C, y_C, 0]) + turn(2, phi) * turn(0, theta) * sp.Matrix([0, 0, R_REAR])
hinge = hub + frame * sp.Matrix([0, 0, HINGE - R_REAR])
body = frame * turn(0, eta)
own_inertia = MASS * RADIUS**2 * np.eye(3)
rest_inertia = (
    np.array(my_bicycle.INERTIAS[1])
    - own_inertia
    - steiner(MASS, BODY_CENTRE - WHOLE_CENTRE)
    - steiner(FRAME_MASS - MASS, REST_CENTRE - WHOLE_CENTRE)
)
CHANGES = [  # the whole frame is replaced by the rest of the frame and the upper body
    (-FRAME_MASS, -np.array(my_bicycle.INERTIAS[1]), hub, WHOLE_CENTRE, frame),
    (FRAME_MASS - MASS, rest_inertia, hub, REST_CENTRE, frame),
    (MASS, own_inertia, hinge, BODY_CENTRE, body),
]


def kinematics(start, drawn, A):
    """Return H, G, Hdot pdot and Gdot pdot of a body that turns about a point of the drawing."""
    base = sp.Matrix([0, 0, HINGE]) if A is body else sp.Matrix([0, 0, R_REAR])
    H = (start + A * (drawn - base)).jacobian(p)
    rates = [A.T * A.diff(x) for x in p]
    G = sp.Matrix([[S[2, 1], S[0, 2], S[1, 0]] for S in rates]).T
    return H, G, (H * pdot).jacobian(p) * pdot, (G * pdot).jacobian(p) * pdot


parts = [term for _, _, *place in CHANGES for term in kinematics(*place)]
evaluate = sp.lambdify([list(p), list(pdot)], parts, cse=True)
INDEPENDENT, KINEMATIC = [3, 6, 4, 9], [0, 1, 2, 7]


def rate(t, y, u):
    """Return the time derivative of y (12,) with the torques u of steer, rear wheel and torso."""
    p, pdot = np.zeros(10), np.zeros(10)
    p[[*INDEPENDENT, *KINEMATIC]] = y[:8]
    p[8] = np.pi / 2 - p[7]
    p[:9] = close(p[:9])
    D = np.hstack([constraints(p[:9])[0], np.zeros((6, 1))])  # eta moves no contact point
    dependent = [0, 1, 2, 5, 7, 8]
    slope = -np.linalg.solve(D[:, dependent], D[:, INDEPENDENT])
    pdot[INDEPENDENT] = y[8:]
    pdot[dependent] = slope @ y[8:]
    M, Q = np.zeros((10, 10)), np.zeros(10)
    M[:9, :9], Q[:9], _, c = my_bicycle.equations(p[:9], pdot[:9], u["steer"], u["rear_wheel"])
    Q[9] = u["torso"]
    parts = evaluate(list(p), list(pdot))
    for k, (mass, inertia, *_) in enumerate(CHANGES):
        H, G, h, b = parts[4 * k : 4 * k + 4]
        dM, dQ = body_terms(mass, inertia, H, G, h[:, 0], b[:, 0], pdot)
        M, Q = M + dM, Q + dQ
    E, J = np.zeros((10, 4)), np.zeros(10)
    E[INDEPENDENT] = np.eye(4)
    E[dependent] = slope
    J[dependent] = np.linalg.solve(D[:, dependent], c)
    independent = np.linalg.solve(E.T @ M @ E, E.T @ (Q - M @ J))
    return np.concatenate([pdot[[*INDEPENDENT, *KINEMATIC]], independent])
