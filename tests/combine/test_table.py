"""The page of options and outputs says what the laws find: each cell works or is refused by a message."""

import pytest

from combine.table import COLUMNS, PAGE, ROWS, find_cell, read_page

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def page():
    return read_page(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_every_option_and_output(page):
    assert set(page) == {(row, column) for row in ROWS for column in COLUMNS}


@pytest.mark.parametrize("row", ROWS)
def test_the_page_says_what_an_option_does(page, row):
    for column in COLUMNS:
        found = find_cell(row, column)
        if "there is no" in found.message:  # a compiler or an engine that is not installed
            continue
        assert found == page[row, column], column
