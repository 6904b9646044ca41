"""Figures, films and interactive pages of runs, maps and vehicles.

- `plot`: draws the default figure of a result, or a figure by name. `figures`: one module per figure.
- `style`: colours, fonts and labels. `layout`: arrangement of panels and texts. `save`: figure files.
- `documents`: the figures of the founding documents (thesis and papers). `concepts`: drawings that explain an
  idea of the thesis.
- `scene`: vehicle and ground as shapes in space.
- `film`: films. `replay`: interactive 3D replay page. `gltf`: 3D scene for other programs.
- `explore`: page with sliders for parameters. `notebook`: output below the cells of a notebook.
"""
