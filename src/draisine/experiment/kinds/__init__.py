"""What each kind of scenario does: `linear`, `cycle`, `gait`, `map`, `sweep`."""
