"""Motions together with their exact derivatives by parameters and by initial values.

The derivative of `ydot = f(y, p)` along a parameter moves by the tangent of f, eq. [tangent-flow]; the method
of Runge and Kutta carries both at once, one unknown per SIMD lane, so that what comes out is the exact
derivative of the computed motion. The start keeps what was asked of it, and its contacts closed, while
parameters change: it is differentiated by differences of fourth order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.linear import machine_at
from draisine.codegen.derivative import with_tangents
from draisine.codegen.program import Program
from draisine.codegen.targets.native import Native, compile_native
from draisine.errors import ParameterError, did_you_mean
from draisine.model.names import observation_names
from draisine.system.artifacts import Recent
from draisine.system.compiled import Compiled
from draisine.system.state import state
from draisine.system.system import System
from draisine.system.tracing import Law

PARTS = ("q", "p", "r", "u", "z", "parameters")
"""What a motion depends on, in the order of the seeds of its tangents."""

STEP = 1e-3
"""The relative step by which the start is differentiated."""


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Outputs of a motion (times, outputs), and their derivatives by unknowns (times, outputs,
    unknowns).
    """

    values: Floats
    derivatives: Floats


class GradientRun:
    """A machine whose motions are followed with their derivatives by `unknowns`: parameters by their
    names, and initial values.

    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> run = GradientRun(bicycle, ["lean"], ["c", "lean_rate"])
    >>> found = run(bicycle, {"forward_speed": 5.0, "lean_rate": 0.1}, np.array([0.0, 0.5]))
    >>> found.derivatives.shape
    (2, 1, 2)
    """

    def __init__(
        self,
        system: System,
        outputs: Sequence[str],
        unknowns: Sequence[str],
        law: Law | None = None,
        dt: float = 0.01,
    ) -> None:
        known = observation_names(system.model)
        for name in outputs:
            if name not in known:
                raise ParameterError(f"no output {name!r}. {did_you_mean(name, known)}")
        self.places = [known.index(name) for name in outputs]
        self.unknowns, self.law, self.dt = tuple(unknowns), law, dt
        self._tangents: dict[str, Compiled] = {}

    def __call__(self, system: System, start: Mapping[str, float], times: Floats) -> MotionGradient:
        """Return the outputs of the motion of a system at rising times, and their derivatives."""
        machine, y, S = self._start(system, start)
        self._prepare(machine, system)
        values, slopes = [], []
        t = 0.0
        for at in np.asarray(times, float):
            steps = max(1, int(np.ceil((at - t) / self.dt - 1e-9))) if at > t else 0
            for k in range(steps):
                h = (at - t) / (steps - k)
                y, S = self._step(t, h, y, S)
                t += h
            told = self._evaluate("variation", t, y, S)[:, self.places]
            values.append(told[0])
            slopes.append(told[1:].T)
        return MotionGradient(np.array(values), np.array(slopes))

    def _prepare(self, machine: Any, system: System) -> None:
        """Bind the tangents of the machine's programs to the parameters of a system."""
        names = list(system.parameters)
        self._moved = np.array([[float(name == u) for u in self.unknowns] for name in names])
        for name, output in (("rate", "rate"), ("variation", "seen")):
            program = machine.programs[name]
            known = (system.artifacts.digest, machine.task.key, name)
            make = partial(_tangent, program, output, system)
            native = _TANGENTS.get(None if None in known else known, make)
            self._tangents[name] = Compiled(native, system.values)
            self._sizes = {part: program.inputs[part] for part in PARTS}

    def _evaluate(self, name: str, t: float, y: Floats, S: Floats) -> Floats:
        """Return what a program tells at a state (first row), and its derivatives by the unknowns, the
        state moving by S with them, one row each.
        """
        code = self._tangents[name]
        x = np.zeros((code.inputs.size, S.shape[1]))
        x[code.inputs.t] = t
        first = 0
        for part in PARTS[:-1]:
            size = self._sizes[part]
            x[getattr(code.inputs, part)] = y[first : first + size, None]
            first += size
        x[code.inputs.seeds] = np.concatenate([S, self._moved])
        told = code.batch(x)["told"]
        half = len(told) // 2
        return np.concatenate([told[:half, :1].T, told[half:].T])

    def _step(self, t: float, h: float, y: Floats, S: Floats) -> tuple[Floats, Floats]:
        """Return state and derivatives after a step of the classical Runge-Kutta method."""
        k = np.zeros((1 + S.shape[1], len(y)))
        whole, total = np.concatenate([y[:, None], S], axis=1).T, np.zeros_like(k)
        for share, weight, at in (
            (0.0, 1.0, 0.0),
            (0.5, 2.0, 0.5),
            (0.5, 2.0, 0.5),
            (1.0, 1.0, 1.0),
        ):
            here = whole + share * h * k
            k = self._evaluate("rate", t + at * h, here[0], here[1:].T)
            total = total + weight * k
        end = whole + (h / 6.0) * total
        return end[0], end[1:].T

    def _start(self, system: System, start: Mapping[str, float]) -> tuple[Any, Floats, Floats]:
        """Return the machine, its y at the start, and how that moves along each unknown, by central
        differences of fourth order: what was asked for stays, contacts stay closed.
        """

        def begin(name: str = "", change: float = 0.0) -> tuple[Any, Floats]:
            moved, asked = system, dict[str, Any](start)
            if name in system.parameters:
                moved = system.with_parameters(**{name: system.parameters[name] + change})
            elif name:
                asked[name] = asked[name] + change
            return machine_at(moved, state(moved, **asked), None, self.law)

        machine, y = begin()
        columns = []
        for name in self.unknowns:
            h = STEP * max(abs(system.parameters.get(name, start.get(name, 0.0))), STEP)
            near, far = ((begin(name, k * h)[1] - begin(name, -k * h)[1]) for k in (1, 2))
            columns.append((8.0 * near - far) / (12.0 * h))
        return machine, y, np.array(columns).T


_TANGENTS = Recent(16)
"""Tangents of programs that were made lately."""


def _tangent(program: Program, output: str, system: System) -> Native:
    """Return the machine code of one output of a program with its tangent."""
    whole = replace(program, outputs={"told": program.outputs[output]})
    return compile_native(with_tangents(whole, PARTS, "told", 1), system.artifacts.store)
