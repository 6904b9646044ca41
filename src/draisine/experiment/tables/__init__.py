"""Analyses that commands print as tables.

`circles`: steady circles of two-wheelers; `critical`: critical speeds over parameters; `cycles`: limit
cycles; `inclined`: straight running on inclined planes; `loci`: root loci.

"""
