"""Printers of readable equations: each file writes a `codegen.formula.Page` in one language (LaTeX, HTML,
SymPy, C ...).

`_layout` arranges lines in columns and breaks long lines. `_infix` writes formulas on one line.
"""
