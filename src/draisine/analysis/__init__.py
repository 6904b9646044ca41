"""Analysis of the motions of a system: steady motions, linear systems, stability, derivatives, fits.

`differentiate`: exact derivatives of traced programs and of matrix expressions.
`variation`: exact derivatives of the equations of motion at given states.
`grounded`: exact derivatives of the equations of motion on a terrain, in one contact mode.
`symmetry`: translations and rotations that change neither a ground nor gravity.
`equilibrium`: steady motions with prescribed quantities, by Newton's method and continuation.
`linear`: linear systems about steady motions and along simulated runs.
`floquet`: Floquet multipliers of periodic runs.
`eigenmodes`: eigenvalues about steady motions, sorted by continuation in the speed.
`root_locus`: eigenvalues about steady motions while any prescribed quantity changes.
`lqr`: linear-quadratic regulators.
`rider`: rider control on paths, loop transfer functions and handling indices.
`gradient`: derivatives of simulated motions by parameters and initial values, also through events.
`metrics`: metrics of time series.
`identify`: parameters from measurements, by weighted least squares.
`continuation`: families of steady motions, by pseudo-arclength continuation.
`return_map`: limit cycles as fixed points of return maps.
`gait`: return maps of climbers and walkers.
`connection`: displacements of the base by cyclic motions of the joints (geometric phase).
`bicycle`: straight running and steady turning of two-wheelers.
"""
