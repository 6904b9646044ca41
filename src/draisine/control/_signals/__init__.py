"""Functions of time: `time_inputs` (steps, ramps, sines, tables), `smooth_step`, `saturation`,
`delay`, and `neuromuscular`: delay and muscles of a rider.
"""
