"""Pictures of runs, maps and machines: `draw(data, axes)` in one file each returns the axes."""
