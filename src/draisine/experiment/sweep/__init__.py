"""The runs of a sweep.

`designs`: which runs there are. `lanes`: runs side by side, `samples` of them while they last, and
`free_law`: laws whose numbers differ. `chunks`: some runs carried out. `engines`: who does that.
`driver`: chunks put together. `table`: what is known of each, as a dataset. `store`: the same on disk,
chunk by chunk.
"""
