"""Scalars of several algebras (floats, traced expressions, CasADi, SymPy, mpmath), and rotations over them.

- `trace`: traced expressions, which record operations in a graph.
- `scalar`: one set of functions (sin, sqrt, where ...) for all algebras.
- `patch`: polynomials of smooth surface patches.
- `jet`: values with their first and second derivatives.
- `lie`: rotations, poses, twists and quaternions over any scalar.
"""
