"""Cache of everything that is derived from a vehicle: choices of pivots, symbolic programs and machine
code. Pivots are the entries of the constraint rows by which dependent speeds are eliminated.

Each of these artifacts is derived at its first use. The most recent ones are kept in memory, and all of them
in the user's store. Each is derived independently of the others, at the parameters with which the vehicle was
compiled, so that it does not depend on earlier requests. A control law that has no fingerprint, because it
depends on files or on compiled objects, for example, cannot be cached and is traced each time.
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
from draisine.codegen.program import run_program as run_program
from draisine.codegen.targets.native import Native
from draisine.errors import ModelError, ParameterError
from draisine.mechanics.constraints import Mode
from draisine.mechanics.contact.modes import mode_names
from draisine.mechanics.formulations._rank import Survey, redundant_rows_at, survey_redundancy
from draisine.model import Model, Sensor
from draisine.model.body import may_be_invalid
from draisine.system.compiled import Compiled
from draisine.system.contact_programs import GEOMETRY_SUFFIX, TerrainDerivation, program_names
from draisine.system.derivation import Derivation, Pivoting
from draisine.system.mode_programs import PROGRAM_DERIVATIONS, derive_observe
from draisine.system.tracing import Law, Tracing, trace_vehicle
from draisine.vehicles import build_model

_log = logging.getLogger(__name__)

MAX_ARTIFACTS_IN_MEMORY = 64
"""Largest number of artifacts of one vehicle in memory; one compiled contact mode takes about 0.2 MB."""

_DERIVING_SUBPACKAGES = (
    "algebra",
    "model",
    "mechanics",
    "codegen",
    "control",
    "vehicles",
    "system",
)
"""Names of the subpackages whose code determines the derived programs. A change of this code makes stored
programs invalid.
"""

T = TypeVar("T")
PivotPoint = tuple[tuple[float, ...], tuple[float, ...]]
"""Configuration at which pivots are chosen: unit quaternion (4) of the inner base frame (the base frame
aligned with the kinematic tree), and joint coordinates (rad or m).
"""


_lock = threading.RLock()
hold_over_fork(_lock)


class RecentCache:
    """Cache of the most recently used objects by key, safe for use by several threads. Objects with the key
    None are not cached.
    """

    def __init__(self, capacity: int = MAX_ARTIFACTS_IN_MEMORY) -> None:
        self._capacity = capacity
        self._objects: dict[Any, Any] = {}

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the cached object of a key; if it does not exist, make it by `make` and cache it."""
        with _lock:
            if key in self._objects:
                # Insert the object again at the end: the dictionary is ordered by last use.
                recent: T = self._objects.pop(key)
                self._objects[key] = recent
                return recent
        new = make()
        if key is None:
            return new
        with _lock:
            # Another thread may have made the same object meanwhile. All threads use the first one.
            kept: T = self._objects.setdefault(key, new)
            while len(self._objects) > self._capacity:
                self._objects.pop(next(iter(self._objects)))
        return kept


@dataclass(frozen=True, eq=False)
class MachineTask:
    """Request for one contact mode in closed form: which contacts are closed, with which control law, and
    where pivots are chosen.
    """

    mode: Mode  # status of each contact
    law: Law | None = None  # control law, or None
    states: int = 0  # number of states of the control law
    correction: float | None = None  # rate of gap correction, 1/s; None: no correction
    # Configuration at which pivots are chosen; None for the zero configuration of the model
    configuration: PivotPoint | None = None

    @property
    def key(self) -> Hashable:
        """The hashable identity of this request; None if the control law has no fingerprint."""
        fields = (self.mode, self.states, self.correction, self.configuration)
        return fields if self.law is None else fingerprint((*fields, self.law))


class Programs(Mapping[str, Program]):
    """Programs by name, each derived and compiled at its first use."""

    def __init__(
        self,
        names: Sequence[str],
        derive: Callable[[str], Program],
        store: Store | None,
        key: str | None,
    ) -> None:
        self._names = tuple(names)
        self._derive = derive
        self._store = store
        self._key = key
        self._programs: dict[str, Program] = {}
        self._bound: dict[str, Compiled] = {}

    def __getitem__(self, name: str) -> Program:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._programs:
            key = None if self._key is None else f"{self._key}-{name}"
            program = _load_or_make(
                self._store, key, lambda: self._derive(name), Program.dumps, Program.loads
            )
            self._programs.setdefault(name, program)
        return self._programs[name]

    def bind(self, name: str, parameters: Floats) -> Compiled:
        """Return the machine code of the program `name`, bound to the values of the parameters."""
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
    """Derived programs and machine code of one vehicle with one structure, valid for all parameter
    values.
    """

    vehicle: Callable[..., Model]  # function that returns the model
    structure: dict[str, Any]  # arguments of the vehicle that determine its structure
    nominal: dict[
        str, float
    ]  # parameter values at which the vehicle was compiled and pivots are chosen
    store: Store | None = None  # store for derived programs and machine code
    _recent: RecentCache = field(default_factory=RecentCache, repr=False)

    def __reduce__(self) -> Any:
        return Artifacts, (self.vehicle, self.structure, self.nominal, self.store)

    def draw(self, parameters: Mapping[str, float]) -> Model:
        """Return the model of the vehicle with numerical parameters."""
        return build_model(self.vehicle, parameters, self.structure)

    def trace(self, law: Law | None = None, states: int = 0) -> Tracing:
        """Return the model of the vehicle with symbolic parameters, and its control law."""
        return trace_vehicle(self.vehicle, self.nominal, self.structure, law, states)

    @cached_property
    def drawing(self) -> Model:
        """The model with symbolic parameters; its structure is valid for all parameter values."""
        return self.trace().model

    @cached_property
    def bodies(self) -> Program:
        """The program that computes masses (kg) and inertia tensors (kg m^2) of all bodies from the
        parameters.
        """
        tracing = self.trace()
        bodies = tracing.model.bodies
        outputs = {"mass": [b.mass for b in bodies], "inertia": [b.inertia for b in bodies]}
        return tracing.make_program("bodies", {}, outputs)

    @cached_property
    def digest(self) -> str | None:
        """The digest of the model and of the source code that derives programs; None if the vehicle has no
        fingerprint.
        """
        return fingerprint((self.drawing, self.nominal, digest_deriving_code()))

    def _digest_request(self, *parts: Hashable) -> str | None:
        """Return the digest of a request for this vehicle; None if a part of the request has no
        fingerprint.
        """
        identity = (self.digest, *parts)
        return None if None in identity else hashlib.sha256(repr(identity).encode()).hexdigest()

    def survey(self, mode: Mode, parameters: Mapping[str, float]) -> Survey:
        """Return the redundant constraint rows of a contact mode, and the parameters for which they are
        redundant.
        """
        key = ("survey", mode, tuple(parameters.values()))
        return self._recent.get(key, lambda: survey_redundancy(self.draw, parameters, mode))

    def choose_redundancy(
        self, task: MachineTask, parameters: Mapping[str, float]
    ) -> tuple[tuple[str, ...], PivotPoint | None]:
        """Return which redundant constraint rows are omitted (their labels), and the configuration
        in which pivots are chosen (None for the zero configuration).
        """
        rank_survey = self.survey(task.mode, parameters)
        if task.configuration is None:
            point = rank_survey.nominal
            configuration = None
            if point is not None:
                configuration = (tuple(point[0].tolist()), tuple(point[1].tolist()))
            return tuple(row.label for row in rank_survey.redundant), configuration
        model = self.draw(parameters)
        q, r = map(np.array, task.configuration)
        return redundant_rows_at(rank_survey, model, task.mode, q, r), task.configuration

    def choose_pivoting(self, task: MachineTask) -> Pivoting:
        """Return the independent speeds and the pivots for the request `task`."""
        key = self._digest_request("choice", task.key)

        def make_pivoting() -> Pivoting:
            """Return the independent speeds and pivots from a new derivation."""
            return self._derive_mode(task).choice

        return self._recent.get(
            key,
            lambda: _load_or_make(self.store, key, make_pivoting, _dump_pivoting, _load_pivoting),
        )

    def _derive_mode(self, task: MachineTask, choice: Pivoting | None = None) -> Derivation:
        """Return the derivation of the equations of motion for a request, with the given or with
        new pivots.
        """
        spare, configuration = self.choose_redundancy(task, self.nominal)
        point = {}
        if configuration is not None:
            point = {
                f"{name}[{k}]": value
                for name, values in zip("qr", configuration, strict=True)
                for k, value in enumerate(values)
            }
        tracing = self.trace(task.law, task.states)
        return Derivation(tracing, task.mode, point, task.correction, spare, choice)

    def mode_programs(self, task: MachineTask, choice: Pivoting) -> Programs:
        """Return the programs of one contact mode with the given pivots."""
        pivots = fingerprint((choice.independent, choice.pivots, choice.spare, choice.along_tree))
        # The configuration serves only to choose pivots. Leave it out of the key, because requests
        # with equal pivots have equal programs.
        identity = MachineTask(task.mode, task.law, task.states, task.correction)
        key = self._digest_request("mode", identity.key, pivots)

        def derive_program(name: str) -> Program:
            """Return the program of the contact mode with this name."""
            return PROGRAM_DERIVATIONS[name](self._derive_mode(task, choice))

        return self._recent.get(
            key, lambda: Programs(tuple(PROGRAM_DERIVATIONS), derive_program, self.store, key)
        )

    def observe_with_signals(
        self, task: MachineTask, choice: Pivoting, added_sensors: Sequence[Sensor]
    ) -> Program:
        """Return the program `observe` of a contact mode with the ideal signals of sensors, for exports. The
        sensors are those of the vehicle and the sensors `added_sensors`.
        """
        derivation = self._derive_mode(task, choice)
        return derive_observe(derivation, (*derivation.model.sensors, *added_sensors))

    def contact_programs(
        self, law: Law | None, states: int, motions: tuple[Program, ...]
    ) -> Programs:
        """Return the programs of the vehicle on a terrain (see `contact_programs`) under a control law with
        `states` states. `motions` are the programs of moving ground.
        """
        moving = [motion.dumps() for motion in motions]
        key = self._digest_request("contact", fingerprint((law, states, moving)))

        def derive_program(name: str) -> Program:
            """Return the program of the vehicle on a terrain with this name."""
            return TerrainDerivation(self.trace(law, states), motions).derive(name)

        def make_programs() -> Programs:
            """Return the programs of the vehicle on a terrain, each derived at its first use."""
            names = program_names(self.drawing, len(motions))
            geometries = [name + GEOMETRY_SUFFIX for name, (_, kind, _) in names.items() if kind]
            modes = mode_names(self.drawing)
            return Programs((*names, *geometries, *modes), derive_program, self.store, key)

        return self._recent.get(key, make_programs)

    def bind(self, program: Program, parameters: Floats) -> Compiled:
        """Return the machine code of any program, bound to the values of the parameters."""
        return Compiled(Native(program, self.store), parameters)


def _load_or_make(
    store: Store | None,
    key: str | None,
    make: Callable[[], T],
    dumps: Callable[[T], bytes],
    loads: Callable[[bytes], T],
) -> T:
    """Return an artifact from the store; if it is missing, make it and store it."""
    if store is None or key is None:
        return make()
    stored = store.get(key)
    if stored is not None:
        _log.debug("loaded: %s", key)
        return loads(stored)
    begin = time.perf_counter()
    artifact = make()
    _log.debug("derived in %.2f s: %s", time.perf_counter() - begin, key)
    store.put(key, dumps(artifact))
    return artifact


def _dump_pivoting(choice: Pivoting) -> bytes:
    """Return a choice of pivots as bytes for the store."""
    return json.dumps(astuple(choice)).encode()


def _load_pivoting(stored: bytes) -> Pivoting:
    """Return the choice of pivots from the bytes of `_dump_pivoting`."""
    independent, pivots, *others = json.loads(stored)
    return Pivoting(independent, [(i, j) for i, j in pivots], *others)


@cache
def digest_deriving_code() -> str:
    """Return a digest of the source code on which derivations depend."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for subpackage in _DERIVING_SUBPACKAGES:
        for path in sorted((root / subpackage).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def require_system(what: str, system: object) -> None:
    """Raise ParameterError if the argument `system` of a function is not a System.

    The class itself cannot be imported here, because its module is above this one; its artifacts identify it.
    """
    if not isinstance(getattr(system, "artifacts", None), Artifacts):
        name = system if isinstance(system, str) else "whipple"
        raise ParameterError(
            f"{what}: {system!r:.80} is not of type System; draisine.compile({name!r}) makes one."
        )


MAX_MODELS_CHECKED = 64
"""Largest number of distinct parameter sets of which every model is built and checked. Building one model
takes 0.1 ms; of larger numbers of sets only the doubtful ones are checked.
"""


def find_invalid_machines(artifacts: Artifacts, parameters: Floats) -> dict[int, str]:
    """Return the reasons why sets of parameters are physically invalid, by column index of `parameters`
    (number of parameters, number of sets).

    The model of each distinct set is built. If there are more than `MAX_MODELS_CHECKED`, only those sets
    are built whose masses and inertias may be invalid, or that contain the smallest or largest value of a
    parameter.
    """
    _, first, inverse = np.unique(parameters, axis=1, return_index=True, return_inverse=True)
    distinct = parameters[:, first]
    checked = list(range(len(first)))
    if len(first) > MAX_MODELS_CHECKED:
        bodies = run_program(artifacts.bodies, parameters=distinct)
        mass = bodies["mass"].T
        tensors = bodies["inertia"].T  # no column axis if no inertia depends on a parameter
        tensors = tensors.reshape(*tensors.shape[:-1], -1, 3, 3)
        doubtful = np.full(len(first), may_be_invalid(mass, tensors).any(axis=-1))
        doubtful[distinct.argmin(axis=1)] = True
        doubtful[distinct.argmax(axis=1)] = True
        checked = np.flatnonzero(doubtful).tolist()
    reasons: dict[int, str] = {}
    for k in checked:
        try:
            artifacts.draw(dict(zip(artifacts.nominal, distinct[:, k].tolist(), strict=True)))
        except (ModelError, ParameterError) as error:
            columns = np.flatnonzero(inverse.ravel() == k).tolist()
            reasons |= dict.fromkeys(columns, str(error))
    return reasons
