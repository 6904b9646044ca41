"""Handling metrics: how well a rider follows a path, with which effort, and what turns demand.

Koch's index is the peak steer torque per peak lean rate and speed in a transient; acceleration and roll
index are steer torque per lateral acceleration and per lean in a steady turn (Cossalter, Motorcycle Dynamics,
2nd edition 2006, chapter 8). Negative indices mean a torque against the turn.
"""

import math
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.equilibrium import Steady
from draisine.control import HEADING_ERROR, OFFSET
from draisine.errors import ConfigurationError, ParameterError, expect
from draisine.simulation.trajectory import Trajectory

STRAIGHT = 1e-9
"""Lean, rad, below which a steady motion is no turn: indices are ratios to it."""


@dataclass(frozen=True)
class Handling:
    """Metrics of a run under a rider who follows a path."""

    completed: bool  # whether the run reached its end without a fall
    max_offset: float  # m, largest distance from the path
    rms_offset: float  # m, root mean square over time
    final_offset: float  # m, at the end
    max_heading_error: float  # rad
    max_torque: float  # N m, largest steer torque
    rms_torque: float  # N m
    max_lean: float  # rad
    max_lean_rate: float  # rad/s
    koch_index: float  # N s2/rad, largest torque per largest lean rate and mean speed


def handling(run: Trajectory, input: str = "steer") -> Handling:
    """Return the handling metrics of a run.

    Parameters
    ----------
    run
        A run under a law with path coordinates: `PathFollowing` or `LoopRider`.
    input
        Input that the rider acts on.

    Returns
    -------
    Handling
        Offsets, torque, lean and Koch's index.

    Examples
    --------
    >>> import draisine
    >>> from draisine.analysis.rider.preview import follow_path
    >>> from draisine.control import smooth_step
    >>> bicycle = draisine.compile("whipple")
    >>> rider = follow_path(bicycle, lambda x: 2.0 * smooth_step(x, 5.0, 20.0), 5.0, delay=0.2)
    >>> start = draisine.state(bicycle, forward_speed=5.0)
    >>> found = handling(draisine.simulate(bicycle, start, 8.0, law=rider))
    >>> found.completed, found.max_offset < 0.1
    (True, True)
    """
    expect("handling", run, Trajectory, "draisine.simulate makes one")
    names = getattr(None if run.task is None else run.task.law, "state_names", ())
    if OFFSET not in names:
        raise ParameterError(
            "handling: the law of the run has no path coordinates. Use a rider of follow_path or a "
            "LoopRider."
        )
    data = run.to_xarray()
    t, states = data["time"].values, data["control_state"].values
    offset = states[:, names.index(OFFSET)]
    torque = data["inputs"].sel(input=input).values
    rate = data["lean_rate"].values
    speed = _mean(t, data["forward_speed"].values)
    top = float(np.abs(rate).max())
    largest = float(np.abs(torque).max())
    return Handling(
        run.outcome == "completed",
        float(np.abs(offset).max()),
        math.sqrt(_mean(t, offset**2)),
        float(offset[-1]),
        float(np.abs(states[:, names.index(HEADING_ERROR)]).max()),
        largest,
        math.sqrt(_mean(t, torque**2)),
        float(np.abs(data["lean"].values).max()),
        top,
        largest / (speed * top) if speed * top > 0.0 else math.nan,
    )


def _mean(t: Floats, x: Floats) -> float:
    """Return the mean over time, by the trapezium rule."""
    return float(np.sum((x[1:] + x[:-1]) / 2.0 * np.diff(t)) / (t[-1] - t[0]))


def turning_indices(turn: Steady, input: str = "steer") -> dict[str, float]:
    """Return what a steady turn demands of the rider.

    Parameters
    ----------
    turn
        Steady motion with the steer torque free, from `steady(system, free=["steer"], lean=..., ...)`.
    input
        Input that is the steer torque.

    Returns
    -------
    dict
        `acceleration_index`, N m per m/s2 of lateral acceleration; `roll_index`, N m/rad of lean. Both
        are positive if the torque steers into the turn.

    Examples
    --------
    >>> from draisine import compile
    >>> from draisine.analysis.equilibrium import steady
    >>> turn = steady(compile("whipple"), free=["steer"], lean=0.1, forward_speed=5.0)
    >>> turning_indices(turn)["roll_index"] < 0.0  # the torque is directed out of the turn
    True
    """
    values = turn.values
    lean, torque = values["lean"], turn.inputs[input]
    if abs(lean) < STRAIGHT:
        raise ConfigurationError("turning_indices: the motion is straight; ask for a lean.")
    # Lean is positive to the right, torque and yaw to the left.
    acceleration = values["forward_speed"] * values["yaw_rate"]
    return {"acceleration_index": torque / acceleration, "roll_index": -torque / lean}
