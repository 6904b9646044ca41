"""Figures of results: one module per figure with a function `draw(data, axes)` that returns the axes.

Several figures share the modules `_snapshots` (vehicle at several times), `_marks` (events on a time axis),
`_reactions` (forces and impulses), `_height` (curvature over shape space), `_walk` (one step of a walker),
`_linear` (linear analysis) and `_sweep` (outputs of sweeps).
"""
