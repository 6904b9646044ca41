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
    rate: str | None = None,
) -> int:
    """Ride a bicycle, or any other machine, interactively in the browser.

    Parameters
    ----------
    what
        Vehicle or scenario to ride instead of a preset.
    preset
        Preset of the first ride: steer-torque, steer-angle, steer-lean, self-stable, weave, fall,
        capsize, skate, slope, hills, ramp, kerb, wheelie or brake; or a task: slalom, circle, slow,
        lane, landing, stop or ice.
    port
        Port on this computer. Default: a free one.
    no_browser
        Print the address without opening the browser.
    record
        Write the last ride to this file (.nc, .zarr); `draisine run FILE` repeats it.
    export
        Write a page that simulates all presets without a server.
    rate
        Ride your own equations of motion: FILE.py:function with `rate(t, y, u)`, for the benchmark
        bicycle on level ground. The preset steer-lean adds the leaning upper body to y.
    """
    from draisine.codegen.files import write_text
    from draisine.errors import ParameterError
    from draisine.results.store import check_target

    if what is not None and preset is not None:
        raise ParameterError(f"Use either --preset {preset} or {what}, not both.")
    if rate is not None:
        _check_own_rate(rate, {what: what, "--record": record, "--export": export})
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
    serve(what, preset or DEFAULT_PRESET, port or 0, not no_browser, record, rate)
    return 0


def _check_own_rate(rate: str, options: dict[str | None, object]) -> None:
    """Raise an error if the function is not in a file, or if options do not apply to it."""
    from draisine.errors import ParameterError
    from draisine.registry import is_file

    if not is_file(rate):
        raise ParameterError(f"--rate {rate} must be a function in a file, as mine.py:rate.")
    for option, value in options.items():
        if value is not None:
            raise ParameterError(
                f"{option} does not apply to your own equations of motion. Leave it or --rate out."
            )


def _check_exported_page(options: dict[str, object]) -> None:
    """Raise an error if options of the server are used with an exported page."""
    from draisine.errors import ParameterError

    for option, value in options.items():
        if value is not None:
            raise ParameterError(
                f"{option} has no effect on an exported page. Leave it out, or leave out --export."
            )
