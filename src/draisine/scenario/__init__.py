"""The scenario file: what it may say, and what it means.

`part`: what all tables share. `schema`: the tables. `terrain`: those of the ground. `validate`: all
mistakes at once. `overrides`: values changed from outside. `library`: scenarios by name. `build`:
from words to machine, law and state.
"""
