"""Each part of a scenario read once: what checks it builds it, or tells all its mistakes.

`mistakes`: what a mistake is. `vehicle`: the machine. `motion`: start, laws, inputs. `terrain`: the
ground. `expectations`: expected numbers. `scenario`: the whole.
"""
