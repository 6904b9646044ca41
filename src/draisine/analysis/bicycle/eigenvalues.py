"""Eigenvalues against speed, sorted by continuation into weave, capsize and castering."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.straight import Canonical, canonical_matrices
from draisine.analysis.eigenmodes import Eigenmodes, fill_speeds, steady_modes, track
from draisine.analysis.lqr import StateFeedback
from draisine.errors import ConfigurationError, ParameterError
from draisine.model.names import Axes, benchmark_sign, check_axes
from draisine.simulation.dataset import call_recipe, provenance
from draisine.system.artifacts import check_system
from draisine.system.system import System
from draisine.system.tracing import Law

_SETTLED = 10.0
"""Names are given at this speed, m/s, or at the highest asked for."""


def eigenvalues(
    system: System,
    speed: Any,
    *,
    about: Mapping[str, float] | None = None,
    law: Law | None = None,
    axes: Axes = "benchmark",
    **sweep: Any,
) -> Eigenmodes:
    """Return the eigenmodes of a bicycle at speeds in m/s, from its nonlinear model; parameters
    given as arrays are swept together. On tyres, with parts that give, with a rider who moves, or
    under a control law there may be a wobble and others; then there is no sweep. Those of any other
    machine, and under a law of least cost, which keeps one speed, are about its steady motions.

    Eigenvectors are in the axes of the benchmark (lean and steer to the right), or with
    `axes="draisine"` in ours (steer to the left).

    >>> from draisine import compile
    >>> modes = eigenvalues(compile("whipple"), [4.0, 5.0])
    >>> print(modes.mode("weave").round(6))
    [ 0.413253+3.079108j -0.775342+4.464868j]
    """
    check_system("eigenvalues", system)
    check_axes(axes)
    if law is not None or not is_plain(system):
        if about or sweep:
            raise ParameterError(
                "eigenvalues of more than the ideal bicycle: one upright machine at a time, no sweep."
            )
        if isinstance(law, StateFeedback) or not is_two_wheeler(system):
            found = steady_modes(system, speed, law)[0]
        else:
            found = TwoWheeler(system, law).eigenmodes(speed)
        found = _turned(found, system) if axes == "benchmark" else found
    else:
        found = eigenmodes_of(canonical_matrices(system, about=about, **sweep), speed)
        found = _turned(found, system) if axes == "draisine" else found
    options: dict[str, Any] = {"about": about, "law": law, "axes": axes, **sweep}
    recipe = call_recipe("modes", eigenvalues, system, speed, **options)
    return replace(found, made=provenance(system, law, recipe) | {"axes": axes})


def _turned(found: Eigenmodes, system: System) -> Eigenmodes:
    """Return eigenmodes with their vectors turned from ours into the benchmark's axes, or back."""
    signs = np.array([benchmark_sign(system.model, name) for name in found.states])
    return replace(found, vectors=signs[:, None] * found.vectors)


def is_two_wheeler(system: System) -> bool:
    """Return whether a machine that can lean runs on two contacts, one behind the other."""
    model = system.model
    centres = [np.asarray(one.centre, float) for one in model.contacts]
    if len(centres) != 2 or "forward_speed" not in system.outputs or "Wx" not in model.speeds:
        return False
    ahead, aside, _ = np.abs(centres[1] - centres[0])
    return bool(ahead > aside)


def driven_inputs(system: System, law: Law | None = None) -> list[str]:
    """Return the inputs that keep a steady motion up: of a two-wheeler the torques at the handlebar and at
    the rear wheel, of other machines those of all joints.

    A rider on a path steers by himself; with other laws, a constant steer torque may act beside.

    >>> from draisine import compile
    >>> driven_inputs(compile("whipple"))
    ['steer', 'rear_wheel']
    """
    joints = [joint.name for joint in system.model.joints if joint.motion is None]
    if is_two_wheeler(system):
        joints = [name for name in ("steer", "rear_wheel") if name in joints]
    rider = law if hasattr(law, "path") else None
    return [name for name in joints if name != getattr(rider, "steer", None)]


def is_plain(system: System) -> bool:
    """Return whether lean, steer and speed are all the freedoms of a two-wheeler, so that canonical
    matrices tell how it runs straight.
    """
    plain = not system.model.memory and system.machine().layout.count("u") == 3
    if not plain or not is_two_wheeler(system):
        return False
    if not system.model.elements:
        return True
    try:
        canonical_matrices(system)
    except ConfigurationError:  # force elements may add other powers of the speed
        return False
    return True


def eigenmodes_of(matrices: Canonical, speed: Any) -> Eigenmodes:
    """Return the eigenmodes that the canonical matrices have at speeds in m/s."""
    v = np.atleast_1d(np.asarray(speed, float))
    shape = matrices.M.shape[:-2]
    values = np.empty((*shape, len(v), 4), complex)
    vectors = np.empty((*shape, len(v), 4, 4), complex)
    for where in np.ndindex(shape):
        values[where], vectors[where] = _named(matrices[where], v)
    return Eigenmodes(v, values, vectors)


def _named(matrices: Canonical, v: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and vectors at speeds v, sorted by name."""
    grid = fill_speeds(np.unique(np.concatenate([v, [0.0, _SETTLED]])))
    values, vectors = np.linalg.eig(matrices.A(grid))
    order = track(values)
    followed = np.take_along_axis(values, order, axis=1)
    order = np.take_along_axis(order, _names_order(followed), axis=1)
    at = np.searchsorted(grid, v)
    sorted_values = np.take_along_axis(values[at], order[at], axis=1)
    sorted_vectors = np.take_along_axis(vectors[at], order[at][:, None, :], axis=2)
    lead = np.argmax(np.abs(sorted_vectors[:, :2]), axis=1)[:, None, :]
    return sorted_values, sorted_vectors / np.take_along_axis(sorted_vectors, lead, axis=1)


def _names_order(values: Floats) -> Floats:
    """Return the order of followed eigenvalues (speeds, 4) that puts weave first, then capsize,
    then castering.

    At the highest speed with one conjugate pair that pair is the weave, and of the real eigenvalues
    the farther from zero is castering. Within the weave the larger comes first.
    """
    scale = np.abs(values).max(axis=1, keepdims=True)
    swings = np.abs(values.imag) > 1e-9 * scale
    ones = np.flatnonzero(swings.sum(axis=1) == 2)
    at = ones[-1] if len(ones) else len(values) - 1
    rank = np.lexsort((np.abs(values[at]), -np.abs(values[at].imag)))
    order = np.tile(rank, (len(values), 1))
    for first, second in ((0, 1), (2, 3)):
        a = np.take_along_axis(values, order[:, [first]], axis=1)[:, 0]
        b = np.take_along_axis(values, order[:, [second]], axis=1)[:, 0]
        paired = np.abs(a - np.conj(b)) < 1e-9 * scale[:, 0]
        wrong = paired & (a.imag < b.imag)
        if first == 0:
            wrong |= ~paired & (a.real < b.real)
        order[wrong, first], order[wrong, second] = order[wrong, second], order[wrong, first]
    return order
