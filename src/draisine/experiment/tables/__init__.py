"""Tables that commands print: `circles` that a bicycle runs hands-free, limit `cycles`."""
