"""One file for each kind of scenario."""
