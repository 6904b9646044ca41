"""Equations of motion of a compiled model as JAX functions (compiled, vectorised, differentiable).

Code generation (target `jax`) writes the source code of these functions. Enable double precision before the
first call: `jax.config.update("jax_enable_x64", True)`.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from draisine.codegen.program import flatten_arrays
from draisine.codegen.targets.jax import emit
from draisine.errors import ParameterError, import_extra
from draisine.interop.portable import PortableMachine

jnp = import_extra("jax.numpy", "jax")

JaxFunction = Callable[..., Any]
"""Type of a function of JAX arrays."""


@lru_cache(64)
def _functions(name: str, text: str) -> tuple[JaxFunction, JaxFunction]:
    """Execute the JAX source code `text` of the program `name`; return its prologue and body as functions."""
    names: dict[str, Any] = {}
    exec(compile(text, f"<{name} as JAX>", "exec"), names)
    return names[f"{name}_prologue"], names[name]


class JaxMachine(PortableMachine):
    """Equations of motion in one contact mode as pure functions for `jax.jit`, `jax.grad` and `jax.vmap`.

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
    >>> y = machine.enter(draisine.state(disc, forward_speed=2.0))
    >>> float(JaxMachine(machine).rate(y)[machine.layout.p.start])
    2.0
    """

    def evaluate(self, w: Any, p: Any) -> Callable[[str, Any, Any], dict[str, Any]]:
        """Return a function that evaluates a program: (name, state y, time t) -> outputs by name.

        The inputs w (N m or N) and the free parameters p are fixed.
        """
        names = self.machine.system.model.inputs
        w = jnp.zeros(len(names)) if w is None else jnp.asarray(w)
        if w.shape != (len(names),):
            raise ParameterError(
                f"w has the shape {w.shape}, but the machine has {len(names)} inputs: {', '.join(names)}."
            )
        parameters = jnp.stack([jnp.asarray(x, float) for x in self.parameters(p)])

        def run(name: str, y: Any, t: Any) -> dict[str, Any]:
            program = flatten_arrays(self.machine.programs[name])
            prologue, body = _functions(program.name, emit(program))
            x = jnp.concatenate([jnp.atleast_1d(t), y, w, jnp.zeros(self.spare(name))])
            return self.split(name, body(x, prologue(parameters))["out"])

        return run

    def rate(self, y: Any, w: Any = None, p: Any = (), t: Any = 0.0) -> Any:
        """Return the time derivative of the state y at inputs w, free parameters p and time t (s)."""
        return self.evaluate(w, p)("rate", jnp.asarray(y), t)["rate"]

    def step(self, y: Any, dt: float, w: Any = None, p: Any = (), t: Any = 0.0) -> Any:
        """Return the state after one Runge-Kutta step of length dt (s).

        The result is projected on the contact constraints, as by `simulate` with the integrator "rk4".
        """
        return jnp.concatenate(self.move(self.evaluate(w, p), jnp.asarray(y), t, dt))

    def observe(
        self, names: Sequence[str], y: Any, w: Any = None, p: Any = (), t: Any = 0.0
    ) -> Any:
        """Return the values (names,) of named outputs, positions, joint coordinates, speeds or rates."""
        seen = self.evaluate(w, p)("variation", jnp.asarray(y), t)["seen"]
        return seen[jnp.asarray(self.observation_indices(names))]
