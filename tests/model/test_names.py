"""Names and units of datasets, metrics and initial states; reserved names."""

import pytest

import draisine
from draisine.errors import ModelError
from draisine.model import Body, Model, Output, Revolute
from draisine.model.names import (
    BASE_ANGLES,
    RESERVED_RESULT_NAMES,
    STORED_VARIABLES,
    dimensions,
    label_units,
    state_names,
    state_units,
    variables,
)
from draisine.registry import names
from draisine.results.queries import known_series, series_unit


@pytest.mark.parametrize("vehicle", ["whipple", "cart_pole", "snakeboard", "chain"])
def test_a_dataset_carries_the_table(vehicle):
    """Variables, units, meanings, dimensions and labels of a run are those of the table."""
    system = draisine.compile(vehicle)
    data = draisine.simulate(system, draisine.state(system), until=0.02).to_xarray()
    table = variables(system.model)
    labels = dimensions(system.model)
    assert set(data.data_vars) == set(table)
    for name, variable in table.items():
        assert data[name].dims == ("time", *variable.dims)
        assert data[name].attrs == {"units": variable.unit, "long_name": variable.meaning}
        assert [tuple(data[dim].values) for dim in variable.dims] == [
            labels[dim] for dim in variable.dims
        ]


def test_joints_and_their_rates_are_variables():
    system = draisine.compile("whipple")
    start = draisine.state(system, steer=0.1, forward_speed=4.0)
    data = draisine.simulate(system, start, until=0.1).to_xarray()
    assert (data.steer == data["shape"].sel(joint="steer")).all()
    assert (data.steer_rate == data["speeds"].sel(speed="steer_rate")).all()
    assert (data.steer.attrs["units"], data.steer_rate.attrs["units"]) == ("rad", "rad/s")


@pytest.mark.parametrize("vehicle", names("vehicle"))
def test_every_initial_quantity_has_a_unit(vehicle):
    model = draisine.compile(vehicle).model
    assert list(state_units(model)) == state_names(model)
    known = {name for name, labels in known_series(model).items() if not labels}
    assert set(BASE_ANGLES) <= known
    for joint in model.joints:
        assert series_unit(joint.name, model) == joint.unit == state_units(model)[joint.name]
        assert series_unit(f"{joint.name}_acceleration", model) == f"{joint.unit}/s2"
        assert series_unit(f"inputs[{joint.name}]", model) == joint.effort


def test_units_by_label():
    model = draisine.compile("cart_pole").model
    for name, variable in STORED_VARIABLES.items():
        if " or " in variable.unit and name != "coupling_force":
            assert set(label_units(model, name).values()) <= set(
                variable.unit.replace("2", "").split(" or ")
            ) | set(variable.unit.split(" or "))
    assert series_unit("accelerations[cart_rate]", model) == "m/s2"
    assert series_unit("speeds[pole_rate]", model) == "rad/s"


@pytest.mark.parametrize("name", sorted(RESERVED_RESULT_NAMES))
def test_names_of_results_are_taken(name):
    with pytest.raises(ModelError, match="is reserved for results"):
        Model([Body("b", 1.0)], outputs=[Output(name, lambda readings: 1.0)])
    with pytest.raises(ModelError, match="is reserved for results"):
        Model([Body("b"), Body("c", 1.0)], [Revolute(name, "b", "c", (0, 0, 1))])


def test_an_output_is_not_called_like_a_joint_or_its_rate():
    for name in ("hinge", "hinge_rate"):
        with pytest.raises(ModelError, match="is reserved for results"):
            Model(
                [Body("b"), Body("c", 1.0)],
                [Revolute("hinge", "b", "c", (0, 0, 1))],
                outputs=[Output(name, lambda readings: 1.0)],
            )
