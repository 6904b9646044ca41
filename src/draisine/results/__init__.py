"""Datasets of runs: files, attributes, derived quantities and queries.

In the order of the data: `attributes` reads and stamps the JSON attributes of a dataset, `store` writes and
loads files (`zarr_store` checks Zarr folders, `recording` reads measured CSV files, `runs` arranges the runs
of a sweep). `bodies` computes the motion of all bodies, `quantities` derives further series from it, and
`queries` evaluates series and scalar queries by name; `events` does so for events. `straight` and `cycle`
list the scalar results of straight running and of limit cycles. `comparison` compares two runs.
"""
