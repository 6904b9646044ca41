"""What can be said of motions without running them.

`differentiate`: derivatives of programs and matrices. `variation`: a state and its neighbours.
`equilibrium`: steady motions by what is prescribed. `linear`: linear systems about motions and along
runs. `floquet`: multipliers of periodic runs. `eigenmodes`: eigenvalues about steady motions, followed along
the speed. `root_locus`: the same while any value changes. `lqr`: state feedback from these. `rider`: riders
on paths, their loops. `gradient`: motions with their derivatives, through events too. `metrics`: numbers of
a whole motion. `identify`: parameters from measurements. `continuation`: families of steady motions.
`return_map`: limit cycles as fixed points. `gait`: machines that hang by their grips. `connection`: what
gaits of the joints do. `bicycle`: straight running and turning.
"""
