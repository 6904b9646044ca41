"""Classification of systems by their connection: does the shape (the joint coordinates) alone determine the
motion of the base?
"""

from collections.abc import Sequence

import numpy as np

from draisine.mechanics.connection import Case, classify, locomotion
from draisine.mechanics.tree import assemble
from draisine.system.system import System


def connection_case(system: System, driven: Sequence[str] | None = None) -> Case:
    """Classify a system with closed contacts by the cases of chapter 1 of the thesis.

    The rank of the constraints is determined at a general shape, because the zero configuration may be
    singular.

    Parameters
    ----------
    system
        The compiled system.
    driven
        Names of the joints that form the shape; all by default.

    Examples
    --------
    >>> from draisine.system.system import compile
    >>> connection_case(compile("snakeboard")).kind, connection_case(compile("falling_cat")).kind
    ('mixed', 'mechanical')
    """
    model = system.model
    general = 0.2 * np.sin(1.0 + np.arange(len(model.joints)))
    return classify(locomotion(assemble(model), system.mode(), np.eye(3), general, driven))
