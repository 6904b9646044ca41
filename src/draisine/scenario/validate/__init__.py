"""Each part of a scenario checked, with all its mistakes at once.

`mistakes`: what a mistake is. `names`: names and values. `terrain`: the ground. `expectations`:
expected numbers.
"""
