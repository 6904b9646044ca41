"""What each kind of scenario does: `run`, `linear`, `cycle`, `gait`, `map`."""
