"""Eigenvalues of a bicycle over speed, sorted by continuation into weave, capsize and castering."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.straight import Canonical, canonical_matrices
from draisine.analysis.eigenmodes import Eigenmodes, refine_speeds, steady_modes, track_eigenvalues
from draisine.analysis.equilibrium.search import drive_joints
from draisine.analysis.lqr import StateFeedback
from draisine.errors import ConfigurationError, ParameterError
from draisine.model.names import Axes, benchmark_sign, check_axes
from draisine.simulation.dataset import call_recipe, provenance
from draisine.system.artifacts import require_system
from draisine.system.system import System
from draisine.system.tracing import Law

IDEAL_NAMING_SPEED = 10.0
"""Speed at which the eigenmodes of the ideal bicycle are named, m/s; the highest requested speed is used if
it is higher."""


def eigenvalues(
    system: System,
    speed: Any,
    *,
    about: Mapping[str, float] | None = None,
    law: Law | None = None,
    axes: Axes = "benchmark",
    **sweep: Any,
) -> Eigenmodes:
    """Compute the eigenmodes of a bicycle, or of another system, at forward speeds.

    The nonlinear model is linearised about straight running. Systems that are not two-wheelers, or that have
    an LQR control law, are linearised about steady motions. With tyres, compliant parts, a moving rider or a
    control law there are more eigenmodes, such as the wobble.

    Parameters
    ----------
    system
        The compiled system.
    speed
        Forward speeds (m/s), a number or an array.
    about
        Coordinates of the upright bicycle (rad) that differ from the zero configuration: `{"steer": pi}`.
    law
        Control law.
    axes
        Signs of the eigenvectors: "benchmark" (lean and steer to the right) or "draisine" (steer to the
        left).
    sweep
        Parameters of the ideal bicycle by name; arrays are swept together by the rules of broadcasting.

    Returns
    -------
    Eigenmodes
        Eigenvalues (1/s) and eigenvectors over speed, with names.

    Raises
    ------
    ParameterError
        If `about` or a sweep is used with a system that is not the ideal bicycle.

    Examples
    --------
    >>> from draisine import compile
    >>> modes = eigenvalues(compile("whipple"), [4.0, 5.0])
    >>> print(modes.mode("weave").round(6))
    [ 0.413253+3.079108j -0.775342+4.464868j]
    """
    require_system("eigenvalues", system)
    check_axes(axes)
    if law is not None or not is_plain(system):
        if about or sweep:
            raise ParameterError(
                "eigenvalues: `about` and sweeps of parameters need the ideal bicycle without a law. Leave "
                "them out and compute one machine at a time."
            )
        if isinstance(law, StateFeedback) or not is_two_wheeler(system):
            modes = steady_modes(system, speed, law)[0]
        else:
            modes = TwoWheeler(system, law).eigenmodes(speed)
        modes = _convert_eigenvector_axes(modes, system) if axes == "benchmark" else modes
    else:
        modes = eigenmodes_of(canonical_matrices(system, about=about, **sweep), speed)
        modes = _convert_eigenvector_axes(modes, system) if axes == "draisine" else modes
    options: dict[str, Any] = {"about": about, "law": law, "axes": axes, **sweep}
    recipe = call_recipe("modes", eigenvalues, system, speed, **options)
    return replace(modes, made=provenance(system, law, recipe) | {"axes": axes})


def _convert_eigenvector_axes(modes: Eigenmodes, system: System) -> Eigenmodes:
    """Return eigenmodes with eigenvectors converted from draisine's axes to the benchmark's, or
    back.
    """
    signs = np.array([benchmark_sign(system.model, name) for name in modes.states])
    return replace(modes, vectors=signs[:, None] * modes.vectors)


def is_two_wheeler(system: System) -> bool:
    """Return whether a system is a two-wheeler: it can lean and has two contacts, one behind the other."""
    model = system.model
    centres = [np.asarray(contact.centre, float) for contact in model.contacts]
    if len(centres) != 2 or "forward_speed" not in system.outputs or "Wx" not in model.speeds:
        return False
    ahead, aside, _ = np.abs(centres[1] - centres[0])
    return bool(ahead > aside)


def driven_inputs(system: System, law: Law | None = None) -> list[str]:
    """Return the names of inputs that may sustain a steady motion.

    For a two-wheeler these are the torques at the handlebar and at the rear wheel, for other machines those
    of `drive_joints`. The steer torque of a rider on a path is not free; other laws allow a constant one.

    >>> from draisine import compile
    >>> driven_inputs(compile("whipple"))
    ['steer', 'rear_wheel']
    """
    joints = drive_joints(system.model)
    if is_two_wheeler(system):
        movable = [joint.name for joint in system.model.joints if joint.motion is None]
        joints = [name for name in ("steer", "rear_wheel") if name in movable]
    rider = law if hasattr(law, "path") else None
    return [name for name in joints if name != getattr(rider, "steer", None)]


def is_plain(system: System) -> bool:
    """Return whether a system has canonical matrices.

    It is a two-wheeler whose only degrees of freedom are lean, steer and speed.
    """
    plain = not system.model.memory and system.machine().layout.count("u") == 3
    if not plain or not is_two_wheeler(system):
        return False
    if not system.model.elements:
        return True
    try:
        canonical_matrices(system)
    except ConfigurationError:  # force elements may add other powers of the speed than 0 to 2
        return False
    return True


def eigenmodes_of(matrices: Canonical, speed: Any) -> Eigenmodes:
    """Return the eigenmodes of canonical matrices at given speeds (m/s)."""
    v = np.atleast_1d(np.asarray(speed, float))
    shape = matrices.M.shape[:-2]
    values = np.empty((*shape, len(v), 4), complex)
    vectors = np.empty((*shape, len(v), 4, 4), complex)
    for where in np.ndindex(shape):
        values[where], vectors[where] = _named_eigenvalues(matrices[where], v)
    return Eigenmodes(v, values, vectors)


def _named_eigenvalues(matrices: Canonical, speeds: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues and eigenvectors at speeds (m/s), sorted into weave, capsize and
    castering.
    """
    grid = refine_speeds(np.unique(np.concatenate([speeds, [0.0, IDEAL_NAMING_SPEED]])))
    values, vectors = np.linalg.eig(matrices.A(grid))
    order = track_eigenvalues(values)
    followed = np.take_along_axis(values, order, axis=1)
    order = np.take_along_axis(order, _column_order(followed), axis=1)
    indices = np.searchsorted(grid, speeds)
    sorted_values = np.take_along_axis(values[indices], order[indices], axis=1)
    sorted_vectors = np.take_along_axis(vectors[indices], order[indices][:, None, :], axis=2)
    lead = np.argmax(np.abs(sorted_vectors[:, :2]), axis=1)[:, None, :]
    return sorted_values, sorted_vectors / np.take_along_axis(sorted_vectors, lead, axis=1)


def _column_order(values: Floats) -> Floats:
    """Return the column order (speeds, 4) of tracked eigenvalues: weave, weave, capsize, castering.

    At the highest speed with one conjugate pair that pair is the weave, and of the real eigenvalues
    the one farther from zero is castering. The larger eigenvalue of the weave pair comes first.
    """
    scale = np.abs(values).max(axis=1, keepdims=True)
    swings = np.abs(values.imag) > 1e-9 * scale
    single_pairs = np.flatnonzero(swings.sum(axis=1) == 2)
    row = single_pairs[-1] if len(single_pairs) else len(values) - 1
    rank = np.lexsort((np.abs(values[row]), -np.abs(values[row].imag)))
    order = np.tile(rank, (len(values), 1))
    for first, second in ((0, 1), (2, 3)):
        a = np.take_along_axis(values, order[:, [first]], axis=1)[:, 0]
        b = np.take_along_axis(values, order[:, [second]], axis=1)[:, 0]
        paired = np.abs(a - np.conj(b)) < 1e-9 * scale[:, 0]
        is_reversed = paired & (a.imag < b.imag)
        if first == 0:
            is_reversed |= ~paired & (a.real < b.real)
        order[is_reversed, first], order[is_reversed, second] = (
            order[is_reversed, second],
            order[is_reversed, first],
        )
    return order
