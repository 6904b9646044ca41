"""Compiled routine that computes contact forces, gaps and outputs at the present state of a standalone run.

A trajectory computes them after a run from its samples (`samples.py`). A page that draws a running system
needs them at its present state.
"""

from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import call, routine
from draisine.simulation.contact.kernels import (
    CLOSED,
    evaluate_closed_rows,
    evaluate_gap,
    put_state,
    solve_rates,
)
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.samples import (
    NAN,
    ObservedSamples,
    add_contact_observation,
    find_nearest_of_wheel,
)
from draisine.simulation.contact.standalone.run import NO_TIME, StandaloneRun

NO_LIMIT = NO_TIME  # m, gaps of any size are computed

CENTRE = 3  # further entries of the scratch row of a contact, for the centre of the wheel


class ObservedRun(NamedTuple):
    """A standalone run with the quantities at its present state."""

    run: StandaloneRun
    samples: ObservedSamples  # of one state
    x: Floats  # input of the program `observe`: t, y, inputs, accelerations
    x_rates: int  # offset of the accelerations in x
    row: Floats  # scratch row of a contact
    held: Floats  # N m, forces of the prescribed joints and couplings


def observe_run(query: ContactQuery, run: StandaloneRun) -> ObservedRun:
    """Return a standalone run with arrays for the quantities at its present state."""
    inputs = query.machine.observe.inputs
    motion = query.motion.record
    return ObservedRun(
        run=run,
        samples=query._empty_samples(1, 1, motion.output_size),
        x=np.zeros(inputs.size),
        x_rates=inputs.a.start,
        row=np.zeros(motion.row + CENTRE),
        held=np.zeros(1 + len(query.machine.held)),
    )


@routine
def observe_contacts(o: ObservedRun) -> bool:
    """Compute all quantities of an `ObservedRun` at its present state, and the outputs in `RunLoop.observed`;
    return whether the accelerations exist. In time stepping, forces and accelerations are means over the
    last step.
    """
    loop = o.run.loop
    arc = loop.arc
    mode = loop.arc.mode
    m = loop.arc.mode.motion
    samples = o.samples
    n = m.y_z + m.states
    t = arc.clock.time
    samples.generalised[: m.speeds] = 0.0
    samples.forces[: 3 * samples.owners] = 0.0
    samples.world[: 3 * samples.owners] = 0.0
    samples.tyres[: 2 * samples.owners] = 0.0
    samples.stops[: samples.owners] = 0.0
    samples.gaps[: samples.wheels] = NO_LIMIT
    put_state(mode.x, t, arc.stages.y, n)

    is_stepping = o.run.method.is_stepping
    is_solved = True
    if is_stepping:
        write_step_forces(o)
    else:
        is_solved = solve_rates(mode, samples.ydot, mode.lam, mode.seen) == 0
        # The constraint rows of prescribed joints and couplings are the last ones.
        held = mode.system.multiplier[mode.system.rows - mode.holds :]
        o.held[: mode.holds] = held[: mode.holds]
    for k in range(mode.plan[CLOSED] if is_solved else 0):
        add_contact_observation(mode, samples, 0, k)
    if is_stepping:
        mode.plan[CLOSED] = 0

    for wheel in range(samples.wheels):
        # A wheel without a closed contact has the gap of the nearest feature.
        if samples.gaps[wheel] < NO_LIMIT:
            continue
        samples.points[3 * wheel :][:3] = NAN
        evaluate_gap(mode.x, arc.wheels, wheel, o.row)
        find_nearest_of_wheel(
            m,
            mode.x,
            mode.contacts,
            wheel,
            NO_LIMIT,
            is_stepping,
            o.row,
            samples.gaps[wheel:],
            samples.points[3 * wheel :],
        )
    o.x[: o.x_rates] = mode.x[: o.x_rates]
    o.x[o.x_rates :][: m.speeds] = samples.ydot[m.y_v :][: m.speeds]
    call(loop.observe, o.x, loop.table, loop.observed, 1)
    return is_solved


@routine
def write_step_forces(o: ObservedRun) -> None:
    """Write the loaded contacts of the last time step into the contact mode, with their mean forces, and the
    mean accelerations.
    """
    mode = o.run.loop.arc.mode
    m = o.run.loop.arc.mode.motion
    steps = o.run.stepping.steps
    h = o.run.method.grid.span
    count = steps.contact_count
    mode.plan[CLOSED] = count
    for k in range(count):
        contact = steps.which[k]
        mode.which[k] = contact
        mode.status[k] = steps.status[k]
        mode.mu[k] = 0.0
        for axis in range(3):
            mode.lam[3 * k + axis] = steps.warm[contact, axis] / h
    evaluate_closed_rows(mode, mode.seen)
    o.samples.ydot[m.y_v :][: m.speeds] = steps.trend[: m.speeds]
