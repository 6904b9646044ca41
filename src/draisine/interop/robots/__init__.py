"""Robots from other formats.

`urdf` and `mjcf` read files, `robot` makes vehicles of what they say, `guess` what of it rolls, gives
and is held.
"""
