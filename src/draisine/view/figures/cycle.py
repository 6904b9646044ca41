"""Figures of limit cycles of climbing vehicles, and of families of limit cycles over a parameter.

A climbing vehicle closes its grips on the wall one after the other. The figure of a cycle has four panels:
snapshots on the wall, phase plane, torques, and grip forces.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.bodies import Bodies
from draisine.view.figures._walk import draw_step
from draisine.view.style import (
    COLOURS,
    DASHES,
    GREY,
    add_legend,
    empty_figure,
    headline,
    new_figure,
    parent_figure,
    relative_width,
    restore_bodies,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

CYCLE_SNAPSHOTS = 7
"""Number of snapshots of one limit cycle."""

Panels = Sequence[Any]
"""Type of the axes of a figure with several panels."""


ONE_COLUMN_BELOW = 0.8
"""Width of a figure, as a fraction of the default width, below which its panels are stacked in one column."""


def draw(data: "Dataset", axes: Panels | None = None) -> Any:
    """Draw limit cycles, families of limit cycles, or a step of a walker.

    A limit cycle has four panels: snapshots on the wall, phase plane, torques and grip forces. Families of
    limit cycles have four panels over their parameter: initial angle, initial rate, mean speed and largest
    Floquet multiplier. A walker has three panels: snapshots, phase plane and Floquet multipliers. Colours
    distinguish the closed grips of a cycle, or the families.

    Parameters
    ----------
    data
        Result of `draisine cycles` or of a scenario of the kind `cycle`.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    array of Axes
        The axes.
    """
    if "multiplier" not in data.dims:
        raise ParameterError(
            "This result has no limit cycles. Compute them with `draisine cycles`."
        )
    if "component" in data.dims:
        if "step_time" not in data:
            raise ParameterError(
                "A cycle of a prescribed period is drawn like a run, for example with --figure path."
            )
        return draw_step(data, axes)
    if "family" in data.dims:
        return _families(data, axes)
    cycles = [data.isel(cycle=k) for k in range(data.sizes.get("cycle", 0))] or [data]
    panels = _grid(len(cycles)) if axes is None else np.atleast_2d(np.asarray(axes, dtype=object))
    for cycle, row in zip(cycles, panels, strict=True):
        _cycle(cycle, row)
    if axes is None:
        parent_figure(panels[0]).suptitle(headline(data))
    return panels


def _grid(count: int) -> Any:
    """Return new axes (count, 4) for `count` limit cycles: snapshots, phase plane, torques, grip forces.

    The snapshots are at the top, the phase plane on the left below them, and torques and forces on the right.
    In a narrow figure all panels are stacked.
    """
    if relative_width() < ONE_COLUMN_BELOW:
        return np.reshape(new_figure(4 * count, 1, (7.4, 11.0 * count)), (count, 4))
    figure = empty_figure((7.4, 8.0 * count))
    grid = figure.add_gridspec(3 * count, 2, height_ratios=[1.3, 1.0, 1.0] * count)
    places = [
        (grid[k, :], grid[k + 1 : k + 3, 0], grid[k + 1, 1], grid[k + 2, 1])
        for k in range(0, 3 * count, 3)
    ]
    return np.array([[figure.add_subplot(spec) for spec in row] for row in places], dtype=object)


def _cycle(data: "Dataset", panels: Panels) -> None:
    """Draw one limit cycle into four axes: snapshots, phase plane, torques and grip forces."""
    bodies = restore_bodies(data)
    strip, plane, torque, force = (simplify_axes(panel) for panel in panels)
    _strip(strip, data, bodies)
    _plane(plane, data)
    names = [str(n) for n in data["prescribed"].values] if "prescribed" in data.coords else []
    for k, name in enumerate(names):
        for j, arc in _arcs(data):
            label = name if len(names) > 1 and not j else None
            _curve(torque, arc["time"], arc["motion_torque"].values[:, k], j, DASHES[k], label)
    torque.set_ylabel("torque (N m)" if len(names) == 1 else "torques (N m)")
    for k, direction in enumerate(("vertical", "horizontal")):
        for j, arc in _arcs(data):
            grip_force = arc["contact_force_world"].sum("contact").values[:, 1 - k]
            _curve(force, arc["time"], grip_force, j, DASHES[k])
        force.plot([], [], color=GREY, linestyle=DASHES[k], label=direction)
    force.set(ylabel="grip force (N)", xlabel="time (s)")
    torque.tick_params(labelbottom=False)
    for panel in (torque, force):
        panel.axhline(0.0, color=GREY, linewidth=0.8)
        add_legend(panel)


def _arcs(data: "Dataset") -> Iterator[tuple[int, "Dataset"]]:
    """Yield the parts of a limit cycle between changes of the closed grip as (index, dataset)."""
    t = data["time"].values
    # A run stores two samples with equal times at a change of the closed grip.
    edges = [0, *(np.flatnonzero(np.diff(t) <= 0.0) + 1), len(t)]
    for j, (a, b) in enumerate(pairwise(int(edge) for edge in edges)):
        yield j, data.isel(time=slice(a, b))


def _curve(axes: "Axes", x: Any, y: Any, j: int, dash: Any = "-", label: str | None = None) -> None:
    """Draw y against x in the colour of the closed grip with index j."""
    axes.plot(x, y, color=COLOURS[j % 2], linestyle=dash, linewidth=1.6, label=label)


def _plane(axes: "Axes", data: "Dataset") -> None:
    """Draw the phase plane of a limit cycle: yaw rate (rad/s) against body angle (deg).

    Dashed arrows are the jumps at impacts, a dot marks the start of the cycle.
    """
    arcs = list(_arcs(data))
    theta = [np.degrees(arc["theta"].values) for _, arc in arcs]
    Omega = [arc["yaw_rate"].values for _, arc in arcs]
    grips = [str(g) for g in np.roll(data["impact"].values, 1)]
    for (j, _), x, y in zip(arcs, theta, Omega, strict=True):
        _curve(axes, x, y, j, "-", f"{to_words(grips[j])} holds")
        after = (j + 1) % len(arcs)
        axes.annotate(
            "",
            (x[-1], Omega[after][0]),
            (x[-1], y[-1]),
            arrowprops={"arrowstyle": "-|>", "color": GREY, "linestyle": "--", "shrinkB": 0.0},
        )
    axes.plot([], [], color=GREY, linestyle="--", label="impact")
    axes.plot(theta[0][0], Omega[0][0], "o", color=COLOURS[0], markersize=6, label="start")
    axes.set(xlabel="angle of the body (deg)", ylabel="yaw rate (rad/s)")
    add_legend(axes, 2)


def _strip(axes: "Axes", data: "Dataset", bodies: Bodies) -> None:
    """Draw snapshots of a limit cycle side by side, each at its true height on the wall."""
    t = data["time"].values
    times = np.linspace(t[0], t[-1], CYCLE_SNAPSHOTS)
    shots = [int(np.argmin(np.abs(t - s))) for s in times]
    shots[-1] = len(t) - 1
    shapes = [list(_machine(bodies, k)) for k in shots]
    middles = np.array([np.mean(lines[0][1], axis=0) for lines in shapes])
    pitch = _pitch(shapes, middles)
    change = t[np.flatnonzero(np.diff(t) <= 0.0)]
    for k, (shot, lines) in enumerate(zip(shots, shapes, strict=True)):
        shift = np.array([pitch * k - middles[k, 0], 0.0])
        j = int(np.sum(t[shot] >= change - 1e-12)) if k < CYCLE_SNAPSHOTS - 1 else len(change)
        for kind, points in lines:
            _piece(axes, kind, points + shift, COLOURS[j % 2])
        grip_point = _grips(bodies, shot)[j % len(_grips(bodies, shot))] + shift
        axes.plot(*grip_point, "o", color="black", markersize=6, zorder=5)
        axes.annotate(
            f"{t[shot]:.2f} s" if relative_width() > ONE_COLUMN_BELOW or k % 2 == 0 else "",
            (pitch * k, 0.0),
            (0.0, 3.0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=GREY,
        )
    axes.plot([], [], "o", color="black", markersize=6, label="closed grip")
    for j, grip in enumerate(np.roll(data["impact"].values, 1)):
        axes.plot([], [], color=COLOURS[j % 2], linewidth=3.0, label=f"{to_words(str(grip))} holds")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_ylabel("height (m)")
    axes.set_xticks([])
    axes.margins(0.03, 0.14)
    add_legend(axes)
    axes.set_xlabel(
        _verdict(data).replace(", ", ",\n" if relative_width() < ONE_COLUMN_BELOW else ", "),
        loc="right",
    )


def _pitch(shapes: Sequence[Sequence[tuple[str, Floats]]], middles: Floats) -> float:
    """Return the horizontal distance (m) between neighbouring snapshots at which they do not touch.

    `shapes` are the lines (kind, points (n, 2)) of each snapshot, `middles` (snapshots, 2) their centres, in
    m.
    """
    points = [
        np.vstack([x for _, x in lines])[:, 0] - middle[0]
        for lines, middle in zip(shapes, middles, strict=True)
    ]
    return 0.05 + max(float(a.max() - b.min()) for a, b in pairwise(points))


def _verdict(data: "Dataset") -> str:
    """Return a text with mean speed (m/s), largest Floquet multiplier and stability of a limit cycle."""
    speed = float(data["mean_speed"])
    growth = float(data["growth"])
    word = "stable" if bool(data["stable"]) else "unstable"
    return f"{speed:+.4f} m/s, largest multiplier {growth:.4f}: {word}".replace(
        "-", "\N{MINUS SIGN}"
    )


def _piece(axes: "Axes", kind: str, points: Floats, colour: str) -> None:
    """Draw one line (n, 2) in m of a vehicle: a thick line for a body, a thin line for an arm or a tail.

    A dot marks the mass centre at the end of a tail.
    """
    width = 4.5 if kind == "body" else 1.8
    axes.plot(points[:, 0], points[:, 1], color=colour, linewidth=width, solid_capstyle="round")
    if kind == "tail":
        axes.plot(*points[-1], "o", color=colour, markersize=7)


def _grips(bodies: Bodies, k: int) -> list[Floats]:
    """Return the positions (2,) of the grips on the wall at sample k, m."""
    pins = bodies.model.pins
    return [_wall_position(bodies, pin.body, pin.point, k) for pin in pins]


def _machine(bodies: Bodies, k: int) -> Iterator[tuple[str, Floats]]:
    """Yield the lines of a climbing vehicle at sample k as (kind, points (2, 2) in m on the wall).

    The line "body" connects the grips. For each joint, the line "arm" runs from the centre of the parent to
    the joint, and the line "tail" from the joint to the mass centre of the child.
    """
    grips = np.array(_grips(bodies, k))
    yield "body", grips
    middle = grips.mean(axis=0)
    for joint in bodies.model.joints:
        hinge = _wall_position(bodies, joint.parent, joint.through, k)
        centre = _wall_position(bodies, joint.child, bodies.model.body(joint.child).com, k)
        yield "arm", np.array([middle, hinge])
        yield "tail", np.array([hinge, centre])
        middle = centre


def _wall_position(bodies: Bodies, name: str, point: Any, k: int) -> Floats:
    """Return the position (2,) on the wall, at sample k, of a point of the body `name`, m.

    `point` (3,) is its position in the zero configuration, m.
    """
    motion = bodies.motions[name]
    position: Floats = motion.p[k] + motion.R[k] @ np.asarray(point, float)
    return position[:2]


def _families(data: "Dataset", axes: Panels | None) -> Any:
    """Draw families of limit cycles over their parameter in four panels; stable cycles have thick lines."""
    over = str(data.attrs["over"])
    panels = new_figure(4, 1, (7.5, 10.0)) if axes is None else axes
    values = data[over].values
    names = ("theta0", "Omega0", "mean_speed", "growth")
    labels = (
        "initial angle (deg)",
        "initial rate (rad/s)",
        "mean speed (m/s)",
        "largest multiplier",
    )
    for panel, name, label in zip(panels, names, labels, strict=True):
        simplify_axes(panel).set_ylabel(label)
        for j in range(data.sizes["family"]):
            y = data[name].values[:, j]
            y = np.degrees(y) if name == "theta0" else y
            stable = data["stable"].values[:, j] > 0.5
            _branch(panel, j, values, y, stable, name == "theta0")
    angle, _, speed, growth = panels
    angle.set_yticks(range(0, 361, 90))
    angle.plot([], [], color=GREY, linewidth=4.5, label="stable")
    add_legend(angle)
    speed.axhline(0.0, color=GREY, linewidth=0.8)
    growth.axhline(1.0, color=GREY, linewidth=0.8)
    _logarithmic(growth)
    _marks(data, speed, growth)
    growth.set_xlabel(f"{to_words(over)} (rad)" if over == "phase" else to_words(over))
    if axes is None:
        parent_figure(panels).suptitle(headline(data))
        for panel in panels[:-1]:
            panel.sharex(growth)
            panel.tick_params(labelbottom=False)
    return panels


def _logarithmic(axes: "Axes") -> None:
    """Make the vertical axis logarithmic, with tick labels at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _marks(data: "Dataset", speed: "Axes", growth: "Axes") -> None:
    """Mark the parameter values at which the mean speed of a family is zero, or its stability changes."""
    for panel, name, level in ((speed, "zero_speed", 0.0), (growth, "stability", 1.0)):
        for j, values in enumerate(json.loads(data.attrs[name])):
            y = np.full(len(values), level)
            edge = COLOURS[j % 7]
            panel.plot(values, y, "o", color="white", markeredgecolor=edge, markersize=6, zorder=5)


def _branch(axes: "Axes", j: int, x: Floats, y: Floats, stable: Any, turns: bool) -> None:
    """Draw the quantity y of a family of limit cycles against its parameter x, with stable cycles thick.

    If `turns` is true, y is an angle (deg), and the line is interrupted at jumps by a full turn. The index j
    of the family determines colour and line style.
    """
    if turns:
        jumps = np.flatnonzero(np.abs(np.diff(y)) > 180.0) + 1
        x = np.insert(x, jumps, np.nan)
        y = np.insert(y, jumps, np.nan)
        stable = np.insert(stable, jumps, False)
    colour = COLOURS[j % 7]
    dash = DASHES[j % 7]
    axes.plot(x, y, color=colour, linestyle=dash, linewidth=1.6, label=f"family {j + 1}")
    axes.plot(x, np.where(stable, y, np.nan), color=colour, linewidth=4.5)
