"""Handling metrics: path errors and effort of a rider, steer torque in turns, handling quality.

Koch's index is the peak steer torque per peak lean rate and speed in a transient; acceleration and roll
index are steer torque per lateral acceleration and per lean in a steady turn (Cossalter, Motorcycle Dynamics,
2nd edition 2006, chapter 8). Negative indices mean a torque against the turn.

The handling quality metric (HQM) of a rider of nested loops is the magnitude, over frequency, of the rate
feedback per commanded lean and lean gain (Hess, Moore and Hubbard 2012, doi:10.1109/TSMCA.2011.2164244;
numbers in Moore, Hubbard and Hess 2016, doi:10.6084/m9.figshare.3806310), eq. [handling-quality].
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.equilibrium import Steady
from draisine.analysis.linear import Linear
from draisine.analysis.rider.loops import make_single_loop, minimise_over_frequency, rider_plant
from draisine.control import HEADING_ERROR, OFFSET
from draisine.control.loop_rider import LoopRider
from draisine.errors import ConfigurationError, ParameterError, expect
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.trajectory import Trajectory
from draisine.system.system import System

STRAIGHT_LEAN = 1e-9
"""Largest lean angle of a motion that counts as straight, rad; ratios to such a lean are meaningless."""

FILTER_FREQUENCY = 20.0
"""Double corner frequency (rad/s) of the filter in the definition of the handling quality metric.
"""

HANDLING_LEVELS = (5.0, 8.0)
"""Upper bounds of the peak handling quality metric of level 1 (little compensation by the rider)
and of level 2 (moderate compensation); larger peaks are level 3.
"""


@dataclass(frozen=True)
class Handling:
    """Handling metrics of a run under a rider who follows a path."""

    completed: bool  # whether the run reached its end without a fall
    max_offset: float  # largest distance from the path, m
    rms_offset: float  # RMS distance from the path over time, m
    final_offset: float  # distance from the path at the end, m
    max_heading_error: float  # largest heading error, rad
    max_torque: float  # largest steer torque, N m
    rms_torque: float  # RMS steer torque, N m
    max_lean: float  # largest lean angle, rad
    max_lean_rate: float  # largest lean rate, rad/s
    koch_index: float  # Koch index: largest torque per largest lean rate and mean speed, N s2/rad


def handling(run: Trajectory, input: str = "steer") -> Handling:
    """Return the handling metrics of a run under a rider who follows a path.

    Parameters
    ----------
    run
        A run under a control law with path coordinates: `PathFollowing` or `LoopRider`.
    input
        Name of the input that the rider applies.

    Returns
    -------
    Handling
        Offsets, torque, lean and Koch's index.

    Examples
    --------
    >>> import draisine
    >>> from draisine.analysis.rider.preview import follow_path
    >>> from draisine.control import smooth_transition
    >>> bicycle = draisine.compile("whipple")
    >>> rider = follow_path(bicycle, lambda x: 2.0 * smooth_transition(x, 5.0, 20.0), 5.0, delay=0.2)
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
    t = data["time"].values
    states = data["control_state"].values
    offset = states[:, names.index(OFFSET)]
    torque = data["inputs"].sel(input=input).values
    rate = data["lean_rate"].values
    speed = _time_average(t, data["forward_speed"].values)
    top = float(np.abs(rate).max())
    largest = float(np.abs(torque).max())
    return Handling(
        run.outcome == "completed",
        float(np.abs(offset).max()),
        math.sqrt(_time_average(t, offset**2)),
        float(offset[-1]),
        float(np.abs(states[:, names.index(HEADING_ERROR)]).max()),
        largest,
        math.sqrt(_time_average(t, torque**2)),
        float(np.abs(data["lean"].values).max()),
        top,
        largest / (speed * top) if speed * top > 0.0 else math.nan,
    )


def _time_average(times: Floats, series: Floats) -> float:
    """Return the time average of a series over times (s), by the trapezium rule."""
    return float(np.sum((series[1:] + series[:-1]) / 2.0 * np.diff(times)) / (times[-1] - times[0]))


def turning_indices(turn: Steady, input: str = "steer") -> dict[str, float]:
    """Return the steer torque of a steady turn per lean angle and per lateral acceleration.

    Parameters
    ----------
    turn
        Steady motion with the steer torque free, from `steady(system, free=["steer"], lean=..., ...)`.
    input
        Name of the input that is the steer torque.

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
    lean = values["lean"]
    torque = turn.inputs[input]
    if abs(lean) < STRAIGHT_LEAN:
        raise ConfigurationError("turning_indices: the motion is straight. Prescribe a lean.")
    # Lean is positive to the right, but torque and yaw are positive to the left.
    acceleration = values["forward_speed"] * values["yaw_rate"]
    return {"acceleration_index": torque / acceleration, "roll_index": -torque / lean}


@dataclass(frozen=True, eq=False)
class HandlingQuality:
    """Handling quality metric of a rider at one speed."""

    metric: Linear  # linear system whose frequency response has the metric as its magnitude
    peak: float  # largest magnitude of the metric over all frequencies
    frequency: float  # frequency of the peak, rad/s
    level: int  # level of handling from 1 to 3, by `HANDLING_LEVELS`


def handling_quality(system: System, rider: LoopRider, speed: float) -> HandlingQuality:
    """Return the handling quality metric of a bicycle under a rider with nested loops.

    With the three inner loops closed and those of heading and path open, the metric is::

        HQM = |U / lean_command| F / lean_gain,    U = lean_rate + steer / rate_gain,

    eq. [handling-quality]: U is the feedback that the rider compares with the commanded lean rate, F the
    magnitude of the filter `20^2 / (s + 20)^2`. Levels belong to riders whose lean loop crosses over
    at 2 rad/s, as those of `design_loops`.

    Parameters
    ----------
    system
        The bicycle.
    rider
        The rider.
    speed
        Forward speed, m/s.

    Returns
    -------
    HandlingQuality
        The metric as a linear system, its peak, and the level of handling.

    Raises
    ------
    ConfigurationError
        If the three inner loops are unstable: the metric is that of a steady oscillation.

    Examples
    --------
    The benchmark bicycle at 5 m/s (its published peak, 4.64, is the largest of points 0.4 rad/s apart):

    >>> from draisine import compile
    >>> from draisine.analysis.rider.loops import design_loops
    >>> bicycle = compile("whipple")
    >>> found = handling_quality(bicycle, design_loops(bicycle, 5.0), 5.0)
    >>> print(f"{found.peak:.2f} at {found.frequency:.1f} rad/s, level {found.level}")
    4.69 at 13.5 rad/s, level 1
    """
    expect("handling_quality", rider, LoopRider, "design_loops(system, speed) makes one")
    inner = ("steer", "lean_rate", "lean")
    if not all(rider.gains[name] for name in inner):
        raise ParameterError(
            "handling_quality: the gains of steer, lean rate and lean must not be 0."
        )
    A, b, rows = rider_plant(system, rider, speed)
    feedback = rows["lean_rate"] + rows["steer"] / rider.gains["lean_rate"]
    for name in inner:
        b = rider.gains[name] * b
        A = A - np.outer(b, rows[name])
    # Path coordinates and the forward speed are not part of the three inner loops: leave their zero
    # eigenvalues out.
    moved = np.linalg.eigvals(A)
    if moved.real.max() > 1e-7 * np.abs(moved).max():
        raise ConfigurationError(
            f"handling_quality: the loops of steer, lean rate and lean are unstable at {speed:g} m/s. "
            "Use design_loops, or gains for this machine and speed."
        )
    n = len(A)
    w = FILTER_FREQUENCY
    filtered = np.zeros((n + 2, n + 2))
    filtered[:n, :n] = A
    filtered[n, :n] = w * feedback
    filtered[n + 1, n] = w
    filtered[n, n] = filtered[n + 1, n + 1] = -w
    drive = np.append(b / rider.gains["lean"], [0.0, 0.0])
    recipe = call_recipe("quality", handling_quality, system, rider, speed)
    attributes = provenance(system, rider, f"{recipe}linear = quality.metric\n")
    metric = replace(make_single_loop(filtered, drive, np.eye(n + 2)[-1]), made=attributes)

    def metric_magnitude(frequency: float) -> float:
        """Return the magnitude of the metric at a frequency (rad/s)."""
        return abs(complex(metric.response(frequency)[0, 0, 0]))

    smallest, frequency = minimise_over_frequency(lambda x: -metric_magnitude(x), filtered)
    return HandlingQuality(
        metric, -smallest, frequency, 1 + sum(-smallest > bound for bound in HANDLING_LEVELS)
    )
