"""Analyses that commands print as tables: steady `circles` of a bicycle, `critical` speeds over
parameters, limit `cycles`, straight running on `inclined` planes and root `loci`.
"""
