"""Parameter sweeps: many runs of one scenario with varied values.

`designs` selects the values of each run. `lanes` runs machines in SIMD lanes, with `samples` of the
lanes and `free_law` for control laws with varied constants. `terrain_runs` runs machines on terrain.
`chunks` runs a range of runs, `engines` distributes ranges over processes or a Dask cluster, and `driver`
assembles them. `table` is the result as a dataset, `store` the same in a Zarr store.
"""
