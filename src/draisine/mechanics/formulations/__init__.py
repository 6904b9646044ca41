"""Ways to the same accelerations, one file each."""
