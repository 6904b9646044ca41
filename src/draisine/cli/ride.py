"""`draisine ride`."""

from draisine.cli._screen import fail


def ride(
    *,
    preset: str = "steer-torque",
    port: int = 0,
    no_browser: bool = False,
) -> int:
    """Ride the bicycle in the browser.

    :param preset: Which ride to begin with; `draisine list` tells them.
    :param port: The port on this computer; a free one if not given.
    :param no_browser: Only print the address.
    """
    try:
        from draisine.ride.serve import serve
    except ImportError as error:
        return fail(f"riding needs a few more packages ({error}): pip install 'draisine[ride]'", 2)
    serve(preset, port, not no_browser)
    return 0
