"""Linear equations to read.

In the order of the data: `straight` (the straight motion of a machine, in symbols), `deviations`
(derivatives there, and which deviations depend on each other), `powers` (matrices by powers of
speed and gravity), `page` (the page of formulas, and that of a linear system in numbers).
"""
