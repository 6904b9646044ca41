"""Straight running and turning of a bicycle.

`straight`: the canonical matrices. `eigenvalues`: eigenmodes against speed. `critical`: speeds at
which stability changes. `sensitivity`: derivatives by parameters. `turning`: maps of steady turns.
"""
