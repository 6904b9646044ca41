"""A machine and its ground as shapes in space."""
