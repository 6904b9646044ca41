"""Printers of readable equations: each file writes a `codegen.formula.Page` in one language.

`_layout`: arrangement of lines in columns, and breaks of long lines. `_infix`: formulas on one line.
"""
