"""Equations for people: the traced graph cut at names, each line in its narrowest form.

In the order of the data: `subject` (a mode, traced over the symbols that people read), `names`
(symbols as people write them, no two alike), `polynomial` (what stands between names), `cut`
(from the graph to polynomials), `form` (from a polynomial to the narrowest tree), `sheet` (lines
and numbered blocks in the making), `contacts` (frames, contact points and how they move), `stages`
(constraints, free dynamics, reduced dynamics), `solution` (kernel, accelerations, multipliers, rates
of the coordinates), `linear` (deviations from straight running), `document` (the page), `explain`
(the page stage by stage). Printers live in `codegen.paper`.
"""
