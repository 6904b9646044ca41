"""Limit cycles of machines that step. `map`: the return map of grips that take turns by the clock, and
`stride`: one cycle of it, measured. `walk`: the return map of a walker, whose next step begins when
a foot comes down, and `footstep`: one step of its cycle, measured; `basin`: which starts do not
fall.
"""
