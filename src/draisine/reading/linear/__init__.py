"""Printed linear equations about straight running.

In the order of the data:
`straight`: straight running of a machine, in symbols.
`deviations`: derivatives about straight running, separated into lateral and in-plane motion.
`powers`: matrices sorted by powers of speed and gravity.
`page`: the page of formulas, and the page of a linear system in numbers.
"""
