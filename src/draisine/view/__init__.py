"""Pictures of runs, maps and machines.

`style`: colours and labels. `scene`: shapes in space. `figures`: one figure per file. `film`: moving
pictures. `replay`: a page that replays a run. `save`: files.
"""
