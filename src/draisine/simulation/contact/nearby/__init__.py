"""The broad phase: which contacts are possible near the wheels.

A run watches the gaps of a few contacts only. They are searched when a wheel leaves the boxes of the last
search.

- `search`: the table of nearby contacts and its search, as compiled routines, for runs and for exports.
- `ground`: the ground features near a run as arrays, loaded from a terrain of any size.
- `contacts`: the Python side of a search, which makes its records and reads its result.
"""
