"""What each kind of scenario does: `linear`, `cycle`, `map`, `sweep`."""
