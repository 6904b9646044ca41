"""Ways to the same accelerations, one file each; the bicycle's own in `bicycle`.

`_plug`: what a formulation takes and gives. `_absolute_rows`: rows of the absolute one.
`_tree_kernel`: constraints of long trees, joint by joint, `_articulated`: their accelerations by
articulated bodies. `_rank`: which rows repeat others.
"""
