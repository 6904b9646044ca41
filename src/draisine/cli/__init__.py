"""The command line: one command per file, without computations of its own.

Commands import heavy modules inside their functions, so that help appears at once. `_app`: the
application and its error messages, `_hints`: suggestions for wrong command lines, `_options`: shared
options, `_screen`: tables, notes and progress, `_files`: output files, `_templates`: files written by
`draisine new`, `_robot`: those for robots, `_report`: results on the screen.
"""

from draisine.cli._app import main

__all__ = ["main"]
