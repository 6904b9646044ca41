"""A bunny hop over a kerb

Above: the rider crouches, springs up, and in flight pulls the bicycle up by legs and arms; both wheels
clear a kerb of 12 cm. Below: the heights of the wheels, and of the mass centre, which follows a parabola
in flight. See [a rider on terrain](howto/rider.md#a-rider-on-terrain).
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import draisine
from draisine.results.bodies import Bodies
from draisine.results.queries import evaluate_series
from draisine.view.style import new_figure

EDGE = (4.45, 0.12)  # m, position and height of the kerb
RADIUS = 0.33  # m
HEAD = (0.33, 0.0, 1.62)  # m, top of the head in the zero configuration
JOINED = {
    "k": [
        ("frame", "rear_wheel"),
        ("frame", "axle"),
        ("axle", "front_wheel"),
        ("front_wheel", "grip"),
    ],
    "C1": [("axle", "hip"), ("hip", "shoulder"), ("shoulder", "grip"), ("shoulder", "head")],
}
"""Points joined by lines, bicycle and rider, by colour."""


def points(bodies: Bodies) -> dict[str, np.ndarray]:
    """Return the positions of points of bicycle and rider in the plane, (times, 2) in m each."""
    model = bodies.model
    through = {joint.name: joint.through for joint in model.joints}
    places = {
        "frame": ("frame", through["hips"] * [0.8, 1.0, 0.75]),
        "axle": ("frame", through["ankles"]),
        "hip": ("trunk", through["hips"]),
        "shoulder": ("trunk", through["shoulders"]),
        "head": ("trunk", np.array(HEAD)),
        "grip": ("frame", np.asarray(model.couplings[0].point)),
        "rear_wheel": ("frame", through["rear_wheel"]),
        "front_wheel": ("fork", through["front_wheel"]),
    }
    return {
        name: bodies.motions[body].position(np.asarray(point, float))[:, [0, 2]]
        for name, (body, point) in places.items()
    }


def draw(panel: Axes, found: dict[str, np.ndarray], k: int) -> None:
    """Draw bicycle and rider at sample k."""
    turn = np.linspace(0.0, 2.0 * np.pi, 60)
    for wheel in ("rear_wheel", "front_wheel"):
        x, z = found[wheel][k]
        panel.plot(x + RADIUS * np.cos(turn), z + RADIUS * np.sin(turn), color="0.5", lw=1.0)
    for colour, lines in JOINED.items():
        for a, b in lines:
            panel.plot(*np.array([found[a][k], found[b][k]]).T, color=colour, lw=1.6)


def figure() -> Figure:
    """Return the picture."""
    run = draisine.run("riders/bunny-hop")
    above, below = new_figure(2, 1, (7.0, 5.6))
    times = run.data.time.values
    found = points(run.bodies)
    for t in (0.0, 0.3, 0.55, 0.72, 0.88, 1.3):
        draw(above, found, int(np.argmin(np.abs(times - t))))
    above.plot([-0.5, EDGE[0], EDGE[0], 8.2], [0.0, 0.0, EDGE[1], EDGE[1]], color="0.3", lw=1.0)
    above.set_aspect("equal", adjustable="box")
    above.set(xlabel="x, forward (m)", ylabel="z, up (m)", xlim=(-0.5, 8.2), ylim=(-0.1, 2.1))
    for wheel, colour in (("rear", "C0"), ("front", "C1")):
        height = evaluate_series(f"wheel_centre[{wheel}, z]", run.bodies) - RADIUS
        below.plot(times, height, color=colour, label=f"{wheel} wheel")
    centre = evaluate_series("mass_centre[z]", run.bodies)
    below.plot(times, centre, color="C2", label="mass centre")
    below.axhline(EDGE[1], color="0.4", lw=0.8, ls="--")
    below.set(xlabel="time (s)", ylabel="height (m)", xlim=(0.0, 1.4))
    below.legend(loc="center right")
    return above.figure
