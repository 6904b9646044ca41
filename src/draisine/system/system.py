"""The class `System` (a vehicle with its parameters) and the function `compile`, which returns one.

`compile` separates the arguments of a vehicle into parameters (numbers, which may change without a new
derivation) and structure. A `System` provides compiled contact modes, printed equations and the matrices of
the equations of motion.
"""

import inspect
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast, get_args, get_origin

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.algebra.trace import Graph
from draisine.codegen.cache import Store
from draisine.codegen.fingerprint import fingerprint
from draisine.codegen.program import Program
from draisine.errors import ModelError, ParameterError, did_you_mean, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.constraints import Mode, Statuses, mode_of
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.formulations._rank import Survey
from draisine.mechanics.tree import Tree, assemble
from draisine.model import Model, Sensor
from draisine.model.names import output_names
from draisine.registry import find
from draisine.system.artifacts import Artifacts, MachineTask, RecentCache
from draisine.system.closed_form import MIN_PIVOT_RATIO, ClosedForm, check_inertia
from draisine.system.compiled import Compiled
from draisine.system.state import State
from draisine.system.tracing import Law, derive_sense, sense_inputs
from draisine.vehicles import (
    annotations,
    check_number,
    expect_parameters,
    inclined,
    meanings,
    parse_record,
    record_meanings,
    record_numbers,
)
from draisine.vehicles import parameter_set as published

if TYPE_CHECKING:
    from draisine.reading.document import Equations
    from draisine.reading.subject import Subject


T = TypeVar("T")


class MachineMatrices(NamedTuple):
    """The equations of motion at one state, `M vdot + F = C' lam` and `C vdot = c`."""

    M: Floats  # (n, n) mass matrix
    F: Floats  # (n,) bias force
    C: Floats  # (m, n) constraint rows
    c: Floats  # (m,) right-hand sides of the constraint rows
    rows: tuple[str, ...]  # labels of the constraint rows


@dataclass(frozen=True, eq=False)
class System:
    """A compiled vehicle with its parameters, ready to run.

    The independent speeds and the pivots were chosen for the parameters with which the vehicle was compiled.
    They are chosen again only if they are not valid for the present parameters.

    >>> bicycle = compile("whipple")
    >>> heavier = bicycle.with_parameters(mB=100.0)     # no new derivation, no new compilation
    """

    artifacts: Artifacts = field(repr=False)  # derived programs and machine code
    parameters: dict[str, float]  # numerical parameters by name
    added_sensors: tuple[Sensor, ...] = ()  # sensors in addition to those of the vehicle
    _machines: RecentCache = field(default_factory=RecentCache, repr=False)

    @property
    def vehicle(self) -> Callable[..., Model]:
        """The function that returns the model of the vehicle."""
        return self.artifacts.vehicle

    @property
    def structure(self) -> dict[str, Any]:
        """The arguments of the vehicle that determine its structure."""
        return self.artifacts.structure

    @cached_property
    def meanings(self) -> dict[str, tuple[str, str]]:
        """The unit and the meaning of the documented parameters by name, including the numbers in parameter
        records.
        """
        documented = dict(meanings(self.vehicle))
        for name, value in self.structure.items():
            documented |= record_meanings(name, value)
        return documented

    @cached_property
    def model(self) -> Model:
        """The model with the present parameters, checked for physical validity."""
        model = self.artifacts.draw(self.parameters)
        if self.added_sensors:
            model = replace(model, sensors=(*model.sensors, *self.added_sensors))
        return model

    @cached_property
    def tree(self) -> Tree:
        """The kinematic tree of the model, with the base frame as defined in the model."""
        return assemble(self.model)

    @cached_property
    def values(self) -> Floats:
        """The parameter values in the order of `parameters`."""
        return np.array(list(self.parameters.values()), dtype=float)

    def with_parameters(self, **changes: float) -> "System":
        """Return the same vehicle with other parameter values; angles may be written as "18deg"."""
        numbers = check_number(self.vehicle, self.parameters, changes)
        changed = System(self.artifacts, self.parameters | numbers, self.added_sensors)
        changed.model  # noqa: B018 - checks the model
        return changed

    def with_sensors(self, *sensors: Sensor) -> "System":
        """Return the same vehicle with further sensors, whose readings results contain.

        Parameters
        ----------
        *sensors
            Sensors, as those of `draisine.mechanics.sensors`.

        Raises
        ------
        ModelError
            If a sensor refers to a body, joint or contact that does not exist, or its name is in use.

        Examples
        --------
        >>> from draisine.mechanics.sensors import Encoder
        >>> cart = compile("cart_pole").with_sensors(Encoder("pole_encoder", "pole", counts=1000))
        >>> [sensor.name for sensor in cart.model.sensors]
        ['pole_encoder']
        """
        for sensor in sensors:
            if not hasattr(sensor, "measure"):
                raise ParameterError(
                    f"with_sensors: {sensor!r:.80} is not a sensor, as those of draisine.mechanics.sensors."
                )
        changed = System(self.artifacts, self.parameters, (*self.added_sensors, *sensors))
        changed.model  # noqa: B018 - checks the model
        return changed

    @cached_property
    def sense_program(self) -> Program:
        """The program of the ideal signals of all sensors, for any parameter values."""
        tracing = self.artifacts.trace()
        return derive_sense(tracing, (*tracing.model.sensors, *self.added_sensors))

    @cached_property
    def _compiled_sense(self) -> Compiled:
        """The program `sense` as machine code."""
        return self.artifacts.bind(self.sense_program, self.values)

    def ideal_signals(
        self, q: Floats, p: Floats, r: Floats, observations: Mapping[str, Floats]
    ) -> Floats:
        """Return the ideal signals (signals, states) of all sensors, or (signals,) of one state.

        Parameters
        ----------
        q, p, r
            Quaternion (4, states) and position (3, states) of the base, and joint coordinates.
        observations
            Observations of the states by name; states are columns.
        """
        arrays = sense_inputs(self.model, q, p, r, observations)
        x = self._compiled_sense.inputs.pack(**arrays)
        return (
            self._compiled_sense.flat(x)
            if x.ndim == 1
            else self._compiled_sense.batch(x)["signals"]
        )

    def __repr__(self) -> str:
        model = self.model
        joints = ", ".join(joint.name for joint in model.joints) or "none"
        contacts = ", ".join(contact.name for contact in model.contacts) or "none"
        return (
            f"System of {self.vehicle.__name__}: {len(model.bodies)} bodies, {len(model.speeds)} speeds\n"
            f"  joints: {joints}\n  contacts: {contacts}\n"
            f"  parameters: {', '.join(self.parameters) or 'none'}"
        )

    def _repr_html_(self) -> str:
        """Return the vehicle and its parameters as an HTML table for notebooks."""
        with tempfile.TemporaryDirectory() as folder:
            draisine.plot(self, path=f"{folder}/drawing.svg")
            drawn = Path(folder, "drawing.svg").read_text(encoding="utf-8").partition("<svg")[2]
        return f"<pre>{escape(repr(self))}</pre><svg{drawn}"

    def __reduce__(self) -> Any:
        return System, (self.artifacts, self.parameters, self.added_sensors)

    def mode(self, statuses: Statuses = None) -> Mode:
        """Return the contact mode with given statuses; all other contacts are closed."""
        return mode_of(self.model, statuses)

    def machine(
        self,
        mode: Statuses = None,
        law: Law | None = None,
        states: int = 0,
        correction: float | None = None,
        configuration: tuple[Floats, Floats] | None = None,
    ) -> ClosedForm:
        """Return one contact mode as compiled programs in closed form.

        Parameters
        ----------
        mode
            Status of contacts by name; all others are closed.
        law
            Control law, which becomes part of the compiled code.
        states
            Number of states of the control law.
        correction
            Rate (1/s) at which contact gaps are corrected, (2.41) of the thesis; by default they are not
            corrected.
        configuration
            Quaternion of the inner base frame and joint coordinates at which the pivots are chosen; by
            default the zero configuration.

        Returns
        -------
        ClosedForm
            The compiled programs of the contact mode.
        """
        pivot_point = None
        if configuration is not None:
            # Equal configurations must have equal keys: adding zero turns -0.0 into 0.0.
            q, r = (tuple([float(x) + 0.0 for x in values]) for values in configuration)
            pivot_point = (q, r)
        return self.make(MachineTask(self.mode(mode), law, states, correction, pivot_point))

    def make(self, task: MachineTask) -> ClosedForm:
        """Return the compiled contact mode that a request describes; the most recent ones are cached."""

        def derive_machine() -> ClosedForm:
            """Return the newly compiled contact mode."""
            machine = ClosedForm(self, self.artifacts, task)
            if machine.is_valid_for_system():
                return machine
            # The pivots of the nominal parameters vanish at these parameters: derive the programs
            # again with the present ones as nominal.
            source = self.artifacts
            artifacts = Artifacts(source.vehicle, source.structure, self.parameters, source.store)
            return ClosedForm(self, artifacts, task)

        return self._machines.get(task.key, derive_machine)

    def keep(self, key: Any, make: Callable[[], T]) -> T:
        """Return the cached object of a key, made by `make` if it is not cached; the most recent objects are
        cached.
        """
        return self._machines.get(key, make)

    def check_resistance(self, contact_mode: Mode) -> None:
        """Raise ModelError if a degree of freedom of a contact mode has no inertia; each contact mode is
        checked once.
        """
        key = ("resistance", contact_mode)
        self._machines.get(key, lambda: check_inertia(self.tree, contact_mode))

    def survey(self, mode: Statuses = None) -> Survey:
        """Return the redundant constraint rows of a contact mode, and the parameters for which they are
        redundant.
        """
        return self.artifacts.survey(self.mode(mode), self.parameters)

    def accelerate(
        self,
        state: State,
        inputs: Mapping[str, float] | None = None,
        mode: Statuses = None,
        t: float = 0.0,
        formulation: str = "multiplier",
        tolerance: float = 1e-8,
    ) -> tuple[Floats, Floats]:
        """Return the accelerations vdot (n) and the multipliers of the constraint rows (contact forces in
        N, forces or torques of prescribed joints).

        Parameters
        ----------
        state
            State that satisfies the constraints.
        inputs
            Inputs by name; by default zero.
        mode
            Status of contacts by name; all others are closed.
        t
            Time, s.
        formulation
            "multiplier" solves the saddle-point system. "projected" uses the closed form, or an orthogonal
            basis of the kernel of the constraint rows if a pivot becomes too small. The other formulations
            are independent derivations in plain Python, for the mode with all contacts closed; they return
            contact forces only.
        tolerance
            Largest violation of the constraints by the state, relative to the largest speed.
        """
        machine = self.machine(mode)
        w = self.inputs(inputs)
        model = self.model
        switched = multiplier.active_row_indices(model, machine.mode)
        if formulation == "projected":
            y = machine.enter(state, t, tolerance=tolerance)
            if machine.least_pivot(y, t) > MIN_PIVOT_RATIO:
                out = machine.observation(y, t, w)
                names = ("motion_torques", "coupling_forces")
                forces = np.concatenate([out["forces"][switched], *(out[n] for n in names)])
                return out["vdot"], forces
        elif formulation != "multiplier":
            module: Any = find("formulation", formulation)
            accepted = inspect.signature(module.accelerations).parameters
            options: dict[str, Any] = {"tolerance": tolerance} if "tolerance" in accepted else {}
            if "redundant" in accepted:
                options["redundant"] = tuple(machine.choice.spare)
            key = (formulation, tolerance)
            other = self._machines.get(key, lambda: module.accelerations(model, **options))
            vdot, forces = other(t, state, w)
            return vdot, np.ravel(forces)[switched]
        matrices = self.dynamics(state, inputs, mode, t)
        return _solve_dynamics(machine, matrices, by_kernel=formulation == "projected")

    def dynamics(
        self,
        state: State,
        inputs: Mapping[str, float] | None = None,
        mode: Statuses = None,
        t: float = 0.0,
    ) -> MachineMatrices:
        """Return the mass matrix, the bias forces and the constraint rows of a contact mode at a state.

        `M vdot + F = C' lam` and `C vdot = c`, for the speeds of `Model.speeds`. M is that of the
        unconstrained vehicle. F contains velocity-dependent forces, weight, springs and dampers, minus the
        inputs and the forces of force elements.

        >>> from draisine.system.state import state
        >>> sleigh = compile("chaplygin_sleigh")
        >>> matrices = sleigh.dynamics(state(sleigh))
        >>> matrices.rows, matrices.M.shape, matrices.C.shape
        (('runner.across',), (3, 3), (1, 3))
        """
        machine = self.machine(mode)
        w = self.inputs(inputs)
        z = {"z": state.elements(self.model.memory)} if self.model.memory else {}
        out = machine.free(t=[t], q=state.q, p=state.p, r=state.r, v=state.v, w=w, **z)
        model = self.model
        n = len(out["F"])
        rows = [
            *multiplier.active_row_indices(model, machine.mode),
            *multiplier.coupled_row_indices(model),
        ]
        C = out["C"].reshape(-1, n)[rows]
        labels = constraints.row_labels(model, machine.mode)
        return MachineMatrices(out["M"].reshape(n, n), out["F"], C, out["c"][rows], tuple(labels))

    def equations(
        self,
        mode: Statuses = None,
        *,
        form: str | None = None,
        full: bool = False,
        linear: bool = False,
        formulation: str = "projected",
    ) -> "Equations":
        """Return the equations of motion of a contact mode as a printable page: constraints, free dynamics,
        kernel, reduced dynamics, reconstruction and multipliers.

        Parameters
        ----------
        mode
            Status of contacts by name; all others are closed.
        form
            Name of another parametrisation of the vehicle, from its `FORMS`.
        full
            Whether to print the complete straight-line program up to the accelerations.
        linear
            Whether to print the equations of small deviations from straight running, as formulas in the
            parameters, for bicycles, motorcycles and other vehicles that lean.
        formulation
            Formulation whose equations are printed, in its own coordinates: multiplier, absolute, or for
            bicycles planar and partitioned.

        >>> sleigh = compile("chaplygin_sleigh").equations()
        >>> [block.text for block in sleigh.page.blocks if hasattr(block, "text")][:2]
        ['Constraints', 'Free dynamics']
        """
        from draisine.reading.document import write_nonlinear
        from draisine.reading.formulations import write_formulation
        from draisine.reading.linear.page import write_linear

        if linear and full:
            raise ParameterError(
                "equations: `full` does not apply to `linear` equations; leave it out."
            )
        title = self.vehicle.__name__.replace("_", " ").capitalize()
        if formulation != "projected":
            if full or linear or form is not None:
                raise ParameterError(
                    "equations: `full`, `linear` and `form` do not apply to the formulation "
                    f"{formulation!r}; leave them out."
                )
            return write_formulation(self.subject(mode), formulation, title)
        subject = self.subject(mode, form)
        return write_linear(subject, title) if linear else write_nonlinear(subject, title, full)

    def sympy(self, mode: Statuses = None, *, form: str | None = None) -> Any:
        """Return the equations of motion of a contact mode as SymPy objects by name: matrices C, M, F, H,
        kappa, M_r, F_r, each entry written out, and every symbol and definition of the page.

        >>> print(compile("chaplygin_sleigh").sympy().M_r)
        Matrix([[m, 0], [0, I + a**2*m]])
        """
        from draisine.codegen.paper.sympy import build_objects

        return build_objects(self.equations(mode, form=form).page)

    def explain(self, mode: Statuses = None) -> "Equations":
        """Return a page that explains the derivation of the reduced dynamics stage by stage, in words and
        with intermediate results, for small models.
        """
        from draisine.reading.explain import explain

        title = self.vehicle.__name__.replace("_", " ").capitalize()
        return explain(self.subject(mode), f"{title}, stage by stage")

    def subject(self, mode: Statuses = None, form: str | None = None) -> "Subject":
        """Return a contact mode in the symbols of the printed equations: mass matrix, forces, constraint
        rows and kernel as expressions.
        """
        from draisine.reading.subject import trace_subject

        rank_survey = self.survey(mode)
        spare = [row.label for row in rank_survey.redundant]
        shape = [] if rank_survey.nominal is None else list(rank_survey.nominal[1])
        statuses = dict(mode or {})
        return trace_subject(
            self.vehicle, self.parameters, self.structure, statuses, form, spare, shape
        )

    def static_forces(self, state: State, mode: Statuses = None) -> dict[str, Floats]:
        """Return a basis of the statically indeterminate forces: multipliers of redundant constraint rows
        that do not influence the motion, (1.18) of the thesis.

        Returns
        -------
        dict
            For each constraint row, by label, its components in the unit vectors of the basis.

        >>> from draisine.system.state import state
        >>> pendulum = compile("segway")
        >>> open_forces = pendulum.static_forces(state(pendulum))
        >>> [row for row, share in open_forces.items() if abs(share).max() > 1e-9]
        ['left.across', 'right.across']
        """
        machine = self.machine(mode)
        n = len(state.v)
        labels = constraints.row_labels(self.model, machine.mode)
        rows = multiplier.active_row_indices(
            self.model, machine.mode
        ) + multiplier.coupled_row_indices(self.model)
        out = machine.masses(q=state.q, p=state.p, r=state.r, v=state.v)
        # The last left singular vectors of the constraint rows are the forces without effect on any
        # motion.
        U, _, _ = np.linalg.svd(out["C"].reshape(-1, n)[rows])
        rank = len(labels) - len(machine.choice.spare)
        return dict(zip(labels, U[:, rank:], strict=True))

    def inputs(self, named: Mapping[str, float] | None = None) -> Floats:
        """Return inputs by name as a vector; inputs without a value are zero."""
        names = self.model.inputs
        out = np.zeros(len(names))
        if not named:
            return out
        if not isinstance(named, Mapping):
            raise ParameterError(
                f"inputs: {named!r:.80} is not a table of numbers by name, such as {{{names[0]!r}: 0.5}}."
                if names
                else f"inputs: {self.vehicle.__name__} has no inputs; leave {named!r:.80} out."
            )
        for name, value in named.items():
            expect_known("no input", name, names)
            if not isinstance(value, int | float | np.number):
                raise ParameterError(f"input {name}: {value!r:.80} is not a number.")
            if not abs(value) < np.inf:
                raise ParameterError(f"input {name}: {value!r:.80} is not finite.")
            out[names.index(name)] = value
        return out

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs of the model."""
        return output_names(self.model)


def _solve_dynamics(
    machine: ClosedForm, matrices: MachineMatrices, by_kernel: bool
) -> tuple[Floats, Floats]:
    """Return accelerations vdot (n) and multipliers (m): by an orthogonal basis of the kernel of the
    constraint rows, or by the saddle-point system. The forces of redundant constraint rows are distributed
    by their compliances.
    """
    model = machine.system.model
    if by_kernel and not machine.choice.spare:
        return multiplier.solve_by_nullspace(*matrices[:4])
    if not machine.choice.spare:
        return multiplier.solve_kkt_system(*matrices, model.speeds)
    rank = len(matrices.rows) - len(machine.choice.spare)
    compliances = np.array(constraints.row_compliances(model, machine.mode), dtype=float)
    return multiplier.solve_redundant_kkt_system(*matrices, model.speeds, rank, compliances)


_SYSTEMS = RecentCache(16)
"""Cache of the most recently compiled systems: compiling one of them again takes no time."""

UNNAMED_SYSTEMS = RecentCache(16)
"""Cache of the most recent systems whose vehicle cannot be found by a name, by fingerprint. Their stored
results can be opened only while the program runs.
"""


def compile(
    vehicle: str | Callable[..., Model],
    *,
    parameter_set: str | None = None,
    store: Store | None = None,
    **arguments: Any,
) -> System:
    """Return a vehicle as a compiled system.

    Parameters
    ----------
    vehicle
        A function that returns a `Model`, its name, or "FILE.py:name".
    parameter_set
        Name of published parameters, or a file of BicycleParameters (.txt, .yml).
    store
        Store for derived code; by default the user's store.
    **arguments
        Arguments of the vehicle; they override those of the parameter set. `float` arguments are
        parameters, which can change later; arguments of other types determine the structure. An argument
        annotated `float | None` determines the structure if it is None and is a parameter otherwise. Each
        number in a record, or in a dictionary given instead of one, is a parameter. Angles may be written
        "18deg". Every vehicle has the optional parameters `slope` (the ground rises along x) and `camber`
        (it rises to the left): then the axes of the world are those of the inclined ground, and gravity is
        tilted.

    Returns
    -------
    System
        The compiled vehicle. Code for a contact mode is derived and compiled when it is first needed.

    Examples
    --------
    >>> compile("whipple", parameter_set="browser_jason", g=9.7).parameters["g"]
    9.7
    >>> compile("whipple", flexible={"steer_damper": 1.5}).parameters["flexible_steer_damper"]
    1.5
    >>> print(compile("car", camber="6deg").model.gravity.round(3))
    [ 0.    -1.025 -9.756]
    """
    vehicle = cast(Callable[..., Model], find("vehicle", vehicle))
    if not callable(vehicle):
        kind = type(vehicle).__name__
        raise ParameterError(f"a vehicle is a function that returns a Model; this is a {kind}.")
    vehicle = inclined(vehicle, arguments)
    if parameter_set is not None:
        arguments = dict(published(vehicle.__name__, parameter_set)) | arguments
    parameters, structure = _split_arguments(vehicle, arguments)
    store = store or Store()

    def make_system() -> System:
        """Return the artifacts of the vehicle, which calls with equal arguments share."""
        system = System(Artifacts(vehicle, structure, parameters, store), parameters)
        if not system.model.speeds:
            raise ModelError("The machine cannot move: its base is fixed and it has no joints.")
        _check_motions(system.model)
        return system

    digest = fingerprint((vehicle, structure, parameters))
    return _SYSTEMS.get(None if digest is None else (str(store.folder), digest), make_system)


def _check_motions(model: Model) -> None:
    """Raise ModelError if a prescribed motion of a joint cannot be traced, or does not return r, rdot and
    rddot.
    """
    for joint in model.joints:
        if joint.motion is None:
            continue
        try:
            _, _, _ = joint.motion(Graph().symbol("t"))
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelError(
                f"joint {joint.name!r}: its motion cannot be traced ({type(error).__name__}: {error}). It "
                "must return (r, rdot, rddot); use sin, cos, where ... of draisine.algebra.scalar."
            ) from error


def _split_arguments(
    vehicle: Callable[..., Model], arguments: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the arguments of a vehicle that are parameters, and those that determine its structure."""
    hints = annotations(vehicle)
    parameters: dict[str, float] = {}
    structure: dict[str, Any] = {}
    remaining = dict(arguments)
    for name, parameter in inspect.signature(vehicle).parameters.items():
        value = remaining.pop(name, parameter.default)
        hint = hints.get(name)
        if value is inspect.Parameter.empty:
            raise ParameterError(
                f"{vehicle.__name__}: the argument {name} has no value and no default."
            )
        if get_origin(hint) is Literal and value not in get_args(hint):
            choices = [str(choice) for choice in get_args(hint)]
            raise ParameterError(
                f"{vehicle.__name__}: {name} = {value!r}. {did_you_mean(str(value), choices)}"
            )
        if hint is float or (
            isinstance(hint, UnionType) and float in get_args(hint) and value is not None
        ):
            parameters |= check_number(vehicle, {name: 0.0}, {name: value})
            continue
        structure[name] = parse_record(f"{vehicle.__name__}: {name}", hint, value)
        numbers = record_numbers(name, structure[name])
        numbers |= {key: remaining.pop(key) for key in numbers if key in remaining}
        parameters |= check_number(vehicle, numbers, numbers)
    expect_parameters(vehicle, remaining, [*structure, *parameters])
    return parameters, structure
