"""What all tests and examples share."""

import gc
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

NEIGHBOURS = ("casadi", "gymnasium", "jax")
"""Packages whose doors in `interop` cannot be imported without them."""

collect_ignore = [
    f"src/draisine/interop/{name}.py" for name in NEIGHBOURS if find_spec(name) is None
]


def pytest_configure() -> None:
    """Look for garbage seldom: with all that is imported it took a fifth of the time. Examples may take
    as long as a busy computer needs.
    """
    gc.set_threshold(100_000, 20, 100)
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")


def pytest_collection_finish() -> None:
    """Never look for garbage in what was imported."""
    gc.freeze()


@pytest.fixture(autouse=True)
def own_way_to_print() -> Iterator[None]:
    """Let an example print arrays in its own way without others seeing it."""
    with np.printoptions():
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
        browser = driver.chromium.launch(executable_path=chromium, args=options)
        yield browser
        browser.close()
