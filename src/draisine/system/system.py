"""Vehicles with their parameters: derive once, run many times."""

import inspect
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
from draisine.errors import ModelError, ParameterError, did_you_mean, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.constraints import Mode, Statuses, mode_of
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.formulations._rank import Survey
from draisine.mechanics.tree import Tree, assemble
from draisine.model import Model
from draisine.model.names import output_names
from draisine.registry import find
from draisine.system.artifacts import Artifacts, MachineTask, Recent
from draisine.system.closed_form import PIVOT_FLOOR, ClosedForm, check_resistance
from draisine.system.state import State
from draisine.system.tracing import Law
from draisine.vehicles import (
    annotations,
    check_number,
    expect_parameters,
    make_record,
    meanings,
    record_meanings,
    record_numbers,
)
from draisine.vehicles import parameter_set as published

if TYPE_CHECKING:
    from draisine.reading.document import Equations
    from draisine.reading.subject import Subject


T = TypeVar("T")


class MachineMatrices(NamedTuple):
    """The machine in numbers at one state: `M vdot + F = C' lam`, `C vdot = c`; `rows` names those of C."""

    M: Floats
    F: Floats
    C: Floats
    c: Floats
    rows: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class System:
    """A vehicle with its parameters, ready to run.

    >>> bicycle = compile("whipple")
    >>> heavier = bicycle.with_parameters(mB=100.0)     # no new derivation, no new compilation

    Decisions (which speeds are independent, along which pivots) are those for the parameters with
    which the vehicle was compiled, as long as they exist for the present ones.
    """

    artifacts: Artifacts = field(repr=False)
    parameters: dict[str, float]
    _machines: Recent = field(default_factory=Recent, repr=False)

    @property
    def vehicle(self) -> Callable[..., Model]:
        """The function that draws the vehicle."""
        return self.artifacts.vehicle

    @property
    def structure(self) -> dict[str, Any]:
        """The arguments of the vehicle that decide its structure."""
        return self.artifacts.structure

    @cached_property
    def meanings(self) -> dict[str, tuple[str, str]]:
        """Unit and meaning of the parameters that have some, those of records included."""
        records = [record_meanings(name, value) for name, value in self.structure.items()]
        return {k: told for one in (meanings(self.vehicle), *records) for k, told in one.items()}

    @cached_property
    def model(self) -> Model:
        """The model with numbers in it, checked."""
        return self.artifacts.draw(self.parameters)

    @cached_property
    def tree(self) -> Tree:
        """The tree of the model, its base's frame being the drawing's."""
        return assemble(self.model)

    @cached_property
    def values(self) -> Floats:
        """The parameters in order."""
        return np.array(list(self.parameters.values()), dtype=float)

    def with_parameters(self, **changes: float) -> "System":
        """Return the same machine with other parameters; angles may be written as "18deg"."""
        numbers = check_number(self.vehicle, self.parameters, changes)
        changed = System(self.artifacts, self.parameters | numbers)
        changed.model  # noqa: B018 - checks the drawing
        return changed

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
        with tempfile.TemporaryDirectory() as folder:
            draisine.plot(self, path=f"{folder}/drawing.svg")
            drawn = Path(folder, "drawing.svg").read_text(encoding="utf-8").partition("<svg")[2]
        return f"<pre>{escape(repr(self))}</pre><svg{drawn}"

    def __reduce__(self) -> Any:
        return System, (self.artifacts, self.parameters)

    def mode(self, statuses: Statuses = None) -> Mode:
        """Return the mode that the given statuses make; all other contacts are closed."""
        return mode_of(self.model, statuses)

    def machine(
        self,
        mode: Statuses = None,
        law: Law | None = None,
        states: int = 0,
        correction: float | None = None,
        configuration: tuple[Floats, Floats] | None = None,
    ) -> ClosedForm:
        """Return one mode, derived and compiled; `law` is traced into it, with `states` states of
        its own.

        `configuration` (inner quaternion, shape) is where the pivots are chosen; the drawing by
        default.
        """
        around = None
        if configuration is not None:
            q, r = (tuple([float(x) + 0.0 for x in part]) for part in configuration)  # no -0.0
            around = (q, r)
        return self.make(MachineTask(self.mode(mode), law, states, correction, around))

    def make(self, task: MachineTask) -> ClosedForm:
        """Return the machine for a task."""

        def made() -> ClosedForm:
            machine = ClosedForm(self, self.artifacts, task)
            if machine.sound():
                return machine
            source = self.artifacts
            own = Artifacts(source.vehicle, source.structure, self.parameters, source.store)
            return ClosedForm(self, own, task)

        return self._machines.get(task.key, made)

    def keep(self, key: Any, make: Callable[[], T]) -> T:
        """Return what was made of this system for a key, or else what `make` makes; the latest are kept."""
        return self._machines.get(key, make)

    def check_resistance(self, mode: Mode) -> None:
        """Raise, the first time that a mode is asked about, where nothing in it resists a freedom."""
        key = ("resistance", mode)
        self._machines.get(key, lambda: check_resistance(self.tree, mode))

    def survey(self, mode: Statuses = None) -> Survey:
        """Return which rows of a mode repeat others, and for which parameters."""
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
        """Return vdot and the multipliers of the mode's rows (contact forces, torques of prescribed joints).

        "multiplier" solves the saddle-point system; "projected" takes the closed form and, where one
        of its pivots degenerates, an orthogonal basis of the kernel instead; the others are
        independent derivations, in plain Python, for the mode with all contacts closed; they give
        contact forces only. `tolerance` is how far the state may break the constraints.
        """
        machine, w, model = self.machine(mode), self.inputs(inputs), self.model
        switched = multiplier.active_rows(model, machine.mode)
        if formulation == "projected":
            y = machine.enter(state, t, tolerance=tolerance)
            if machine.least_pivot(y, t) > PIVOT_FLOOR:
                seen = machine.observation(y, t, w)
                names = ("motion_torques", "coupling_forces")
                held = np.concatenate([seen["forces"][switched], *(seen[n] for n in names)])
                return seen["vdot"], held
        elif formulation != "multiplier":
            module: Any = find("formulation", formulation)
            known = inspect.signature(module.accelerations).parameters
            options: dict[str, Any] = {"tolerance": tolerance} if "tolerance" in known else {}
            if "redundant" in known:
                options["redundant"] = tuple(machine.choice.spare)
            key = (formulation, tolerance)
            other = self._machines.get(key, lambda: module.accelerations(model, **options))
            vdot, forces = other(t, state, w)
            return vdot, np.ravel(forces)[switched]
        found = self.dynamics(state, inputs, mode, t)
        return _solve_rows(machine, found, by_kernel=formulation == "projected")

    def dynamics(
        self,
        state: State,
        inputs: Mapping[str, float] | None = None,
        mode: Statuses = None,
        t: float = 0.0,
    ) -> MachineMatrices:
        """Return the mass matrix, the bias forces and the rows of a mode at a state, as numbers:
        `M vdot + F = C' lam` and `C vdot = c`, for the speeds of `Model.speeds`. F holds what velocities,
        weight, springs and dampers need, less the inputs and what force elements do in their states; M
        counts all bodies, constraints or not.

        >>> from draisine.system.state import state
        >>> sleigh = compile("chaplygin_sleigh")
        >>> found = sleigh.dynamics(state(sleigh))
        >>> found.rows, found.M.shape, found.C.shape
        (('runner.across',), (3, 3), (1, 3))
        """
        machine, w = self.machine(mode), self.inputs(inputs)
        z = {"z": state.elements(self.model.memory)} if self.model.memory else {}
        out = machine.free(t=[t], q=state.q, p=state.p, r=state.r, v=state.v, w=w, **z)
        model, n = self.model, len(out["F"])
        rows = [*multiplier.active_rows(model, machine.mode), *multiplier.joint_rows(model)]
        C, labels = out["C"].reshape(-1, n)[rows], constraints.labels(model, machine.mode)
        return MachineMatrices(out["M"].reshape(n, n), out["F"], C, out["c"][rows], tuple(labels))

    def equations(
        self,
        mode: Statuses = None,
        *,
        form: str | None = None,
        full: bool = False,
        linear: bool = False,
    ) -> "Equations":
        """Return the equations of a mode to read: constraints, free dynamics, kernel, reduced
        dynamics, reconstruction, multipliers. `form` is another parametrisation of the vehicle (its
        `FORMS`); `full` is the whole straight-line program in these names, to the accelerations.
        `linear` gives those of small deviations from straight running, as formulas in the parameters:
        of a bicycle, motorcycle or another machine that leans.

        >>> sleigh = compile("chaplygin_sleigh").equations()
        >>> [block.text for block in sleigh.page.blocks if hasattr(block, "text")][:2]
        ['Constraints', 'Free dynamics']
        """
        from draisine.reading.document import write
        from draisine.reading.linear.page import write_linear

        if linear and full:
            raise ParameterError("equations: `linear` pages have one detail; leave out `full`.")
        subject = self.subject(mode, form)
        title = self.vehicle.__name__.replace("_", " ").capitalize()
        return write_linear(subject, title) if linear else write(subject, title, full)

    def sympy(self, mode: Statuses = None, *, form: str | None = None) -> Any:
        """Return the equations of a mode as SymPy objects by name: matrices C, M, F, H, kappa, M_r,
        F_r, each entry written out, and every symbol and definition of the page.

        >>> print(compile("chaplygin_sleigh").sympy().M_r)
        Matrix([[m, 0], [0, I + a**2*m]])
        """
        from draisine.codegen.paper.sympy import build

        return build(self.equations(mode, form=form).page)

    def explain(self, mode: Statuses = None) -> "Equations":
        """Return the way from the drawing to the reduced dynamics, stage by stage: what
        happens in each, in words, and what comes out. For small machines.
        """
        from draisine.reading.explain import explain

        title = self.vehicle.__name__.replace("_", " ").capitalize()
        return explain(self.subject(mode), f"{title}, stage by stage")

    def subject(self, mode: Statuses = None, form: str | None = None) -> "Subject":
        """Return a mode traced over the symbols that people read: its masses, forces, rows and
        kernel as expressions.
        """
        from draisine.reading.subject import trace_subject

        found = self.survey(mode)
        spare = [row.label for row in found.redundant]
        shape = [] if found.nominal is None else list(found.nominal[1])
        statuses = dict(mode or {})
        return trace_subject(
            self.vehicle, self.parameters, self.structure, statuses, form, spare, shape
        )

    def static_forces(self, state: State, mode: Statuses = None) -> dict[str, Floats]:
        """Return what rows that repeat others leave open, by row: multipliers that no motion shows,
        one unit vector for each dimension, (1.18) of the thesis.

        >>> from draisine.system.state import state
        >>> pendulum = compile("segway")
        >>> open_forces = pendulum.static_forces(state(pendulum))
        >>> [row for row, share in open_forces.items() if abs(share).max() > 1e-9]
        ['left.across', 'right.across']
        """
        machine, n = self.machine(mode), len(state.v)
        labels = constraints.labels(self.model, machine.mode)
        rows = multiplier.active_rows(self.model, machine.mode) + multiplier.joint_rows(self.model)
        out = machine.masses(q=state.q, p=state.p, r=state.r, v=state.v)
        U, _, _ = np.linalg.svd(out["C"].reshape(-1, n)[rows])
        rank = len(labels) - len(machine.choice.spare)
        return dict(zip(labels, U[:, rank:], strict=True))

    def inputs(self, named: Mapping[str, float] | None = None) -> Floats:
        """Return inputs by name as a vector, zero where not named."""
        names = self.model.inputs
        out = np.zeros(len(names))
        if not named:
            return out
        if not isinstance(named, Mapping):
            raise ParameterError(f"inputs: {named!r:.80} is no table of numbers by name.")
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
        """The names of the outputs."""
        return output_names(self.model)


def _solve_rows(
    machine: ClosedForm, found: MachineMatrices, by_kernel: bool
) -> tuple[Floats, Floats]:
    """Return vdot and multipliers from the free machine and its rows: by an orthogonal basis of the
    kernel, or by the saddle-point system, forces of rows that repeat others shared.
    """
    model = machine.system.model
    if by_kernel and not machine.choice.spare:
        return multiplier.nullspace(*found[:4])
    given = (*found, model.speeds)
    if not machine.choice.spare:
        return multiplier.saddle_point(*given)
    rank = len(found.rows) - len(machine.choice.spare)
    forces = np.array(constraints.compliances(model, machine.mode), dtype=float)
    return multiplier.shared_saddle_point(*given, rank, forces)


_SYSTEMS = Recent(16)
"""The systems that were compiled lately: compiled again, they are ready."""

HERE = Recent(16)
"""The most recent machines whose vehicle has no name by which it is found again, by fingerprint: while
the program runs, what they did can be looked at.
"""


def compile(
    vehicle: str | Callable[..., Model],
    *,
    parameter_set: str | None = None,
    store: Store | None = None,
    **arguments: Any,
) -> System:
    """Return a vehicle (a function, its name, or FILE.py:name) as a system: `float` arguments become
    parameters that can change, others decide the structure.

    An argument annotated `float | None` decides the structure while it is None, and is a parameter
    once it has a value. `parameter_set` names published values, or a file of BicycleParameters (.txt,
    .yml); arguments go before them. Each number of an argument that is a record, or a table for one, is
    a parameter, too. Angles may be "18deg".

    >>> compile("whipple", parameter_set="browser_jason", g=9.7).parameters["g"]
    9.7
    >>> compile("whipple", flexible={"steer_damper": 1.5}).parameters["flexible_steer_damper"]
    1.5
    """
    vehicle = cast(Callable[..., Model], find("vehicle", vehicle))
    if not callable(vehicle):
        kind = type(vehicle).__name__
        raise ParameterError(f"a vehicle is a function that returns a Model; this is a {kind}.")
    if parameter_set is not None:
        arguments = dict(published(vehicle.__name__, parameter_set)) | arguments
    parameters, structure = _split(vehicle, arguments)
    store = store or Store()

    def make() -> System:
        system = System(Artifacts(vehicle, structure, parameters, store), parameters)
        if not system.model.speeds:
            raise ModelError("nothing can move: the base is fixed and there are no joints.")
        _check_motions(system.model)
        return system

    digest = fingerprint((vehicle, structure, parameters))
    return _SYSTEMS.get(None if digest is None else (str(store.folder), digest), make)


def _check_motions(model: Model) -> None:
    """Raise where the motion that a joint follows cannot be traced, or tells no r, rdot and rddot."""
    for joint in model.joints:
        if joint.motion is None:
            continue
        try:
            _, _, _ = joint.motion(Graph().symbol("t"))
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelError(
                f"joint {joint.name!r}: its motion cannot be traced, {type(error).__name__}: {error}; it "
                "returns (r, rdot, rddot), by sin, cos, where ... of draisine.algebra.scalar."
            ) from error


def _split(
    vehicle: Callable[..., Model], arguments: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the arguments of a vehicle that are parameters, and those that decide its structure."""
    hints, parameters, structure = annotations(vehicle), dict[str, float](), dict[str, Any]()
    left = dict(arguments)
    for name, parameter in inspect.signature(vehicle).parameters.items():
        value, hint = left.pop(name, parameter.default), hints.get(name)
        if value is inspect.Parameter.empty:
            raise ParameterError(
                f"{vehicle.__name__}: {name} has no value; give one, or a default."
            )
        if get_origin(hint) is Literal and value not in get_args(hint):
            known = [str(choice) for choice in get_args(hint)]
            raise ParameterError(
                f"{vehicle.__name__}: {name} = {value!r}. {did_you_mean(str(value), known)}"
            )
        if hint is float or (
            isinstance(hint, UnionType) and float in get_args(hint) and value is not None
        ):
            parameters |= check_number(vehicle, {name: 0.0}, {name: value})
            continue
        structure[name] = make_record(f"{vehicle.__name__}: {name}", hint, value)
        own = record_numbers(name, structure[name])
        own |= {key: left.pop(key) for key in own if key in left}
        parameters |= check_number(vehicle, own, own)
    expect_parameters(vehicle, left, [*structure, *parameters])
    return parameters, structure
