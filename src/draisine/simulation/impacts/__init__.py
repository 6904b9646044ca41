"""Models of impact, one file each: from the speeds before to the speeds after, with impulses.

A model is `impact(M, driven, contacts, v, **options) -> Selection`: contacts are those that touch, the
chosen trial's `result` is v after, its `pushes` are the impulses. `_differential`: one contact in the
course of its impact.
"""
