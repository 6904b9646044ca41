"""Figures, one file each with a function `draw(data, axes)` that returns the axes.

`_snapshots`: machines along a path. `_marks`: events on a time axis. `_height`: curvature over shape
space. `_walk`: a step of a walker. `_linear`: figures of straight running. `_sweep`: answers of sweeps.
"""
