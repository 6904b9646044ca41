"""`draisine ride`: interactive simulation in the browser."""

from pathlib import Path

from draisine.cli._files import report_written_file
from draisine.cli._screen import print_error, progress_bar

DEFAULT_PRESET = "steer-torque"
"""Preset of the first ride: keys apply a steer torque, the most direct control."""


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
    """Ride a bicycle, or any other machine, interactively in the browser.

    Parameters
    ----------
    what
        Vehicle or scenario to ride instead of a preset.
    preset
        Preset of the first ride: steer-torque, steer-angle, steer-lean, self-stable, weave, fall,
        capsize, skate, slope, ramp, kerb, wheelie or brake.
    port
        Port on this computer. Default: a free one.
    no_browser
        Print the address without opening the browser.
    record
        Write the last ride to this file (.nc, .zarr); `draisine run FILE` repeats it.
    export
        Write a page that simulates all presets without a server.
    """
    from draisine.codegen.files import write_text
    from draisine.errors import ParameterError
    from draisine.results.store import check_target

    if what is not None and preset is not None:
        raise ParameterError(f"Use either --preset {preset} or {what}, not both.")
    if export is not None:
        from draisine.ride.export import ride_page

        _check_exported_page(
            {"--port": port, "--no-browser": no_browser or None, "--record": record}
        )
        check_target(export, (".html",))
        with report_written_file("page", export), progress_bar(f"writing {export}") as progress:
            write_text(ride_page(progress, what or preset or DEFAULT_PRESET), export)
        return 0
    if record is not None:
        check_target(record, (".nc", ".zarr"))
    try:
        from draisine.ride.serve import serve
    except ImportError as error:
        return print_error(
            f"Riding needs more packages ({error}). Install them: pip install 'draisine[ride]'", 2
        )
    serve(what, preset or DEFAULT_PRESET, port or 0, not no_browser, record)
    return 0


def _check_exported_page(options: dict[str, object]) -> None:
    """Raise an error if options of the server are used with an exported page."""
    from draisine.errors import ParameterError

    for option, value in options.items():
        if value is not None:
            raise ParameterError(
                f"{option} has no effect on an exported page. Leave it out, or leave out --export."
            )
