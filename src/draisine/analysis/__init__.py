"""Analysis of motions: steady motions, linear systems, stability, derivatives, parameters from measurements.

`differentiate`: derivatives of programs and matrices. `variation`: derivatives of a machine at states.
`equilibrium`: steady motions with prescribed quantities. `linear`: linear systems about motions and along
runs. `floquet`: multipliers of periodic runs. `eigenmodes`: eigenvalues about steady motions, followed along
the speed. `root_locus`: the same while any value changes. `lqr`: linear-quadratic regulators. `rider`: riders
on paths, their loops. `gradient`: motions with their derivatives, also through events. `metrics`: metrics of
time series. `identify`: parameters from measurements. `continuation`: families of steady motions.
`return_map`: limit cycles. `gait`: climbers and walkers. `connection`: displacements by cyclic
motions of the joints. `bicycle`: straight running and turning.
"""
