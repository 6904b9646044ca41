"""Slow, independent methods of simulation, for comparison.

- `by_formulation`: integration of other formulations of the equations of motion.
- `kinematic`: prescribed speeds without dynamics.
- `compliant`: contacts as springs and dampers.
"""
