"""How the machine moves: pure functions over any scalar.

`tree`: the drawing as links in their own frames. `kinematics`: where links are and how they move.
`base`: the base and its group. `readings`: what laws and outputs can read of a state.
`newton_euler`: wrenches, inverse dynamics and the mass matrix. `energy`: energies and momenta.
`applied`: joint torques, pushes and force elements (one per file in `forces`) as generalised forces;
`loads`: elements that read loads, solved together with them. `contact`: where shapes touch.
`constraints`: the rows of contacts and prescribed joints; `couplings`: those of gears and
closed loops. `kernel`: their kernel by elimination.
`formulations`: ways to the accelerations. `connection`: locomotion read as a connection.
"""
