import pytest

import draisine


@pytest.fixture(scope="session")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="session")
def thrown(bicycle):
    """The start of the passive stabilisation: upright at 4.6 m/s with a lean rate of 0.5 rad/s."""
    return draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
