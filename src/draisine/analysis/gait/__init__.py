"""Machines that hang by their grips: the return map, and one cycle measured."""
