"""Exchange with other programs.

`bicycleparameters` reads and writes files of the package BicycleParameters. `gymnasium` defines
environments for reinforcement learning. `portable` evaluates the programs of a machine with the numbers
of another package; `casadi` and `jax` build functions with it. `cosimulation` wraps the generated C
simulator behind numbered ports, `fmi` exports it as a functional mock-up unit and `simulink` as an
S-function. `robots` reads URDF and MJCF files.

"""
