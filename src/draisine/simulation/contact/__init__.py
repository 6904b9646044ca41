"""Simulation with unilateral contacts on a terrain: event-driven arcs of high order, and time stepping at
impulse level.

Both methods solve the equations of motion M vdot + F = C' lam with contact forces lam that obey the
complementarity of gap and normal force and Coulomb's law.

- `run`: a run in Python, which calls the loops of both methods and stores their results. `many`: many runs
  over threads. `start`: checks of the initial state.
- `event_driven`: arcs within one contact mode and the events between them, as compiled routines. `driver`:
  the Python side of these routines. `failures`: their errors.
- `stepping`: arcs in time steps (Moreau and Jean), used if event location makes no progress, and the changes
  between both methods.
- `complementarity`: solvers of the contact problem.
- `kernels`: contact rows, accelerations and forces of one contact mode. `status`: statuses of a contact.
- `nearby`: the search of the contacts that are possible near the wheels.
- `query`: gaps, contact rows and forces at single states. `table`: contacts as arrays for routines.
- `samples`, `arc`: forces and gaps at the states of a finished run.
- `standalone`: complete runs as routines, for exports. They call the same loops.
- `tolerances`: absolute bounds of event location, scaled by the system. Solvers define their own relative
  bounds.
"""
