"""Machines, one file and one function each; published parameters in `_sets`."""

from draisine.vehicles._sets import (
    ParameterSource,
    parameter_set,
    parameter_sets,
    parameter_source,
    read_parameter_set,
)

__all__ = [
    "ParameterSource",
    "parameter_set",
    "parameter_sets",
    "parameter_source",
    "read_parameter_set",
]
