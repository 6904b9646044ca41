"""Printers of readable equations: each file writes a `codegen.formula.Page` in one language."""
