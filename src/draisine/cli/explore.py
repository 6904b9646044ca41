"""`draisine explore`: an HTML page with sliders for the parameters of a bicycle or motorcycle."""

from pathlib import Path

from draisine.cli._files import open_file, report_written_file, unused_path
from draisine.cli._options import NO_MACHINE_OPTIONS, MachineOptions, Overwrite


def explore(
    vehicle: str = "whipple",
    /,
    out: Path | None = None,
    *,
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    show: bool = False,
    force: Overwrite = False,
) -> int:
    """Write a page with sliders for the parameters of a two-wheeler, its eigenvalues and critical speeds.

    Parameters
    ----------
    vehicle
        whipple, motorcycle, or a two-wheeler of your own, FILE.py:function. For other vehicles use `draisine
        eigenvalues`.
    out
        Output file (.html). Default: VEHICLE-explore.html.
    show
        Open the page in the browser.
    """
    from draisine.codegen.files import write_text
    from draisine.results.store import check_target
    from draisine.scenario.library import join_first
    from draisine.scenario.validate.vehicle import build_system
    from draisine.view.explore import explore_page

    target = out or unused_path(Path(f"{Path(vehicle).stem}-explore.html"), force)
    check_target(target, (".html",))
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    with report_written_file("page", target):
        origin = [
            machine.parameter_set and Path(machine.parameter_set).name,
            join_first(machine.set or []),
        ]
        write_text(explore_page(system, ", ".join(filter(None, origin)) or vehicle), target)
    return open_file(target) if show else 0
