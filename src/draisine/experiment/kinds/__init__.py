"""Computations behind the kinds of scenarios: `run`, `linear`, `cycle`, `gait` and `map`."""
