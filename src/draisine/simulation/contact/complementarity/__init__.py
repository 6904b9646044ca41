"""Contact forces and impulses: which contacts are closed, which stick or slide, and by which forces.

`linear`: small dense systems. `saddle_point`: motion and multipliers under constraint rows. `sharing`:
statically indeterminate forces. `single_contact`: Coulomb's law at one contact. `impulses`: at many contacts,
by iteration. `coulomb`: at several contacts, exactly. `active_set`: sets of closed contacts.
"""
