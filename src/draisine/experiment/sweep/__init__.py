"""The runs of a sweep.

`designs`: which runs there are. `lanes`: runs side by side, and `samples` of them while they last.
`chunks`: some runs carried out. `engines`: who does that. `driver`: chunks put together. `table`: what
is known of each, as a dataset. `store`: the same on disk, chunk by chunk.
"""
