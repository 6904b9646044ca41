"""Exchange with other programs.

`bicycleparameters` reads and writes files of that package. `gymnasium` has environments for reinforcement
learning. `portable` evaluates a machine's programs over other algebras; `casadi` and `jax` make functions of
it. `cosimulation` wraps the generated C simulator behind numbered ports; `fmi` exports it as a functional
mock-up unit, `simulink` as an S-function. `robots` reads URDF and MJCF files.
"""
