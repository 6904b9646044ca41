"""Time stepping on a terrain: contacts and friction at impulse level, in steps without event location.

`step`: one step of Moreau and Jean's scheme as routines. `arc`: an interval in such steps, from a state
to a sampled motion with its forces. `switch`: when a run changes between event location and steps.
"""
