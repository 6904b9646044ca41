"""Doors to other programs' files and interfaces, one file each."""
