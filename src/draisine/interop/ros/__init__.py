"""ROS 2: messages of a machine, a node that simulates it, and bags of stored runs.

`messages` converts states of a machine to messages and needs no other package. `odometry` computes the pose
of a robot from its wheel angles. `node` publishes the messages of a running simulation (package rclpy), and
`bag` writes those of a stored run to a file (package rosbags).
"""
