"""Flow charts of Mauny's thesis (2018): 1.6, 1.7, 1.17 and 4.6."""

from collections.abc import Callable, Sequence
from typing import Any

from draisine.view.style import COLOURS, font_size, new_figure

Box = tuple[float, float, str]
"""Centre (x, y) of a box and its text."""

Arrow = tuple[int, int, str]
"""Indices of two boxes and the text of the arrow from the first to the second."""


def draw_chart(boxes: Sequence[Box], arrows: Sequence[Arrow], size: tuple[float, float]) -> Any:
    """Draw a flow chart of boxes and arrows with their texts; two opposite arrows are bent apart."""
    axes = new_figure(1, 1, size)
    drawn = [
        axes.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=font_size(9),
            zorder=3,
            bbox={"boxstyle": "round,pad=0.5", "fc": "white", "ec": COLOURS[0], "lw": 1.5},
        )
        for x, y, text in boxes
    ]
    pairs = {(a, b) for a, b, _ in arrows}
    for a, b, text in arrows:
        bend = 0.25 if (b, a) in pairs else 0.0
        axes.annotate(
            "",
            boxes[b][:2],
            boxes[a][:2],
            arrowprops={
                "arrowstyle": "-|>",
                "color": COLOURS[1],
                "lw": 1.4,
                "connectionstyle": f"arc3,rad={bend}",
                "patchA": drawn[a].get_bbox_patch(),
                "patchB": drawn[b].get_bbox_patch(),
                "shrinkA": 3,
                "shrinkB": 3,
            },
            zorder=1,
        )
        (xa, ya), (xb, yb) = boxes[a][:2], boxes[b][:2]
        # The middle of a bent arrow; texts of straight ones are nearer to the start, away from crossings.
        share = 0.5 if bend else 0.4
        x = xa + share * (xb - xa) + bend * (yb - ya) / 2
        y = ya + share * (yb - ya) - bend * (xb - xa) / 2
        axes.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=font_size(8),
            zorder=2,
            bbox={"fc": "white", "ec": "none", "pad": 1.0, "alpha": 0.9},
        )
    xs, ys = [b[0] for b in boxes], [b[1] for b in boxes]
    axes.set(
        xlim=(min(xs) - 3.0, max(xs) + 3.0),
        ylim=(min(ys) - 1.2, max(ys) + 1.2),
        aspect="equal",
    )
    axes.set_axis_off()
    return axes


def draw_general_problem() -> Any:
    """Draw figure 1.6: the direct dynamics of locomotion and the inverse dynamics of the torques."""
    boxes = [
        (0.0, 0.0, "shape motion\n$r, \\dot r, \\ddot r$"),
        (4.2, 0.0, "external dynamics\n$\\dot\\eta = M^{-1} F$, (1.8), (1.15)"),
        (8.6, 0.0, "reconstruction\n$\\dot g = g\\, \\eta$"),
        (4.2, -2.0, "inverse dynamics\n(1.17), (1.19)"),
        (8.6, -2.0, "joint torques $\\tau$\nforces $\\lambda$"),
    ]
    arrows = [(0, 1, ""), (1, 2, "$\\eta$"), (0, 3, ""), (1, 3, "$\\dot\\eta$"), (3, 4, "")]
    return draw_chart(boxes, arrows, (8.2, 3.2))


def draw_connection_map() -> Any:
    """Draw figure 1.7: the connection maps shape velocities to the twist of the base."""
    boxes = [
        (0.0, 0.0, "$\\dot r \\in T_r S$\nshape velocity"),
        (4.4, 0.0, "$-A(r)$\nlocal connection"),
        (8.8, 0.0, "$\\eta \\in \\mathfrak{g}$\ntwist of the base"),
        (8.8, -1.8, "$g = \\int g\\, \\eta\\, dt$\nnet motion"),
    ]
    return draw_chart(boxes, [(0, 1, ""), (1, 2, ""), (2, 3, "")], (8.2, 3.0))


def draw_rocr_algorithm() -> Any:
    """Draw figure 1.17: the two reduced models of ROCR and the impacts between them."""
    boxes = [
        (0.0, 0.0, "grip 1 holds\n(1.20) with $H_1$"),
        (6.4, 0.0, "grip 2 holds\n(1.20) with $H_2$"),
    ]
    arrows = [
        (0, 1, "$t > T/2 + kT$: impact (1.21)"),
        (1, 0, "$t > kT$: impact (1.21)"),
    ]
    return draw_chart(boxes, arrows, (7.6, 3.6))


def draw_event_location() -> Any:
    """Draw figure 4.6: location of events, by smaller steps in the thesis and on dense output here."""
    boxes = [
        (0.0, 6.0, "integrate a step"),
        (0.0, 3.0, "guards at the nodes: $\\Phi_i, \\; f_{N,i}$"),
        (0.0, 0.0, "zero of the guard on the dense output"),
        (8.0, 3.0, "change of mode or impact"),
    ]
    arrows = [
        (0, 1, ""),
        (1, 0, "no sign change"),
        (1, 2, "sign change"),
        (2, 3, "$t^*$"),
        (3, 0, "new rows"),
    ]
    return draw_chart(boxes, arrows, (8.4, 5.4))


CHARTS: dict[str, Callable[[], Any]] = {
    "general problem": draw_general_problem,
    "connection map": draw_connection_map,
    "algorithm of ROCR": draw_rocr_algorithm,
    "event location": draw_event_location,
}
"""Drawings of this file by name."""
