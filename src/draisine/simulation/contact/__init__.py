"""Runs on a terrain: arcs of one mode each, and the events between them.

`run`: the run. `driver`: the calls that lead through it. `passage`: such a call, from arc to event to
arc, as routines. `march`: an arc; `radau`: its steps where friction turns slow slips. `guards`: where
something turns negative. `events`: what happens at an instant; `strike`: an impact.
`kernels`: a mode on features. `query`: what contacts look like at a state. `table`: contacts as routines
read them. `complementarity`: which contacts carry, and by which forces. `stepping`: time steps, where
events do not end. `samples`: forces and gaps at the states of a finished run. `arc`: its arcs.
"""
