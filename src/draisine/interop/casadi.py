"""A machine's programs as CasADi functions, for optimal control, estimation and gradients.

The operations of the compiled programs are repeated on CasADi's scalars, so that both compute the same.
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
"""Operations of programs on CasADi's scalars, by name."""


def replay(program: Program, **inputs: Any) -> dict[str, Any]:
    """Return the outputs of a program as SX columns, for its inputs as SX columns."""
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
    """CasADi functions of one contact mode: of the state y, inputs w, parameters p and time t.

    Arguments that are not passed by name are zero.

    Parameters
    ----------
    machine
        A machine of `System.machine`.
    free
        Names of the parameters p that are arguments; the others have the values of the system.

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
        """Return the outputs of a program at a state and a time, by name."""
        x = casadi.vertcat(t, y, self.w, casadi.SX(self.spare(name), 1))
        parameters = casadi.vertcat(*map(casadi.SX, self.parameters(self.p)))
        program = flatten_arrays(self.machine.programs[name])
        return self.split(name, replay(program, x=x, parameters=parameters)["out"])

    def _function(self, name: str, result: Any, output: str) -> Any:
        """Return a CasADi function of (y, w, p, t) with one named output."""
        arguments = [self.y, self.w, self.p, self.t]
        return casadi.Function(name, arguments, [result], ["y", "w", "p", "t"], [output])

    def rate(self) -> Any:
        """Return the function of the time derivative of the state, `ydot`."""
        return self._function("rate", self._evaluate("rate", self.y, self.t)["rate"], "ydot")

    def step(self, dt: float) -> Any:
        """Return the function of the state `next` after one Runge-Kutta step of length dt (s).

        The step ends with a projection on the contacts and equals that of `simulate` with "rk4".
        """
        blocks = self.move(self._evaluate, self.y, self.t, dt)
        return self._function("step", casadi.vertcat(*blocks), "next")

    def observe(self, names: Sequence[str]) -> Any:
        """Return the function of quantities by name, `seen`: outputs, position, joints, speeds and rates."""
        seen = self._evaluate("variation", self.y, self.t)["seen"]
        return self._function("observe", seen[self.observation_indices(names)], "seen")
