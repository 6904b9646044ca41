"""Signals and filters of control laws.

`time_inputs`: steps, ramps, sines and tables over time.
`smooth_transition`: smooth transition from 0 to 1.
`saturation`: limits of actuators.
`delay`: transport delay by Padé approximation.
`neuromuscular`: delay and muscles of a rider.
"""
