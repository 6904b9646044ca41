"""Control laws that only Python understands: the compiled loop calls back for every right-hand side."""

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
from draisine.system.tracing import read


class PythonRate:
    """A right-hand side whose law runs in Python, under the same calling convention as machine code.

    An exception inside the law (an interruption, too) is kept in `error`, and stops the run.
    """

    def __init__(self, law: Any, states: int) -> None:
        self.law, self.states = law, states
        self._callback: Callback | None = None

    @property
    def error(self) -> BaseException | None:
        """What the law raised, if it did."""
        return None if self._callback is None else self._callback.error

    def bind(self, machine: ClosedForm) -> int:
        """Return the address of the right-hand side of a machine under the law."""
        rate, at = machine.rate, machine.rate.inputs
        y = at.span("q", "z")

        def evaluate(x: Floats) -> Floats:
            given, zdot = self._apply(machine, float(x[at.t.start]), x[y])
            x[at.w] += given
            out = rate.flat(x)
            out[rate.outputs.rate][machine.layout.z][machine.system.model.memory :] = zdot
            return out

        model = machine.system.model
        self._tree = assemble(model, aligned=is_free(model))
        self._callback = Callback(evaluate, at.size, rate.outputs.size)
        return self._callback.address

    def inputs(self, machine: ClosedForm, t: float, y: Floats) -> Floats:
        """Return the law's inputs at a sample; not numbers where the law failed."""
        try:
            return self._apply(machine, t, y)[0]
        except BaseException:
            if self.error is None:
                raise
            return np.full(len(machine.system.model.inputs), np.nan)

    def _apply(self, machine: ClosedForm, t: float, y: Floats) -> tuple[Floats, Floats]:
        model, choice, tree = machine.system.model, machine.choice, self._tree
        at = machine.layout.split(y)
        R = base_rotation(model, at["q"])
        found = projected.rows(tree, machine.mode, R, at["r"], at["p"], choice.spare)
        moving = projected.motion(
            found, at["u"], t, choice.independent, choice.pivots, choice.along_tree
        )
        given, rates = call_law(self.law, read(moving, t), at["z"][model.memory :])
        if len(rates) != self.states:
            raise ModelError(f"law: it returns {len(rates)} rates for {self.states} states.")
        return machine.system.inputs(given), np.asarray(rates, dtype=float)
