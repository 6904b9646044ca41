"""`draisine explore`."""

from pathlib import Path

from draisine.cli._keep import free_name, tell_file
from draisine.cli._keep import show as show_file
from draisine.cli._options import MACHINE, MachineOptions, Overwrite


def explore(
    vehicle: str = "whipple",
    /,
    out: Path | None = None,
    *,
    machine: MachineOptions = MACHINE,
    show: bool = False,
    force: Overwrite = False,
) -> int:
    """Write a page with sliders: parameters of a bicycle, its eigenvalues, critical speeds, modes.

    :param vehicle: whipple, or a bicycle of yours, FILE.py:function; of other machines `draisine eigenvalues`
        tells.
    :param out: Where to write it (.html); VEHICLE-explore.html if not given.
    :param show: Open the page.
    """
    from draisine.codegen.files import write_text
    from draisine.results.store import check_target
    from draisine.scenario.library import few
    from draisine.scenario.validate.vehicle import build_system
    from draisine.view.explore import explore_page

    target = out or free_name(Path(f"{Path(vehicle).stem}-explore.html"), force)
    check_target(target, (".html",))
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    with tell_file("page", target):
        origin = [
            machine.parameter_set and Path(machine.parameter_set).name,
            few(machine.set or []),
        ]
        write_text(explore_page(system, ", ".join(filter(None, origin)) or vehicle), target)
    return show_file(target) if show else 0
