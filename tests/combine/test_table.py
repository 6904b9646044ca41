"""The page of options and outputs says what the laws find: each cell works or is refused by a message."""

import pytest

from combine.table import COLUMNS, PAGE, ROWS, find_cell, read_page

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def page():
    return read_page(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_every_option_and_output(page):
    assert set(page) == {(row, column) for row in ROWS for column in COLUMNS}


SPRUNG = "Magic Formula on a vertical spring"
INFINITE = pytest.mark.xfail(
    strict=True, reason="time steps report infinite forces of sprung tyres"
)


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=INFINITE if row == SPRUNG else ()) for row in ROWS]
)
def test_the_page_says_what_an_option_does(page, row):
    for column in COLUMNS:
        found = find_cell(row, column)
        if "there is no" in found.message:  # a compiler or an engine that is not installed
            continue
        assert found == page[row, column], column
