"""Evaluation of compiled programs on the arrays of another package: the common part of `casadi` and `jax`.

The first argument of all functions is the state y = (q, p, r, u, z) of one contact mode: unit quaternion,
position (m), joint coordinates (rad or m), independent speeds and control states. `ClosedForm.enter` computes
it from a `State`; q and p are the pose of the internal base frame of the compiled equations. The other
arguments are the inputs w (N m or N), the free parameters p and the time t (s).
"""

from collections.abc import Callable, Sequence
from typing import Any

from draisine.errors import ParameterError, expect_known
from draisine.model.names import observation_names
from draisine.system.closed_form import ClosedForm
from draisine.system.layout import input_layout, output_layout
from draisine.vehicles import expect_parameters

ProgramCall = Callable[[str, Any, Any], dict[str, Any]]
"""Type of a function that evaluates a program: (program name, state, time in s) -> outputs by name."""


class PortableMachine:
    """Compiled equations of motion in one contact mode, for evaluation by another package.

    Parameters
    ----------
    machine
        Compiled equations of one contact mode, as `System.machine` returns them.
    free
        Names of the parameters that form the argument p; all others have the values of the system.

    Raises
    ------
    ParameterError
        If a parameter does not exist, or if the machine has pins to points of the ground.
    """

    def __init__(self, machine: ClosedForm, free: Sequence[str] = ()) -> None:
        system = machine.system
        expect_parameters(system.vehicle, free, system.parameters)
        if machine.rate.inputs.count("anchors"):
            raise ParameterError(
                "Machines with pins to points of the ground cannot be exported; use `simulate`."
            )
        self.machine = machine
        self.free = tuple(free)

    def parameters(self, p: Any) -> list[Any]:
        """Return the values of all parameters in order; p contains the values of the free ones."""
        values = dict(self.machine.system.parameters)
        return list((values | {name: p[k] for k, name in enumerate(self.free)}).values())

    def spare(self, program: str) -> int:
        """Return the number of further inputs of a program, which follow (t, y, w).

        They are directions of differentiation. The callers set them to zero.
        """
        system = self.machine.system
        layout = input_layout(self.machine.programs[program])
        return layout.size - 1 - self.machine.layout.size - len(system.model.inputs)

    def split(self, program: str, out: Any) -> dict[str, Any]:
        """Split the output array (size,) of the program `program` into arrays by name of the output."""
        layout = output_layout(self.machine.programs[program])
        return {name: out[getattr(layout, name)] for name in self.machine.programs[program].outputs}

    def observation_indices(self, names: Sequence[str]) -> list[int]:
        """Return the indices of the named quantities in the output `seen` of the program `variation`."""
        available = observation_names(self.machine.system.model)
        expect_known("no quantity", names, available)
        return [available.index(name) for name in names]

    def move(self, evaluate: ProgramCall, y: Any, t: Any, h: float) -> list[Any]:
        """Return the state blocks q, p, r and (u, z) after one classical Runge-Kutta step of length h (s).

        One Newton step projects the state at the end of the step on the contact constraints.
        """
        total = k = 0.0 * y
        for node, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            k = evaluate("rate", y + node * h * k, t + node * h)["rate"]
            total = total + weight * k
        end = y + h / 6.0 * total
        closed = evaluate("project", end, t + h)
        return [*(closed[name] for name in "qpr"), end[self.machine.layout.r.stop :]]
