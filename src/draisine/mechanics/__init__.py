"""Kinematics and dynamics of the machine, as pure functions over any scalar.

`tree`: links and their frames, assembled from the drawing. `kinematics`: forward kinematics (poses,
velocities, accelerations, Jacobians of points). `base`: the base and its group. `readings`: quantities
that control laws, force elements and outputs read. `newton_euler`: inverse dynamics and the mass matrix.
`energy`: energies and momenta. `applied`: generalised forces of joint torques, pushes and force elements
(one file each in `forces`). `loads`: force elements that depend on normal forces, solved together with
them. `contact`: contact geometry. `constraints`: rows of contacts and prescribed joints. `couplings`: rows
of gears and closed loops. `kernel`: null space of the rows by elimination. `formulations`: ways from
forces to accelerations. `connection`: locomotion as a connection on a principal bundle.
"""
