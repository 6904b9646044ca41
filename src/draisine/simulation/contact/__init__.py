"""Runs on a terrain: arcs of one mode each, and the events between them.

`run`: the run. `step`: one step and the events inside it. `guards`: what to watch. `query`: what
contacts look like at a state. `borders`: where features end. `kernels`, `linear`: the routines.
`events`: what happens at an instant. `active_set`: which contacts carry. `coulomb`: friction.
`resolution`: impulses by rows. `arc`: what an arc leaves.
"""
