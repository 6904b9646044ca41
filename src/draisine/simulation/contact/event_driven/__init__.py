"""Event-driven integration on a terrain, as routines: high-order arcs within a contact mode, and the events
between them.

Within a mode the closed contacts are constraints, and the equations of motion are smooth. An arc ends at the
first zero of a guard function; there an impact or a change of the active set leads to the next mode.

- `run_loop`: the loop over arcs and events of one call from Python.
- `arc_integration`: integration of one arc with dense output, and location of its first event.
- `radau`: implicit steps of an arc with stiff friction at small slip.
- `short_step`: one step after a change of the inputs, if no event can lie on it.
- `guards`: guard functions and their zeros, by Bernstein polynomials.
- `events`: touching contacts and next mode at an event.
- `impact`: the impact at an event.
"""
