"""Contacts of wheels with the ground: geometry, constraint rows, contact forces, modes in closed form.

`features`: geometry and rows of a wheel on a face, an edge, a vertex or a plane of another body.
`elements`: tyres and rolling resistance at such a contact. `modes`: the dynamics of a set of closed
contacts in closed form. `rolling`: the shorter closed form of wheels that all roll on faces.
"""
