"""A jump that lands level

A bicycle rides off a step of 30 cm. Without drive at 6 m/s it lands nose down (above); a little
faster and with a driven rear wheel it lands on both wheels at once (below). `optimise` found speed
and torque by the gradient of the pitch at the landing, which includes both lift-offs; see the
[tutorial](tutorial/design.md). Black: lift-offs and touchdowns.
"""

from matplotlib.figure import Figure
from xarray import Dataset

import draisine
from draisine.scenario.library import validate_scenario
from draisine.terrain import kerb
from draisine.view.figures import profile
from draisine.view.style import new_figure

STEP = kerb(at=2.0, rise=-0.3)
LIMITS = {"speed": (5.0, 8.0), "torque": (0.0, 100.0)}


def best(bicycle: draisine.System) -> dict[str, float]:
    """Return speed and torque with which a bicycle lands level."""

    def tilt(ride: dict[str, float]) -> tuple[float, dict[str, float]]:
        found = draisine.gradient(
            bicycle,
            {"forward_speed": ride["speed"]},
            [0.8],
            ["pitch"],
            ["forward_speed", "inputs.rear_wheel"],
            terrain=STEP,
            inputs={"rear_wheel": ride["torque"]},
        )
        landing = next(one for one in found.events if one.event.kind == "collision")
        pitch, slopes = landing.values[0], landing.derivatives[0]
        return pitch**2, {"speed": 2 * pitch * slopes[0], "torque": 2 * pitch * slopes[1]}

    return draisine.optimise(tilt, {"speed": 6.0, "torque": 0.0}, LIMITS, target=1e-8).values


def ridden(ride: dict[str, float]) -> Dataset:
    """Return the run with some speed and torque."""
    content = {
        "kind": "run",
        "title": "off a step",
        "vehicle": {"name": "whipple", "parameter_set": "benchmark"},
        "initial": {"forward_speed": ride["speed"]},
        "terrain": {"shape": "kerb", "at": 2.0, "rise": -0.3},
        "run": {"until": 0.6},
        "inputs": [{"shape": "step", "input": "rear_wheel", "value": ride["torque"]}],
    }
    return draisine.run(validate_scenario("step", "step.toml", content)).data


def figure() -> Figure:
    """Return the picture."""
    rides = {
        "coasting": {"speed": 6.0, "torque": 0.0},
        "designed": best(draisine.compile("whipple")),
    }
    panels = new_figure(2, 1, (6.0, 4.6))
    for panel, (name, ride) in zip(panels, rides.items(), strict=True):
        profile.draw(ridden(ride), panel, every=0.6)
        panel.get_legend().remove()
        panel.set_aspect("equal", adjustable="box")
        panel.set(xlim=(-0.7, 6.3), ylim=(-0.4, 1.3))
        panel.set_title(f"{name}: {ride['speed']:.2f} m/s, {ride['torque']:.0f} N m")
    return panels[0].figure
