"""What all tests and examples share."""

import gc
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

NEIGHBOURS = ("casadi", "gymnasium", "jax")
"""Packages whose doors in `interop` cannot be imported without them."""

collect_ignore = [
    f"src/draisine/interop/{name}.py" for name in NEIGHBOURS if find_spec(name) is None
]

SLOW = (
    "agree",
    "analysis/bicycle/test_escalona_range",
    "analysis/bicycle/test_mode_sensitivity",
    "analysis/bicycle/test_straight",
    "analysis/bicycle/test_uncertainty",
    "analysis/connection",
    "analysis/gait",
    "analysis/test_continuation",
    "analysis/test_floquet",
    "analysis/test_gradient",
    "analysis/test_gradient_steps",
    "analysis/test_identify",
    "analysis/test_linear",
    "analysis/test_loops",
    "analysis/test_lqr",
    "analysis/test_preview",
    "analysis/test_return_map",
    "analysis/test_root_locus",
    "analysis/test_steady",
    "cli/test_commands",
    "cli/test_cycles",
    "cli/test_files",
    "cli/test_first_steps",
    "cli/test_identify",
    "cli/test_interruptions",
    "cli/test_natural",
    "cli/test_processes",
    "cli/test_starts",
    "codegen/targets",
    "codegen/test_files",
    "codegen/test_fingerprint",
    "codegen/test_typed_routines",
    "combine",
    "control/test_feedback_linearisation",
    "control/test_guides",
    "control/test_posture",
    "docs/test_course",
    "docs/test_examples",
    "docs/test_gallery",
    "docs/test_readme",
    "docs/test_release",
    "docs/test_shown_commands",
    "experiment",
    "interop/test_fmi",
    "interop/test_robots",
    "interop/test_ros",
    "interop/test_ros_bags",
    "interop/test_simulink",
    "mechanics/formulations/test_rank",
    "mechanics/test_applied",
    "mechanics/test_closed_forms",
    "mechanics/test_connection",
    "mechanics/test_couplings",
    "mechanics/test_random_trees",
    "mechanics/test_tyre_energy",
    "mechanics/test_tyres",
    "published",
    "reading",
    "results/test_attributes",
    "results/test_provenance",
    "results/test_trust",
    "ride",
    "scenario/test_joint_motions",
    "scenario/test_scenarios",
    "scenario/test_terrain",
    "simulation/compare",
    "simulation/contact/stepping/test_ideal",
    "simulation/contact/stepping/test_motors",
    "simulation/contact/stepping/test_steps",
    "simulation/contact/stepping/test_switch",
    "simulation/contact/test_coupled",
    "simulation/contact/test_endings",
    "simulation/contact/test_many_contacts",
    "simulation/contact/test_moving",
    "simulation/contact/test_progress",
    "simulation/contact/test_rough",
    "simulation/contact/test_torus",
    "simulation/contact/test_tyres",
    "simulation/impacts/test_symmetry",
    "simulation/test_bilateral",
    "simulation/test_imports",
    "simulation/test_singular",
    "simulation/test_source",
    "simulation/test_validity",
    "system/test_artifacts",
    "system/test_memory",
    "system/test_states",
    "vehicles/bicycle/test_configurations",
    "vehicles/bicycle/test_flexible",
    "vehicles/bicycle/test_rider",
    "vehicles/bicycle/test_whipple",
    "vehicles/test_machines",
    "vehicles/test_road_train",
    "vehicles/test_wheeled",
    "view",
)
"""Folders and modules of `tests` without the marker `quick`: they compile many machines, start other
programs, draw figures, or simulate for long. A module belongs here if its tests need more than some
three seconds together (`--durations=0`), so that all others need less than 90 s on two cores.
"""

TESTS = Path(__file__).parent / "tests"


def is_slow(path: Path) -> bool:
    """Return whether SLOW lists a file or one of the folders around it."""
    if not path.is_relative_to(TESTS):
        return False
    module = path.relative_to(TESTS).with_suffix("")
    return any(each.as_posix() in SLOW for each in (module, *module.parents))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests and examples as `quick` unless their module is slow."""
    for item in items:
        if not is_slow(item.path):
            item.add_marker(pytest.mark.quick)


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
