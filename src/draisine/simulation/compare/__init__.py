"""Slow, independent ways to move a machine, to compare with.

`by_formulation`: other equations of motion. `kinematic`: driven joints alone. `timestepping`:
impulses per step. `compliant`: contacts as springs.
"""
