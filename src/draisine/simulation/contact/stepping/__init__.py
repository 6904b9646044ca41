"""Time stepping on a terrain: contacts and friction at impulse level, in steps without event location.

- `step`: one step of Moreau and Jean's scheme, as routines.
- `arc`: a sequence of steps with step-size control, sampled states and mean contact forces.
- `switch`: criteria for changing between event location and time stepping.
"""
