"""Linear systems about steady motions and along runs, by exact differentiation of the equations of
motion.

The states are named independent coordinates c and independent speeds s (`variation.Chart`). For each of them
there is a displacement, or a change of speeds, that changes this state alone and keeps the contacts closed.
The derivatives of the rates of c and s along it form one column of A in

    d/dt (delta c, delta s) = A (delta c, delta s) + B delta w,        eq. [linearisation].

Along a steady motion, straight or circular, the lean angle, the joint coordinates and their rates are
constant, so that A is constant, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.linear.along_run import list_evaluated_samples
from draisine.analysis.linear.contacts import ContactSetup
from draisine.analysis.linear.cyclic import GROUND_COORDINATES, CyclicStates, find_symmetric_states
from draisine.analysis.linear.matrices import (
    derivatives_along,
    find_state_tangents,
    input_matrices,
    system_matrices,
)
from draisine.analysis.linear.state_space import Linear, convert_axes, select_indices
from draisine.analysis.variation import (
    Chart,
    Variation,
    add_missing_axis,
    chart,
    chart_of,
    rotate_to_heading,
    vary,
)
from draisine.errors import ConfigurationError, ParameterError, expect
from draisine.model.names import Axes, observation_units
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.options import CONTACT, ContactOptions, memory_start
from draisine.simulation.trajectory import Trajectory
from draisine.system.artifacts import require_system
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

SYMMETRY_MARGIN = 100.0
"""Tolerated rate of change in a steady motion per rad of the ground's symmetry error, SI units; the error
times gravity, about 10 m/s2, accelerates the base, and the wheels have larger accelerations."""

LINEARISATIONS = ("steady", "frozen", "dalembert")
"""Forms of linearisation: about a steady motion; at one instant of an accelerating motion; about the motion
at constant speed under the inertial load of its acceleration."""


def linearise(
    system: System | Trajectory,
    motion: State | Sequence[State] | None = None,
    *,
    inputs: Mapping[str, float] | None = None,
    outputs: Sequence[str] | None = None,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
    cyclic: bool = False,
    tolerance: float = 1e-7,
    form: Literal["steady", "frozen"] = "steady",
    axes: Axes = "draisine",
) -> Linear:
    """Linearise the equations of motion about one motion, about a sequence of motions, or along a run.

    States of the linear system are independent coordinates, then independent speeds, then the states of
    tyres and of a control law. Cyclic coordinates are those on which the equations do not depend: position,
    heading, wheel angles. They, and the outputs that depend on them, are left out unless `cyclic` is true.

    Parameters
    ----------
    system
        The compiled system; or a run (`draisine.simulate`), about which the linear system varies with time:
        deviations from the run obey `d(dx)/dt = A(t) dx + B(t) dw`, with one A and one B per sample.
    motion
        State, or sequence of states, about which to linearise; None if `system` is a run.
    inputs
        Inputs (N m or N) in the motion, by name.
    outputs
        Names of outputs; by default all outputs of the model and its joint coordinates.
    mode
        Contact mode: statuses of contacts by name.
    law
        Control law. In a run, the values of a control law that cannot be traced count as recorded inputs.
    terrain
        The ground. The contacts that are closed in the state stay closed, and rolling contacts keep rolling.
        On the level plane (None) contacts are ideal. Motions on a terrain are steady if they follow a
        symmetry of the ground: straight on a plane or along a road of constant profile, circles in a bowl.
    contact
        Contact options on a terrain: friction and joint stops.
    cyclic
        Whether cyclic coordinates are states, too.
    tolerance
        Largest rate of change of a speed or non-cyclic coordinate in a steady motion, as a fraction of the
        largest observed value plus 1 (SI units).
    form
        "steady" raises an error if the motion is not steady. "frozen" accepts any motion and treats the
        derivatives at this instant as constant: an approximation for slowly changing motions. For the
        d'Alembert form use `steady(...).linear(form="dalembert")`.
    axes
        Sign convention of coordinates, speeds and inputs. "benchmark" is that of Meijaard et al. 2007
        (positive steer to the right); see `model.names`.

    Returns
    -------
    Linear
        The linear system with named states, inputs and outputs.

    Raises
    ------
    ConfigurationError
        If the motion is not steady, or a run has impacts or changing contacts.

    Examples
    --------
    >>> from draisine import compile, simulate, state
    >>> bicycle = compile("whipple")
    >>> upright = linearise(bicycle, state(bicycle, forward_speed=5.0))
    >>> upright.states
    ('lean', 'steer', 'lean_rate', 'steer_rate', 'rear_wheel_rate')

    On a road that rises to the left:

    >>> from draisine.terrain import plane
    >>> from draisine.analysis.equilibrium import steady
    >>> road = plane(camber=0.1)
    >>> ride = steady(bicycle, forward_speed=5.0, yaw=0.0, terrain=road)
    >>> across = linearise(bicycle, ride.state, terrain=road)
    >>> across.states
    ('lean', 'steer', 'yaw', 'lean_rate', 'steer_rate', 'rear_wheel_rate')

    Along a run that brakes:

    >>> run = simulate(bicycle, state(bicycle, forward_speed=5.0), 1.0, inputs={"rear_wheel": -20.0})
    >>> along = linearise(run)
    >>> along.A.shape[0] == len(along.times) == len(run.t)
    True
    """
    if isinstance(system, Trajectory):
        if any(option is not None for option in (motion, inputs, mode, law, terrain)):
            raise ParameterError(
                "linearise(run): motion, inputs, mode, law and terrain are those of the run. Leave them out."
            )
        machine_system = system.arcs[0].machine.system
        run_law = None if system.task is None else system.task.law
        options = {"outputs": outputs, "cyclic": cyclic, "axes": axes}
        recipe = call_recipe("linear", linearise, system, **options)
        along = _linearise_run(system, outputs, cyclic)
        return convert_axes(
            replace(along, made=provenance(machine_system, run_law, recipe)), machine_system, axes
        )
    require_system("linearise", system)
    if form not in ("steady", "frozen"):
        raise ParameterError(
            f"Unknown form {form!r}. Available: steady, frozen; "
            "analysis.equilibrium.steady(...).linear(form='dalembert') has the d'Alembert form."
        )
    motions = list(motion) if isinstance(motion, Sequence) else [motion]
    for each in motions:
        expect("linearise", each, State, "draisine.state(system, forward_speed=5.0) makes one")
    states = [each for each in motions if isinstance(each, State)]
    setup = ContactSetup(system, terrain, mode, contact, law, inputs)
    machine, first = setup.equations(states[0], setup.closed_contacts(states[0]))
    rest = [
        machine.enter(each, z=memory_start(system, each, law, machine.states))
        for each in states[1:]
    ]
    y = np.array([first, *rest])
    w = np.broadcast_to(system.inputs(inputs), (len(y), len(system.model.inputs)))
    linear = linear_systems(
        machine, y, w, outputs=outputs, cyclic=cyclic, tolerance=tolerance, form=form
    )
    recipe = call_recipe(
        "linear", linearise, system, motion, inputs=inputs, outputs=outputs, mode=mode, law=law,
        terrain=terrain, contact=None if contact == CONTACT else contact, cyclic=cyclic,
        tolerance=tolerance, form=form, axes=axes,
    )  # fmt: skip
    linear = linear[0] if isinstance(motion, State) else linear
    return convert_axes(replace(linear, made=provenance(system, law, recipe)), system, axes)


def _linearise_run(run: Trajectory, outputs: Sequence[str] | None, cyclic: bool) -> Linear:
    """Return the time-varying linear system along a run, one set of matrices per sample."""
    names: Chart | None = None
    systems = []
    for machine, t, y, w in list_evaluated_samples(run):
        if names is None:
            names = chart(vary(machine, y, w, t=t, anchors=machine.anchors_at(y[0])))
        systems.append(
            linear_systems(
                machine, y, w, outputs=outputs, cyclic=cyclic, form="frozen", t=t, names=names
            )
        )
    arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in systems]) for name in arrays
    }
    return replace(systems[0], **joined, times=run.t)


def linear_systems(
    machine: Any,
    y: Floats,
    w: Floats,
    *,
    outputs: Sequence[str] | None = None,
    cyclic: bool = False,
    tolerance: float = 1e-7,
    form: str = "steady",
    t: Floats | float = 0.0,
    names: Chart | None = None,
) -> Linear:
    """Return the linear systems about N states y (N, entries) with inputs w (N, inputs) at times t (s).

    The motions must be steady up to `tolerance`, unless `form` is "frozen", which linearises at any
    state. The states are the coordinates and speeds in `names`, by default independent ones, chosen by
    their pivots. Cyclic coordinates are states only if `cyclic`.
    """
    variation = vary(machine, y, w, t=t, anchors=machine.anchors_at(y[0]))
    frame = (
        chart(variation) if names is None else chart_of(variation, names.coordinates, names.speeds)
    )
    symmetric = find_symmetric_states(machine, variation, frame, y, w)
    hidden = symmetric.names
    if form == "steady":
        check_steady(variation, frame, hidden, tolerance)
    elif symmetric.is_oblique(frame.coordinates):
        # Symmetries that change several coordinates yield a constant A along steady motions only.
        # For this linear system, omit only coordinates that are cyclic by themselves.
        symmetric = symmetric.restrict_to_single(frame.coordinates)
        hidden = symmetric.names
    if cyclic:
        _check_base_does_not_roll(variation, hidden, tolerance)
    seeds = find_state_tangents(variation, frame)
    A = system_matrices(variation, frame, seeds)
    B = input_matrices(variation, frame)
    states = [*frame.coordinates, *frame.speeds, *(f"z[{k}]" for k in range(machine.memory))]
    kept = [k for k, name in enumerate(states) if cyclic or name not in hidden]
    C = rotate_to_heading(variation, variation.names, derivatives_along(variation.d["seen"], seeds))
    shown = _select_outputs(variation, C, None if cyclic else symmetric, outputs)
    if not cyclic:
        A = symmetric.remove_symmetric_rates(frame.coordinates, A)
        B = symmetric.remove_symmetric_rates(frame.coordinates, B)
    named = [variation.observation(name) for name in (*frame.coordinates, *frame.speeds)]
    x0 = np.column_stack([*named, y[:, machine.layout.z]])
    return Linear(
        A[:, kept][:, :, kept],
        B[:, kept],
        C[:, shown][:, :, kept],
        variation.d["seen"]["dw"][:, shown],
        tuple(states[k] for k in kept),
        tuple(machine.system.model.inputs),
        tuple(variation.names[k] for k in shown),
        x0[:, kept],
        np.array(w),
        variation.values["seen"][:, shown],
        observation_units(machine.system.model),
        variation.observation("yaw"),
        _steady_state_rates(variation, frame, len(states))[:, kept],
    )


def _check_base_does_not_roll(
    variation: Variation, omitted_names: Sequence[str], tolerance: float
) -> None:
    """Raise an error if the base itself is a rolling wheel: its x and y then do not change uniformly."""
    if "pitch" in omitted_names and np.abs(variation.observation("pitch_rate")).max() > tolerance:
        raise ConfigurationError(
            "The base itself rolls, so that its position x and y does not change at a constant "
            "rate. Linearise without cyclic=True."
        )


def _steady_state_rates(variation: Variation, frame: Chart, count: int) -> Floats:
    """Return the time derivatives of the states in the steady motions themselves, (N, states)."""
    rates = np.zeros((len(variation), count))
    complete = add_missing_axis(frame.coordinates)
    named = [variation.observation(f"{name}_rate") for name in complete]
    turned = rotate_to_heading(variation, complete, np.stack(named, axis=1)[:, :, None])
    rates[:, : len(frame.coordinates)] = turned[:, : len(frame.coordinates), 0]
    return rates


def _select_outputs(
    variation: Variation,
    C: Floats,
    omitted: "CyclicStates | None",
    outputs: Sequence[str] | None,
) -> list[int]:
    """Return the indices of the selected outputs among the observations.

    If `outputs` is None, select all outputs and joint coordinates that do not depend on omitted states.
    """
    system = variation.machine.system
    usual = [*system.outputs, *(j.name for j in system.model.joints)]
    candidates = select_indices(variation.names, usual if outputs is None else outputs, "output")
    scale = np.abs(C[:, candidates]).max(initial=1.0)
    blind = []
    if omitted is not None:
        changes = C[:, :, : omitted.directions.shape[1]] @ omitted.directions
        blind = [k for k in candidates if np.abs(changes[:, k]).max(initial=0) > 1e-9 * scale]
    if blind and outputs is not None:
        raise ConfigurationError(
            f"Output {variation.names[blind[0]]!r} depends on cyclic coordinates. Set cyclic=True."
        )
    return [k for k in candidates if k not in blind]


def check_steady(
    variation: Variation, frame: Chart, hidden: Sequence[str], tolerance: float
) -> None:
    """Raise an error if a motion is not steady within a relative tolerance.

    In a steady motion speeds and non-cyclic coordinates are constant, and the equations do not
    depend on time. `hidden` are the names of the cyclic coordinates.
    """
    steady_names = [name for name in frame.coordinates if name not in hidden]
    scale = 1.0 + np.abs(variation.values["seen"]).max(initial=0.0)
    drift: dict[str, Floats] = {}
    if "drift" in variation.values:
        # On a terrain, position and heading of a steady motion follow a symmetry of the ground, eq.
        # [symmetry]. Therefore check the velocity across the symmetries instead of the rates of
        # position and heading.
        steady_names = [name for name in steady_names if name not in GROUND_COORDINATES]
        drift = {"the position relative to the shape of the ground": variation.values["drift"]}
        tolerance = max(tolerance, SYMMETRY_MARGIN * variation.machine.symmetry.error)
    for rates in (
        {name: variation.observation(f"{name}_rate") for name in steady_names},
        drift,
        {name: variation.speed_rates([name]) for name in frame.speeds},
        {"a state of tyres or of the control law": variation.values["zdot"]},
    ):
        speeds = {name: float(np.abs(rate).max(initial=0.0)) for name, rate in rates.items()}
        worst = max(speeds, key=lambda name: speeds[name], default="")
        if worst and not speeds[worst] <= tolerance * scale:
            raise ConfigurationError(
                f"The motion is not steady: {worst} changes by {speeds[worst]:.3g} per second. "
                "analysis.equilibrium.steady finds steady motions, with the deflections of tyres; "
                "form='frozen' linearises at this instant."
            )
    variation.check_time_invariant(tolerance)
