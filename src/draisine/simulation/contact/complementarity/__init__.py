"""Which contacts carry, and by which forces or impulses: none pulls, none sinks.

`linear`: small dense systems. `coulomb`: friction. `active_set`: sets of closed contacts. `impulses`:
friction at impulse level, for time steps.
"""
