"""Routines of event-driven arcs: integration of high order within a mode, and the events between modes.

`run_loop`: a call from arc to event to arc. `arc_integration`: one arc; `radau`: its steps if friction turns
slow slips; `short_step`: one step on which no event lies. `guards`: the functions whose zeros are events.
`events`: contacts and next mode at an event; `impact`: the impact there.
"""
