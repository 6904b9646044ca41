"""Where a shape touches, one file for each question.

`plane`: a wheel on the level plane. `features`: a wheel on a face, an edge, a vertex.
`elements`: tyres and resistances there. `modes`: wheels on features together, in closed form.
`rolling`: those that all roll on faces, as short as on the plane.
"""
