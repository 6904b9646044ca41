"""Force elements, one per file; the file's name is its name, and its class is assigned to FORCE.

`linear_tyre`: side slip and camber with relaxation. `load_tyre`: the same in proportion to the load.
`passive_tyre`: linear tyre with a passive camber thrust. `sharp_tyre`: linear tyre of Sharp (1971).
`brush_tyre`: combined slip and sliding. `magic_formula`: measured tyres. `rolling_resistance`: rolling and
spinning resistance of a wheel. `air_drag`: drag of a body in wind. `joint_friction`: dry friction of a
joint. `_tyre`: definitions shared by all tyres.
"""
