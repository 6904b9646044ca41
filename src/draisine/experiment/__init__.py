"""The doing: scenarios carried out and held against published numbers.

`run`: a scenario carried out. `kinds`: what each kind does. `sweep`: many runs. `check`: ours against
theirs. `report`: a result in words. `tables`: what commands print. `equations`: one program of a
machine as text. `simulator`: whole simulators in files.
"""
