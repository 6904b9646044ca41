"""Time stepping on a terrain: contacts and friction at impulse level, in steps without event location.

- `step`: one step of Moreau and Jean's scheme, as routines.
- `motors`: torque limits of motors within a step, as routines.
- `grid`: a sequence of steps, the choice of their length, and their samples, as routines.
- `search`: the contacts near the wheels, as routines.
- `loop`: the steps of an arc with searches and choices of their length, as routines.
- `switch`: criteria for changing between event location and time stepping, as routines.
- `method_change`: the changes between event location and time stepping, as routines.
- `arc`: the records of time steps in Python, and mean contact forces.
"""
