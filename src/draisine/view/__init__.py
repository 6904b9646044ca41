"""Figures, films and interactive pages of runs, maps and vehicles.

`plot` draws the default figure of a result, or a figure by name. `style` defines colours and labels, `layout`
arranges panels and texts, `scene` describes vehicle and ground as shapes in space, `figures` contains one
module per figure, `documents` draws the figures of the founding documents, `concepts` those that explain an
idea, `film` writes films, `replay` an
interactive 3D replay page, `gltf` a 3D scene for other programs, `explore` a page with sliders, `notebook`
shows output below cells, and `save` writes figure files.

"""
