"""Formulations of the bicycle only, derived independently of the general ones.

`planar`: reduced dynamics on SE(2) x S. `partitioned`: Lagrange's equations with coordinate
partitioning. `_drawing`: geometry of a bicycle from a model.
"""
