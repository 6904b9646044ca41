"""Validation of scenarios: each table is read once, and either built or reported with all mistakes.

`mistakes`: the list of mistakes. `vehicle`: the machine. `motion`: start, laws, inputs. `terrain`: the
ground. `expectations`: expected values. `scenario`: all tables.
"""
