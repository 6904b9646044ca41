"""Runs on a terrain, with unilateral contacts: arcs of one mode each, and the events between them.

`run`: the run loop; `many`: many runs over threads. `start`: checks of the initial state. `driver`: calls of
the compiled routines of `event_driven`, arcs whose events are located. `failures`: errors that stop them.
`stepping`: arcs in time steps, if events do not end. `complementarity`: solvers of the contact problem.
`kernels`: the contact problem of a mode, assembled and solved. `status`: statuses of a contact and the rows
that it holds. `query`: gaps, rows and forces at a state. `table`: contacts as arrays, the input of routines.
`samples`: forces and gaps at the states of a finished run. `arc`: its arcs. `standalone`: whole runs as
routines, for exports. `tolerances`: bounds of event location, scaled by the machine; solvers keep their
relative bounds themselves.
"""
