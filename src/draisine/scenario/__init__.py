"""Scenario files (TOML): format, validation, and the objects that a scenario describes.

`values` defines the types of values, `schema` the tables of a file, `terrain` and `sweep` the
tables of the ground and of sweeps. `validate` converts the tables into objects and collects all
mistakes. `plan` contains the objects of a valid scenario. `overrides` changes values by key
path. `expression` parses the heights of a road, `smooth_start` places a machine on smooth ground.
`first_run` makes a default scenario of a vehicle. `library` finds scenarios by name or
file.

"""
