"""A machine and its ground as shapes in space.

`skeleton`: where joints and rims are. `shapes`: outlines of bodies. `paths`: ways of contacts. `ground`:
patches of terrain. `scene`: both in motion. `description`: both as data for pages. `camera`:
how they are seen. `sketch`: a drawing in letters.
"""
