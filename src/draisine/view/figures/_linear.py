"""Pictures of linear analysis: eigenvalues against speed, root locus, mode shapes, frequency
responses, maps of steady turning, sensitivities.

Each function takes data of `draisine.analysis` and axes (new ones by default) and returns the axes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import Critical
from draisine.analysis.bicycle.sensitivity import Sensitivities
from draisine.analysis.bicycle.turning import TurningMap
from draisine.analysis.continuation import SteadyFamily
from draisine.analysis.eigenmodes import Eigenmodes, phasors
from draisine.analysis.linear import Linear
from draisine.errors import ParameterError
from draisine.view.style import (
    COLOURS,
    GREY,
    NOTE_GID,
    empty_figure,
    given_or_new,
    legend,
    letters,
    new_figure,
    plain,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODES = {"weave": COLOURS[0], "capsize": COLOURS[1], "castering": COLOURS[2]}
TYRED = defaultdict(lambda: GREY, MODES | {"wobble": COLOURS[3]})
STABLE = "#dff0d8"


FEW = 10
"""Fewer speeds than these are drawn one by one: straight lines between them would not be true."""

LATE = 0.75
"""A critical speed farther along the axis than this is told on its left."""

EARLY = 0.25
"""A weave speed nearer to the start of the axis than this is told on its right."""

MARGIN = 0.5
"""What is left free on both sides of a few speeds, m/s."""


def eigenvalues(
    modes: Eigenmodes,
    critical: Critical | None = None,
    axes: "Axes | None" = None,
    limits: tuple[float, float] = (-10.0, 10.0),
) -> "Axes":
    """Return axes with the eigenvalues against speed: real parts solid, imaginary parts dashed, the
    stable range shaded and critical speeds marked. A few speeds are dots, imaginary parts hollow.
    """
    _check_single(modes)
    axes = plain(given_or_new(axes, (7.5, 4.5)))
    _shade_stable(modes, axes, critical)
    _curves(modes, axes, axes, limits[0], critical)
    axes.set(ylim=limits, xlabel="forward speed (m/s)", ylabel="eigenvalue (1/s)")
    if critical is not None:
        mark_speeds(axes, critical_places(critical))
    legend(axes)
    return axes


def growth_and_frequency(
    modes: Eigenmodes, limits: tuple[float, float], highest: float, axes: Any = None
) -> Any:
    """Return two axes over the speed, for modes of which some swing much faster than others: real parts
    between limits, with the stable ranges shaded, above imaginary parts up to the highest that matters.
    """
    _check_single(modes)
    growth, swing = axes = new_figure(2, 1, (7.5, 7.2)) if axes is None else axes
    _shade_stable(modes, growth)
    _curves(modes, plain(growth), plain(swing), limits[0])
    growth.set(ylim=limits, ylabel="real part (1/s)")
    growth.tick_params(labelbottom=False)
    growth.locator_params(axis="y", nbins=6)
    swing.set(ylim=(0.0, highest), xlabel="forward speed (m/s)", ylabel="imaginary part (rad/s)")
    legend(growth, 3)
    return axes


def _shade_stable(modes: Eigenmodes, growth: "Axes", critical: Critical | None = None) -> None:
    """Shade the ranges in which all eigenvalues are damped, and draw where growth is zero."""
    for low, high in _stable_ranges(modes, critical):
        growth.axvspan(low, high, color=STABLE, zorder=0, linewidth=0)
    growth.axhline(0.0, color=GREY, linewidth=0.8)


def _curves(
    modes: Eigenmodes,
    growth: "Axes",
    swing: "Axes",
    least: float,
    critical: Critical | None = None,
) -> None:
    """Draw real and imaginary parts against speed into their axes, or both into one; the least real part
    that is seen is told where a mode is below it.
    """
    few = modes.speed.size < FEW
    both = growth is swing
    solid, dashed = ("o", "o") if few else ("-", "--")
    colours = colours_of(modes.names)
    drawn = set[str]()
    for k, name in enumerate(modes.names):
        values = modes.values[:, k]
        first = name not in modes.names[:k]
        part = _real_part(name, float(values.real.max()), least, both)
        growth.plot(
            modes.speed,
            values.real,
            solid,
            color=colours[name],
            lw=1.8,
            label=part if first else None,
        )
        swings = np.where(values.imag > 1e-9, values.imag, np.nan)
        if np.any(np.isfinite(swings)):
            speed, swings = _to_double_root(modes.speed, swings, None if few else critical)
            label = f"{words(name)}, imaginary" if both and name not in drawn else None
            drawn.add(name)
            swing.plot(
                speed,
                swings,
                dashed,
                color=colours[name],
                lw=1.4,
                mfc="none",
                label=label,
                zorder=3,
            )
    margin = MARGIN if few else 0.0
    for axes in (growth, swing):
        axes.set_xlim(modes.speed.min() - margin, modes.speed.max() + margin)


def _real_part(name: str, highest: float, least: float, both: bool) -> str:
    """Return what the legend says of a mode's real part, where both parts are drawn together: also that it
    is wholly below the picture.
    """
    if highest < least:
        return f"{words(name)}, below {least:.3g}".replace("-", "\N{MINUS SIGN}")
    return f"{words(name)}, real" if both else words(name)


def _to_double_root(
    speed: Floats, swings: Floats, critical: Critical | None
) -> tuple[Floats, Floats]:
    """Return imaginary parts over speeds, down to zero where two roots meet."""
    if critical is None or not np.isfinite(critical.double_root):
        return speed, swings
    at = np.searchsorted(speed, critical.double_root)
    return np.insert(speed, at, critical.double_root), np.insert(swings, at, 0.0)


def colours_of(names: Sequence[str]) -> Mapping[str, str]:
    """Return a colour for each name of eigenmodes: a bicycle's have their own."""
    if "weave" in names:
        return TYRED
    return dict(zip(dict.fromkeys(names), cycle(COLOURS), strict=False))


def roots(modes: Eigenmodes, axes: "Axes") -> "Axes":
    """Return axes with the eigenvalues of one motion in the complex plane, the damped half shaded."""
    values = modes.values[0]
    colours = colours_of(modes.names)
    reach = 1.2 * max(float(np.abs(values).max(initial=0.0)), 1.0)
    plain(axes).axvspan(-reach, 0.0, color=STABLE, zorder=0, linewidth=0)
    for k, name in enumerate(modes.names):
        label = words(name) if name not in modes.names[:k] else None
        axes.plot(values[k].real, values[k].imag, "o", color=colours[name], label=label)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)")
    legend(axes)
    return axes


def _stable_ranges(modes: Eigenmodes, critical: Critical | None) -> list[tuple[float, float]]:
    """Return where all eigenvalues are damped, to the digit where critical speeds are known."""
    ranges = _ranges(modes.speed, modes.values.real.max(axis=1))
    if critical is None or len(ranges) != 1:
        return ranges
    end = modes.speed.max() + MARGIN
    return [(float(critical.stable_from), min(float(critical.stable_to), end))]


def critical_places(critical: Critical) -> dict[str, tuple[float, float]]:
    """Return where an eigenvalue passes zero, or two meet, by what is said there."""
    places: dict[str, tuple[Any, Any]] = {
        "weave": (critical.weave, 0.0),
        "capsize": (critical.capsize, 0.0),
        "double root": (critical.double_root, critical.double_value),
    }
    return {f"{name} {float(x):.3f} m/s": (float(x), float(y)) for name, (x, y) in places.items()}


def mark_speeds(axes: "Axes", places: Mapping[str, tuple[float, float]]) -> None:
    """Mark speeds by a dot and a note, those that are in the picture.

    What is said of weave stands below its curve, what is said of capsize above, so that they never meet;
    `layout.place_notes` moves them to where they hide nothing.
    """
    from matplotlib.patheffects import withStroke

    (left, right) = axes.get_xlim()
    (low, high) = axes.get_ylim()
    for note, (x, y) in places.items():
        if left <= x <= right and low <= y <= high:
            axes.plot(x, y, "o", color="black", markersize=4, zorder=5)
            along = (x - left) / (right - left)
            up = not note.startswith("weave")
            back = along > (LATE if up else EARLY)
            axes.annotate(
                note, (x, y), fontsize=letters(8), textcoords="offset points", gid=NOTE_GID,
                xytext=(-5 if back else 5, 5 if up else -5), va="bottom" if up else "top",
                ha="right" if back else "left", zorder=6,
                arrowprops={"arrowstyle": "-", "lw": 0.6, "shrinkA": 0.0, "shrinkB": 2.0},
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )  # fmt: skip


def _ranges(x: Floats, growth: Floats) -> list[tuple[float, float]]:
    """Return the stretches of x in which a growth is negative, between samples on a straight line."""
    out = []
    at = 0
    for damped, group in groupby(growth < 0.0):
        last = at + len(list(group)) - 1
        if damped:
            out.append((_zero(x, growth, at, at - 1), _zero(x, growth, last, last + 1)))
        at = last + 1
    return out


def _zero(x: Floats, y: Floats, inside: int, outside: int) -> float:
    """Return where y passes zero between two samples; the first, where there is no second."""
    if not 0 <= outside < len(x):
        return float(x[inside])
    part = y[inside] / (y[inside] - y[outside])
    return float(x[inside] + part * (x[outside] - x[inside]))


def _check_single(modes: Eigenmodes) -> None:
    if modes.values.ndim != 2:
        raise ParameterError(
            f"eigenvalues of a sweep of shape {modes.values.shape[:-2]}; draw one bicycle at a time."
        )


def root_locus(
    modes: Eigenmodes,
    axes: "Axes | None" = None,
    limits: tuple[float, float, float, float] | None = None,
) -> "Axes":
    """Return axes with the eigenvalues in the complex plane, coloured by speed.

    `limits` (left, right, bottom, top) bound the picture; by default it shows all but far-away
    castering.
    """
    _check_single(modes)
    axes = plain(given_or_new(axes, (7.0, 5.5)))
    near = modes.values[:, [k for k, name in enumerate(modes.names) if name != "castering"]]
    reach = 1.1 * max(np.abs(near.real).max(), 1.0), 1.1 * max(np.abs(near.imag).max(), 1.0)
    left, right, bottom, top = limits or (-2 * reach[0], reach[0], -reach[1], reach[1])
    axes.axvspan(left, 0.0, color=STABLE, zorder=0, linewidth=0)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    speeds = np.broadcast_to(modes.speed[:, None], modes.values.shape)
    dots = axes.scatter(
        modes.values.real, modes.values.imag, c=speeds, s=8, cmap="viridis", linewidths=0
    )
    for values, marker, label in ((modes.values[0], "s", "start"), (modes.values[-1], "D", "end")):
        speed = modes.speed[0] if label == "start" else modes.speed[-1]
        axes.plot(
            values.real, values.imag, marker, color="black", markerfacecolor="none", markersize=6,
            linestyle="none", label=f"{speed:g} m/s",
        )  # fmt: skip
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel="real part (1/s)")
    axes.set_ylabel("imaginary part (rad/s)")
    for name in MODES:
        values = modes.mode(name)
        inside = (values.real > left) & (values.real < right) & (values.imag < top)
        if inside.any():
            spot = values[inside][len(values[inside]) // 2]
            axes.annotate(
                name, (spot.real, spot.imag), fontsize=letters(9), textcoords="offset points",
                xytext=(10, 4) if spot.imag else (0, 8), ha="left" if spot.imag else "center",
            )  # fmt: skip
    axes.figure.colorbar(dots, ax=axes, label="forward speed (m/s)")
    legend(axes)
    return axes


def mode_shapes(modes: Eigenmodes, speed: float, axes: Sequence["Axes"] | None = None) -> Any:
    """Return three polar axes with lean and steer of weave, capsize and castering as phasors, at
    the speed nearest to the one given.
    """
    _check_single(modes)
    at = int(np.argmin(np.abs(modes.speed - speed)))
    if axes is None:
        figure = empty_figure((9.0, 4.2))
        axes = list(figure.subplots(1, 3, subplot_kw={"projection": "polar"}))
        title = f"eigenmodes at {modes.speed[at]:.3g} m/s, lean and steer to the right"
        figure.suptitle(title, fontsize=letters(11))
    for name, ax in zip(MODES, axes, strict=True):
        k = modes.names.index(name)
        sizes, phases = phasors(modes.vectors[at, :2, k])
        for j, state in enumerate(modes.states[:2]):
            arrow = {"arrowstyle": "-|>", "color": COLOURS[j], "linewidth": 2.2, "shrinkA": 0}
            ax.annotate("", (phases[j], sizes[j]), xytext=(0.0, 0.0), arrowprops=arrow)
            ax.plot([], [], color=COLOURS[j], linewidth=2.2, label=f"{state} {sizes[j]:.2g}")
        value = modes.values[at, k]
        swing = f" {value.imag:+.3f}i" if abs(value.imag) > 1e-9 else ""
        ax.set_title(f"{name}\n{value.real:.3f}{swing} 1/s", fontsize=letters(9))
        ax.set_ylim(0.0, 1.05)
        ax.set_yticks([0.5, 1.0], [])
        ax.set_xticks(np.radians([0, 90, 180, 270]))
        ax.tick_params(labelsize=8)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False, fontsize=8)
    return axes


def bode(
    system: Linear,
    input: str,
    outputs: Sequence[str],
    omega: Any = None,
    axes: Sequence["Axes"] | None = None,
) -> Any:
    """Return two axes, size and phase of the responses of some outputs to an input, against angular
    frequency.
    """
    omega = np.logspace(-2, 2, 400) if omega is None else np.asarray(omega, float)
    response = system.part([input], outputs).response(omega)[:, :, 0]
    if axes is None:
        axes = list(new_figure(2, 1, (7.0, 5.5)))
    size, phase = axes
    for k, name in enumerate(outputs):
        style: dict[str, Any] = {"color": COLOURS[k % 7], "label": words(name), "linewidth": 1.6}
        size.plot(omega, 20 * np.log10(np.abs(response[:, k])), **style)
        phase.plot(omega, np.degrees(np.unwrap(np.angle(response[:, k]))), **style)
    for ax in axes:
        plain(ax)
        ax.set_xscale("log")
        ax.set_xlim(omega.min(), omega.max())
    size.set_ylabel("size (dB)")
    phase.set_ylabel("phase (deg)")
    low, high = phase.get_ylim()
    step = 90.0 if high - low > 120 else 45.0
    phase.set_yticks(np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step)
    phase.set_xlabel("angular frequency (rad/s)")
    legend(size)
    size.set_title(
        f"response to the input {words(input)}", loc="right", fontsize=letters(9), color=GREY
    )
    return axes


def circles(
    families: Mapping[str, SteadyFamily],
    axes: "Axes | None" = None,
    x: str = "lean",
    y: str = "rear_wheel_speed",
) -> "Axes":
    """Return axes with named families of steady circles, one quantity against another; a dot marks
    where each starts, stable parts are drawn thick.
    """
    axes = plain(given_or_new(axes, (7.0, 4.5)))
    for k, (name, family) in enumerate(families.items()):
        (across, unit), (up, unit_up) = (_readable(n, family[n]) for n in (x, y))
        colour = COLOURS[k % 7]
        axes.plot(across, up, color=colour, linewidth=1.4, label=name)
        axes.plot(across, np.where(family.stable, up, np.nan), color=colour, linewidth=4.5)
        axes.plot(across[0], up[0], "o", color=colour, markersize=5)
        axes.set(xlabel=f"{words(x)} ({unit})", ylabel=f"{words(y)} ({unit_up})")
    axes.plot([], [], color=GREY, linewidth=4.5, label="stable")
    legend(axes)
    return axes


def _readable(name: str, values: Floats) -> tuple[Floats, str]:
    """Return values as people read them, and their unit."""
    if name.endswith("speed"):
        return values, "m/s"
    if name.endswith("_rate"):
        return values, "rad/s"
    return np.degrees(values), "deg"


def draw_turning_map(
    turns: TurningMap,
    axes: "Axes | None" = None,
    speeds: Sequence[float] = (0.5, 1, 2, 3, 4, 5, 6, 8),
    torques: Sequence[float] = (-2, -1, -0.5, 0, 0.5, 1, 2),
    friction: float | None = 0.8,
    family: SteadyFamily | None = None,
) -> "Axes":
    """Return axes with steady circles over steer and lean: contours of speed (solid) and of steer
    torque (dashed); stable circles shaded, those that need more friction than given dotted.

    `family` adds the hands-free circles.
    """
    axes = plain(given_or_new(axes, (7.5, 5.5)))
    steer = np.degrees(turns.steer)
    lean = np.degrees(turns.lean)
    axes.contourf(steer, lean, turns.growth, levels=[-1e9, 0.0], colors=[STABLE])
    axes.fill_between([], [], color=STABLE, label="stable")
    if friction is not None:
        worst = turns.friction.max(axis=2)
        axes.contourf(steer, lean, worst, levels=[friction, 1e9], colors="none", hatches=["..."])
        axes.fill_between(
            [], [], facecolor="none", edgecolor=GREY, hatch="...", label=f"friction > {friction:g}"
        )
    for values, levels, colour, dash, unit in (
        (turns.torque, torques, COLOURS[1], "dashed", "N m"),
        (turns.speed, speeds, COLOURS[0], "solid", "m/s"),
    ):
        lines = axes.contour(
            steer, lean, values, levels=sorted(levels), colors=colour, linewidths=1.1,
            linestyles=dash,
        )  # fmt: skip
        axes.clabel(lines, fmt=f"%g {unit}", fontsize=8, inline_spacing=2)
    axes.plot([], [], color=COLOURS[0], label="rear wheel speed")
    axes.plot([], [], "--", color=COLOURS[1], label="steer torque")
    if family is not None:
        path = np.degrees(family["steer"]), np.degrees(family["lean"])
        axes.plot(*path, color="black", linewidth=2.2, label="hands free")
    axes.set(xlim=(steer.min(), steer.max()), ylim=(lean.min(), lean.max()))
    axes.set(xlabel="steer (deg, left positive)", ylabel="lean (deg, right positive)")
    legend(axes, 5)
    return axes


def sensitivities(moved: Sensitivities, axes: "Axes | None" = None, most: int = 12) -> "Axes":
    """Return axes with the parameters that move the critical speeds most: m/s for one percent of
    each.
    """
    axes = plain(given_or_new(axes, (7.5, 4.5)))
    named = {"weave": MODES["weave"], "capsize": MODES["capsize"], "double_root": GREY}
    bars = {name: moved.relative(name) / 100 for name in named}
    rank = np.nansum(np.abs([bars["weave"], bars["capsize"]]), axis=0)
    chosen = np.argsort(-rank)[:most]
    for k, (name, values) in enumerate(bars.items()):
        axes.barh(
            np.arange(len(chosen)) + 0.27 * (k - 1), values[chosen], 0.27, color=named[name],
            label=words(name),
        )  # fmt: skip
    axes.set_yticks(np.arange(len(chosen)), [moved.parameters[k] for k in chosen])
    axes.invert_yaxis()
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_xlabel("change of the critical speed (m/s) if the parameter grows by 1 %")
    legend(axes)
    return axes
