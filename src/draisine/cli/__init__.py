"""The command line: verbs over the package, no logic of their own; a file for each command.

Everything heavy is imported inside the commands, so that help is there at once.
"""

from draisine.cli._app import main

__all__ = ["main"]
