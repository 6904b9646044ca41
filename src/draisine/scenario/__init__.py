"""Scenario files: their format, validation, and the objects that they describe.

`values`: types of values. `schema`: the tables, `terrain` and `sweep`: those of the ground and of
sweeps. `validate`: conversion of each table into objects, with all mistakes. `plan`: the objects of a
valid scenario. `overrides`: changes by key path. `first_run`: a default scenario of a vehicle.
`library`: scenarios by name or file.
"""
