"""Slow, independent ways to move a machine, to compare with."""
