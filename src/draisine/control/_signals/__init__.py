"""Functions of time: `time_inputs` (steps, ramps, sines, tables), `smooth_step`, `saturation`, and
`delay`.
"""
