"""A machine's own programs as CasADi functions: for optimal control, estimation and gradients.

They are replayed step by step on CasADi's scalars from the programs that are compiled, so that the
same operations are carried out.
"""

import operator
from collections.abc import Sequence
from typing import Any

from draisine.algebra.trace import ARITHMETIC
from draisine.codegen.program import Program, flatten
from draisine.errors import import_extra
from draisine.interop.portable import PortableMachine
from draisine.system.closed_form import ClosedForm

casadi = import_extra("casadi", "casadi")

OPERATIONS = ARITHMETIC | {op: getattr(casadi, op) for op in ("sqrt", "sin", "cos", "exp", "atan2")}
OPERATIONS |= {"inv": lambda x: 1.0 / x, "lt": operator.lt, "where": casadi.if_else}
"""How an operation of a program acts on CasADi's scalars."""


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
    """The functions of one machine of `System.machine`: of y, of the inputs w, of the parameters p
    named in `free` (all others are the numbers of the system) and of the time t. What is not given
    by name is zero.

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
        own = casadi.vertcat(*map(casadi.SX, self.parameters(self.p)))
        program = flatten(self.machine.programs[name])
        return self.split(name, replay(program, x=x, parameters=own)["out"])

    def _function(self, name: str, result: Any, called: str) -> Any:
        given = [self.y, self.w, self.p, self.t]
        return casadi.Function(name, given, [result], ["y", "w", "p", "t"], [called])

    def rate(self) -> Any:
        """Return the right-hand side of the motion, `ydot`."""
        return self._function("rate", self._evaluate("rate", self.y, self.t)["rate"], "ydot")

    def step(self, dt: float) -> Any:
        """Return the state `next` behind one step of the classical Runge-Kutta method and one Newton
        step that closes the contacts: that of `simulate` by "rk4".
        """
        parts = self.move(self._evaluate, self.y, self.t, dt)
        return self._function("step", casadi.vertcat(*parts), "next")

    def observe(self, names: Sequence[str]) -> Any:
        """Return quantities by their names, `seen`: outputs, place, joints, speeds and rates."""
        seen = self._evaluate("variation", self.y, self.t)["seen"]
        return self._function("observe", seen[self.places(names)], "seen")
