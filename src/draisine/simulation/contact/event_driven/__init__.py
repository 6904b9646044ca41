"""Event-driven integration of a system on a terrain by compiled routines.

A contact mode is a set of closed contacts with the status (rolling or sliding) of each. Within one contact
mode the closed contacts are constraints, and the equations of motion are smooth. A method of high order
integrates this smooth arc of the trajectory. The arc ends with an event, the first zero of a guard function.
At the event, an impact or a change of the active set leads to the next contact mode.

- `run_loop`: loop over arcs and events in one call from Python.
- `arc_integration`: integration of one arc with dense output, and location of its first event.
- `radau`: implicit integration steps for stiff friction at small slip.
- `short_step`: one cheap step after a change of the inputs, accepted if no event can occur during the step.
- `guards`: list of guard functions, and location of their zeros by Bernstein polynomials.
- `events`: touching contacts at an event, and the contact mode after it.
- `rank`: rank of the constraint rows of rolling contacts, for the change to time stepping.
- `impact`: change of the speeds by the impact at an event.
- `entries`: the machine code of all routines that Python calls.
"""
