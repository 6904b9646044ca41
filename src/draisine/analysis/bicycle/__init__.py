"""Straight running and steady turning of bicycles and other two-wheelers.

`straight`: canonical matrices of straight running (Meijaard et al. 2007) from the nonlinear model.
`eigenvalues`: eigenvalues over speed, sorted into weave, capsize and castering.
`followed`: eigenvalues over speed of any two-wheeler, including wobble.
`critical`: critical speeds, at which the stability changes.
`sensitivity`: derivatives of critical speeds by parameters.
`mode_sensitivity`: derivatives of eigenvalues of any two-wheeler, and of the growth of an eigenmode.
`uncertainty`: standard deviations of eigenvalues and critical speeds due to uncertain parameters.
`turning`: speed, steer torque and friction of steady circles over lean and steer.
"""
