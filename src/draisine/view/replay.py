"""Interactive 3D replay of a run as one HTML file, which needs neither a server nor a network."""

import html
import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.terrain import Terrain
from draisine.view.scene.camera import CAMERA_AZIMUTH, CAMERA_DISTANCE, CAMERA_ZOOM
from draisine.view.scene.scene import GROUND_LINES, Scene, build_scene
from draisine.view.style import COLOURS, LINE_WIDTHS, SOLID_OPACITY, to_words

if TYPE_CHECKING:
    from xarray import Dataset

MAX_SAMPLE_RATE = 60.0
"""Largest rate of the stored samples (1/s). It equals the usual frame rate of screens; the page interpolates
between samples.
"""

MAX_REPLAY_SAMPLES = 4000
"""Largest number of stored samples, so that the page is not larger than a few megabytes."""


def replay_page(data: "Dataset", speed: float = 1.0, terrain: Terrain | None = None) -> str:
    """Return the HTML text of a page that replays a stored run.

    Parameters
    ----------
    data
        Dataset of a run.
    speed
        Initial playback speed; 1 is real time.
    terrain
        Ground to draw if the dataset does not contain one.

    Returns
    -------
    str
        Text of the HTML file.

    Raises
    ------
    DataError
        If the run contains values that are not finite.
    """
    motion = build_scene(data, even_times, terrain)
    motion = replace(motion, title=motion.title.replace("\n", "; "))
    text = files("draisine.view").joinpath("replay.html").read_text(encoding="utf-8")
    try:
        content = json.dumps(_content(motion, speed), allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise DataError("The run has values that are not finite: the result is damaged.") from None
    # A title may come from an untrusted file: it must not be interpreted as HTML or end the script.
    text = text.replace("{{title}}", html.escape(motion.title))
    return text.replace("{{motion}}", content.replace("<", "\\u003c"))


def even_times(sampled: Floats) -> Floats:
    """Return evenly spaced times (s) for a page, from the first to the last sample time of a run (s)."""
    length = float(sampled[-1] - sampled[0])
    spacing = float(np.median(np.diff(sampled)))
    rate = MAX_SAMPLE_RATE if spacing <= 0 else min(MAX_SAMPLE_RATE, 1.0 / spacing)
    return np.linspace(
        sampled[0], sampled[-1], int(np.clip(length * rate, 1, MAX_REPLAY_SAMPLES - 1)) + 1
    )


def _content(motion: Scene, speed: float) -> dict[str, Any]:
    """Return all data of the page for JSON, in SI units; `speed` is the initial playback speed."""
    return {
        "title": motion.title,
        "time": _rounded(motion.time),
        **_machine(motion),
        "tracks": _tracks(motion),
        "events": [{"time": t, "name": to_words(name)} for t, name in motion.events],
        "readings": [
            {
                "name": to_words(reading.name),
                "unit": reading.unit,
                "colour": COLOURS[k % 7],
                "values": _rounded(reading.values),
            }
            for k, reading in enumerate(motion.readings)
        ],
        **_ground(motion),
        "focus": _rounded(motion.focus),
        "up": motion.up.tolist(),
        "ground": motion.ground,
        "size": motion.size,
        "cell": motion.cell,
        "around": GROUND_LINES * motion.cell,
        "hilly": bool(motion.patches) and float(np.ptp(motion.focus[:, 2])) > 0.02 * motion.size,
        "camera": {
            "heading": motion.heading,
            "azimuth": motion.heading + math.radians(CAMERA_AZIMUTH),
            "elevation": motion.elevation,
            "away": CAMERA_DISTANCE * motion.size,
            "zoom": CAMERA_ZOOM,
        },
        "speed": speed,
    }


def _tracks(motion: Scene) -> list[dict[str, Any]]:
    """Return the tracks of the contact points (m) and the contact forces (N) as data for JSON."""
    return [
        {
            "name": f"{to_words(name)} contact",
            "colour": COLOURS[k % 7],
            "points": _rounded(track),
            "pushes": _rounded(motion.pushes[name]),
            "path": {
                "time": _rounded(motion.paths[name].time),
                "points": _rounded(motion.paths[name].points),
            },
        }
        for k, (name, track) in enumerate(motion.tracks.items())
    ]


def _machine(motion: Scene) -> dict[str, Any]:
    """Return the poses of the bodies over time, and the shapes that are fixed to them, as data for JSON."""
    return {
        "bodies": [
            {
                "name": to_words(name),
                "position": _rounded(motion.p[:, b]),
                "orientation": _rounded(unit_quaternions(motion.R[:, b])),
            }
            for b, name in enumerate(motion.bodies)
        ],
        "parts": [
            {
                "body": motion.bodies.index(part.body),
                "kind": part.kind,
                "width": LINE_WIDTHS[part.kind],
                "colour": motion.colour(part),
                "points": _rounded(part.points),
            }
            for part in motion.parts
        ],
        "balls": [
            {
                "body": motion.bodies.index(ball.body),
                "centre": _rounded(ball.centre),
                "radius": ball.radius,
                "colour": motion.colour(ball),
            }
            for ball in motion.balls
        ],
        "stones": [
            {
                "body": motion.bodies.index(stone.body),
                "centre": _rounded(stone.centre),
                "ways": _rounded(stone.semi_axes.T),
                "colour": motion.colour(stone),
            }
            for stone in motion.stones
        ],
        "filled": SOLID_OPACITY,
    }


def _ground(motion: Scene) -> dict[str, Any]:
    """Return ground patches, poses of moving ground and posts below elevated tracks as data for JSON (m)."""
    return {
        "patches": [
            {
                "carrier": patch.carrier,
                "grey": round(255 * patch.grey),
                "normal": patch.normal.tolist(),
                "outline": _rounded(patch.outline),
                "lines": _rounded(patch.lines),
            }
            for patch in motion.patches
        ],
        "carriers": [
            {"position": _rounded(p), "orientation": _rounded(unit_quaternions(R))}
            for R, p in motion.carriers
        ],
        "posts": _rounded(motion.posts),
    }


def _rounded(values: Floats) -> list[float | None]:
    """Return the numbers of an array as a flat list, rounded to five decimals (0.01 mm for lengths).

    None replaces values that are not finite, because JSON has no NaN.
    """
    flat = np.round(np.ravel(values), 5)
    return [float(x) if np.isfinite(x) else None for x in flat]


def unit_quaternions(R: Floats) -> Floats:
    """Convert rotation matrices (times, 3, 3) to unit quaternions (times, 4), scalar first.

    The signs are chosen so that the quaternions are continuous in time. To avoid cancellation, each
    quaternion is the normalised row of the matrix q q^T that has the largest diagonal entry.
    """
    trace = np.trace(R, axis1=1, axis2=2)
    diagonal = np.diagonal(R, axis1=1, axis2=2)
    squares = np.column_stack([1.0 + trace, 1.0 + 2.0 * diagonal - trace[:, None]]) / 4.0
    x = R[:, 2, 1] - R[:, 1, 2]
    y = R[:, 0, 2] - R[:, 2, 0]
    z = R[:, 1, 0] - R[:, 0, 1]
    xy, xz, yz = (R[:, i, j] + R[:, j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    products = np.stack([x, y, z, xy, xz, yz], axis=1) / 4.0
    pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    outer = np.zeros((len(R), 4, 4))
    outer[:, range(4), range(4)] = squares
    for n, (i, j) in enumerate(pairs):
        outer[:, i, j] = outer[:, j, i] = products[:, n]
    largest = np.argmax(squares, axis=1)
    q = outer[np.arange(len(R)), largest]
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    # q and -q describe the same rotation; interpolation needs the one closer to the previous sample.
    turns = np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(turns)])[:, None]
