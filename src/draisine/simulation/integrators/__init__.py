"""Integrators, one file each: `advance` takes y over one smooth stretch of time in compiled code.

All have one signature, so that a new method is a new file:
    advance(problem, y, t0, t1, dt, grid, rtol, atol) -> (times, samples, status)
`problem` is a `draisine.simulation.integrators._native.Problem`; fixed-step methods take equal steps
no longer than dt and return each of them, adaptive ones return the times of `grid`. `status` is one
of the constants in `_native`. `_adams`: what the multistep methods share.
"""
