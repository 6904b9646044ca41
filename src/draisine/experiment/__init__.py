"""Experiments as data: scenario files, their runs, and published numbers held against ours."""
