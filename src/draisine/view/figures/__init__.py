"""Figures, one file each with a function `draw`."""
