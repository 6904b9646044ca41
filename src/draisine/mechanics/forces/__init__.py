"""Force elements: one per file, found by its file's name; its class is called FORCE there.

`linear_tyre`: side slip and camber with relaxation. `load_tyre`: the same in proportion to the load.
`passive_tyre`: with camber that creates no energy. `air_drag`: a body in the wind. `joint_friction`: dry
friction of a joint. `brush_tyre`: slips both ways, and sliding. `magic_formula`: measured tyres.
`rolling_resistance`: of a wheel that rolls or turns. `_tyre`: what all tyres have.
"""
