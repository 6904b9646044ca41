"""The step of the differences

Largest error of the stiffness matrix at 5 m/s against the step of the central differences. The truncation
error has the slope 2. Round-off does not grow with small steps, because the forces vanish in the
upright state.
"""

import numpy as np
from course import benchmark_matrices, constraints, equations
from matplotlib.figure import Figure

from draisine.view.style import COLOURS, GREY, new_figure, simplify_axes

SPEED, R_REAR = 5.0, 0.3
INDEPENDENT, DEPENDENT = [3, 6], [0, 1, 2, 4, 5, 7, 8]


def forces(lean_steer: np.ndarray) -> np.ndarray:
    """Return Q_i of (41) at constant speed and zero rates of lean and steer."""
    p, pdot = np.zeros(9), np.zeros(9)
    p[INDEPENDENT] = lean_steer
    p[8] = np.pi / 2
    for _ in range(10):
        D, contact = constraints(p)
        p[[5, 8]] += np.linalg.solve(D[:2][:, [5, 8]], -contact)
    D = np.vstack([constraints(p)[0], np.eye(9)[4]])
    pdot[DEPENDENT] = np.linalg.solve(D[:, DEPENDENT], np.append(np.zeros(6), SPEED / R_REAR))
    M, Q, _, c = equations(p, pdot)
    E, J = np.zeros((9, 2)), np.zeros(9)
    E[INDEPENDENT] = np.eye(2)
    E[DEPENDENT] = -np.linalg.solve(D[:, DEPENDENT], D[:, INDEPENDENT])
    J[DEPENDENT] = np.linalg.solve(D[:, DEPENDENT], np.append(c, 0.0))
    return E.T @ (Q - M @ J)


def figure() -> Figure:
    """Return the picture."""
    _, _, K0, K2 = benchmark_matrices()
    exact = K0 + SPEED**2 * K2
    steps = np.logspace(-8, -0.7, 60)
    errors = []
    for h in steps:
        K = -np.array([forces(e) - forces(-e) for e in h * np.eye(2)]).T / (2 * h)
        errors.append(np.abs(K - exact).max() / np.abs(exact).max())
    axes = simplify_axes(new_figure(size=(5.6, 3.4)))
    axes.loglog(steps, errors, ".", color=COLOURS[0])
    axes.loglog(steps[30:], steps[30:] ** 2, color=GREY, linestyle="--")
    axes.text(3e-3, 3e-4, "$h^2$", color=GREY)
    axes.set(xlabel="step $h$ (rad)", ylabel="relative error of $K$", ylim=(1e-17, 1.0))
    return axes.figure
