"""Simulation runs on a terrain without Python: compiled routines that begin and advance a whole run, for
exported simulators.

`run`: begin, advance to a time, change the inputs. `records`: the records of such a run. `observation`:
forces, gaps and outputs at the present state. `source`: all of it as C and JavaScript. `engine`: several runs
as one JavaScript simulator.

Runs in Python (`contact.run`) call the same routines: the loops of both methods, `run_loop.advance_events`
and `stepping.loop.advance_steps`, and `method_change`. Between these calls they compile closed-form solutions
and store all that a trajectory reports.
"""
