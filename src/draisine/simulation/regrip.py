"""Machines that hang by one grip at a time, change it by the clock, and strike the wall with the
next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.mechanics import constraints
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations import multiplier
from draisine.model import Model
from draisine.simulation.bilateral import run_bilateral
from draisine.simulation.contact.complementarity.saddle_point import solve_constrained
from draisine.simulation.options import Grips, GripSchedule, JointAtImpact, Task, check_joint
from draisine.simulation.trajectory import Arc, Event, Trajectory
from draisine.simulation.validity.fall import has_fallen
from draisine.system.state import State
from draisine.system.system import System


@dataclass(frozen=True, slots=True, eq=False)
class Regrip:
    """A change of grips: the speeds after it, those that the impact alone left, the impulses of the
    rows that were held, by label (N s, N m s), and the energy that the change creates, in J.
    """

    v: Floats
    struck: Floats
    impulses: dict[str, float]
    gain: float


def regrip(
    model: Model, free: Mapping[str, Floats], v: Floats, mode: Grips, *, joint: JointAtImpact
) -> Regrip:
    """Return what a change to the contacts of `mode` does to the speeds v, by a plastic impact;
    `free` is what the program of that name tells of the configuration.

    "held": prescribed joints keep to their motions, by an impulse of their motors, eq. [grip-held]. This
    is consistent. "free": the joints yield to the impact, and are then set back to their motions
    while the base keeps its new speed, eq. [grip-free]. That is what the thesis prints, its (1.21),
    and not mechanics: what sets the joint back must push on the base too.

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
    n, whole = len(v), mode_of(model, mode)
    driven = multiplier.motion_row_indices(model)
    gripped, labels = multiplier.active_row_indices(model, whole), constraints.labels(model, whole)
    joints = multiplier.coupled_row_indices(model)
    held = [i for i, row in enumerate(joints) if joint == "held" or row not in driven]
    rows = gripped + [joints[i] for i in held]
    M, C = free["M"].reshape(n, n), free["C"].reshape(-1, n)[rows]
    jump, Lam, _ = solve_constrained(M, np.zeros(n), C, free["b"][rows] - C @ v)
    struck = v + jump
    after = struck.copy()
    after[[len(model.twist) + k for k in constraints.prescribed_joints(model)]] = free["b"][driven]
    names = labels[: len(gripped)] + [labels[len(gripped) + i] for i in held]
    gain = float(after @ M @ after - v @ M @ v) / 2
    return Regrip(after, struck, dict(zip(names, Lam.tolist(), strict=True)), gain)


def run_grips(task: Task) -> Trajectory:
    """Return the motion of a machine whose contacts follow a `GripSchedule`.

    >>> import draisine
    >>> robot = draisine.compile("rocr")
    >>> turns = [{"grip_1": "gripped", "grip_2": "open"}, {"grip_1": "open", "grip_2": "gripped"}]
    >>> grips = draisine.ContactOptions(mode=GripSchedule(turns, 1 / 3, joint="held"))
    >>> run = draisine.simulate(robot, draisine.state(robot, yaw=-1.5), 1.0, contact=grips)
    >>> [str(event) for event in run.events]
    ['0.333333333 s grip grip_2:wall', '0.666666667 s grip grip_1:wall']
    """
    system, state, until, schedule = task.system, task.state, task.until, task.contact.mode
    assert isinstance(schedule, GripSchedule)
    turns, pause = schedule.turns, schedule.pause
    arcs: list[Arc] = []
    between: list[Arc] = []
    events: list[Event] = []
    outcome = "completed"
    count = max(1, int(np.ceil(until / pause - 1e-9)))
    for k in range(count):
        mode, start = turns[k % len(turns)], k * pause
        if k:
            event = _change(system, state, turns[(k - 1) % len(turns)], mode, start, schedule.joint)
            events.append(event)
            state = event.after
        end = until if k == count - 1 else (k + 1) * pause
        contact, numerics = replace(task.contact, mode=mode), replace(task.numerics, start=start)
        own = replace(task, state=state, until=end, contact=contact, numerics=numerics)
        run = run_bilateral(replace(own, progress=None))
        arcs += run.arcs
        between += run.unsampled
        state, outcome = run.final(), run.outcome
        if has_fallen(outcome):
            break
        if task.progress is not None:
            task.progress(end / until)
    made = {name: getattr(task.numerics, name) for name in ("integrator", "dt", "rtol", "atol")}
    made["drift"] = str(task.numerics.drift)
    made["joint"] = schedule.joint
    return Trajectory(tuple(arcs), outcome, made, tuple(events), task.contact, tuple(between))


def _change(
    system: System, before: State, old: Grips, new: Grips, t: float, joint: JointAtImpact
) -> Event:
    """Return a change of grips as an event; its impulses are in world axes."""
    machine, model = system.machine(old), system.model
    free = machine.free(t=[t], q=before.q, p=before.p, r=before.r, v=before.v)
    found = regrip(model, free, before.v, new, joint=joint)
    pushes: dict[tuple[str, str], Floats] = {}
    for label, push in found.impulses.items():
        name, _, axis = label.rpartition(".")
        if axis in ("x", "y", "z"):
            pushes.setdefault((name, "wall"), np.zeros(3))["xyz".index(axis)] = push
    modes = [mode_of(model, mode) for mode in (old, new)]
    shut, held = (tuple(((n, "wall"), s) for n, s in m if s != "open") for m in modes)
    seen = machine.observation(machine.enter(before, t), t)
    energy = float(seen["kinetic"][0] + seen["potential"][0])
    after = replace(before, v=found.v)
    told = (energy, energy + found.gain, pushes)
    return Event(t, "grip", tuple(pushes), False, before, after, shut, held, *told)
