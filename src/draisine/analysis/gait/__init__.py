"""Machines that hang by their grips: `map`, the return map of a gait, and `stride`, one cycle measured."""
