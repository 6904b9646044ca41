"""Formulations of the equations of motion, one file each; all yield the same accelerations.

`projected`: projection onto the null space of the constraints, in closed form.
`multiplier`: saddle-point (KKT) system with Lagrange multipliers.
`absolute`: absolute coordinates of all bodies.
`bicycle`: two formulations for bicycles only.
`_plug`: protocol of a formulation.
`_absolute_rows`: constraint rows of the absolute formulation.
`_tree_kernel`: elimination of the constraints of long trees, joint by joint.
`_articulated`: accelerations of long trees by articulated bodies.
`_rank`: detection of redundant constraint rows.
"""
