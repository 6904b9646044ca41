"""`draisine ride`."""

from pathlib import Path

from draisine.cli._keep import tell_file
from draisine.cli._screen import fail, progress_bar

FIRST = "steer-torque"
"""The ride to begin with, if none is named."""


def ride(
    what: str | None = None,
    /,
    *,
    preset: str | None = None,
    port: int | None = None,
    no_browser: bool = False,
    record: Path | None = None,
    export: Path | None = None,
) -> int:
    """Ride the bicycle in the browser.

    :param what: A vehicle of yours or of the package, or a scenario, to ride instead of the presets.
    :param preset: Which ride to begin with: steer-torque, steer-angle, steer-lean, self-stable, weave, fall,
        capsize, skate, slope, ramp, kerb, wheelie or brake.
    :param port: The port on this computer; a free one if not given.
    :param no_browser: Only print the address.
    :param record: Write the last ride to this file (.nc, .zarr); `draisine run` repeats it.
    :param export: Write a page that rides bicycles on smooth ground by itself, from disk or any web server;
        it begins with --preset, which is none of ramp, kerb, wheelie and brake.
    """
    from draisine.codegen.files import write_text
    from draisine.errors import ParameterError
    from draisine.results.store import check_target

    if what is not None and preset is not None:
        raise ParameterError(f"--preset {preset}: {what} is ridden; name one of both.")
    if export is not None:
        from draisine.ride.export import ride_page

        _check_served({"--port": port, "--no-browser": no_browser or None, "--record": record})
        check_target(export, (".html",))
        with tell_file("page", export), progress_bar(f"writing {export}") as progress:
            write_text(ride_page(progress, what or preset or FIRST), export)
        print(
            "it rides on smooth ground; ramp, kerb, wheelie and brake are ridden by `draisine ride`"
        )
        return 0
    if record is not None:
        check_target(record, (".nc", ".zarr"))
    try:
        from draisine.ride.serve import serve
    except ImportError as error:
        return fail(f"riding needs a few more packages ({error}): pip install 'draisine[ride]'", 2)
    serve(what, preset or FIRST, port or 0, not no_browser, record)
    return 0


def _check_served(options: dict[str, object]) -> None:
    """Refuse options of a ride that is served, where a page is written."""
    from draisine.errors import ParameterError

    for option, value in options.items():
        if value is not None:
            raise ParameterError(f"{option} goes with a ride that is served, not with --export.")
