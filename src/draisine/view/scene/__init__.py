"""A vehicle and its ground as shapes in space.

`skeleton` computes the positions of joints and rims, `shapes` the outlines of bodies, `paths` the paths of
contact points, and `ground` patches of terrain. `scene` combines them for a motion, `description` converts
them to data for pages, `camera` projects them, and `sketch` draws a vehicle as text.

"""
