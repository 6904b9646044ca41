"""Figures, one file each with a function `draw(data, axes)` that returns the axes.

Shared modules: `_snapshots` (machines at several times), `_marks` (events on a time axis),
`_height` (curvature over shape space), `_walk` (a step of a walker), `_linear` (linear analysis),
`_sweep` (outputs of sweeps).
"""
