"""`draisine schema`: prints the JSON Schema of scenario files."""

from draisine.cli._screen import print_json


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from draisine.scenario.schema import schema as scenario_schema

    print_json(scenario_schema())
