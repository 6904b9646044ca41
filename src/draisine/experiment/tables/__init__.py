"""Analyses that commands print as tables.

`circles`: steady circles of two-wheelers; `critical`: critical speeds over parameters; `cycles`:
limit cycles; `loci`: root loci.

"""
