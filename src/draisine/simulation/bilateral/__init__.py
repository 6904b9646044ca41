"""Runs with ideal (bilateral) contacts on the level plane, in one contact mode without guards and events.

- `run`: a run in minimal coordinates, the independent speeds of the closed form. `singular`: steps through
  singular shapes.
- `lanes`: many runs at once, one per SIMD lane.
"""
