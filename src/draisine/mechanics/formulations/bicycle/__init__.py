"""Independent derivations of the bicycle alone, one file each; `_drawing` reads a model as one."""
