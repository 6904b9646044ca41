"""Limit cycles of climbers and walkers, as fixed points of their return maps.

`map`: return map of a climber whose grips change at fixed times.
`stride`: displacement, torques, forces and impacts of one cycle of a climber.
`walk`: return map of a walker, whose next step begins at touch-down.
`footstep`: duration, length, speed and energy loss of one step of a walker.
`basin`: basin of attraction, the initial states from which a walker does not fall.
"""
