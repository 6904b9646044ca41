"""Vehicles from robot files in the formats URDF and MJCF.

`document`: XML documents, their numbers and included files. `urdf` and `mjcf`: the readers of both formats.
`sensors`: the sensors of a file. `robot`: the content of a file, and the vehicle that it describes. `mesh`:
vertices of mesh files. `guess`: wheels, casters, springs and servo joints that a file does not declare.
"""
