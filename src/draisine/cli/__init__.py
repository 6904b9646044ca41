"""The command line: a command per file, verbs over the package, no logic of their own.

Everything heavy is imported inside the commands, so that help is there at once. `_app`: the commands
together, `_answers`: what people mean by others. `_options`: what they share. `_screen`: tables and
progress. `_keep`: files. `_templates`: files to begin with, `_robot`: those that read robots. `_report`:
results on the screen.
"""

from draisine.cli._app import main

__all__ = ["main"]
