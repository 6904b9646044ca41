"""Impact models, one file each: they compute the speeds after an impact and the impulses of the contacts.

A model is a function `impact(given: ImpactProblem, **restitution) -> Selection`. The `result` of the chosen
trial is the speeds v+ after the impact, its `pushes` are the impulses; both satisfy M (v+ - v-) = C' Lam.

- `_sequence`: impacts of several contacts in the order of their approach velocities.
- `_differential`: impact of a group of contacts as a continuous process with Coulomb friction.
"""
