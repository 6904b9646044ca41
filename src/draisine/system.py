"""Compiled machines: derive once, run many times."""

import ctypes
import hashlib
import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import UnionType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.cache import Store
from draisine.codegen.program import Program
from draisine.codegen.targets.native import Native, compile_native, prototype
from draisine.derivation import Choice, Derivation, Law
from draisine.errors import ConfigurationError, ModelError, ParameterError, did_you_mean
from draisine.fingerprint import fingerprint
from draisine.lie import quaternion, quaternion_product, rotation
from draisine.mechanics import constraints
from draisine.mechanics.constraints import Mode, mode_of
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.tree import assemble
from draisine.model import Model
from draisine.programs import PROGRAMS, output_names
from draisine.registry import find
from draisine.trace import Expr, Graph

Floats = NDArray[Any]

PIVOT_FLOOR, PIVOT_FIRM = 0.1, 0.3
"""How far a pivot of the constraints may shrink, against its size where it was chosen: errors grow
as it shrinks, and a tenth costs one digit. Other pivots that are known are taken up again where
they are firm.
"""


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a machine is and how it moves: pose (unit quaternion q, position p of the drawing's
    origin), shape r, speeds v.
    """

    q: Floats
    p: Floats
    r: Floats
    v: Floats


class _Buffers(threading.local):
    """Arrays that a thread lends to machine code, and where they are."""

    def __init__(self, size_in: int, table: Floats, size_out: int) -> None:
        self.x: Floats = np.zeros(size_in)
        self.out: Floats = np.zeros(size_out)
        arrays = (self.x, table, self.out)
        self.where = (*(ctypes.c_void_p(a.ctypes.data) for a in arrays), ctypes.c_int64(1))


class Compiled:
    """One program as machine code, bound to one set of parameters; call it with its inputs, get its
    outputs by name.
    """

    def __init__(self, program: Program, parameters: Floats, store: Store | None) -> None:
        self.program = program
        self.native: Native = compile_native(program, store)
        self.table: Floats = np.zeros(self.native.size_table)
        self.inputs = {name: n for name, n in program.inputs.items() if name != "parameters"}
        table = self.table.ctypes.data
        prototype()(self.native.prologue)(parameters.ctypes.data, table, table, 1)
        self._call = prototype()(self.native.call)
        self._own = _Buffers(self.native.size_in, self.table, self.native.size_out)

    def flat(self, x: Floats) -> Floats:
        """Return all outputs one after the other, for all inputs one after the other: the fast way
        from Python.
        """
        own = self._own
        own.x[:] = x
        self._call(*own.where)
        return own.out.copy()

    def __call__(self, **inputs: Any) -> dict[str, Floats]:
        """Return the outputs by name."""
        parts = [
            np.ravel(np.asarray(inputs.get(name, np.zeros(n)), float))
            for name, n in self.inputs.items()
        ]
        return self.split(self.flat(np.concatenate(parts) if parts else np.zeros(0)))

    def split(self, out: Floats) -> dict[str, Floats]:
        """Return a flat result (entries first) by name."""
        where = 0
        named = {}
        for name, entries in self.program.outputs.items():
            named[name] = out[where : where + len(entries)]
            where += len(entries)
        return named

    def tables(self, parameters: Floats) -> Floats:
        """Return what the prologue leaves for many sets of parameters, one per column."""
        out: Floats = np.empty((parameters.shape[1], self.native.size_table))
        rows = np.ascontiguousarray(parameters.T, dtype=float)
        prologue = prototype()(self.native.prologue)
        for row, table in zip(rows, out, strict=True):
            prologue(row.ctypes.data, table.ctypes.data, table.ctypes.data, 1)
        return out.T

    def batch(self, x: Floats, table: Floats | None = None) -> dict[str, Floats]:
        """Return the outputs for many inputs: x has one column per state, SIMD lanes take several
        at once; `table` may hold one column of the prologue's results per state.
        """
        count = x.shape[1]
        padded = -(-count // self.native.lanes) * self.native.lanes
        wide = np.ascontiguousarray(np.pad(x, ((0, 0), (0, padded - count)), mode="edge"))
        if table is None:
            table = np.repeat(self.table[:, None], padded, axis=1)
        table = np.ascontiguousarray(
            np.pad(table, ((0, 0), (0, padded - table.shape[1])), mode="edge")
        )
        out: Floats = np.empty((self.native.size_out, padded))
        prototype()(self.native.batch)(wide.ctypes.data, table.ctypes.data, out.ctypes.data, padded)
        return self.split(out[:, :count])


class Derived(Mapping[str, Program]):
    """The programs of one mode by name, each derived when it is first asked for, by itself, so that
    it is the same to the last bit whatever was asked for before, and kept in the store; `choice`
    tells independent speeds and pivots.
    """

    def __init__(
        self,
        derivation: Callable[[], Derivation],
        nominal: Mapping[str, float],
        store: Store | None,
        key: str,
    ) -> None:
        self._make, self._store, self._key = derivation, store, key
        self.nominal = nominal
        self._programs: dict[str, Program] = {}

    @cached_property
    def choice(self) -> Choice:
        """Independent speeds and pivots."""
        stored = None if self._store is None else self._store.get(f"{self._key}-choice")
        if stored is not None:
            independent, pivots, sizes, names = json.loads(stored)
            return Choice(independent, [(i, j) for i, j in pivots], sizes, names)
        choice = self._make().choice
        if self._store is not None:
            packed = [choice.independent, choice.pivots, choice.sizes, choice.names]
            self._store.put(f"{self._key}-choice", json.dumps(packed).encode())
        return choice

    def __getitem__(self, name: str) -> Program:
        if name not in self._programs:
            stored = None if self._store is None else self._store.get(f"{self._key}-{name}")
            if stored is not None:
                p = json.loads(stored)
                steps = [tuple(step) for step in p[2]]
                self._programs[name] = Program(p[0], p[1], steps, p[3], p[4])
            else:
                p = PROGRAMS[name](self._make())
                self._programs[name] = p
                if self._store is not None:
                    packed = json.dumps([p.name, p.inputs, p.steps, p.outputs, p.fixed])
                    self._store.put(f"{self._key}-{name}", packed.encode())
        return self._programs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PROGRAMS)

    def __len__(self) -> int:
        return len(PROGRAMS)


@dataclass(frozen=True)
class Machine:
    """One mode of a system, compiled: its programs, independent speeds and the inner base frame."""

    system: "System"
    mode: Mode
    programs: Derived
    states: int
    task: tuple[Any, ...] = ()

    def __reduce__(self) -> Any:
        return _machine_again, (self.system, self.task)

    @property
    def choice(self) -> Choice:
        """Independent speeds and pivots."""
        return self.programs.choice

    def sound(self) -> bool:
        """Return whether the frames that were chosen for other parameters exist for these too: an
        axis may have become parallel to what its frame was aligned with.
        """
        if self.programs.nominal == self.system.parameters:
            return True
        tables = (self._compiled("frame").table, self.rate.table)
        return all(np.isfinite(table).all() for table in tables)

    def _compiled(self, name: str) -> Compiled:
        return Compiled(self.programs[name], self.system.values, self.system.store)

    def _check_inertia(self) -> None:
        """Raise where no inertia resists a freedom, neither in the drawing nor beside it."""
        model, columns = self.system.model, self.columns
        tree, n = assemble(model), len(model.joints)
        switched = multiplier.active_rows(model, self.mode)
        driven = [6 + k for k in constraints.prescribed(model)]
        still, inputs = np.zeros(6 + n), np.zeros(len(model.inputs))
        idle: Floats | None = None
        for r in (np.zeros(n), 0.1 * np.sin(1.0 + np.arange(n))):
            out = multiplier.free(tree, np.eye(3), np.zeros(3), r, still, inputs)
            C = np.vstack([out.C[switched], np.eye(6 + n)[driven]])[:, columns]
            idle = multiplier.idle(out.M[np.ix_(columns, columns)], C)
            if idle is None:
                return
        raise multiplier.weightless(np.asarray(idle), model.speeds)

    @cached_property
    def rate(self) -> Compiled:
        """The right-hand side of y = (q, p, r, u, z)."""
        self._check_inertia()
        return self._compiled("rate")

    @cached_property
    def observe(self) -> Compiled:
        """Everything a user may ask of a state."""
        self._check_inertia()
        return self._compiled("observe")

    @cached_property
    def project(self) -> Compiled:
        """One Newton step to the nearest configuration with closed contacts."""
        return self._compiled("project")

    @cached_property
    def rows(self) -> Compiled:
        """Constraint rows and gaps of a configuration."""
        return self._compiled("rows")

    @cached_property
    def entry(self) -> Compiled:
        """The y of a user's state, and what that state breaks."""
        return self._compiled("enter")

    @cached_property
    def free(self) -> Compiled:
        """The saddle-point system of any mode, in the user's speeds."""
        return self._compiled("free")

    @cached_property
    def initial(self) -> Compiled:
        """What can be asked of an initial state, with derivatives."""
        return self._compiled("initial")

    @cached_property
    def variation(self) -> Compiled:
        """The balance `M udot = f` and all that is seen of a state, with derivatives along a seed."""
        return self._compiled("variation")

    @cached_property
    def frame(self) -> tuple[Floats, Floats]:
        """Axes and origin of the inner base frame in the drawing."""
        out = self._compiled("frame")()
        return out["R"].reshape(3, 3), out["o"]

    @cached_property
    def _unheld(self) -> Floats:
        """Anchors of pins that nobody asks about."""
        return np.zeros(self.entry.inputs["anchors"])

    @cached_property
    def _turn(self) -> Floats:
        """The quaternion of the inner base frame in the drawing."""
        return quaternion(self.frame[0])

    @property
    def columns(self) -> list[int]:
        """Which of (V, W, rdot) the base's group leaves free."""
        model = self.system.model
        return [*model.twist, *range(6, 6 + len(model.joints))]

    def inner_pose(self, q: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Return the pose of the inner base frame for the user's pose; further axes of q, p come
        last.
        """
        return quaternion_product(q, self._turn), p + _rotate(q, self.frame[1])

    def user_pose(self, q: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Return the user's pose for the pose of the inner base frame."""
        user = quaternion_product(q, self._turn * np.array([1.0, -1.0, -1.0, -1.0]))
        return user, p - _rotate(user, self.frame[1])

    def enter(
        self,
        state: State,
        t: float = 0.0,
        z: Floats | None = None,
        tolerance: float = 1e-8,
        anchors: Floats | None = None,
        gap: float = np.inf,
    ) -> Floats:
        """Return y for a state, after checking that its speeds satisfy the constraints of the mode
        (to `tolerance`, relative), and that its closed contacts are closed (to `gap`, in m; pins at
        their `anchors`).
        """
        held = self._unheld if anchors is None else anchors
        try:
            given = ((t,), state.q, state.p, state.r, state.v, self._turn, held)
            found = self.entry.split(self.entry.flat(np.concatenate(given)))
        except (AttributeError, TypeError, ValueError):
            raise self._misfit(state) from None
        wrong = np.abs(found["broken"])
        scale = max(1.0, float(np.abs(found["speeds"]).max(initial=0.0)))
        if not wrong.max(initial=0.0) <= tolerance * scale:
            label = constraints.labels(self.system.model, self.mode)[int(np.argmax(wrong))]
            raise ConfigurationError(
                f"the speeds break the constraint {label!r} by {wrong.max():.3g}; "
                "build the state with draisine.state(), which solves for consistent speeds (at the time t)."
            )
        if gap < np.inf and np.abs(found["conditions"]).max(initial=0.0) > gap:
            raise ConfigurationError(
                f"the state is {np.abs(found['conditions']).max():.3g} m off its closed contacts "
                f"{dict(self.mode)}; build it with draisine.state(), open the contact, or run on a "
                "terrain with simulate_on()."
            )
        if not self.states:
            return found["y"]
        return np.concatenate([found["y"], np.zeros(self.states) if z is None else z])

    def _misfit(self, state: Any) -> ConfigurationError:
        """Return the error that tells why a state cannot be one of this machine."""
        if not isinstance(state, State):
            return ConfigurationError(
                f"{type(state).__name__} is not a State; build one with draisine.state()."
            )
        model = self.system.model
        sizes = {"q": 4, "p": 3, "r": len(model.joints), "v": len(model.speeds)}
        wrong = [
            f"{name} has the shape {np.shape(getattr(state, name))} instead of ({size},)"
            for name, size in sizes.items()
            if np.shape(getattr(state, name)) != (size,)
        ]
        told = "; ".join(wrong) or "it holds something that is not a number"
        return ConfigurationError(f"the state does not fit {self.system.vehicle.__name__}: {told}.")

    def least_pivot(self, y: Floats, t: float = 0.0) -> float:
        """Return the smallest pivot of the constraints, against its size where it was chosen."""
        rest = np.zeros(self.rate.native.size_in - 1 - len(y))
        pivots = self.rate.split(self.rate.flat(np.concatenate([[t], y, rest])))["pivots"]
        return float(np.min(np.abs(pivots) / np.array(self.choice.sizes), initial=1.0))

    def look(self, y: Floats, t: float = 0.0, w: Floats | None = None) -> dict[str, Floats]:
        """Return everything that `observe` knows of one y."""
        inputs = np.zeros(len(self.system.model.inputs)) if w is None else w
        rest = np.zeros(self.observe.native.size_in - 1 - len(y) - len(inputs))
        return self.observe.split(self.observe.flat(np.concatenate([[t], y, inputs, rest])))


def _rotate(q: Floats, x: Floats) -> Floats:
    """Return the fixed vector x turned by (arrays of) quaternions."""
    R = rotation(q)
    return R @ x if R.ndim == 2 else np.tensordot(R, x, axes=(1, 0))


@dataclass(frozen=True)
class System:
    """A vehicle with its parameters, ready to run.

    >>> bicycle = compile("whipple")
    >>> heavier = bicycle.with_parameters(mB=100.0)     # no new derivation, no new compilation
    """

    vehicle: Callable[..., Model]
    parameters: dict[str, float]
    structure: dict[str, Any]
    store: Store | None = field(default=None, repr=False)
    _derived: dict[Any, Derived] = field(default_factory=dict, repr=False)
    _machines: dict[Any, Machine] = field(default_factory=dict, repr=False)
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def model(self) -> Model:
        """The model with numbers in it, checked."""
        return self.vehicle(**self.parameters, **self.structure)

    @cached_property
    def values(self) -> Floats:
        """The parameters in order."""
        return np.array(list(self.parameters.values()), dtype=float)

    def with_parameters(self, **changes: float) -> "System":
        """Return the same machine with other parameters."""
        changed = replace(
            self,
            parameters=self.parameters | _checked(self.parameters, changes),
            _machines={},
            _kept={},
        )
        changed.model  # noqa: B018 - checks the drawing
        return changed

    def __reduce__(self) -> Any:
        return System, (self.vehicle, self.parameters, self.structure, self.store)

    def mode(self, statuses: Mapping[str, str] | None = None) -> Mode:
        """Return the mode that the given statuses make; all other contacts are closed."""
        return mode_of(self.model, statuses)

    def machine(
        self,
        mode: Mapping[str, str] | Mode | None = None,
        law: Law | None = None,
        states: int = 0,
        correction: float | None = None,
        configuration: tuple[Floats, Floats] | None = None,
    ) -> Machine:
        """Return one mode, derived and compiled; `law` is traced into it, with `states` states of
        its own.

        `configuration` (inner quaternion, shape) is where the pivots are chosen; the drawing by
        default.
        """
        statuses = self.mode(dict(mode) if mode is not None else None)
        around = None if configuration is None else tuple(map(tuple, configuration))
        key = (statuses, _told(law), states, correction, around)
        if key not in self._machines:
            task = (statuses, law, states, correction, configuration)
            if key not in self._derived:
                self._derived[key] = self._derive(*task)
            machine = Machine(self, statuses, self._derived[key], states, task)
            if not machine.sound():
                machine = Machine(self, statuses, self._derive(*task), states, task)
            self._machines[key] = machine
        return self._machines[key]

    def charts(
        self,
        mode: Mapping[str, str] | Mode | None,
        law: Law | None,
        states: int,
        correction: float | None,
    ) -> list[Machine]:
        """Return the machines of a mode and law derived so far, wherever their pivots were chosen."""
        statuses = self.mode(dict(mode) if mode is not None else None)
        wanted = (statuses, _told(law), states, correction)
        known = [key[-1] for key in self._derived if key[:-1] == wanted]
        return [self.machine(mode, law, states, correction, around) for around in known]

    def _derive(
        self,
        mode: Mode,
        law: Law | None,
        states: int,
        correction: float | None,
        at: tuple[Floats, Floats] | None,
    ) -> "Derived":
        configuration = None
        if at is not None:
            configuration = {f"q[{k}]": float(x) for k, x in enumerate(at[0])}
            configuration |= {f"r[{k}]": float(x) for k, x in enumerate(at[1])}

        def traced() -> tuple[Graph, dict[str, Expr], Model]:
            graph = Graph()
            symbols = {name: graph.symbol(name, parameter=True) for name in self.parameters}
            return graph, symbols, self.vehicle(**symbols, **self.structure)

        def derivation() -> Derivation:
            graph, symbols, model = traced()
            return Derivation(
                graph, model, symbols, self.parameters, mode, law, states, configuration, correction
            )

        task = (mode, law, states, correction, configuration, self.parameters, _versions())
        key = fingerprint((traced()[2], *task))
        kept = self.store if key is not None else None
        return Derived(derivation, self.parameters, kept, key or "")

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` makes, made once for this set of parameters."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def accelerate(
        self,
        state: State,
        inputs: Mapping[str, float] | None = None,
        mode: Mapping[str, str] | Mode | None = None,
        t: float = 0.0,
        formulation: str = "multiplier",
        tolerance: float = 1e-8,
    ) -> tuple[Floats, Floats]:
        """Return vdot and the multipliers of the mode's rows (contact forces, torques of laws).

        "multiplier" solves the saddle-point system; "projected" takes the closed form and, where one
        of its pivots degenerates, an orthogonal basis of the kernel instead; the others are
        independent derivations, in plain Python, for the mode with all contacts closed; they give
        contact forces only. `tolerance` is how far the state may break the constraints.
        """
        machine = self.machine(mode)
        w = self.inputs(inputs)
        model, n = self.model, len(state.v)
        switched = multiplier.active_rows(model, machine.mode)
        if formulation == "projected":
            y = machine.enter(state, t, tolerance=tolerance)
            if machine.least_pivot(y, t) > PIVOT_FLOOR:
                seen = machine.look(y, t, w)
                return seen["vdot"], np.concatenate([seen["forces"][switched], seen["law_torques"]])
        elif formulation != "multiplier":
            module: Any = find("formulation", formulation)
            known = inspect.signature(module.accelerations).parameters
            options = {"tolerance": tolerance} if "tolerance" in known else {}
            key = (formulation, tolerance)
            other = self.keep(key, lambda: module.accelerations(model, **options))
            vdot, forces = other(t, state, w)
            return vdot, np.ravel(forces)[switched]
        out = machine.free(t=[t], q=state.q, p=state.p, r=state.r, v=state.v, w=w)
        rows = [*switched, *range(3 * len(model.contacts), len(out["c"]))]
        M, C = out["M"].reshape(n, n), out["C"].reshape(-1, n)[rows]
        if formulation == "projected":
            return multiplier.nullspace(M, out["F"], C, out["c"][rows])
        labels = constraints.labels(model, machine.mode)
        return multiplier.saddle_point(M, out["F"], C, out["c"][rows], labels, model.speeds)

    def inputs(self, named: Mapping[str, float] | None = None) -> Floats:
        """Return inputs by name as a vector, zero where not named."""
        names = list(self.model.inputs)
        out = np.zeros(len(names))
        for name, value in (named or {}).items():
            if name not in names:
                raise ParameterError(f"no input {name!r}. {did_you_mean(name, names)}")
            out[names.index(name)] = value
        return out

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs."""
        return output_names(self.model)


def _machine_again(system: System, task: tuple[Any, ...]) -> Machine:
    """Return the machine that was pickled, compiled anew."""
    return system.machine(*task)


def _told(law: Law | None) -> Any:
    """Return what tells a law from others: its content, so that a changed one is traced anew; a law
    whose content cannot be told is never taken for one seen before.
    """
    return None if law is None else fingerprint(law) or object()


def _checked(known: Mapping[str, float], changes: Mapping[str, Any]) -> dict[str, float]:
    out = {}
    for name, value in changes.items():
        if name not in known:
            raise ParameterError(f"no parameter {name!r}. {did_you_mean(name, known)}")
        try:
            out[name] = float(value)
        except (TypeError, ValueError):
            raise ParameterError(f"parameter {name}: {value!r} is not a number.") from None
        if not np.isfinite(out[name]):
            raise ParameterError(f"parameter {name}: {value!r} is not finite.")
    return out


def compile(
    vehicle: str | Callable[..., Model], *, store: Store | None = None, **arguments: Any
) -> System:
    """Return a vehicle (a function, or the name of one) as a system: `float` arguments become
    parameters that can change, others decide the structure.

    An argument annotated `float | None` decides the structure while it is None, and is a parameter
    once it has a value.
    """
    if isinstance(vehicle, str):
        own = vehicle.rpartition(":")[2]
        vehicle = cast(Callable[..., Model], getattr(find("vehicle", vehicle), own))
    signature = inspect.signature(vehicle)
    hints = get_type_hints(vehicle)
    for name in arguments:
        if name not in signature.parameters:
            raise ParameterError(
                f"{vehicle.__name__} has no parameter {name!r}. {did_you_mean(name, signature.parameters)}"
            )
    parameters: dict[str, float] = {}
    structure: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        value = arguments.get(name, parameter.default)
        hint = hints.get(name)
        if get_origin(hint) is Literal and value not in get_args(hint):
            known = [str(choice) for choice in get_args(hint)]
            raise ParameterError(
                f"{vehicle.__name__}: {name} = {value!r}. {did_you_mean(str(value), known)}"
            )
        numeric = hint is float or (
            isinstance(hint, UnionType) and float in get_args(hint) and value is not None
        )
        if numeric:
            parameters |= _checked({name: 0.0}, {name: value})
        else:
            structure[name] = value
    system = System(vehicle, parameters, structure, Store() if store is None else store)
    if not system.model.speeds:
        raise ModelError("nothing can move: the base is fixed and there are no joints.")
    return system


@cache
def _versions() -> str:
    """Return a digest of the code that derivations depend on."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.parts[len(root.parts)] in _DERIVING:
            digest.update(path.read_bytes())
    return digest.hexdigest()


_DERIVING = {
    "control",
    "vehicles",
    "mechanics", "codegen", "model", "lie.py", "scalar.py", "trace.py", "derivation.py", "programs.py",
    "meeting.py",
}  # fmt: skip
