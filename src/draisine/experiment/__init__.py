"""Execution of scenarios, and comparison of their results with published numbers.

Modules in the order of the data: `run` runs a scenario of any kind, `kinds` has one module per kind
of scenario, `sweep` runs many variants of a scenario, `check` compares results with expected numbers,
`report` summarises a result as lines, tables and JSON, `tables` computes what other commands print,
`equations` writes one program of a machine, and `simulator` writes complete simulators as source code.
"""
