"""Figures of linear analysis: eigenvalues against speed, root loci, mode shapes, frequency responses, maps of
steady turning, and sensitivities of critical speeds.

Each function draws results of `draisine.analysis` into axes, by default into a new figure, and returns the
axes.
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
    add_legend,
    empty_figure,
    font_size,
    given_or_new,
    new_figure,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODE_COLOURS = {"weave": COLOURS[0], "capsize": COLOURS[1], "castering": COLOURS[2]}
"""Colours of the eigenmodes of the Whipple bicycle by name."""
ALL_MODE_COLOURS = defaultdict(lambda: GREY, MODE_COLOURS | {"wobble": COLOURS[3]})
"""Colours of the eigenmodes of two-wheelers by name; other eigenmodes are grey."""
STABLE_COLOUR = "#dff0d8"
"""Background colour of the stable range of speeds."""


MIN_CURVE_POINTS = 10
"""Smallest number of speeds for which eigenvalues are drawn as curves; fewer are drawn as markers."""

LABEL_LEFT_FROM = 0.75
"""Position on the speed axis, as a fraction of its length, beyond which the note of a critical speed is
placed on the left of its point. On the right, it would leave the figure.
"""

WEAVE_LABEL_LEFT_FROM = 0.25
"""Position on the speed axis, as a fraction of its length, beyond which the note of the weave speed is placed
on the left of its point. On the right, it would hide the note of the capsize speed.
"""

SPEED_MARGIN = 0.5
"""Margin (m/s) at both ends of the speed axis, so that markers at the ends are not cut off."""


def draw_eigenvalues(
    modes: Eigenmodes,
    critical: Critical | None = None,
    axes: "Axes | None" = None,
    limits: tuple[float, float] = (-10.0, 10.0),
) -> "Axes":
    """Draw eigenvalues against speed: real parts solid, imaginary parts dashed, stable range shaded.

    If there are few speeds, eigenvalues are drawn as markers, with hollow markers for imaginary parts.

    Parameters
    ----------
    modes
        Eigenmodes of one vehicle over speeds.
    critical
        Critical speeds to be marked.
    axes
        Axes to draw into; by default new ones.
    limits
        Limits of the vertical axis, 1/s.

    Returns
    -------
    Axes
        The axes.
    """
    _check_single(modes)
    axes = simplify_axes(given_or_new(axes, (7.5, 4.5)))
    _shade_stable(modes, axes, critical)
    _curves(modes, axes, axes, limits[0], critical)
    axes.set(ylim=limits, xlabel="forward speed (m/s)", ylabel="eigenvalue (1/s)")
    if critical is not None:
        mark_points(axes, critical_points(critical))
    add_legend(axes)
    return axes


def draw_growth_and_frequency(
    modes: Eigenmodes, limits: tuple[float, float], highest: float, axes: Any = None
) -> Any:
    """Draw eigenvalues against speed in two panels: real parts above, imaginary parts below.

    Two panels keep slow eigenmodes legible for a vehicle that also has fast ones.

    Parameters
    ----------
    modes
        Eigenmodes of one vehicle over speeds.
    limits
        Limits of the real parts, 1/s.
    highest
        Upper limit of the imaginary parts, rad/s.
    axes
        Two axes; by default new ones.

    Returns
    -------
    array of Axes
        Real parts with the stable ranges shaded, and imaginary parts.
    """
    _check_single(modes)
    growth, frequency = axes = new_figure(2, 1, (7.5, 7.2)) if axes is None else axes
    _shade_stable(modes, growth)
    _curves(modes, simplify_axes(growth), simplify_axes(frequency), limits[0])
    growth.set(ylim=limits, ylabel="real part (1/s)")
    growth.tick_params(labelbottom=False)
    growth.locator_params(axis="y", nbins=6)
    frequency.set(
        ylim=(0.0, highest), xlabel="forward speed (m/s)", ylabel="imaginary part (rad/s)"
    )
    add_legend(growth, 3)
    return axes


def _shade_stable(modes: Eigenmodes, growth: "Axes", critical: Critical | None = None) -> None:
    """Shade the stable ranges of speed, in which all real parts are negative, and draw the zero line."""
    for low, high in _stable_ranges(modes, critical):
        growth.axvspan(low, high, color=STABLE_COLOUR, zorder=0, linewidth=0)
    growth.axhline(0.0, color=GREY, linewidth=0.8)


def _curves(
    modes: Eigenmodes,
    growth: "Axes",
    frequency: "Axes",
    lowest: float,
    critical: Critical | None = None,
) -> None:
    """Draw the real parts of eigenvalues into the axes `growth`, the imaginary parts into `frequency`.

    Both may be the same axes. The legend states which eigenmodes have real parts below the axis limit
    `lowest` (1/s). If critical speeds are given, the imaginary parts end at the double root.
    """
    is_short = modes.speed.size < MIN_CURVE_POINTS
    shares_axes = growth is frequency
    solid, dashed = ("o", "o") if is_short else ("-", "--")
    colours = mode_colours(modes.names)
    drawn = set[str]()
    for k, name in enumerate(modes.names):
        values = modes.values[:, k]
        is_first = name not in modes.names[:k]
        label_real = _real_part_label(name, float(values.real.max()), lowest, shares_axes)
        growth.plot(
            modes.speed,
            values.real,
            solid,
            color=colours[name],
            lw=1.8,
            label=label_real if is_first else None,
        )
        imaginary = np.where(values.imag > 1e-9, values.imag, np.nan)
        if np.any(np.isfinite(imaginary)):
            speed, imaginary = _to_double_root(
                modes.speed, imaginary, None if is_short else critical
            )
            label = f"{to_words(name)}, imaginary" if shares_axes and name not in drawn else None
            drawn.add(name)
            frequency.plot(
                speed,
                imaginary,
                dashed,
                color=colours[name],
                lw=1.4,
                mfc="none",
                label=label,
                zorder=3,
            )
    margin = SPEED_MARGIN if is_short else 0.0
    for axes in (growth, frequency):
        axes.set_xlim(modes.speed.min() - margin, modes.speed.max() + margin)


def _real_part_label(name: str, highest: float, lowest: float, shares_axes: bool) -> str:
    """Return the legend entry for the real part of an eigenmode.

    The entry has a remark if the largest real part `highest` (1/s) is below the axis limit `lowest` (1/s).
    """
    if highest < lowest:
        return f"{to_words(name)}, below {lowest:.3g}".replace("-", "\N{MINUS SIGN}")
    return f"{to_words(name)}, real" if shares_axes else to_words(name)


def _to_double_root(
    speed: Floats, imaginary: Floats, critical: Critical | None
) -> tuple[Floats, Floats]:
    """Insert a zero into imaginary parts (n,) at the speed of the double root; return speeds and parts.

    Without the zero, the curve would end at the last computed speed (m/s) before the double root.
    """
    if critical is None or not np.isfinite(critical.double_root):
        return speed, imaginary
    index = np.searchsorted(speed, critical.double_root)
    return np.insert(speed, index, critical.double_root), np.insert(imaginary, index, 0.0)


def mode_colours(names: Sequence[str]) -> Mapping[str, str]:
    """Return the colour of each eigenmode by name; the eigenmodes of a bicycle have fixed colours."""
    if "weave" in names:
        return ALL_MODE_COLOURS
    return dict(zip(dict.fromkeys(names), cycle(COLOURS), strict=False))


def draw_roots(modes: Eigenmodes, axes: "Axes") -> "Axes":
    """Draw the eigenvalues of one steady motion in the complex plane, with the stable half-plane shaded."""
    values = modes.values[0]
    colours = mode_colours(modes.names)
    reach = 1.2 * max(float(np.abs(values).max(initial=0.0)), 1.0)
    simplify_axes(axes).axvspan(-reach, 0.0, color=STABLE_COLOUR, zorder=0, linewidth=0)
    for k, name in enumerate(modes.names):
        label = to_words(name) if name not in modes.names[:k] else None
        axes.plot(values[k].real, values[k].imag, "o", color=colours[name], label=label)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)")
    add_legend(axes)
    return axes


def _stable_ranges(modes: Eigenmodes, critical: Critical | None) -> list[tuple[float, float]]:
    """Return the ranges of speed (m/s) in which all eigenvalues have negative real parts.

    The ends of a range are the critical speeds if they are given. Otherwise they are interpolated linearly
    between the computed speeds.
    """
    ranges = _ranges(modes.speed, modes.values.real.max(axis=1))
    if critical is None or len(ranges) != 1:
        return ranges
    end = modes.speed.max() + SPEED_MARGIN
    return [(float(critical.stable_from), min(float(critical.stable_to), end))]


def critical_points(critical: Critical) -> dict[str, tuple[float, float]]:
    """Return the points (speed in m/s, real part in 1/s) to be marked at critical speeds, by their notes."""
    places: dict[str, tuple[Any, Any]] = {
        "weave": (critical.weave, 0.0),
        "capsize": (critical.capsize, 0.0),
        "double root": (critical.double_root, critical.double_value),
    }
    return {f"{name} {float(x):.3f} m/s": (float(x), float(y)) for name, (x, y) in places.items()}


def mark_points(axes: "Axes", places: Mapping[str, tuple[float, float]]) -> None:
    """Mark the points `places` (x, y) by dots, and write the keys of the mapping beside them as notes.

    Points outside the limits of the axes are left out. Notes of the weave speed are below their points and
    other notes above, so that they do not overlap. `layout.place_notes` moves notes away from curves.
    """
    from matplotlib.patheffects import withStroke

    (left, right) = axes.get_xlim()
    (low, high) = axes.get_ylim()
    for note, (x, y) in places.items():
        if left <= x <= right and low <= y <= high:
            axes.plot(x, y, "o", color="black", markersize=4, zorder=5)
            fraction = (x - left) / (right - left)
            is_above = not note.startswith("weave")
            is_left = fraction > (LABEL_LEFT_FROM if is_above else WEAVE_LABEL_LEFT_FROM)
            axes.annotate(
                note, (x, y), fontsize=font_size(8), textcoords="offset points", gid=NOTE_GID,
                xytext=(-5 if is_left else 5, 5 if is_above else -5), va="bottom" if is_above else "top",
                ha="right" if is_left else "left", zorder=6,
                arrowprops={"arrowstyle": "-", "lw": 0.6, "shrinkA": 0.0, "shrinkB": 2.0},
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )  # fmt: skip


def _ranges(x: Floats, growth: Floats) -> list[tuple[float, float]]:
    """Return the ranges of x (n,) in which `growth` (n,) is negative, by linear interpolation."""
    ranges = []
    first = 0
    for damped, group in groupby(growth < 0.0):
        last = first + len(list(group)) - 1
        if damped:
            ranges.append((_zero(x, growth, first, first - 1), _zero(x, growth, last, last + 1)))
        first = last + 1
    return ranges


def _zero(x: Floats, y: Floats, inside: int, outside: int) -> float:
    """Return the coordinate at which y is zero between the samples `inside` and `outside` (indices).

    The zero is interpolated linearly. If the sample `outside` does not exist, the result is x[inside].
    """
    if not 0 <= outside < len(x):
        return float(x[inside])
    fraction = y[inside] / (y[inside] - y[outside])
    return float(x[inside] + fraction * (x[outside] - x[inside]))


def _check_single(modes: Eigenmodes) -> None:
    """Raise `ParameterError` if eigenmodes belong to several vehicles, which one figure cannot show."""
    if modes.values.ndim != 2:
        raise ParameterError(
            f"These are eigenvalues of several machines (shape {modes.values.shape[:-2]}). Draw the "
            "machines one at a time."
        )


def draw_root_locus(
    modes: Eigenmodes,
    axes: "Axes | None" = None,
    limits: tuple[float, float, float, float] | None = None,
) -> "Axes":
    """Draw eigenvalues in the complex plane, coloured by speed.

    Parameters
    ----------
    modes
        Eigenmodes of one vehicle over speeds.
    axes
        Axes to draw into; by default new ones.
    limits
        Left, right, bottom and top limit; by default all eigenmodes except castering, which is far away.

    Returns
    -------
    Axes
        The axes.
    """
    _check_single(modes)
    axes = simplify_axes(given_or_new(axes, (7.0, 5.5)))
    main_values = modes.values[:, [k for k, name in enumerate(modes.names) if name != "castering"]]
    reach = (
        1.1 * max(np.abs(main_values.real).max(), 1.0),
        1.1 * max(np.abs(main_values.imag).max(), 1.0),
    )
    left, right, bottom, top = limits or (-2 * reach[0], reach[0], -reach[1], reach[1])
    axes.axvspan(left, 0.0, color=STABLE_COLOUR, zorder=0, linewidth=0)
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
    for name in MODE_COLOURS:
        values = modes.mode(name)
        inside = (values.real > left) & (values.real < right) & (values.imag < top)
        if inside.any():
            spot = values[inside][len(values[inside]) // 2]
            axes.annotate(
                name, (spot.real, spot.imag), fontsize=font_size(9), textcoords="offset points",
                xytext=(10, 4) if spot.imag else (0, 8), ha="left" if spot.imag else "center",
            )  # fmt: skip
    axes.figure.colorbar(dots, ax=axes, label="forward speed (m/s)")
    add_legend(axes)
    return axes


def draw_mode_shapes(modes: Eigenmodes, speed: float, axes: Sequence["Axes"] | None = None) -> Any:
    """Draw lean and steer of weave, capsize and castering as phasors in three polar axes.

    Parameters
    ----------
    modes
        Eigenmodes of one bicycle over speeds.
    speed
        Speed in m/s; the nearest computed speed is drawn.
    axes
        Three polar axes; by default new ones.

    Returns
    -------
    list of Axes
        The axes.
    """
    _check_single(modes)
    index = int(np.argmin(np.abs(modes.speed - speed)))
    if axes is None:
        figure = empty_figure((9.0, 4.2))
        axes = list(figure.subplots(1, 3, subplot_kw={"projection": "polar"}))
        title = f"eigenmodes at {modes.speed[index]:.3g} m/s, lean and steer to the right"
        figure.suptitle(title, fontsize=font_size(11))
    for name, ax in zip(MODE_COLOURS, axes, strict=True):
        k = modes.names.index(name)
        magnitudes, phases = phasors(modes.vectors[index, :2, k])
        for j, state in enumerate(modes.states[:2]):
            arrow = {"arrowstyle": "-|>", "color": COLOURS[j], "linewidth": 2.2, "shrinkA": 0}
            ax.annotate("", (phases[j], magnitudes[j]), xytext=(0.0, 0.0), arrowprops=arrow)
            ax.plot([], [], color=COLOURS[j], linewidth=2.2, label=f"{state} {magnitudes[j]:.2g}")
        value = modes.values[index, k]
        imaginary = f" {value.imag:+.3f}i" if abs(value.imag) > 1e-9 else ""
        ax.set_title(f"{name}\n{value.real:.3f}{imaginary} 1/s", fontsize=font_size(9))
        ax.set_ylim(0.0, 1.05)
        ax.set_yticks([0.5, 1.0], [])
        ax.set_xticks(np.radians([0, 90, 180, 270]))
        ax.tick_params(labelsize=8)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False, fontsize=8)
    return axes


def draw_bode(
    system: Linear,
    input: str,
    outputs: Sequence[str],
    omega: Any = None,
    axes: Sequence["Axes"] | None = None,
) -> Any:
    """Draw magnitude (dB) and phase (deg) of the responses of outputs to one input.

    Parameters
    ----------
    system
        The linear system.
    input
        Name of the input.
    outputs
        Names of the outputs.
    omega
        Angular frequencies in rad/s; by default 0.01 to 100.
    axes
        Two axes; by default new ones.

    Returns
    -------
    list of Axes
        Magnitude and phase.
    """
    omega = np.logspace(-2, 2, 400) if omega is None else np.asarray(omega, float)
    response = system.part([input], outputs).response(omega)[:, :, 0]
    if axes is None:
        axes = list(new_figure(2, 1, (7.0, 5.5)))
    magnitude, phase = axes
    for k, name in enumerate(outputs):
        style: dict[str, Any] = {"color": COLOURS[k % 7], "label": to_words(name), "linewidth": 1.6}
        magnitude.plot(omega, 20 * np.log10(np.abs(response[:, k])), **style)
        phase.plot(omega, np.degrees(np.unwrap(np.angle(response[:, k]))), **style)
    for ax in axes:
        simplify_axes(ax)
        ax.set_xscale("log")
        ax.set_xlim(omega.min(), omega.max())
    magnitude.set_ylabel("magnitude (dB)")
    phase.set_ylabel("phase (deg)")
    low, high = phase.get_ylim()
    step = 90.0 if high - low > 120 else 45.0
    phase.set_yticks(np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step)
    phase.set_xlabel("angular frequency (rad/s)")
    add_legend(magnitude)
    magnitude.set_title(
        f"response to the input {to_words(input)}", loc="right", fontsize=font_size(9), color=GREY
    )
    return axes


def draw_circles(
    families: Mapping[str, SteadyFamily],
    axes: "Axes | None" = None,
    x: str = "lean",
    y: str = "rear_wheel_speed",
) -> "Axes":
    """Draw one quantity of families of steady circular motions against another.

    A dot marks the first circle of a family; stable circles are drawn as thick lines.

    Parameters
    ----------
    families
        Families by name.
    axes
        Axes to draw into; by default new ones.
    x, y
        Names of the quantities on the horizontal and vertical axis.

    Returns
    -------
    Axes
        The axes.
    """
    axes = simplify_axes(given_or_new(axes, (7.0, 4.5)))
    for k, (name, family) in enumerate(families.items()):
        (across, unit), (up, unit_up) = (_readable(n, family[n]) for n in (x, y))
        colour = COLOURS[k % 7]
        axes.plot(across, up, color=colour, linewidth=1.4, label=name)
        axes.plot(across, np.where(family.stable, up, np.nan), color=colour, linewidth=4.5)
        axes.plot(across[0], up[0], "o", color=colour, markersize=5)
        axes.set(xlabel=f"{to_words(x)} ({unit})", ylabel=f"{to_words(y)} ({unit_up})")
    axes.plot([], [], color=GREY, linewidth=4.5, label="stable")
    add_legend(axes)
    return axes


def _readable(name: str, values: Floats) -> tuple[Floats, str]:
    """Return values of a quantity with angles converted to degrees, and the displayed unit."""
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
    """Draw steady circles over steer and lean: contours of speed (solid) and of steer torque (dashed).

    Stable circles are shaded; circles that require more friction than `friction` are dotted.

    Parameters
    ----------
    turns
        Steady circles on a grid of steer and lean.
    axes
        Axes to draw into; by default new ones.
    speeds, torques
        Levels of the contours, m/s and N m.
    friction
        Coefficient of friction; None draws no limit.
    family
        Hands-free circles to be added.

    Returns
    -------
    Axes
        The axes.
    """
    axes = simplify_axes(given_or_new(axes, (7.5, 5.5)))
    steer = np.degrees(turns.steer)
    lean = np.degrees(turns.lean)
    axes.contourf(steer, lean, turns.growth, levels=[-1e9, 0.0], colors=[STABLE_COLOUR])
    axes.fill_between([], [], color=STABLE_COLOUR, label="stable")
    if friction is not None:
        required = turns.friction.max(axis=2)
        axes.contourf(steer, lean, required, levels=[friction, 1e9], colors="none", hatches=["..."])
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
    add_legend(axes, 5)
    return axes


def draw_sensitivities(moved: Sensitivities, axes: "Axes | None" = None, most: int = 12) -> "Axes":
    """Draw the change of each critical speed (m/s) that an increase of each parameter by 1 %
    causes.

    Parameters
    ----------
    moved
        Sensitivities of the critical speeds.
    axes
        Axes to draw into; by default new ones.
    most
        Largest number of parameters; those with the largest sensitivities are drawn.

    Returns
    -------
    Axes
        The axes.
    """
    axes = simplify_axes(given_or_new(axes, (7.5, 4.5)))
    colours = {
        "weave": MODE_COLOURS["weave"],
        "capsize": MODE_COLOURS["capsize"],
        "double_root": GREY,
    }
    bars = {name: moved.relative(name) / 100 for name in colours}
    rank = np.nansum(np.abs([bars["weave"], bars["capsize"]]), axis=0)
    ranked = np.argsort(-rank)[:most]
    for k, (name, values) in enumerate(bars.items()):
        axes.barh(
            np.arange(len(ranked)) + 0.27 * (k - 1), values[ranked], 0.27, color=colours[name],
            label=to_words(name),
        )  # fmt: skip
    axes.set_yticks(np.arange(len(ranked)), [moved.parameters[k] for k in ranked])
    axes.invert_yaxis()
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_xlabel("change of the critical speed (m/s) if the parameter grows by 1 %")
    add_legend(axes)
    return axes
