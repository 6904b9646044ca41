"""Doors to other programs.

`bicycleparameters` reads the files of that package. `gymnasium` makes environments to learn in.
"""
