"""Scalars of several algebras (floats, traced expressions, CasADi, SymPy, mpmath), and rotations for all of
them.

- `trace`: traced expressions: scalars that record the operations on them in a graph.
- `scalar`: one set of functions (sin, sqrt, where ...) for all algebras.
- `patch`: polynomials of smooth surface patches.
- `jet`: values with their first and second derivatives.
- `lie`: rotations, poses, twists and quaternions for any scalar type.
"""
