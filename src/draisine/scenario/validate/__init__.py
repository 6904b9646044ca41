"""Each part of a scenario checked, with all its mistakes at once."""
