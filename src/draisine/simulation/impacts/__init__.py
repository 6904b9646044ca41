"""Impact models, one file each. A model computes the speeds after an impact and the impulses of the contacts.

A model is a function `impact(given: ImpactProblem, **restitution) -> Selection`. The chosen trial of the
selection contains the speeds v+ after the impact (`result`) and the impulses Lam (`pushes`), with M (v+ - v-)
= C' Lam.

- `_sequence`: impacts of several contacts in the order of their approach velocities.
- `_differential`: impact of a group of contacts as a continuous process with Coulomb friction.
"""
