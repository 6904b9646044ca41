"""Straight running and turning of a bicycle."""
