"""Robots from URDF and MJCF files.

`urdf` and `mjcf` parse files, `robot` builds vehicles from their content, and `guess` proposes wheels,
sprung joints and servo joints, which these formats do not declare.

"""
