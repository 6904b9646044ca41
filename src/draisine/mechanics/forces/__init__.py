"""Force elements, one per file. The name of the file names the element, and FORCE is its class.

`linear_tyre`: passive linear tyre with side slip, spin and relaxation.
`load_tyre`: linear tyre whose forces are proportional to the load.
`passive_tyre`: linear tyre whose camber thrust follows from a lever arm.
`sharp_tyre`: linear tyre of Sharp (1971).
`brush_tyre`: brush tyre with combined slip and sliding.
`magic_formula`: Magic Formula, fitted to measured tyres.
`rolling_resistance`: rolling and spinning resistance of a wheel.
`air_drag`: aerodynamic drag of a body in wind.
`joint_friction`: dry friction of a joint, without states.
`sticking_friction`: dry friction of a joint that sticks without creep.
`_tyre`: base class of all tyres.
"""
