"""Layouts of flat arrays: named slices cover the array, and programs use the same slices."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from draisine.system.contact_programs import contact_layout
from draisine.system.generic import make_generic
from draisine.system.layout import Layout, input_layout, output_layout
from draisine.system.system import compile

SIZES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 5))


@given(SIZES)
def test_slices_cover_the_array_without_overlap(sizes):
    layout = Layout(sizes)
    row = np.arange(layout.size)
    assert layout.size == sum(sizes.values())
    assert_array_equal(np.concatenate([[], *layout.split(row).values()]), row)
    assert {name: layout.count(name) for name in sizes} == sizes


@given(SIZES, st.integers(1, 3))
def test_packing_is_the_inverse_of_splitting(sizes, columns):
    layout = Layout(sizes)
    for row in (np.arange(1.0, 1.0 + layout.size), np.ones((layout.size, columns))):
        if sizes:
            assert_array_equal(layout.pack(**layout.split(row)), row)


def test_packing_repeats_a_vector_in_all_columns():
    layout = Layout({"a": 2, "b": 1, "c": 2})
    row = layout.pack(a=[1.0, 2.0], b=[[3.0, 4.0, 5.0]])
    assert_array_equal(row, [[1, 1, 1], [2, 2, 2], [3, 4, 5], [0, 0, 0], [0, 0, 0]])


def test_unknown_names_and_wrong_sizes_raise_errors():
    layout = Layout({"q": 4, "p": 3})
    with pytest.raises(AttributeError, match=r"no slice 'r'; it has q, p\."):
        _ = layout.r
    with pytest.raises(ValueError, match=r"p has the shape \(2,\)"):
        layout.pack(p=[1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        layout.pack(p=1.0)


def test_layouts_can_be_copied_and_pickled():
    layout = Layout({"q": 4, "p": 3})
    for other in (copy.deepcopy(layout), pickle.loads(pickle.dumps(layout))):
        assert other.p == slice(4, 7)


@pytest.mark.parametrize("vehicle", ["whipple", "snakeboard", "rocr"])
def test_the_state_lies_between_time_and_inputs(vehicle):
    machine = compile(vehicle).machine()
    inputs = input_layout(machine.programs["rate"])
    y = inputs.span("q", "z")
    assert (y.start, y.stop) == (1, 1 + machine.layout.size)
    assert output_layout(machine.programs["rate"]).count("rate") == machine.layout.size


def test_all_contact_programs_have_the_same_layouts():
    machine = make_generic(compile("whipple"))
    row = contact_layout(machine.system.model)
    whole = np.arange(float(row.size))
    shared = np.arange(float(machine.inputs.size))
    for contact in machine.contacts.values():
        # Contacts with faces, edges and vertices do not read the polynomial of a patch at the end.
        inputs = contact.inputs.split(shared[: contact.inputs.size])
        for name, part in inputs.items():
            assert_array_equal(part, machine.inputs.split(shared)[name])
        for name, part in contact.outputs.split(whole).items():
            assert_array_equal(part, row.split(whole)[name])
