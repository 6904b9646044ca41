"""Independent derivations of the bicycle alone."""
