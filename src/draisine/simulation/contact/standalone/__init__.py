"""Simulation runs on a terrain without Python: compiled routines that begin and advance a whole run, for
exported simulators.

`steps`: the beginning of time steps. `run`: begin, advance to a time, change the inputs. `records`: the
records of such a run. `observation`: forces, gaps and outputs at the present state. `source`: all of it as C
and JavaScript. `engine`: several runs as one JavaScript simulator.

Runs in Python (`contact.run`) call the same routines for the search of contacts, arcs, events, time steps and
the change of the method. They alternate between the methods in Python, because they compile closed-form
solutions and store all that a trajectory reports.
"""
