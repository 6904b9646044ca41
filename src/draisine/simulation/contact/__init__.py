"""Runs on a terrain: arcs of one mode each, and the events between them.

`run`: the run. `driver`: an arc, and the calls through it. `march`: such a call, as routines.
`guards`: where something turns negative. `kernels`, `linear`: a mode on features, as routines.
`query`: what contacts look like at a state. `table`: contacts as routines read them. `events`: what
happens at an instant. `active_set`: which contacts carry, and the impulses. `coulomb`: friction.
`arc`: what an arc leaves.
"""
