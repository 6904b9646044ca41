"""A machine's own programs as JAX functions: to be compiled, mapped and differentiated.

The text of the target `jax` is run here. Ask for doubles first
(`jax.config.update("jax_enable_x64", True)`).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from draisine.codegen.program import flatten
from draisine.codegen.targets.jax import emit
from draisine.errors import ParameterError, import_extra
from draisine.interop.portable import PortableMachine

jnp = import_extra("jax.numpy", "jax")

JaxFunction = Callable[..., Any]


@lru_cache(64)
def _functions(name: str, text: str) -> tuple[JaxFunction, JaxFunction]:
    """Return prologue and body of a program that was written as text."""
    names: dict[str, Any] = {}
    exec(compile(text, f"<{name} as JAX>", "exec"), names)
    return names[f"{name}_prologue"], names[name]


class JaxMachine(PortableMachine):
    """The functions of one machine of `System.machine`: of y, of the inputs w, of the parameters p
    named in `free` (all others are the numbers of the system) and of the time t. They are pure, and
    not compiled yet: wrap them in `jax.jit`, `jax.grad`, `jax.vmap`.

    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> machine = disc.machine()
    >>> y = machine.enter(draisine.state(disc, forward_speed=2.0))
    >>> float(JaxMachine(machine).rate(y)[machine.layout.p.start])
    2.0
    """

    def evaluate(self, w: Any, p: Any) -> Callable[[str, Any, Any], dict[str, Any]]:
        """Return the programs as functions of (name, y, t), under inputs and free parameters."""
        names = self.machine.system.model.inputs
        w = jnp.zeros(len(names)) if w is None else jnp.asarray(w)
        if w.shape != (len(names),):
            raise ParameterError(
                f"inputs of shape {w.shape}; the machine has {len(names)}: {', '.join(names)}."
            )
        own = jnp.stack([jnp.asarray(x, float) for x in self.parameters(p)])

        def run(name: str, y: Any, t: Any) -> dict[str, Any]:
            program = flatten(self.machine.programs[name])
            prologue, body = _functions(program.name, emit(program))
            x = jnp.concatenate([jnp.atleast_1d(t), y, w, jnp.zeros(self.spare(name))])
            return self.split(name, body(x, prologue(own))["out"])

        return run

    def rate(self, y: Any, w: Any = None, p: Any = (), t: Any = 0.0) -> Any:
        """Return the right-hand side of the motion."""
        return self.evaluate(w, p)("rate", jnp.asarray(y), t)["rate"]

    def step(self, y: Any, dt: float, w: Any = None, p: Any = (), t: Any = 0.0) -> Any:
        """Return the state behind one step of the classical Runge-Kutta method and one Newton step
        that closes the contacts: that of `simulate` by "rk4".
        """
        return jnp.concatenate(self.move(self.evaluate(w, p), jnp.asarray(y), t, dt))

    def observe(
        self, names: Sequence[str], y: Any, w: Any = None, p: Any = (), t: Any = 0.0
    ) -> Any:
        """Return quantities by their names: outputs, place, joints, speeds and rates."""
        seen = self.evaluate(w, p)("variation", jnp.asarray(y), t)["seen"]
        return seen[jnp.asarray(self.places(names))]
