"""Contacts of wheels with a terrain: geometry, constraint rows, element forces, contact modes in
closed form.

`features`: geometry and constraint rows of a wheel on a face, an edge, a vertex or a plane of
another body.
`elements`: forces of tyres and rolling resistance at such a contact.
`modes`: accelerations and contact forces of a set of closed contacts in closed form.
`rolling`: the shorter closed form for wheels that all roll on faces.
"""
