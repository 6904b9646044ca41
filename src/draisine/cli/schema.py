"""`draisine schema`."""

from draisine.cli.screen import print_json


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from draisine.experiment.scenario import schema as found

    print_json(found())
