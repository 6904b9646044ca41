"""Impact models, one file each: from the speeds before to the speeds after, with impulses.

A model is `impact(given: ImpactProblem, **restitution) -> Selection`: the chosen trial's `result` is v
after, its `pushes` are the impulses. `_sequence`: contacts in the order of their approach, ties
together. `_differential`: the impact of such a group as a process.
"""
