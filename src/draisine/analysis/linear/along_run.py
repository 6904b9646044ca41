"""Equations of motion at the samples of a run without events, about which it is linearised."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.grounded import GroundedMachine, sample_ground
from draisine.analysis.linear.contacts import find_cyclic_joints
from draisine.analysis.symmetry import Symmetry, find_symmetry
from draisine.errors import ConfigurationError
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.simulation.trajectory import BilateralArc, Trajectory

SAME_ROWS = 1e-7
"""Largest difference of constraint rows and of speeds (SI units) before and after an event at which they
count as unchanged."""

GROUND_SAMPLES = (
    8  # number of instants of a run around which the ground is sampled for its symmetry
)


def smooth_arcs(run: Trajectory) -> list[BilateralArc]:
    """Return the trajectory arcs of a run that stays in one contact mode on the level plane.

    Raises
    ------
    ConfigurationError
        If the run has impacts or changing contacts.
    """
    arcs: list[Any] = list(run.arcs)
    if run.is_unilateral or any(arc.mode != arcs[0].mode for arc in arcs):
        raise _events_without_linear_system()
    return arcs


def _events_without_linear_system() -> ConfigurationError:
    """Return the error for a run along which no linear system exists, because events occur."""
    return ConfigurationError(
        "The run has impacts or changing contacts, about which no linear system exists. Use "
        "draisine.gradient, which differentiates through events."
    )


def list_evaluated_samples(run: Trajectory) -> Iterator[tuple[Any, Floats, Floats, Floats]]:
    """Yield the samples of a run: equations of motion in minimal coordinates, times (N,), states (N, entries)
    and inputs (N, inputs).
    """
    if not run.is_unilateral:
        for arc in smooth_arcs(run):
            yield arc.machine, arc.t, arc.y, arc.inputs
        return
    if any(arc.stores_forces for arc in run.arcs):
        raise _events_without_linear_system()
    arcs: list[Any] = list(run.arcs)
    machines = [_equations_of_arc(arc, run.contact or CONTACT) for arc in arcs]
    _check_continuous(run, arcs, machines)
    symmetry = _find_symmetry_along(arcs, machines)
    law = None if run.task is None else run.task.law
    cyclic_joints = find_cyclic_joints(arcs[0].machine.system, law)
    for arc, machine in zip(arcs, machines, strict=True):
        for t, free in zip(arc.t_before, arc.y, strict=True):
            # Choose independent speeds anew at each sample, because the linear system does not
            # depend on this choice.
            here = replace(
                machine,
                B=machine.choose_speeds(free, t),
                symmetry=symmetry,
                cyclic_joints=cyclic_joints,
            )
            yield here, np.array([t]), here.reduce(free)[None], arc.inputs[None]


def _equations_of_arc(arc: Any, contact: ContactOptions) -> GroundedMachine:
    """Return the equations of motion in the contact mode of a trajectory arc, without independent speeds."""
    query = ContactQuery(arc.machine, arc.terrain, arc.inputs, arc.stops)
    return GroundedMachine(query, tuple(arc.closed), np.zeros((0, query.n)), contact)


def _check_continuous(
    run: Trajectory, arcs: Sequence[Any], machines: Sequence[GroundedMachine]
) -> None:
    """Raise an error if constraints or speeds of a run on a terrain change at an event between two arcs."""
    pairs = pairwise(zip(arcs, machines, strict=True))
    for event, ((_, before), (after_arc, after)) in zip(run.events, pairs, strict=False):
        y = after_arc.y[0]
        rows, rows_after = (
            machine.velocity_constraints(event.t, y)[0] for machine in (before, after)
        )
        is_smooth = rows.shape == rows_after.shape and np.allclose(rows, rows_after, atol=SAME_ROWS)
        if not is_smooth or np.abs(event.after.v - event.before.v).max() > SAME_ROWS:
            raise ConfigurationError(
                f"At {event.t:.6g} s contacts of the run change ({event.kind}), so that no linear system "
                "exists along it. Use draisine.gradient, which differentiates through "
                "events, or linearise a part of the run."
            )


def _find_symmetry_along(arcs: Sequence[Any], machines: Sequence[GroundedMachine]) -> Symmetry:
    """Return the symmetries of the ground along a run, from ground samples around its path."""
    samples = [(machine, y) for arc, machine in zip(arcs, machines, strict=True) for y in arc.y]
    some = np.unique(np.linspace(0, len(samples) - 1, GROUND_SAMPLES).round().astype(int))
    ground = [
        sample_ground(machine.query, y, machine.contact, machine.closed)
        for machine, y in (samples[k] for k in some)
    ]
    points, normals = (np.concatenate([pair[k] for pair in ground]) for k in range(2))
    model = arcs[0].machine.system.model
    middle = points.mean(axis=0)
    return find_symmetry(points, normals, middle, np.asarray(model.gravity, float))
