"""Riders, designed and analysed.

`preview`: optimal path following with delay and preview. `loops`: loop transfer functions, margins, ranges
of speed, nested loops by crossover frequencies. `handling`: metrics of manoeuvres and of steady turns.
"""
