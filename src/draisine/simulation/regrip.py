"""Runs of climbing systems whose grips (contacts with a wall) change at prescribed times.

Each change is a plastic impact of the new grips on the wall. The impact satisfies the balance of momentum
M (v+ - v-) = C' Lam, and the new grips have zero velocity after it, C v+ = 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.mechanics import constraints
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations import multiplier
from draisine.model import Model
from draisine.simulation.bilateral.run import run_bilateral
from draisine.simulation.contact.complementarity.saddle_point import solve_constrained
from draisine.simulation.options import Grips, GripSchedule, JointAtImpact, Task, check_joint
from draisine.simulation.trajectory import Arc, Event, Trajectory
from draisine.simulation.validity.fall import has_fallen
from draisine.system.state import State
from draisine.system.system import System


@dataclass(frozen=True, slots=True, eq=False)
class Regrip:
    """Speeds and impulses of a change of grips."""

    v: Floats  # (n) speeds after the change
    struck: Floats  # (n) speeds after the impact, before joints are reset
    impulses: dict[str, float]  # impulses of the active constraint rows by label, N s or N m s
    gain: float  # J, increase of the mechanical energy by the change


def regrip(
    model: Model, free: Mapping[str, Floats], v: Floats, mode: Grips, *, joint: JointAtImpact
) -> Regrip:
    """Return the speeds after a change to the contacts of `mode`, by a plastic impact.

    Parameters
    ----------
    model
        Model of the system.
    free
        Outputs of the compiled program `free` at the configuration of the change.
    v
        Speeds before the change, shape (n,).
    mode
        Statuses of the contacts after the change.
    joint
        "held": impulses of the motors keep the prescribed motions of the joints, eq. [grip-held]. This is
        physically consistent. "free": the joints yield to the impact and are then reset to their motions,
        while the base keeps its new speed, eq. [grip-free]. This is (1.21) of the thesis. It violates the
        balance of momentum, because the reset of a joint must also act on the base.

    Returns
    -------
    Regrip
        Speeds after the change, and the impulses.

    Examples
    --------
    >>> from draisine.system.state import state
    >>> from draisine.system.system import compile
    >>> robot = compile("rocr")
    >>> hanging = state(robot, yaw=-1.0, Wz=2.0)
    >>> there = robot.machine().free(q=hanging.q, p=hanging.p, r=hanging.r, v=hanging.v)
    >>> for joint in ("held", "free"):
    ...     other = {"grip_1": "open", "grip_2": "gripped"}
    ...     after = regrip(robot.model, there, hanging.v, other, joint=joint).v
    ...     print(f"{joint}: {after[2]:.4f} rad/s")
    held: 1.7311 rad/s
    free: -1.4074 rad/s
    """
    check_joint(joint)
    n = len(v)
    new_mode = mode_of(model, mode)
    driven = multiplier.motion_row_indices(model)
    gripped = multiplier.active_row_indices(model, new_mode)
    labels = constraints.row_labels(model, new_mode)
    joints = multiplier.coupled_row_indices(model)
    held = [i for i, row in enumerate(joints) if joint == "held" or row not in driven]
    rows = gripped + [joints[i] for i in held]
    M = free["M"].reshape(n, n)
    C = free["C"].reshape(-1, n)[rows]
    jump, Lam, _ = solve_constrained(M, np.zeros(n), C, free["b"][rows] - C @ v)
    struck = v + jump
    after = struck.copy()
    after[[len(model.twist) + k for k in constraints.prescribed_joints(model)]] = free["b"][driven]
    names = labels[: len(gripped)] + [labels[len(gripped) + i] for i in held]
    gain = float(after @ M @ after - v @ M @ v) / 2
    return Regrip(after, struck, dict(zip(names, Lam.tolist(), strict=True)), gain)


def run_grips(task: Task) -> Trajectory:
    """Return the trajectory of a system whose contacts follow a `GripSchedule`.

    >>> import draisine
    >>> robot = draisine.compile("rocr")
    >>> turns = [{"grip_1": "gripped", "grip_2": "open"}, {"grip_1": "open", "grip_2": "gripped"}]
    >>> grips = draisine.ContactOptions(mode=GripSchedule(turns, 1 / 3, joint="held"))
    >>> run = draisine.simulate(robot, draisine.state(robot, yaw=-1.5), 1.0, contact=grips)
    >>> [str(event) for event in run.events]
    ['0.333333333 s grip grip_2:wall', '0.666666667 s grip grip_1:wall']
    """
    system = task.system
    state = task.state
    until = task.until
    schedule = task.contact.mode
    assert isinstance(schedule, GripSchedule)
    turns = schedule.turns
    pause = schedule.pause
    arcs: list[Arc] = []
    between: list[Arc] = []
    events: list[Event] = []
    outcome = "completed"
    count = max(1, int(np.ceil(until / pause - 1e-9)))
    for k in range(count):
        mode = turns[k % len(turns)]
        start = k * pause
        if k:
            event = _change(system, state, turns[(k - 1) % len(turns)], mode, start, schedule.joint)
            events.append(event)
            state = event.after
        end = until if k == count - 1 else (k + 1) * pause
        run = run_bilateral(
            replace(
                task,
                state=state,
                until=end,
                contact=replace(task.contact, mode=mode),
                numerics=replace(task.numerics, start=start),
                progress=None,
            )
        )
        arcs += run.arcs
        between += run.unsampled
        state = run.final()
        outcome = run.outcome
        if has_fallen(outcome):
            break
        if task.progress is not None:
            task.progress(end / until)
    settings = {**run.settings, "joint": schedule.joint}
    return Trajectory(tuple(arcs), outcome, settings, tuple(events), task.contact, tuple(between))


def _change(
    system: System, before: State, old: Grips, new: Grips, t: float, joint: JointAtImpact
) -> Event:
    """Return the event of a change of grips at time t (s); its impulses (N s) are in world axes."""
    machine = system.machine(old)
    model = system.model
    free = machine.free(t=[t], q=before.q, p=before.p, r=before.r, v=before.v)
    change = regrip(model, free, before.v, new, joint=joint)
    pushes: dict[tuple[str, str], Floats] = {}
    for label, push in change.impulses.items():
        name, _, axis = label.rpartition(".")
        if axis in ("x", "y", "z"):
            pushes.setdefault((name, "wall"), np.zeros(3))["xyz".index(axis)] = push
    mode_before, mode_after = (
        tuple(((name, "wall"), status) for name, status in mode_of(model, mode) if status != "open")
        for mode in (old, new)
    )
    outputs = machine.observation(machine.enter(before, t), t)
    energy = float(outputs["kinetic"][0] + outputs["potential"][0])
    return Event(
        t=t,
        kind="grip",
        contacts=tuple(pushes),
        soft=False,
        before=before,
        after=replace(before, v=change.v),
        mode_before=mode_before,
        mode_after=mode_after,
        energy_before=energy,
        energy_after=energy + change.gain,
        impulses=pushes,
    )
