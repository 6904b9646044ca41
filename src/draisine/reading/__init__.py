"""Printed equations of motion: a traced graph written as named polynomials, each in its narrowest form.

In the order of the data:
`subject`: equations of one contact mode, traced over readable symbols.
`names`: unique symbols of a page.
`polynomial`: sparse polynomials with rational coefficients.
`cut`: conversion of the traced graph to polynomials in the symbols of a page.
`form`: narrowest expression tree of a polynomial.
`sheet`: lines and numbered blocks of a page.
`contacts`, `stages`, `solution`: sections on contact points, dynamics and accelerations.
`linear`: linear equations about straight running.
`document`: the complete page.
`formulations`: pages of the other formulations, in their own coordinates.
`explain`: the derivation stage by stage.

Printers (LaTeX, HTML, ...) are in `codegen.paper`.
"""
