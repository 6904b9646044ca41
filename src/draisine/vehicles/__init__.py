"""Vehicles, one file with one function each; the function returns a `Model`.

`_sets` has published parameter sets, `_annotations` reads units and meanings of arguments,
`_numbers` checks values of parameters, `_records` converts arguments that are records of numbers,
`_incline` tilts gravity on slopes and cambered roads, and `_three_links` is the common model of
both swimmers.
"""

from draisine.vehicles._annotations import (
    annotations,
    expect_parameters,
    meanings,
    suggest_parameter,
)
from draisine.vehicles._incline import INCLINE_PARAMETERS, inclined, level_vehicle
from draisine.vehicles._numbers import check_number, check_numbers
from draisine.vehicles._records import (
    build_model,
    parse_record,
    plain_structure,
    record_meanings,
    record_numbers,
    unstored_arguments,
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
    "INCLINE_PARAMETERS",
    "ParameterSource",
    "annotations",
    "build_model",
    "check_number",
    "check_numbers",
    "expect_parameters",
    "inclined",
    "level_vehicle",
    "meanings",
    "parameter_deviations",
    "parameter_set",
    "parameter_sets",
    "parameter_source",
    "parse_record",
    "plain_structure",
    "read_parameter_set",
    "record_meanings",
    "record_numbers",
    "set_owners",
    "suggest_parameter",
    "unstored_arguments",
]
