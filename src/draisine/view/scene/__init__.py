"""A machine and its ground as shapes in space.

`skeleton` has the positions of joints and rims, `shapes` the outlines of bodies, `paths` the paths
of contact points, `ground` patches of terrain, `scene` all of them in motion, `description` the
same as data for pages, `camera` the projection, and `sketch` a drawing in text.
"""
