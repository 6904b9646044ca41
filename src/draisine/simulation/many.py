"""Many runs at once.

Runs with ideal contacts use SIMD lanes and threads (`bilateral.lanes`), runs on a terrain threads
(`contact.many`).
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, ValidityWarning, expect, expect_known
from draisine.simulation.engines import choose_engine
from draisine.simulation.options import (
    CONTACT,
    Batch,
    ContactOptions,
    Numerics,
    Progress,
    Task,
    check_quaternion,
)
from draisine.simulation.run_kinds import check_options
from draisine.system.artifacts import find_invalid_machines
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain
from draisine.vehicles import check_numbers


def simulate_many(
    system: System,
    states: Sequence[State],
    until: float,
    *,
    terrain: Terrain | Sequence[Terrain] | None = None,
    parameters: Mapping[str, Sequence[float]] | None = None,
    inputs: Mapping[str, float | Sequence[float]] | None = None,
    law: Law | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics | None = None,
    progress: Progress = None,
    trajectories: bool = False,
) -> dict[str, NDArray[Any]]:
    """Simulate many instances of a system (machines); return their final states and outputs.

    Without a terrain contacts are ideal. The integration takes equal steps no longer than `numerics.dt`, by
    default RK4 steps of 5 ms. The results equal those of `simulate` with the same method (dop853 takes equal
    steps here). Machines that need other pivots are simulated one by one. The steps must be short compared
    with the fastest motion, such as that of a stiff control loop; a warning reports steps that are too long.

    On a terrain each run equals the run of `simulate` with the same arguments. If an error stops a run, the
    other runs continue.

    Parameters
    ----------
    system
        Compiled system, of which each machine is an instance.
    states
        Initial state of each machine.
    until
        Time of the end, s.
    terrain
        The ground, with unilateral contacts: one for all machines, or one for each.
    parameters, inputs
        Values by name, one for each machine or one for all.
    law
        Control law.
    contact
        Without a terrain `mode` and `fall` apply. A machine that falls stops after the step in which it
        falls.
    numerics
        `threads` limits the number of threads; by default there is one per core. Without a terrain,
        `precision="single"` computes accelerations in single precision, twice as many at once; states are
        summed and projected in double precision. Machines that stop are simulated again in double precision.
    progress
        On a terrain: True shows a progress bar; a function receives the fraction of the runs that is done.
    trajectories
        On a terrain: whether to return the whole motion of each machine.

    Returns
    -------
    dict
        Arrays with one column per machine: `q`, `p`, `r`, `v`, `outputs`, and the other outputs of
        `ClosedForm.observe`; `outcome` and `time` (s) of the end. Arrays of a run that stopped, other than
        by a fall, are NaN. In single precision `error` is the largest difference of the first machines from
        double precision, over all entries of y = (q, p, r, u, z), each relative to one plus its magnitude.

        On a terrain also `events`, the number of events of each run, `errors`, the exception that stopped a
        run (its `partial` is the motion until then) or None, and on request `trajectories`, the motion of
        each run or None.

    Raises
    ------
    SimulationError
        If the call is interrupted from the keyboard on a terrain. Runs under way finish; `partial` is the
        result of all finished runs, and the outcome of the others is "not run".

    Warns
    -----
    ValidityWarning
        If machines fall or stop by an error, or, without a terrain, if the ground pulls a wheel at the end.
        Earlier forces are not examined.

    Examples
    --------
    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> end = simulate_many(bicycle, [start] * 5, 1.0, parameters={"mB": [80, 82, 84, 86, 88]})
    >>> end["v"].shape
    (9, 5)
    >>> from draisine.terrain import rough
    >>> grounds = [rough(0.01, at=2.0, length=2.0, width=1.0, seed=seed) for seed in range(3)]
    >>> end = simulate_many(bicycle, [start] * 3, 0.5, terrain=grounds)
    >>> end["outcome"].tolist()
    ['completed', 'completed', 'completed']
    """
    _check_states(states)
    count = len(states)
    grounds = _grounds(terrain, count)
    engine = choose_engine(grounds[0])
    numerics = engine.many_numerics if numerics is None else numerics
    task = Task(system, states[0], until, grounds[0], law, None, contact, numerics, None)
    check_options(engine.many_kind, task)
    batch = Batch(
        task,
        states,
        grounds,
        _columns("input", list(system.model.inputs), system.inputs(), count, inputs or {}),
        _parameters(system, count, parameters or {}),
        list(parameters or {}),
        progress,
        trajectories,
    )
    result, faults = engine.run_many(batch)
    _warn_faults(system, faults)
    return result


def _grounds(terrain: Terrain | Sequence[Terrain] | None, count: int) -> list[Terrain] | list[None]:
    """Return the ground of each machine; None for ideal contacts."""
    if terrain is None:
        return [None] * count
    if isinstance(terrain, str) or not isinstance(terrain, Iterable):
        expect("terrain", terrain, Terrain, "draisine.terrain.plane() makes one")
    grounds = [terrain] * count if isinstance(terrain, Terrain) else list(terrain)
    if len(grounds) != count:
        raise ParameterError(
            f"terrain: {len(grounds)} grounds for {count} machines; pass one for all, or one for each."
        )
    for ground in grounds:
        expect("terrain", ground, Terrain, "draisine.terrain.plane() makes one")
    return grounds


def _warn_faults(system: System, faults: Mapping[str, NDArray[np.bool_]]) -> None:
    """Issue one warning about all physically invalid runs; `faults`: description -> mask (runs,)."""
    reasons = [
        f"{int(machines.sum())} {fault} (the first is machine {int(machines.argmax())})"
        for fault, machines in faults.items()
        if machines.any()
    ]
    if reasons:
        marks = np.array(list(faults.values()))
        warnings.warn(
            f"{int(marks.any(axis=0).sum())} of {marks.shape[1]} runs of {system.vehicle.__name__} are not "
            f"physically valid: {'; '.join(reasons)}.",
            ValidityWarning,
            stacklevel=3,
        )


def _check_states(states: Any) -> None:
    """Raise ParameterError unless `states` is a list of at least one state."""
    if isinstance(states, State):
        raise ParameterError("simulate_many: pass a list of states, such as [state] * 100.")
    if not states:
        raise ParameterError("simulate_many: the list of states is empty.")
    for state in states:
        if isinstance(state, State):
            check_quaternion(state)


def _parameters(system: System, count: int, changes: Mapping[str, Any]) -> Floats:
    """Return the parameter values (parameters, machines) with the `changes` by name.

    Raise ParameterError if a machine is physically invalid.
    """
    changed = check_numbers(system.vehicle, system.parameters, changes)
    values = _columns("parameter", list(system.parameters), system.values, count, changed)
    if changed:  # the parameters of the system itself are valid
        for k, text in find_invalid_machines(system.artifacts, values).items():
            raise ParameterError(f"machine {k}: {text}")
    return values


def _columns(
    kind: str, names: list[str], nominal: Floats, count: int, changes: Mapping[str, Any]
) -> Floats:
    """Return the nominal values of `count` machines with the `changes` by name, (names, count)."""
    values = np.repeat(nominal[:, None], count, axis=1)
    if not isinstance(changes, Mapping):
        raise ParameterError(f"{kind}s: {changes!r:.80} is not a table of numbers by name.")
    for name, column in changes.items():
        expect_known(f"no {kind}", name, names)
        if np.ndim(column) > 0 and len(column) != count:
            raise ParameterError(
                f"{kind} {name}: {len(column)} values for {count} machines; pass one, or one for each."
            )
        try:
            values[names.index(name)] = column
        except (OverflowError, TypeError, ValueError):
            raise ParameterError(
                f"{kind} {name}: {column!r:.80} does not consist of numbers."
            ) from None
        if not np.isfinite(values[names.index(name)]).all():
            raise ParameterError(f"{kind} {name}: {column!r:.80} has values that are not finite.")
    return values
