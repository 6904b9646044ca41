"""Scalars of several algebras, and rotations over them.

`trace`: traced expressions. `scalar`: one set of functions over floats, traced expressions, CasADi, SymPy and
mpmath. `jet`: values with their first and second derivatives. `lie`: rotations, poses, quaternions and their
adjoints over any scalar. `patch`: polynomials of smooth ground over any scalar.
"""
