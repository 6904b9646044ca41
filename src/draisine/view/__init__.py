"""Pictures of runs, maps and machines.

`plot`: the figure that tells most, or one by name. `style`: colours and labels. `layout`: room for
panels and titles. `scene`: shapes in space. `figures`: one figure per file. `film`: moving pictures.
`replay`: a page that replays a run. `gltf`: a scene for other programs. `explore`: a page with sliders.
`notebook`: pictures below cells. `save`: files.
"""
