"""Matrices of linear systems from the derivatives of the equations of motion (`variation.Variation`)."""

from collections.abc import Mapping

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.variation import (
    Chart,
    Variation,
    add_missing_axis,
    heading_derivatives,
    rotate_to_heading,
)
from draisine.errors import ConfigurationError


def find_state_tangents(variation: Variation, frame: Chart) -> dict[str, Floats]:
    """Return the tangent vectors that change one state of the linear system each.

    Their parts dx (configuration), du (speeds) and dz (element and control states) have the shape
    (N, directions, states).
    """
    count = len(variation)
    k = frame.X.shape[2]
    m = frame.G.shape[1]
    nz = variation.d["zdot"]["dz"].shape[2]
    if m + nz == 0:
        raise ConfigurationError(
            "The contacts leave no degree of freedom, so that there is no linear system. Let a contact "
            'slide, such as mode={"foot": "sliding"}, or leave it out.'
        )
    T = np.linalg.inv(frame.G)
    seeds = np.zeros((count, frame.X.shape[1] + m + nz, k + m + nz))
    seeds[:, : -m - nz, :k] = frame.X
    seeds[:, -m - nz : seeds.shape[1] - nz, : k + m] = np.concatenate(
        [-T @ frame.P @ frame.X, T], axis=2
    )
    seeds[:, seeds.shape[1] - nz :, k + m :] = np.eye(nz)
    edges = np.cumsum([0, frame.X.shape[1], m, nz])
    return {name: seeds[:, edges[i] : edges[i + 1]] for i, name in enumerate(("dx", "du", "dz"))}


def derivatives_along(
    derivatives: Mapping[str, Floats], state_tangents: Mapping[str, Floats]
) -> Floats:
    """Return the derivatives of an output along the tangent vector of every state, (N, entries, states)."""
    return sum((derivatives[name] @ seed for name, seed in state_tangents.items()), np.zeros(1))


def system_matrices(
    variation: Variation, frame: Chart, state_tangents: Mapping[str, Floats]
) -> Floats:
    """Return the system matrices A (N, states, states).

    States are coordinates, then speeds, then the states of tyres and control law.
    """
    complete = add_missing_axis(frame.coordinates)
    rates = [f"{name}_rate" for name in complete]
    moved = derivatives_along(
        {seed: variation.observation_derivatives(rates, seed) for seed in state_tangents},
        state_tangents,
    )
    moved = rotate_to_heading(variation, complete, moved)
    if "x" in frame.coordinates and "y" in frame.coordinates:
        # The coordinates x and y are measured along and across the heading. These axes rotate with
        # the yaw rate.
        i = frame.coordinates.index("x")
        j = frame.coordinates.index("y")
        moved[:, i, j] += variation.observation("yaw_rate")
        moved[:, j, i] -= variation.observation("yaw_rate")
    elif len(complete) > len(frame.coordinates):
        # Only one of x and y is an independent coordinate; the ground determines the other one. The
        # change of the other one contributes through the rotation of the axes.
        here, other = ("x", "y") if complete[-1] == "y" else ("y", "x")
        turn = variation.observation("yaw_rate") * (1.0 if here == "x" else -1.0)
        across = heading_derivatives(variation, [other]) @ state_tangents["dx"]
        moved[:, complete.index(here)] += turn[:, None] * across[:, 0]
        moved = moved[:, : len(frame.coordinates)]
    paced = derivatives_along(
        {seed: variation.speed_rate_derivatives(frame.speeds, seed) for seed in state_tangents},
        state_tangents,
    )
    return np.concatenate(
        [moved, paced, derivatives_along(variation.d["zdot"], state_tangents)], axis=1
    )


def input_matrices(variation: Variation, frame: Chart) -> Floats:
    """Return the input matrices B (N, states, inputs).

    States are coordinates, then speeds, then the states of tyres and control law.
    """
    paced = variation.speed_rate_derivatives(frame.speeds, "dw")
    still = np.zeros((len(variation), frame.X.shape[2], paced.shape[2]))
    return np.concatenate([still, paced, variation.d["zdot"]["dw"]], axis=1)
