"""A vehicle and its ground as shapes in space.

- `skeleton`: positions of joints and points on rims. `shapes`: outlines of bodies.
- `paths`: refined paths of contact points. `ground`: polygons of the terrain around a path.
- `scene`: all shapes of a run over time. `description`: shapes as data for pages.
- `camera`: perspective projection of a scene. `sketch`: drawing of a vehicle as text.
"""
