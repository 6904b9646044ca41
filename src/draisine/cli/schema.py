"""`draisine schema`."""

from draisine.cli._screen import print_json


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from draisine.scenario.schema import schema as found

    print_json(found())
