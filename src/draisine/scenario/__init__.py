"""The scenario file: what it may say, and what it means.

`values`: what values look like. `schema`: the tables. `terrain` and `sweep`: those of the ground and
of sweeps. `validate`:
each part read once, giving what it means or what is wrong. `plan`: the whole meaning. `overrides`:
values changed from outside. `first_run`: that of a vehicle without a scenario. `library`: scenarios
by name.
"""
