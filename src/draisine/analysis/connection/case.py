"""Which kind of connection a machine has: whether its shape alone decides how its base moves."""

from collections.abc import Sequence

import numpy as np

from draisine.mechanics.connection import Case, classify, locomotion
from draisine.mechanics.tree import assemble
from draisine.system.system import System


def connection_case(system: System, driven: Sequence[str] | None = None) -> Case:
    """Return the case of chapter 1 of the thesis that a machine is in with all contacts closed, in a
    shape beside its drawing, where nothing is singular; `driven` joints are its shape, all by
    default.

    >>> from draisine.system.system import compile
    >>> connection_case(compile("snakeboard")).kind, connection_case(compile("falling_cat")).kind
    ('mixed', 'mechanical')
    """
    model = system.model
    beside = 0.2 * np.sin(1.0 + np.arange(len(model.joints)))
    return classify(locomotion(assemble(model), system.mode(), np.eye(3), beside, driven))
