"""Page of the saddle-point system: free dynamics with the constraints on accelerations, eqs. (9) and (10) of
Mauny, Porez and Boyer (2017, doi:10.1016/j.ifacol.2017.08.1007).
"""

from draisine.algebra.scalar import is_zero
from draisine.reading.contacts import (
    name_contact_angle_rates,
    name_contact_motions,
    write_frames,
    write_ground,
)
from draisine.reading.document import Equations, name_given_symbols
from draisine.reading.sheet import Sheet
from draisine.reading.solution import keep_base_rates, write_reconstruction
from draisine.reading.stages import write_constraints, write_free_dynamics
from draisine.reading.subject import Subject


def write_multiplier(subject: Subject, title: str) -> Equations:
    """Return the page of the saddle-point system of one contact mode."""
    sheet = Sheet(subject.graph)
    name_given_symbols(sheet, subject)
    for stage in (
        keep_base_rates,
        write_frames,
        write_ground,
        write_constraints,
        write_free_dynamics,
    ):
        stage(sheet, subject)
    if len(subject.C):
        sheet.begin_section("Saddle-point system")
        sheet.add_equation(r"M \dot{v} - C' \lambda", "Q - F")
        sheet.add_equation(r"C \dot{v}", "d")
        if any(not is_zero(x) for x in subject.c):
            name_contact_angle_rates(sheet, subject)
            name_contact_motions(sheet, subject)
        sheet.add_column("d", subject.c, "d")
    write_reconstruction(sheet, subject)
    return Equations(sheet.finish_page(f"{title}: saddle-point system"), subject)
