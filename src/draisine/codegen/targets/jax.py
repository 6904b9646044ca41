"""Programs as JAX functions: for gradients, `vmap` and accelerators. Writing their text does not need JAX.

The functions are those of the Python target. They are not compiled yet: wrap them in `jax.jit`. Double
precision is the user's choice (`jax.config.update("jax_enable_x64", True)`). A gradient through `where`
evaluates both branches: if one has no finite derivative, the gradient is not finite, even if this branch is
not selected.
"""

from collections.abc import Mapping, Sequence

from draisine.codegen.program import Program
from draisine.codegen.targets.python import write_module


def emit(program: Program, names: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the program as the text of a Python module that needs JAX only.

    Parameters
    ----------
    program
        Program to write.
    names
        Names of the entries of arrays, listed in the docstring at the top.

    Returns
    -------
    str
        Python text.
    """
    return write_module(program, names, "import jax.numpy as jnp", "jnp")
