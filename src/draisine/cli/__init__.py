"""Command line interface: one module per command; commands call other subpackages for all computations.

Commands import heavy modules inside their functions, so that help appears at once. `_app`
defines the application and its error messages, `_hints` suggests corrections of wrong command
lines, `_options` defines shared options, `_screen` prints tables, notes and progress, `_files`
writes output files, `_templates` and `_robot` contain the files that `draisine new` writes, and
`_report` prints results.

"""

from draisine.cli._app import main

__all__ = ["main"]
