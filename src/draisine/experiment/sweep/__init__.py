"""Parameter sweeps: many runs of one scenario with varied values.

`designs` selects the values of each run. `lanes` simulates runs on the plane in SIMD lanes, `samples`
stores the samples of the lanes, `free_law` varies constants of control laws, and `terrain_runs`
simulates runs on terrain. `chunks` simulates a range of runs, `engines` distributes ranges over
processes or a Dask cluster, and `driver` collects the results. `table` converts the results to a
dataset, `store` writes them to a Zarr store.

"""
