"""Runs on a terrain: arcs of one mode each, and the events between them."""
