"""Ways to write a program out, one file each with a function `emit`."""
