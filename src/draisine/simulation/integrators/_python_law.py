"""Control laws that cannot be compiled.

The compiled integration loop then calls a Python function for every evaluation of the right-hand side.
"""

from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.program import Callback
from draisine.errors import ModelError
from draisine.mechanics.base import base_rotation, is_free
from draisine.mechanics.formulations import projected
from draisine.mechanics.readings import call_law
from draisine.mechanics.tree import assemble
from draisine.system.closed_form import ClosedForm
from draisine.system.tracing import make_readings


class PythonRate:
    """A right-hand side whose control law runs in Python, with the calling convention of compiled programs.

    An exception inside the control law, or a keyboard interruption, is stored in `error` and stops the run.
    """

    def __init__(self, law: Any, states: int) -> None:
        self.law = law
        self.states = states
        self._callback: Callback | None = None

    @property
    def error(self) -> BaseException | None:
        """The exception that the control law raised, or None."""
        return None if self._callback is None else self._callback.error

    def bind(self, machine: ClosedForm) -> int:
        """Return the address of a function that evaluates the right-hand side of `machine` with the law."""
        rate = machine.rate
        layout = rate.inputs
        y = layout.span("q", "z")

        def evaluate(x: Floats) -> Floats:
            inputs, zdot = self._apply(machine, float(x[layout.t.start]), x[y])
            x[layout.w] += inputs
            out = rate.flat(x)
            out[rate.outputs.rate][machine.layout.z][machine.system.model.memory :] = zdot
            return out

        model = machine.system.model
        self._tree = assemble(model, aligned=is_free(model))
        self._callback = Callback(evaluate, layout.size, rate.outputs.size)
        return self._callback.address

    def inputs(self, machine: ClosedForm, t: float, y: Floats) -> Floats:
        """Return the inputs that the control law computes at time t (s) and state y; NaN if it failed."""
        try:
            return self._apply(machine, t, y)[0]
        except BaseException:
            if self.error is None:
                raise
            return np.full(len(machine.system.model.inputs), np.nan)

    def _apply(self, machine: ClosedForm, t: float, y: Floats) -> tuple[Floats, Floats]:
        """Return the inputs that the control law computes, and the time derivatives of its states."""
        model = machine.system.model
        choice = machine.choice
        parts = machine.layout.split(y)
        R = base_rotation(model, parts["q"])
        rows = projected.constraint_rows(
            self._tree, machine.mode, R, parts["r"], parts["p"], choice.spare
        )
        moving = projected.reconstruct_velocities(
            rows, parts["u"], t, choice.independent, choice.pivots, choice.along_tree
        )
        commands, rates = call_law(self.law, make_readings(moving, t), parts["z"][model.memory :])
        if len(rates) != self.states:
            raise ModelError(
                f"law: it returns {len(rates)} rates for {self.states} states; return one rate for each."
            )
        return machine.system.inputs(commands), np.asarray(rates, dtype=float)
