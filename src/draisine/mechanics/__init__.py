"""How the machine moves: pure functions over any scalar.

`tree`: the drawing as links in their own frames. `kinematics`: where links are and how they move.
`base`: the base and its group. `readings`: what laws and outputs can read of a state.
`newton_euler`: wrenches, inverse dynamics and the mass matrix; `articulated`: the same by
articulated bodies. `energy`: energies and momenta.
`applied`: joint torques and pushes as generalised forces. `contact`: where shapes touch.
`constraints`: the rows of contacts and prescribed joints; `couplings`: those of gears and closed
loops; `rank`: which of them repeat others. `kernel`: the kernel of the rows by elimination.
`formulations`: ways to the accelerations. `connection`: locomotion read as a connection.
"""
