"""`draisine ride`."""

from pathlib import Path

from draisine.cli._keep import tell_file
from draisine.cli._screen import fail, progress_bar


def ride(
    what: str | None = None,
    /,
    *,
    preset: str = "steer-torque",
    port: int = 0,
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
    from draisine.results.store import check_target

    if export is not None:
        from draisine.ride.export import ride_page

        check_target(export, (".html",))
        with tell_file("page", export), progress_bar(f"writing {export}") as progress:
            write_text(ride_page(progress, what or preset), export)
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
    serve(what, preset, port, not no_browser, record)
    return 0
