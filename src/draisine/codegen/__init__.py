"""Expressions to programs to text or machine code."""
