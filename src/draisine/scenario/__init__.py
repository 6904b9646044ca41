"""The scenario file: what it may say, and what it means.

`values`: what values look like. `schema`: the tables. `terrain` and `sweep`: those of the ground and
of sweeps. `validate`:
each part read once, giving what it means or what is wrong. `plan`: the whole meaning. `overrides`:
values changed from outside. `library`: scenarios by name.
"""
