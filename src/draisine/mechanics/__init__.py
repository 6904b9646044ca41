"""Kinematics and dynamics of the multibody system, as pure functions over any scalar type.

`tree`: links and their frames, assembled from the model.
`kinematics`: forward kinematics (poses, velocities, accelerations, Jacobians of points).
`base`: the base and its Lie group.
`readings`: quantities that control laws, force elements, outputs and sensors (one file each in `sensors`)
read.
`newton_euler`: inverse dynamics (recursive Newton-Euler) and the mass matrix (composite bodies).
`energy`: energies and momenta.
`applied`: generalised forces of joint torques, external forces and force elements (one file each in
`forces`).
`loads`: force elements that depend on normal forces, solved together with these forces.
`contact`: contact geometry of wheels on faces, edges and vertices of a terrain, and contact modes in closed
form.
`constraints`: constraint rows of contacts and prescribed joints.
`couplings`: constraint rows of gears and closed loops.
`kernel`: null space of the constraint rows by elimination.
`formulations`: formulations of the equations of motion (projected, multiplier, absolute, bicycle).
`connection`: locomotion as a connection on a principal bundle.
"""
