"""Numbers of every kind, and rotations over them: `scalar`, `trace`, `lie`."""
