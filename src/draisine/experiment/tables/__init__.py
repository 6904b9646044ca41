"""Tables that commands print: `circles` that a bicycle runs, `critical` speeds against a parameter,
limit `cycles`, root `loci`.
"""
