"""Datasets of simulation results: storage in files, metadata, derived time series and queries.

In the order of the data: `attributes` reads and writes JSON attributes and the stamp (date,
commit, hash) of a dataset, `store` writes and loads files (`zarr_store` checks Zarr folders,
`recording` reads measured CSV files, `runs` arranges the runs of a sweep on a grid). `bodies`
computes the motion of all bodies by forward kinematics, `quantities` derives further time series
from it, `queries` evaluates time series and scalar queries by name, and `events` evaluates
queries on events. `straight` and `cycle` list the scalar results of straight running and of
limit cycles. `comparison` compares two runs.

"""
