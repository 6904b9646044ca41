"""Pictures of runs, maps and machines.

`plot`: the figure that tells most, or one by name.
`style`: colours and labels. `scene`: shapes in space. `figures`: one figure per file. `film`: moving
pictures. `replay`: a page that replays a run. `explore`: a page with sliders. `notebook`: pictures below
cells. `save`: files.
"""
