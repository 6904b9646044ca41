"""Solvers of the contact problem.

The contact problem asks which contacts are closed, which of these stick or slide, and for the contact forces
(at acceleration level) or impulses (at impulse level). All solvers use the equations of motion with
constraint rows, M x = f + G' lam and C x = c, and Coulomb's law.

- `linear`: products, orthonormal bases and linear systems of small dense matrices.
- `saddle_point`: motion and multipliers of a given set of constraint rows, which may be redundant.
- `sharing`: choice of the reported forces of statically indeterminate systems.
- `single_contact`: Coulomb's law at one contact in closed form.
- `impulses`: Coulomb's law at many contacts, by Gauss-Seidel sweeps and Newton's method.
- `coulomb`: Coulomb's law at a few contacts, exactly, by their statuses.
- `active_set`: the set of closed contacts without friction limits, by enumeration or pivoting.
"""
