"""Straight running and turning of a bicycle.

`straight`: the canonical matrices.
`eigenvalues`: weave, capsize and castering. `followed`: the same of any two-wheeler, with wobble.
`critical`: speeds at which stability changes. `sensitivity`: derivatives by parameters. `uncertainty`:
what deviations of parameters do. `turning`: maps of steady turns.
"""
