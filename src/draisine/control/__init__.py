"""Control laws, one file each, written over any scalar: `law(view, z) -> (inputs by name, zdot)`.

A law is a frozen dataclass: its fields are its numbers, `states` is how many states z of its own it
has, `breakpoints` are the times at which it may jump. It is traced into the compiled code.
"""
