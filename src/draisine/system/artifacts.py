"""What is made of a vehicle: choices of pivots, programs, machine code. It is derived when first asked
for, and kept: in memory the most recent things, in the user's store all of them.

Each thing is derived by itself, at the parameters with which the vehicle was compiled, so it is the
same to the last bit whatever was asked for before. A control law whose content cannot be told is
traced anew each time.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.cache import Store, hold_over_fork
from draisine.codegen.fingerprint import fingerprint
from draisine.codegen.program import Program
from draisine.codegen.program import run as run_program
from draisine.codegen.targets.native import Native
from draisine.errors import ModelError, ParameterError
from draisine.mechanics.constraints import Mode
from draisine.mechanics.contact.modes import mode_names
from draisine.mechanics.formulations._rank import Survey, redundant_rows_at, survey
from draisine.model import Model
from draisine.model.body import is_doubtful
from draisine.system.compiled import Compiled
from draisine.system.contact_programs import GEOMETRY, TerrainDerivation, program_names
from draisine.system.derivation import Derivation, Pivoting
from draisine.system.mode_programs import PROGRAMS
from draisine.system.tracing import Law, Tracing, trace
from draisine.vehicles import draw

_log = logging.getLogger(__name__)

MOST = 64
"""How many things of a kind are kept in memory: a machine with its code takes some 0.2 MB."""

_DERIVING = ("algebra", "model", "mechanics", "codegen", "control", "vehicles", "system")
"""The rooms whose code decides what a derivation gives."""

T = TypeVar("T")
PivotPoint = tuple[tuple[float, ...], tuple[float, ...]]
"""Where pivots are chosen: the quaternion of the inner base frame, and the shape."""


_lock = threading.RLock()
hold_over_fork(_lock)


class Recent:
    """The most recent things by key, shared by threads; what has no key (None) is not kept."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._things: dict[Any, Any] = {}

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return what is kept, or else what `make` makes."""
        with _lock:
            if key in self._things:
                found: T = self._things.pop(key)
                self._things[key] = found
                return found
        made = make()
        if key is None:
            return made
        with _lock:
            kept: T = self._things.setdefault(key, made)
            while len(self._things) > self._most:
                self._things.pop(next(iter(self._things)))
        return kept


@dataclass(frozen=True, eq=False)
class MachineTask:
    """What one closed form is made for: a mode, a control law with its states, the correction of
    gaps, and where the pivots are chosen (None: in the drawing).
    """

    mode: Mode
    law: Law | None = None
    states: int = 0
    correction: float | None = None
    configuration: PivotPoint | None = None

    @property
    def key(self) -> Hashable:
        """What tells the task from others; None where the law cannot be."""
        plain = (self.mode, self.states, self.correction, self.configuration)
        return plain if self.law is None else fingerprint((*plain, self.law))


class Programs(Mapping[str, Program]):
    """Programs by name, and their machine code, each derived and compiled when first asked for."""

    def __init__(
        self,
        names: Sequence[str],
        derive: Callable[[str], Program],
        store: Store | None,
        key: str | None,
    ) -> None:
        self._names, self._derive = tuple(names), derive
        self._store, self._key = store, key
        self._programs: dict[str, Program] = {}
        self._bound: dict[str, Compiled] = {}

    def __getitem__(self, name: str) -> Program:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._programs:
            key = None if self._key is None else f"{self._key}-{name}"
            found = _stored(
                self._store, key, lambda: self._derive(name), Program.dumps, Program.loads
            )
            self._programs.setdefault(name, found)
        return self._programs[name]

    def bind(self, name: str, parameters: Floats) -> Compiled:
        """Return a program as machine code, bound to parameters."""
        if name not in self._bound:
            native = Native(self[name], self._store)
            self._bound.setdefault(name, Compiled(native, parameters))
        return self._bound[name].rebind(parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, eq=False)
class Artifacts:
    """All that is made of one vehicle of one structure, for any parameters; decisions are taken at
    the `nominal` ones.
    """

    vehicle: Callable[..., Model]
    structure: dict[str, Any]
    nominal: dict[str, float]
    store: Store | None = None
    _recent: Recent = field(default_factory=Recent, repr=False)

    def __reduce__(self) -> Any:
        return Artifacts, (self.vehicle, self.structure, self.nominal, self.store)

    def draw(self, parameters: Mapping[str, float]) -> Model:
        """Return the model for some parameters."""
        return draw(self.vehicle, parameters, self.structure)

    def trace(self, law: Law | None = None, states: int = 0) -> Tracing:
        """Return the vehicle drawn with symbols."""
        return trace(self.vehicle, self.nominal, self.structure, law, states)

    @cached_property
    def drawing(self) -> Model:
        """The model with symbols in it: what it has for all parameters."""
        return self.trace().model

    @cached_property
    def bodies(self) -> Program:
        """The masses and the tensors of inertia of all bodies, from the parameters."""
        tracing = self.trace()
        own = tracing.model.bodies
        told = {"mass": [b.mass for b in own], "inertia": [b.inertia for b in own]}
        return tracing.program("bodies", {}, told)

    @cached_property
    def digest(self) -> str | None:
        """A digest of the vehicle as it is drawn, and of the code that derives from it."""
        return fingerprint((self.drawing, self.nominal, deriving_code()))

    def _key(self, *task: Hashable) -> str | None:
        """Return a digest of a task for this vehicle; None where something cannot be told."""
        known = (self.digest, *task)
        return None if None in known else hashlib.sha256(repr(known).encode()).hexdigest()

    def survey(self, mode: Mode, parameters: Mapping[str, float]) -> Survey:
        """Return which rows of a mode repeat others, and for which parameters."""
        key = ("survey", mode, tuple(parameters.values()))
        return self._recent.get(key, lambda: survey(self.draw, parameters, mode))

    def decide(
        self, task: MachineTask, parameters: Mapping[str, float]
    ) -> tuple[tuple[str, ...], PivotPoint | None]:
        """Return the rows that are left out, and where pivots are chosen (None: in the drawing)."""
        found = self.survey(task.mode, parameters)
        if task.configuration is None:
            where = found.nominal
            around = None if where is None else (tuple(where[0].tolist()), tuple(where[1].tolist()))
            return tuple(row.label for row in found.redundant), around
        model, (q, r) = self.draw(parameters), map(np.array, task.configuration)
        return redundant_rows_at(found, model, task.mode, q, r), task.configuration

    def choose(self, task: MachineTask) -> Pivoting:
        """Return independent speeds and pivots."""
        key = self._key("choice", task.key)

        def make() -> Pivoting:
            return self._derivation(task).choice

        return self._recent.get(
            key, lambda: _stored(self.store, key, make, _dump_choice, _load_choice)
        )

    def _derivation(self, task: MachineTask, choice: Pivoting | None = None) -> Derivation:
        spare, place = self.decide(task, self.nominal)
        point = {}
        if place is not None:
            point = {
                f"{x}[{k}]": v
                for x, part in zip("qr", place, strict=True)
                for k, v in enumerate(part)
            }
        tracing = self.trace(task.law, task.states)
        return Derivation(tracing, task.mode, point, task.correction, spare, choice)

    def mode_programs(self, task: MachineTask, choice: Pivoting) -> Programs:
        """Return the programs of one mode along given pivots."""
        along = fingerprint((choice.independent, choice.pivots, choice.spare, choice.along_tree))
        about = MachineTask(task.mode, task.law, task.states, task.correction)
        key = self._key("mode", about.key, along)

        def derive(name: str) -> Program:
            return PROGRAMS[name](self._derivation(task, choice))

        return self._recent.get(key, lambda: Programs(tuple(PROGRAMS), derive, self.store, key))

    def contact_programs(
        self, law: Law | None, states: int, motions: tuple[Program, ...]
    ) -> Programs:
        """Return the programs of the free machine, and of its wheels on features, which may move as
        programs of time say.
        """
        key = self._key("contact", fingerprint((law, states, [one.dumps() for one in motions])))

        def derive(name: str) -> Program:
            return TerrainDerivation(self.trace(law, states), motions).derive(name)

        def make() -> Programs:
            own = program_names(self.drawing, len(motions))
            seen = [name + GEOMETRY for name, (_, kind, _) in own.items() if kind]
            return Programs((*own, *seen, *mode_names(self.drawing)), derive, self.store, key)

        return self._recent.get(key, make)

    def bind(self, program: Program, parameters: Floats) -> Compiled:
        """Return any program as machine code, bound to parameters."""
        return Compiled(Native(program, self.store), parameters)


def _stored(
    store: Store | None,
    key: str | None,
    make: Callable[[], T],
    dumps: Callable[[T], bytes],
    loads: Callable[[bytes], T],
) -> T:
    """Return what the store holds, or else what `make` makes, which is then stored."""
    if store is None or key is None:
        return make()
    stored = store.get(key)
    if stored is not None:
        _log.debug("kept: %s", key)
        return loads(stored)
    begun = time.perf_counter()
    made = make()
    _log.debug("derived in %.2f s: %s", time.perf_counter() - begun, key)
    store.put(key, dumps(made))
    return made


def _dump_choice(choice: Pivoting) -> bytes:
    return json.dumps(astuple(choice)).encode()


def _load_choice(stored: bytes) -> Pivoting:
    independent, pivots, *others = json.loads(stored)
    return Pivoting(independent, [(i, j) for i, j in pivots], *others)


@cache
def deriving_code() -> str:
    """Return a digest of the code that derivations depend on."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for room in _DERIVING:
        for path in sorted((root / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def check_system(what: str, system: object) -> None:
    """Raise where a function is given something else than a system, which is what has artifacts."""
    if not isinstance(getattr(system, "artifacts", None), Artifacts):
        name = system if isinstance(system, str) else "whipple"
        raise ParameterError(
            f"{what}: {system!r:.80} is no System; draisine.compile({name!r}) makes one."
        )


DRAWN = 64
"""How many machines are drawn at most to check their parameters one by one."""


def impossible_machines(artifacts: Artifacts, parameters: Floats) -> dict[int, str]:
    """Return which columns of parameters are no machines, and why. A few are drawn, each that is not
    like another; of many those whose bodies are in doubt, and where a parameter is least or largest.
    """
    _, first, like = np.unique(parameters, axis=1, return_index=True, return_inverse=True)
    drawn, own = list(range(len(first))), parameters[:, first]
    if len(first) > DRAWN:
        bodies = run_program(artifacts.bodies, parameters=own)
        mass, tensors = bodies["mass"].T, bodies["inertia"].T  # plain numbers have no columns
        tensors = tensors.reshape(*tensors.shape[:-1], -1, 3, 3)
        doubt = np.full(len(first), is_doubtful(mass, tensors).any(axis=-1))
        doubt[own.argmin(axis=1)] = doubt[own.argmax(axis=1)] = True
        drawn = np.flatnonzero(doubt).tolist()
    found: dict[int, str] = {}
    for k in drawn:
        try:
            artifacts.draw(dict(zip(artifacts.nominal, own[:, k].tolist(), strict=True)))
        except (ModelError, ParameterError) as error:
            found |= dict.fromkeys(np.flatnonzero(like.ravel() == k).tolist(), str(error))
    return found
