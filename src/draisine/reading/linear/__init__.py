"""Linear equations to read.

In the order of the data: `straight` (the straight motion of a machine, in symbols), `deviations` (derivatives
there, and their decomposition into independent sets), `powers` (matrices sorted by powers of speed and
gravity), `page` (the page of formulas, and the page of a linear system in numbers).
"""
