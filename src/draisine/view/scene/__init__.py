"""A machine and its ground as shapes in space.

`skeleton`: lines from joint to joint. `shapes`: outlines of bodies. `ground`: patches of terrain.
`scene`: both in motion. `camera`: how they are seen. `sketch`: a drawing in letters.
"""
