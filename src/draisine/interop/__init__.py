"""Exchange with other programs.

`bicycleparameters` reads and writes files of the package BicycleParameters. `gymnasium` defines
environments for reinforcement learning. `portable` evaluates the compiled programs of a model on the
scalars or arrays of another package; `casadi` and `jax` use it to build functions. `cosimulation` gives
the generated C simulator numbered inputs and outputs (ports), `fmi` exports it as a functional mock-up
unit and `simulink` as an S-function. `robots` reads URDF and MJCF files. `ros` is a node of ROS 2 and writes
bags of stored runs.
"""
