"""The runs of a sweep.

`designs`: which runs there are. `lanes`: runs side by side. `table`: what is known of each, as a
dataset. `store`: the same on disk, chunk by chunk.
"""
