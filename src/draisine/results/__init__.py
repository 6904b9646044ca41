"""What a run left, and questions to it.

`attributes`: what a dataset tells of itself. `bodies`: where bodies are. `quantities`: what follows
from a dataset. `questions`: what can be asked of one, by name. `straight` and `cycle`: what is known
of straight running and of a limit cycle. `events`: events as records. `comparison`: two runs side by
side. `runs`: those of a sweep. `recording`: files of measurements. `store`: files. `zarr_store`: what a
folder of chunks must be.
"""
