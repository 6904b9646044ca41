"""Formulations of the equations of motion, one file each; those of the bicycle alone are in `bicycle`.

All yield the same accelerations. `projected`: projection on the kernel of the constraints. `multiplier`:
saddle-point system. `absolute`: absolute coordinates. `_plug`: protocol of a formulation. `_absolute_rows`:
rows of the absolute formulation. `_tree_kernel`: elimination of the constraints of long trees, joint by
joint. `_articulated`: accelerations of long trees by articulated bodies. `_rank`: detection of redundant
rows.
"""
