"""Doors to other programs.

`bicycleparameters` reads the files of that package. `gymnasium` makes environments to learn in.
`portable` is a machine over other algebras: `casadi` and `jax` make functions of it. `cosimulation`
puts the generated C behind numbered values: `fmi` makes units for co-simulation of it, `simulink`
S-functions. `urdf` and `mjcf` read robots as `robot` puts them together.
"""
