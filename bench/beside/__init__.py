"""Peers, one file each: what `bench/peers.py` finds here it runs, if its package is installed.

A file says which package it needs (`MODULE`), how it is called (`NAME`), and what it does: `prepare(work)`
returns jobs by kind, functions that do all of a job when called:
    "rate"    the right-hand side on two wheels, `Work.repeat` times in compiled code
    "flight"  the right-hand side of the free machine, `Work.repeat` times, called from Python
    "run"     5 s of motion; returns the steer angle at the end
    "lanes"   the same for `Work.many` bicycles; returns their steer angles
    "eigenvalues"  at 400 speeds, modes followed
    "jump"    1.5 s up a ramp, over its lip and half a metre down; returns nothing
What is prepared before (derivation, compilation, loading) is its set-up, timed once. `NOTE` tells what
a reader should know of the numbers.
"""
