"""Loop transfer functions of a vehicle with a control law: stability margins, crossover frequencies, stable
speeds.

A control law that acts on one input w closes the loop `w = -L(s) w`. `open_loop` returns L as a linear system
about a steady motion. Frequencies at which |L| = 1 are imaginary eigenvalues of the Hamiltonian matrix
of `1 - L(-s) L(s)`, those at which L is real are imaginary zeros of `L(s) - L(-s)`. So no grid of
frequencies can miss one.

`nested_loops` returns the five loops of the rider of Hess, Moore and Hubbard 2012,
doi:10.1109/TSMCA.2011.2164244; `design_loops` finds gains for crossover frequencies.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.equilibrium import Steady
from draisine.analysis.linear import Linear, linear_systems, linearise
from draisine.control import track_path
from draisine.control.loop_rider import LOOPS, LoopRider
from draisine.control.path_following import PathFollowing
from draisine.errors import ConfigurationError, ParameterError, UnknownNameError, expect_known
from draisine.mechanics.readings import Readings
from draisine.simulation.dataset import call_recipe, provenance
from draisine.system.state import state
from draisine.system.system import System
from draisine.system.tracing import Law

IMAGINARY_TOLERANCE = 1e-6
"""Largest real part of an eigenvalue that counts as imaginary, as a fraction of its magnitude; Hamiltonian
eigenvalues are double if |L| touches 1, so that their rounding errors are about 1e-8."""

SINGLE_INPUT_RESIDUAL = 1e-6
"""Largest part of a control law's feedback that does not act through the single input and counts as zero, as
a fraction of the largest entry of the closed-loop matrix A."""

SPEED_STEP = 0.05
"""Speed step (m/s) of the search for the end of a stable range, the spacing at which eigenvalues
are tracked.
"""


@dataclass(frozen=True)
class Margins:
    """Stability margins of a loop with the loop transfer function L.

    `gain_low` and `gain_high` are the factors on L between which the loop stays stable, 0 and inf if
    there is no bound. `phase` is the smallest angle between L and -1 at a gain crossover, rad;
    `delay` the additional delay that destabilises the loop, s; `modulus` is the smallest `|1 + L|`.
    `crossovers` are all gain crossover frequencies, `phase_crossovers` those at which L is real and
    negative, rad/s.
    """

    stable: bool
    gain_low: float
    gain_high: float
    phase: float
    delay: float
    modulus: float
    crossovers: tuple[float, ...]
    phase_crossovers: tuple[float, ...]

    def __str__(self) -> str:
        def format_decibel(gain: float) -> str:
            """Return a gain factor in decibels as text."""
            return f"{20.0 * math.log10(gain):+.2f} dB" if 0.0 < gain < math.inf else "no bound"

        crossovers = ", ".join(f"{w:.3g}" for w in self.crossovers) or "none"
        return (
            f"{'stable' if self.stable else 'unstable'}; "
            f"gain margins {format_decibel(self.gain_low)} and {format_decibel(self.gain_high)}, "
            f"phase margin {math.degrees(self.phase):.1f} deg, delay margin {self.delay:.3g} s, "
            f"smallest |1 + L| {self.modulus:.3g}; crossovers at {crossovers} rad/s"
        )


def open_loop(motion: Steady, input: str = "steer") -> Linear:
    """Return the loop transfer function of a control law, with the loop cut open at one input.

    Parameters
    ----------
    motion
        Steady motion under the control law, from `steady(system, law=law, ...)`.
    input
        Name of the only input of the system that the control law acts on.

    Returns
    -------
    Linear
        L(s) with one input and the output `returned`, the negative torque of the control law.
        The stability of the closed loop follows from the encirclements of -1 by L (Nyquist).

    Examples
    --------
    >>> from draisine import compile
    >>> from draisine.analysis.equilibrium import steady
    >>> from draisine.analysis.rider.preview import follow_path
    >>> bicycle = compile("whipple")
    >>> rider = follow_path(bicycle, 0.0, 5.0, delay=0.2)
    >>> margins(open_loop(steady(bicycle, law=rider, forward_speed=5.0))).stable
    True
    """
    machine: Any = motion.machine
    law = motion.law
    if law is None:
        raise ParameterError(
            "open_loop: the motion has no law. Find it by steady(system, law=law)."
        )
    if "terrain" in machine.contact_options:
        raise ConfigurationError(
            "open_loop: loops are cut open on the plane. Find the motion without a terrain; slope and camber "
            "are parameters of compile."
        )
    system = machine.system
    expect_known("open_loop: no input", input, system.model.inputs, UnknownNameError)
    closed = linear_systems(machine, motion.y[None], motion.w[None], cyclic=True)[0]
    plain = system.machine(dict(machine.mode), configuration=(motion.state.q, motion.state.r))
    y = plain.enter(motion.state)
    w = np.asarray(machine.observation(motion.y, w=motion.w)["inputs"], float)
    plant = linear_systems(plain, y[None], w[None], cyclic=True)[0].part([input])
    n = len(plant.states)
    size = len(closed.states)
    if closed.states[:n] != plant.states:
        raise ConfigurationError(
            "open_loop: the law guides joints, so that no loop can be cut open."
        )
    push = plant.B[:, 0]
    added = closed.A[:n].copy()
    added[:, :n] -= plant.A
    row = push @ added / (push @ push)
    if np.abs(added - np.outer(push, row)).max() > SINGLE_INPUT_RESIDUAL * np.abs(closed.A).max():
        raise ConfigurationError(
            f"open_loop: the law acts on other inputs than {input!r}, too. Cut open laws of one input."
        )
    push = np.append(push, np.zeros(size - n))
    line = f"loop = draisine.analysis.rider.loops.open_loop(motion, {input!r})"
    recipe = f"{motion.recipe}import draisine.analysis.rider.loops\n{line}\n"
    return Linear(
        closed.A - np.outer(push, row),
        push[:, None],
        -row[None],
        np.zeros((1, 1)),
        closed.states,
        (input,),
        ("returned",),
        closed.x0,
        np.zeros(1),
        np.zeros(1),
        closed.units,
        closed.heading,
        closed.rates,
        made=provenance(system, law, recipe),
    )


def margins(loop: Linear) -> Margins:
    """Return the stability margins of a loop transfer function with one input and one output.

    Parameters
    ----------
    loop
        Loop transfer function L with one input and one output.

    Returns
    -------
    Margins
        Gain, phase and delay margins, and the crossover frequencies (rad/s).

    Examples
    --------
    L = 1 / (s (s + 1) (s + 2)) has the gain margin 6, at sqrt(2) rad/s:

    >>> A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -2.0, -3.0]])
    >>> found = margins(make_single_loop(A, np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])))
    >>> print(f"{found.gain_high:.9f} at {found.phase_crossovers[0]:.9f} rad/s")
    6.000000000 at 1.414213562 rad/s
    """
    A, b, c, d = _single_loop_matrices(loop)

    def loop_transfer(frequency: float) -> complex:
        """Return the loop transfer function at the frequencies (rad/s)."""
        return complex(c @ np.linalg.solve(1j * frequency * np.eye(len(A)) - A, b) + d)

    unity = _find_gain_crossovers(A, b, c, d)
    real = [
        w for w in _find_phase_crossovers(A, b, c, loop_transfer) if loop_transfer(w).real < 0.0
    ]
    factors = [1.0 / abs(loop_transfer(w)) for w in real]
    lags = {w: float(np.angle(-loop_transfer(w))) for w in unity}
    closed = np.linalg.eigvals(A - np.outer(b, c) / (1.0 + d))
    # States outside of the loop (distance along the path, wheel angles) have zero eigenvalues:
    # leave them out.
    growth = 1e-7 * (1.0 + np.abs(closed).max(initial=0.0))
    return Margins(
        bool(closed.real.max(initial=-1.0) < growth),
        max((x for x in factors if x < 1.0), default=0.0),
        min((x for x in factors if x > 1.0), default=math.inf),
        min((abs(x) for x in lags.values()), default=math.inf),
        min((x % (2.0 * math.pi) / w for w, x in lags.items()), default=math.inf),
        _smallest_return_difference(loop_transfer, [*unity, *real], A),
        tuple(unity),
        tuple(real),
    )


def make_single_loop(
    state_matrix: Floats, input_column: Floats, output_row: Floats, feedthrough: float = 0.0
) -> Linear:
    """Return a linear system with one input and one output from its matrices; its states are named
    z[k].
    """
    names = tuple(f"z[{k}]" for k in range(len(state_matrix)))
    return Linear(
        np.asarray(state_matrix, float),
        np.asarray(input_column, float)[:, None],
        np.asarray(output_row, float)[None],
        np.full((1, 1), float(feedthrough)),
        names,
        ("input",),
        ("output",),
        np.zeros(len(state_matrix)),
        np.zeros(1),
        np.zeros(1),
    )


def _single_loop_matrices(loop: Linear) -> tuple[Floats, Floats, Floats, float]:
    """Return A, b, c, d of a linear system with one input and one output."""
    A = loop.check_single("margins")
    if loop.B.shape[1] != 1 or loop.C.shape[0] != 1:
        raise ParameterError(
            f"margins: the system has {loop.B.shape[1]} inputs and {loop.C.shape[0]} outputs. Choose one "
            "of each by part([input], [output])."
        )
    return A, loop.B[:, 0], loop.C[0], float(loop.D[0, 0])


def _imaginary_frequencies(eigenvalues: Floats) -> list[float]:
    """Return the positive frequencies (rad/s) of eigenvalues on the imaginary axis, in increasing
    order.
    """
    finite = eigenvalues[np.isfinite(eigenvalues)]
    scale = np.abs(finite).max(initial=0.0)
    near = np.abs(finite.real) <= 1e-4 * np.abs(finite)
    frequencies = np.sort(
        finite.imag[near & (finite.imag > IMAGINARY_TOLERANCE * scale * IMAGINARY_TOLERANCE)]
    )
    return [float(w) for w in frequencies]


def _refine_roots(function: Callable[[float], float], guesses: Sequence[float]) -> list[float]:
    """Return the distinct roots of a real function near guesses; guesses without a root are left
    out.
    """
    from scipy.optimize import brentq

    roots: list[float] = []
    for w in guesses:
        for width in (1e-6, 1e-4, 1e-2):
            low = w * (1.0 - width)
            high = w * (1.0 + width)
            if function(low) * function(high) <= 0.0:
                root = float(brentq(function, low, high, xtol=1e-15, rtol=1e-14))
                if not any(abs(root - x) <= 1e-9 * root for x in roots):
                    roots.append(root)
                break
    return sorted(roots)


def _find_gain_crossovers(
    state_matrix: Floats, input_column: Floats, output_row: Floats, feedthrough: float
) -> list[float]:
    """Return the frequencies (rad/s) at which |L| = 1, from the Hamiltonian matrix of 1 - L(-s)
    L(s).
    """
    rest = 1.0 - feedthrough * feedthrough
    if rest == 0.0:
        raise ConfigurationError(
            "margins: |L| tends to 1 at high frequencies, so that the gain crossovers are not defined."
        )
    F = state_matrix + np.outer(input_column, output_row) * (feedthrough / rest)
    H = np.block(
        [
            [F, np.outer(input_column, input_column) / rest],
            [-np.outer(output_row, output_row) / rest, -F.T],
        ]
    )

    def gain_excess(frequency: float) -> float:
        """Return |L| - 1 at a frequency (rad/s), zero at a gain crossover."""
        return float(
            abs(
                output_row
                @ np.linalg.solve(
                    1j * frequency * np.eye(len(state_matrix)) - state_matrix, input_column
                )
                + feedthrough
            )
            - 1.0
        )

    return _refine_roots(gain_excess, _imaginary_frequencies(np.linalg.eigvals(H)))


def _find_phase_crossovers(
    state_matrix: Floats,
    input_column: Floats,
    output_row: Floats,
    loop_transfer: Callable[[float], complex],
) -> list[float]:
    """Return the frequencies (rad/s) at which the loop transfer function L is real: the imaginary
    zeros of L(s) - L(-s).
    """
    from scipy.linalg import eigvals

    n = len(state_matrix)
    zero = np.zeros((n, n))
    pencil = np.block(
        [
            [state_matrix, zero, input_column[:, None]],
            [zero, -state_matrix, input_column[:, None]],
            [output_row[None], output_row[None], np.zeros((1, 1))],
        ]
    )
    values = eigvals(pencil, np.diag([1.0] * (2 * n) + [0.0]))
    return _refine_roots(lambda w: loop_transfer(w).imag, _imaginary_frequencies(values))


def _smallest_return_difference(
    loop_transfer: Callable[[float], complex],
    known_frequencies: Sequence[float],
    state_matrix: Floats,
) -> float:
    """Return the smallest magnitude of the return difference |1 + L| over all frequencies."""
    return minimise_over_frequency(
        lambda w: abs(1.0 + loop_transfer(w)), state_matrix, known_frequencies
    )[0]


def minimise_over_frequency(
    function: Callable[[float], float],
    state_matrix: Floats,
    known_frequencies: Sequence[float] = (),
) -> tuple[float, float]:
    """Return the smallest value of a function of the frequency, and that frequency (rad/s).

    Frequencies are searched from a hundredth of the slowest eigenvalue of A to a hundred times the
    fastest one; `known_frequencies` are additional frequencies (rad/s) of interest.
    """
    from scipy.optimize import minimize_scalar

    sizes = np.abs(np.linalg.eigvals(state_matrix))
    sizes = np.concatenate([sizes[sizes > 1e-6], known_frequencies, [1.0]])
    grid = np.geomspace(0.01 * sizes.min(), 100.0 * sizes.max(), 600)
    values = np.array([function(w) for w in grid])
    k = int(np.argmin(values))
    low, high = (math.log(grid[j]) for j in (max(k - 1, 0), min(k + 1, len(grid) - 1)))
    optimum = minimize_scalar(
        lambda x: function(math.exp(x)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-10},
    )
    if optimum.fun < values[k]:
        return float(optimum.fun), math.exp(optimum.x)
    return float(values[k]), float(grid[k])


def stable_speeds(
    system: System, law: Law, low: float = 0.1, high: float = 30.0
) -> tuple[float, float]:
    """Return the range of forward speeds in which a rider stabilises a two-wheeler.

    The gains of the control law are constant. The range contains its design speed.

    Parameters
    ----------
    system
        The two-wheeler.
    law
        Control law of the rider. The path of a rider who follows one is replaced by a straight
        line.
    low, high
        Speeds between which the range is searched, m/s.

    Returns
    -------
    tuple
        Lowest and highest speed of the range, m/s, at which the real part of an eigenvalue is zero.

    Raises
    ------
    ConfigurationError
        If the closed loop is unstable at the design speed (or, for a control law without design speed, in
        the middle of the searched range).

    Examples
    --------
    >>> from draisine import compile
    >>> from draisine.analysis.rider.preview import follow_path
    >>> bicycle = compile("whipple")
    >>> first, last = stable_speeds(bicycle, follow_path(bicycle, 0.0, 5.0, delay=0.2))
    >>> first < 5.0 < last
    True
    """
    from scipy.optimize import brentq

    speed = getattr(law, "speed", None)
    middle = float(speed) if isinstance(speed, float) else 0.5 * (low + high)
    if not 0.0 < low < middle < high:
        raise ParameterError(
            f"stable_speeds: {low:g} to {high:g} m/s does not contain the speed {middle:g} m/s."
        )
    wheeler = TwoWheeler(system, law.on(0.0) if isinstance(law, PathFollowing | LoopRider) else law)

    def largest_growth(speed: float) -> float:
        """Return the largest real part of the eigenvalues (1/s) at the speed (m/s)."""
        return float(np.linalg.eigvals(wheeler.matrices(np.array([speed]))[0]).real.max())

    if not largest_growth(middle) < 0.0:
        raise ConfigurationError(
            f"stable_speeds: the closed loop is unstable at {middle:g} m/s. Change the gains."
        )
    ends = []
    for end in (low, high):
        count = max(2, math.ceil(abs(end - middle) / SPEED_STEP))
        grid = np.linspace(middle, end, count + 1)
        A, _ = wheeler.matrices(grid)
        bad = np.flatnonzero(~(np.linalg.eigvals(A).real.max(axis=1) < 0.0))
        if not len(bad):
            ends.append(end)
            continue
        inside, outside = (float(v) for v in grid[[bad[0] - 1, bad[0]]])
        ends.append(float(brentq(largest_growth, inside, outside, xtol=1e-10)))
    return ends[0], ends[1]


def nested_loops(system: System, rider: LoopRider, speed: float) -> dict[str, Linear]:
    """Return the loop transfer functions of a rider with nested loops, from the innermost outwards.

    Each loop is cut open at its error signal, with the inner loops closed and the outer loops open.
    `margins` of a loop contains its crossover frequency.

    Parameters
    ----------
    system
        The bicycle.
    rider
        The rider; a loop without a gain, and those outside of it, are left out.
    speed
        Forward speed, m/s.

    Returns
    -------
    dict
        Loops `steer`, `lean_rate`, `lean`, `heading`, `path`.

    Examples
    --------
    >>> from draisine import compile
    >>> rider = LoopRider(46.5457, -0.0522, 12.6611, 0.1849, 0.0959)
    >>> loops = nested_loops(compile("whipple"), rider, 5.0)
    >>> print(f"{margins(loops['lean']).crossovers[-1]:.2f} rad/s")
    2.00 rad/s
    """
    A, b, rows = rider_plant(system, rider, speed)
    loops = {}
    for name, gain in rider.gains.items():
        if gain == 0.0:
            break
        recipe = call_recipe("loops", nested_loops, system, rider, speed)
        attributes = provenance(system, rider, f"{recipe}linear = loops[{name!r}]\n")
        loops[name] = replace(make_single_loop(A, gain * b, rows[name]), made=attributes)
        A, b = _close_loop(A, gain * b, rows[name])
    return loops


def _close_loop(
    state_matrix: Floats, input_column: Floats, output_row: Floats
) -> tuple[Floats, Floats]:
    """Return state matrix and input column of a loop after it is closed with unit gain."""
    return state_matrix - np.outer(input_column, output_row), input_column


@dataclass(frozen=True, eq=False)
class _Probe:
    """Control law without inputs that adds path coordinates and the signals that a rider feeds
    back.

    The path is a straight line.
    """

    rider: LoopRider

    states: int = 2 + len(LOOPS)

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        point = track_path(self.rider.path, readings, z)
        values = self.rider.values(readings, point).values()
        return {}, [*point.rates, *(x - rest for x, rest in zip(values, point.rest, strict=True))]


def rider_plant(
    system: System, rider: LoopRider, speed: float
) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Return A and b from commanded torque to applied torque, and the output rows of the fed-back
    signals.
    """
    straight = state(system, forward_speed=speed)
    linear = linearise(system, straight, law=_Probe(rider.on(0.0)))
    n = len(linear.states) - len(LOOPS)
    w = rider.frequency
    plant = linear.A[:n, :n]
    push = linear.part([rider.steer]).B[:n, 0]
    A = np.zeros((n + 2, n + 2))
    A[:n, :n] = plant
    A[:n, n] = -push
    A[n, n + 1] = 1.0
    A[n + 1, n:] = -w * w, -2.0 * rider.damping * w
    b = np.zeros(n + 2)
    b[n + 1] = w * w
    rows = {name: np.append(linear.A[n + k, :n], [0.0, 0.0]) for k, name in enumerate(LOOPS)}
    return A, b, rows


CROSSOVER_FREQUENCIES = {"lean": 2.0, "heading": 1.0, "path": 0.5}
"""Published crossover frequencies of the three outer loops, rad/s."""

DAMPING_RATIOS = {"steer": 0.1289, "lean_rate": 0.0855}
"""Damping ratios of the eigenvalue pair of muscles and steer after the inner loops are closed.

They are those of the published gains of the benchmark bicycle at 5 m/s.
"""


def design_loops(
    system: System,
    speed: float,
    crossovers: Mapping[str, float] | None = None,
    damping: Mapping[str, float] | None = None,
    **rider: Any,
) -> LoopRider:
    """Design a rider with nested loops for given crossover frequencies and damping ratios.

    The two inner gains follow from the damping ratio of the pair of eigenvalues of muscles and steer
    after each of the two loops is closed, the outer gains from the crossover frequencies.

    Parameters
    ----------
    system
        The bicycle.
    speed
        Forward speed, m/s.
    crossovers
        Crossover frequencies of `lean`, `heading` and `path`, rad/s; by default the published 2, 1
        and 0.5. Leave `path` out for a rider who keeps a heading.
    damping
        Damping ratios after closing `steer` and `lean_rate`; by default those of the published gains.
    rider
        Other fields of `LoopRider`: `path`, `heading`, `frequency`, `damping` of its muscles under
        the name `muscle_damping`.

    Returns
    -------
    LoopRider
        The control law.

    Raises
    ------
    ConfigurationError
        If the damping ratio of an inner loop cannot be reached, or if the closed loops are unstable.

    Examples
    --------
    >>> from draisine import compile
    >>> rider = design_loops(compile("whipple"), 5.0)
    >>> print(f"{rider.steer_gain:.1f} {rider.rate_gain:.4f} {rider.lean_gain:.2f}")
    46.6 -0.0522 12.67
    """
    wanted = dict(CROSSOVER_FREQUENCIES if crossovers is None else crossovers)
    ratios = DAMPING_RATIOS | dict(damping or {})
    expect_known("design_loops: no loop", wanted, CROSSOVER_FREQUENCIES)
    expect_known("design_loops: no inner loop", ratios, DAMPING_RATIOS)
    if "muscle_damping" in rider:
        rider["damping"] = rider.pop("muscle_damping")
    law = LoopRider(0.0, 0.0, 0.0, 0.0, **rider)
    A, b, rows = rider_plant(system, law, speed)
    gains: dict[str, float] = {}
    for name in LOOPS[:2]:
        gains[name] = _find_damped_gain(A, b, rows[name], ratios[name], name)
        A, b = _close_loop(A, gains[name] * b, rows[name])
    for name in LOOPS[2:]:
        if name not in wanted:
            break
        s = 1j * wanted[name] * np.eye(len(A))
        gains[name] = 1.0 / abs(complex(rows[name] @ np.linalg.solve(s - A, b)))
        A, b = _close_loop(A, gains[name] * b, rows[name])
    grown = np.linalg.eigvals(A)
    if grown.real.max() > 1e-7 * np.abs(grown).max():
        raise ConfigurationError(
            f"design_loops: with {', '.join(f'{n} at {w:g} rad/s' for n, w in wanted.items())} the loops are "
            f"unstable at {speed:g} m/s. Choose lower crossover frequencies or a higher speed."
        )
    steer, rate, lean, heading, lateral = (gains.get(name, 0.0) for name in LOOPS)
    return replace(
        law,
        steer_gain=steer,
        rate_gain=rate,
        lean_gain=lean,
        heading_gain=heading,
        lateral_gain=lateral,
    )


def _find_damped_gain(
    state_matrix: Floats, input_column: Floats, output_row: Floats, ratio: float, name: str
) -> float:
    """Return the gain of a loop at which the eigenvalue pair of muscles and steer has a damping
    ratio.

    The pair is the oscillation of lowest damping above 3 rad/s. Gains are searched with the sign by
    which the steer loop raises, and the lean-rate loop lowers, its damping to the ratio.
    """
    from scipy.optimize import brentq

    def damping_excess(gain: float) -> float:
        """Return the lowest damping ratio above `FAST_PAIR` for a gain, minus the wanted ratio."""
        values = np.linalg.eigvals(state_matrix - gain * np.outer(input_column, output_row))
        pairs = values[values.imag > FAST_PAIR]
        return float((-pairs.real / np.abs(pairs)).min(initial=1.0)) - ratio

    signs = (1.0,) if name == "steer" else (-1.0, 1.0)
    for sign in signs:
        gains = sign * np.geomspace(*(GAIN_BOUNDS[name]), 200)
        sizes = np.array([damping_excess(gain) for gain in gains])
        for k in np.flatnonzero((sizes[:-1] > 0.0) & (sizes[1:] <= 0.0)):
            return float(brentq(damping_excess, gains[k], gains[k + 1], xtol=1e-14))
    raise ConfigurationError(
        f"design_loops: no gain of the {name} loop gives its eigenvalues the damping ratio {ratio:g}. Choose "
        "another ratio or a higher speed."
    )


FAST_PAIR = 3.0
"""Frequency (rad/s) above which the eigenvalue pair of muscles and steer is searched.

It is above the weave frequency of bicycles with a fixed steer.
"""

GAIN_BOUNDS = {"steer": (1.0, 1e4), "lean_rate": (1e-4, 10.0)}
"""Bounds of the gains of the inner loops in the search: N m/rad for steer, rad per rad/s for lean
rate.
"""
