"""Contact modes on a terrain: which wheel is on which feature, and whether it rolls or slides."""

Key = tuple[str, str]
"""A contact by the names of its wheel and its feature."""

TerrainMode = tuple[tuple[Key, str], ...]
"""The closed contacts, (wheel, feature) with their status, rolling or sliding; all others are open."""

STATUS = {1: "sliding", 3: "rolling"}
"""The name of a status by the number of rows that it holds."""
