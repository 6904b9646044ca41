"""Execution of scenarios, and comparison of their results with published numbers.

Modules in the order of the data: `run` runs a scenario of any kind, `kinds` has one module per kind
of scenario, `sweep` runs many variants of a scenario, `check` compares results with expected numbers,
`printed` judges the numbers that the founding documents print, `report` summarises a result as text lines,
tables and JSON, `tables` computes the tables of other commands (critical speeds, steady circles, limit
cycles), `equations` writes the equations of motion of a vehicle, and `simulator` writes complete simulators
as source code.
"""
