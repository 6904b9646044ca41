"""Riders as controllers: design and analysis of rider models.

`preview`: linear-quadratic path following with reaction delay, muscles and preview of the path.
`loops`: loop transfer functions, stability margins, stable speed ranges, and nested loops.
`handling`: handling indices of manoeuvres and of steady turns.
"""
