"""Doors to other programs.

`bicycleparameters` reads and writes the files of that package. `gymnasium` makes environments to learn in.
`portable` is a machine over other algebras: `casadi` and `jax` make functions of it. `cosimulation`
puts the generated C behind numbered values: `fmi` makes units for co-simulation of it, `simulink`
S-functions. `robots` are read from URDF and MJCF.
"""
