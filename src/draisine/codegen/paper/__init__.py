"""Printers of readable equations: each file writes a `codegen.formula.Page` in one language.

`_layout` tells what stands beside each other and where long lines break; `_infix` writes
formulas on one line.
"""
