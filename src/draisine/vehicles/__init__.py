"""Machines, one file and one function each; published parameters in `_sets`; `_three_links`: the
drawing of both swimmers; `_annotations`: what those of arguments tell; `_numbers`: which numbers they
may have; `_records`: arguments that are records of numbers.
"""

from draisine.vehicles._annotations import annotations, expect_parameters, meanings, meant_parameter
from draisine.vehicles._numbers import check_number, check_numbers
from draisine.vehicles._records import (
    draw,
    lost_structure,
    make_record,
    plain_structure,
    record_meanings,
    record_numbers,
)
from draisine.vehicles._sets import (
    ParameterSource,
    parameter_deviations,
    parameter_set,
    parameter_sets,
    parameter_source,
    read_parameter_set,
    set_owners,
)

__all__ = [
    "ParameterSource",
    "annotations",
    "check_number",
    "check_numbers",
    "draw",
    "expect_parameters",
    "lost_structure",
    "make_record",
    "meanings",
    "meant_parameter",
    "parameter_deviations",
    "parameter_set",
    "parameter_sets",
    "parameter_source",
    "plain_structure",
    "read_parameter_set",
    "record_meanings",
    "record_numbers",
    "set_owners",
]
