"""Machines, one file and one function each."""
