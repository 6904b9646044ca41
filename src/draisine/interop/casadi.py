"""Programs of a machine as CasADi functions, for optimal control, estimation and gradients.

The operations of the compiled programs are repeated with CasADi scalars, so that the results are equal.
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

CASADI_OPERATIONS = ARITHMETIC | {
    op: getattr(casadi, op) for op in ("sqrt", "sin", "cos", "exp", "atan2")
}
CASADI_OPERATIONS |= {"inv": lambda x: 1.0 / x, "lt": operator.lt, "where": casadi.if_else}
"""CasADi function of each program operation by name."""


def evaluate_symbolically(program: Program, **inputs: Any) -> dict[str, Any]:
    """Evaluate a program with CasADi columns (SX) as inputs; return its outputs as SX columns by name."""
    values: list[Any] = []
    for op, *rest in program.steps:
        if op == "const":
            values.append(casadi.SX(rest[0]))
        elif op == "input":
            values.append(inputs[rest[0]][rest[1]])
        else:
            values.append(CASADI_OPERATIONS[op](*(values[k] for k in rest)))
    return {
        name: casadi.vertcat(*(values[k] for k in entries))
        for name, entries in program.outputs.items()
    }


class CasadiMachine(PortableMachine):
    """CasADi functions of a machine in one contact mode: of state y, inputs w, parameters p and time t.

    In calls by name, omitted arguments are zero.

    Parameters
    ----------
    machine
        Compiled machine of one contact mode, see `System.machine`.
    free
        Names of the parameters that become the argument p; the others keep the values of the system.

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
        """Declare the symbolic state, inputs, parameters and time of a machine."""
        super().__init__(machine, free)
        self.y = casadi.SX.sym("y", machine.layout.size)
        self.w = casadi.SX.sym("w", len(machine.system.model.inputs))
        self.p = casadi.SX.sym("p", len(free))
        self.t = casadi.SX.sym("t")

    def _evaluate(self, name: str, y: Any, t: Any) -> dict[str, Any]:
        """Return the outputs of a program by name, for a state y and a time t (s)."""
        x = casadi.vertcat(t, y, self.w, casadi.SX(self.count_seeds(name), 1))
        parameters = casadi.vertcat(*map(casadi.SX, self.parameters(self.p)))
        program = flatten_arrays(self.machine.programs[name])
        return self.split(name, replay(program, x=x, parameters=parameters)["out"])

    def _function(self, name: str, result: Any, output: str) -> Any:
        """Return a CasADi function of (y, w, p, t) with one named output."""
        arguments = [self.y, self.w, self.p, self.t]
        return casadi.Function(name, arguments, [result], ["y", "w", "p", "t"], [output])

    def rate(self) -> Any:
        """Return a CasADi function for the time derivative `ydot` of the state."""
        return self._function("rate", self._evaluate("rate", self.y, self.t)["rate"], "ydot")

    def step(self, dt: float) -> Any:
        """Return a CasADi function for the state `next` after one Runge-Kutta step of length dt (s).

        The step ends with a projection onto the contact constraints, like steps of `simulate` with "rk4".
        """
        blocks = self.move(self._evaluate, self.y, self.t, dt)
        return self._function("step", casadi.vertcat(*blocks), "next")

    def observe(self, names: Sequence[str]) -> Any:
        """Return a CasADi function for quantities by name (outputs, position, joints, speeds, rates)."""
        seen = self._evaluate("variation", self.y, self.t)["seen"]
        return self._function("observe", seen[self.observation_indices(names)], "seen")
