"""Printers of readable equations: the function `write` of each file returns a `codegen.formula.Page` as text
in one language (LaTeX, HTML, SymPy, C ...); SUFFIX is the suffix of its files.

`_layout` arranges lines in columns and breaks long lines. `_infix` writes formulas on one line.
"""
