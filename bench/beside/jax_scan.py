"""JAX: the program as it is emitted for JAX, RK4 in a loop of XLA, bicycles side by side by vmap."""

import jax
import jax.numpy as jnp
import numpy as np

from beside._work import DT, UNTIL
from draisine.codegen.targets import jax as target

MODULE, NAME = "jax", "JAX, XLA on the processor, RK4, 5 ms"
NOTE = "the program emitted for JAX, in double precision; no projection, no checks"


def prepare(work):
    """Return its jobs."""
    jax.config.update("jax_enable_x64", True)
    machine, scope = work.system.machine(), {}
    exec(target.emit(machine.programs["rate"]), scope)
    table = scope["rate_prologue"](jnp.asarray(work.system.values))
    at, sizes, steps = machine.layout, machine.rate.program.inputs, round(UNTIL / DT)
    rest = {k: jnp.zeros(n) for k, n in sizes.items() if k in ("t", "w", "anchors")}
    h = UNTIL / steps

    def f(y):
        return scope["rate"](**at.split(y), **rest, table=table)["rate"]

    def step(_, y):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))

    def whole(y):
        return jax.lax.fori_loop(0, steps, step, y)

    def over_and_over(y):
        return jax.lax.fori_loop(0, work.repeat, lambda _, x: y + 1e-12 * f(x), y)

    y, crowd = jnp.asarray(work.y), jnp.asarray(np.repeat(work.y[None], work.many, axis=0))
    one, all_at_once, rate = jax.jit(whole), jax.jit(jax.vmap(whole)), jax.jit(over_and_over)
    return {
        "rate": lambda: rate(y).block_until_ready(),
        "run": lambda: float(one(y)[work.steer_entry]),
        "lanes": lambda: np.asarray(all_at_once(crowd))[:, work.steer_entry],
    }
