"""Figures, films and pages of runs, maps and machines.

`plot` draws the default figure of a result, or one by name. `style` has colours and labels,
`layout` sizes and positions of panels and texts, `scene` shapes in space, `figures` one figure per
file, `film` films, `replay` an interactive 3D replay page, `gltf` scenes for other programs,
`explore` a page with sliders, `notebook` output below cells, and `save` files.
"""
