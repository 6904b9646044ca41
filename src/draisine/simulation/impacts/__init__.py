"""Models of impact, one file each: from the speeds before to the speeds after, with impulses.

A model is `impact(given: ImpactProblem, **restitution) -> Selection`: the chosen trial's `result` is v
after, its `pushes` are the impulses. `_differential`: one contact in the course of its impact.
"""
