"""Drawings of the thesis that explain an idea: geometry that is computed, not traced.

`gaps`: gap and pre-contact points of a wheel and of convex bodies (3.4, 3.5, 4.3, D.1 to D.5).
`impacts`: deformation and force during an impact (3.2, 3.3).
`spaces`: fibres over shape space, parallel transport, admissible velocities (1.5 to 1.11, 3.8 to 3.11).
`bicycle`: contact frame and contact configurations of the bicycle (2.4, 4.4).
`charts`: flow charts of the simulation (1.6, 1.7, 1.17, 4.6).
"""

from collections.abc import Callable
from typing import Any

from draisine.view.concepts.bicycle import BICYCLES
from draisine.view.concepts.charts import CHARTS
from draisine.view.concepts.gaps import GAPS
from draisine.view.concepts.impacts import IMPACTS
from draisine.view.concepts.spaces import SPACES

CONCEPTS: dict[str, Callable[[], Any]] = {**BICYCLES, **CHARTS, **GAPS, **IMPACTS, **SPACES}
"""Functions that draw a concept and return its axes, by name."""
