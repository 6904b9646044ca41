"""What can be said of motions without running them.

`differentiate`: derivatives of programs and matrices. `variation`: a state and its neighbours.
`equilibrium`: steady motions. `linear`: linear systems about them. `eigenmodes`: their eigenvalues,
followed along the speed. `lqr`: state feedback from these. `rider`: riders on paths, their loops. `gradient`:
motions with their derivatives, through events too. `metrics`: numbers of a whole motion. `identify`:
parameters from measurements. `continuation`: families of steady motions. `return_map`: limit cycles as
fixed points. `gait`: machines that hang by their grips. `connection`: what gaits of the joints do.
`bicycle`: straight running and turning.
"""
