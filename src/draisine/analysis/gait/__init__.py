"""Limit cycles of climbers and walkers.

`map`: the return map of a climber whose grips change at fixed times. `stride`: quantities of one of its
cycles. `walk`: the return map of a walker, whose next step begins at touch-down. `footstep`: quantities of
one of its steps. `basin`: starts from which it does not fall.
"""
