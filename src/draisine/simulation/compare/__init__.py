"""Slow, independent ways to move a machine, to compare with.

`by_formulation`: other equations of motion. `kinematic`: driven joints alone.
`compliant`: contacts as springs.
"""
