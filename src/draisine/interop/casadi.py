"""Equations of motion of a compiled model as CasADi functions, for optimal control and estimation.

`replay` repeats the operations of a compiled program on CasADi scalars (`SX`). The CasADi functions therefore
compute the same values as the compiled code.
"""

import operator
from collections.abc import Sequence
from typing import Any

from draisine.algebra.trace import ARITHMETIC
from draisine.codegen.program import Program, flatten_arrays
from draisine.errors import import_extra
from draisine.interop.portable import PortableMachine
from draisine.system.closed_form import ClosedForm

casadi = import_extra("casadi", "casadi")

OPERATIONS = ARITHMETIC | {op: getattr(casadi, op) for op in ("sqrt", "sin", "cos", "exp", "atan2")}
OPERATIONS |= {"inv": lambda x: 1.0 / x, "lt": operator.lt, "where": casadi.if_else}
"""Functions that apply the operations of a program to CasADi scalars, by name of the operation."""


def replay(program: Program, **inputs: Any) -> dict[str, Any]:
    """Evaluate a program on CasADi symbols; inputs and outputs are `SX` column vectors by name."""
    values: list[Any] = []
    for op, *rest in program.steps:
        if op == "const":
            values.append(casadi.SX(rest[0]))
        elif op == "input":
            values.append(inputs[rest[0]][rest[1]])
        else:
            values.append(OPERATIONS[op](*(values[k] for k in rest)))
    return {
        name: casadi.vertcat(*(values[k] for k in entries))
        for name, entries in program.outputs.items()
    }


class CasadiMachine(PortableMachine):
    """Equations of motion in one contact mode as CasADi functions of (y, w, p, t).

    The arguments are the state y, the inputs w (N m or N), the free parameters p and the time t (s).
    CasADi sets an argument to zero if a call omits it.

    Parameters
    ----------
    machine
        Compiled equations of one contact mode, as `System.machine` returns them.
    free
        Names of the parameters that form the argument p; all others have the values of the system.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> machine = disc.machine()
    >>> rate = CasadiMachine(machine).rate()
    >>> rate
    Function(rate:(y[10],w[0],p[0],t)->(ydot[10]) SXFunction)
    >>> y = machine.enter(draisine.state(disc, forward_speed=2.0))
    >>> float(rate(y=y)["ydot"][machine.layout.p.start])
    2.0
    """

    def __init__(self, machine: ClosedForm, free: Sequence[str] = ()) -> None:
        super().__init__(machine, free)
        self.y = casadi.SX.sym("y", machine.layout.size)
        self.w = casadi.SX.sym("w", len(machine.system.model.inputs))
        self.p = casadi.SX.sym("p", len(free))
        self.t = casadi.SX.sym("t")

    def _evaluate(self, name: str, y: Any, t: Any) -> dict[str, Any]:
        """Return the outputs of the program `name` at state y and time t (s), by name of the output."""
        x = casadi.vertcat(t, y, self.w, casadi.SX(self.spare(name), 1))
        parameters = casadi.vertcat(*map(casadi.SX, self.parameters(self.p)))
        program = flatten_arrays(self.machine.programs[name])
        return self.split(name, replay(program, x=x, parameters=parameters)["out"])

    def _function(self, name: str, result: Any, output: str) -> Any:
        """Return the CasADi function `name`: (y, w, p, t) -> the expression `result`, named `output`."""
        arguments = [self.y, self.w, self.p, self.t]
        return casadi.Function(name, arguments, [result], ["y", "w", "p", "t"], [output])

    def rate(self) -> Any:
        """Return the CasADi function (y, w, p, t) -> `ydot`: the time derivative of the state y."""
        return self._function("rate", self._evaluate("rate", self.y, self.t)["rate"], "ydot")

    def step(self, dt: float) -> Any:
        """Return the CasADi function (y, w, p, t) -> `next`: the state after one time step.

        `dt` is the length of the step (s). The function takes one Runge-Kutta step and projects the result on
        the contact constraints, as `simulate` does with the integrator "rk4".
        """
        blocks = self.move(self._evaluate, self.y, self.t, dt)
        return self._function("step", casadi.vertcat(*blocks), "next")

    def observe(self, names: Sequence[str]) -> Any:
        """Return the CasADi function (y, w, p, t) -> `seen`: the named quantities in the order of `names`.

        `names` may contain names of outputs, positions, joint coordinates, speeds and rates.
        """
        seen = self._evaluate("variation", self.y, self.t)["seen"]
        return self._function("observe", seen[self.observation_indices(names)], "seen")
