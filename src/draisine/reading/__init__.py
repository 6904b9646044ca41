"""Equations to read: a traced graph written as named polynomials, each in its narrowest form.

In the order of the data: `subject` traces a contact mode over readable symbols, `names` assigns unique
symbols, `polynomial` has the algebra, `cut` converts the graph to polynomials in names, `form` arranges a
polynomial as the narrowest expression tree, `sheet` collects lines and numbered blocks. The stages of the
method are written by `contacts` (frames and contact points), `stages` (constraints, free and reduced
dynamics) and `solution` (kernel, accelerations, multipliers, rates of the coordinates). `linear` writes the
linear equations of straight running, `document` the complete page, `explain` a page stage by stage.

Printers are in `codegen.paper`.
"""
