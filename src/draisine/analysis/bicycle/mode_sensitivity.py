"""Exact derivatives of eigenvalues of any two-wheeler by its parameters, and of the growth of an eigenmode.

In straight running `F(y, p) = 0`: contacts are closed, accelerations and rates of tyre states vanish, the
forward speed is given. The state y follows the parameters p by `F_y dy = -F_p dp`. The system matrix A is
built from derivatives of the equations of motion; both are differentiated along `(dy, dp)` by forward
differentiation (`differentiate.run_tangent`), and inverses and products by `MatrixJet`. With eigenvectors
`y' x = 1` of an eigenvalue s,

    ds/dp = y' dA/dp x,        eq. [eigenvector-change].

1. `_vary_straight_running`: equations of motion in straight running with derivatives by each parameter.
2. `system_matrix_changes`: A and dA/dp of the lateral motion.
3. `eigenvalue_changes`: ds/dp of every eigenvalue.
4. `largest_growth`: the largest real part of an eigenmode over a range of speeds, made smooth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.sensitivity import vary_parameters
from draisine.analysis.bicycle.straight import sweep_parameters
from draisine.analysis.differentiate import MatrixJet, invert_matrices
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.analysis.variation import (
    SEEDS,
    Chart,
    Variation,
    chart,
    machine_at,
    sort_lanes,
    vary,
)
from draisine.errors import ConfigurationError, UnknownNameError, expect_known
from draisine.system.closed_form import ClosedForm
from draisine.system.state import state

STEADY_TOLERANCE = 1e-9
"""Largest residual of the equations of straight running after the state followed a parameter, as a fraction
of the change caused by the parameter; a larger one means that no state of straight running follows."""

SMOOTHING = 0.02
"""Growth (1/s) by which the smooth maximum over speeds exceeds the largest growth per unit of the logarithm
of the number of speeds; far below growths that matter in riding (0.1 1/s)."""

_FOLLOWING = (
    "x",
    "u",
    "z",
)  # parts of the state that follow the parameters; their seeds are dx, du, dz


@dataclass(frozen=True, eq=False)
class MatrixChanges:
    """System matrices of lateral motion over speed, with derivatives by parameters."""

    A: Floats  # system matrices, (speeds, states, states)
    rates: Floats  # derivatives, (speeds, parameters, states, states)
    states: tuple[str, ...]
    parameters: tuple[str, ...]


def eigenvalue_changes(
    running: TwoWheeler, modes: Eigenmodes, names: Sequence[str] | None = None
) -> Floats:
    """Return ds/dp of every eigenvalue s by each named parameter.

    Parameters
    ----------
    running
        The two-wheeler, with its control law.
    modes
        Its eigenmodes over speed, from `running.eigenmodes`.
    names
        Names of parameters; by default all of them.

    Returns
    -------
    ndarray
        Derivatives, 1/s per unit of the parameter, complex, (speeds, modes, parameters). A derivative is not
        finite if two eigenvalues are equal.

    Examples
    --------
    >>> from draisine import compile
    >>> running = TwoWheeler(compile("motorcycle", tyres="sharp_tyre"))
    >>> modes = running.eigenmodes([30.0])
    >>> slope = eigenvalue_changes(running, modes, ["K"])[0, modes.names.index("wobble"), 0]
    >>> bool(slope.real < 0.0)  # a stronger steering damper damps the wobble
    True
    """
    changes = system_matrix_changes(running, modes.speed, names)
    values, right_vectors = np.linalg.eig(changes.A)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_vectors = np.linalg.inv(right_vectors)
    slopes = np.einsum("vij,vpjk,vki->vip", left_vectors, changes.rates, right_vectors)
    which = np.argmin(np.abs(modes.values[:, :, None] - values[:, None, :]), axis=2)
    out: Floats = np.take_along_axis(slopes, which[:, :, None], axis=1)
    return out


def largest_growth(
    running: TwoWheeler, mode: str, speeds: Floats, names: Sequence[str] | None = None
) -> tuple[float, dict[str, float]]:
    """Return the largest growth rate of an eigenmode over speeds, and its derivatives by parameters.

    The maximum of the real parts s_k is smoothed, `d log(sum exp(s_k / d))`, so that it is differentiable; it
    exceeds the maximum by at most `d log(speeds)`, d = 0.02 1/s.

    Parameters
    ----------
    running
        The two-wheeler, with its control law.
    mode
        Name of the eigenmode, such as "wobble".
    speeds
        Speeds, m/s.
    names
        Names of parameters; by default all of them.

    Returns
    -------
    growth
        Largest real part, 1/s.
    derivatives
        By the name of each parameter, 1/s per unit of it.

    Raises
    ------
    UnknownNameError
        If the two-wheeler has no such eigenmode.

    Examples
    --------
    >>> from draisine import compile
    >>> running = TwoWheeler(compile("motorcycle", tyres="sharp_tyre"))
    >>> growth, slopes = largest_growth(running, "wobble", np.array([10.0, 20.0, 30.0]), ["K"])
    >>> bool(growth < 0.0), bool(slopes["K"] < 0.0)  # stable, and more so with a stronger damper
    (True, True)
    """
    modes = running.eigenmodes(speeds)
    expect_known("no eigenmode", mode, modes.names, UnknownNameError)
    column = modes.names.index(mode)
    growth = modes.mode(mode).real
    slopes = eigenvalue_changes(running, modes, names)[:, column].real
    shares = np.exp((growth - growth.max()) / SMOOTHING)
    total = float(shares.sum())
    derivatives = (shares / total) @ slopes
    parameter_names = list(running.system.parameters) if names is None else list(names)
    value = float(growth.max()) + SMOOTHING * float(np.log(total))
    return value, dict(zip(parameter_names, derivatives.tolist(), strict=True))


def system_matrix_changes(
    running: TwoWheeler, speeds: Floats, names: Sequence[str] | None = None
) -> MatrixChanges:
    """Return the system matrices of lateral motion at speeds (m/s) and their derivatives by parameters."""
    system = running.system
    parameter_names = list(system.parameters)
    chosen = parameter_names if names is None else list(names)
    for name in chosen:
        expect_known("no parameter", name, parameter_names, UnknownNameError)
    indices = [parameter_names.index(name) for name in chosen]
    A, states = running.matrices(speeds)
    w = system.inputs(running.inputs)
    unit = state(system, forward_speed=1.0)
    machine, y = machine_at(system, unit, None, running.law)
    frame = chart(vary(machine, y[None], w[None]))
    moving = np.array(
        [machine.enter(replace(unit, v=x * unit.v), z=y[machine.layout.z]) for x in speeds]
    )
    matrix, labels = _system_matrix_jet(machine, moving, w, frame, indices)
    rows = [labels.index(name) for name in states]
    return MatrixChanges(A, matrix.rate[..., rows, :][..., rows], states, tuple(chosen))


def _system_matrix_jet(
    machine: ClosedForm, y: Floats, w: Floats, frame: Chart, varied: Sequence[int]
) -> tuple[MatrixJet, list[str]]:
    """Return the system matrices of straight running at states y (N, entries) with derivatives by the
    `varied` parameters, and the names of their states.

    The heading is zero, so that x and y are measured along and across it.
    """
    values, rates = _vary_straight_running(machine, y, w, varied)
    shape = (len(y), len(varied))

    def matrix_with_derivatives(select: Callable[[Variation], Floats]) -> MatrixJet:
        """Return a matrix of the variation with its derivatives, (N, 1 or parameters, rows, columns)."""
        value, rate = (
            each.reshape(*shape, *each.shape[1:]) for each in map(select, (values, rates))
        )
        return MatrixJet(value[:, :1], rate)

    def derivatives_along_states(select: Callable[[Variation, str], Floats]) -> MatrixJet:
        """Return the derivatives of an output along the tangent vector of every state."""
        dx, du, dz = (
            matrix_with_derivatives(lambda v, seed=f"d{name}": select(v, seed)) @ tangent  # type: ignore[misc]
            for name, tangent in zip(_FOLLOWING, tangents, strict=True)
        )
        return dx + du + dz

    closed = values.d["conditions"]["dx"].shape[1]
    X = invert_matrices(
        matrix_with_derivatives(
            lambda v: np.concatenate(
                [v.d["conditions"]["dx"], v.observation_derivatives(frame.coordinates, "dx")],
                axis=1,
            )
        )
    )[..., closed:]
    T = invert_matrices(
        matrix_with_derivatives(lambda v: v.observation_derivatives(frame.speeds, "du"))
    )
    TPX = T @ matrix_with_derivatives(lambda v: v.observation_derivatives(frame.speeds, "dx")) @ X
    k = len(frame.coordinates)
    m = len(frame.speeds)
    nz = values.d["zdot"]["dz"].shape[2]
    unit = np.eye(nz)[None, None]
    tangents = [
        _pad_with_zeros(X, 0, m + nz),
        _pad_with_zeros(-TPX, 0, m + nz) + _pad_with_zeros(T, k, nz),
        _pad_with_zeros(MatrixJet(unit, np.zeros_like(unit)), k + m, 0),
    ]
    names = [f"{name}_rate" for name in frame.coordinates]
    blocks = [
        derivatives_along_states(lambda v, seed: v.observation_derivatives(names, seed)),
        derivatives_along_states(lambda v, seed: v.speed_rate_derivatives(frame.speeds, seed)),
        derivatives_along_states(lambda v, seed: v.d["zdot"][seed]),
    ]
    matrix = MatrixJet(
        np.concatenate([block.value for block in blocks], axis=-2),
        np.concatenate([block.rate for block in blocks], axis=-2),
    )
    return matrix, [*frame.coordinates, *frame.speeds, *(f"z[{i}]" for i in range(nz))]


def _vary_straight_running(
    machine: ClosedForm, y: Floats, w: Floats, varied: Sequence[int]
) -> tuple[Variation, Variation]:
    """Return the equations of motion in straight running and their derivatives by the `varied` parameters,
    with one entry per state y and parameter each.

    The state follows the parameters, so that the motion stays a straight run at the same speed.
    """
    parameters, _ = sweep_parameters(machine.system, {})
    count = len(varied)
    here = vary(machine, y, np.repeat(w[None], len(y), axis=0))
    forward = here.names.index("forward_speed")

    def stack_rows(select: Callable[[str], Floats]) -> Floats:
        """Return the rows of the conditions of straight running from those of each output."""
        seen = select("seen")[..., forward : forward + 1, :]
        return np.concatenate(
            [select("conditions"), seen, select("paced"), select("zdot")], axis=-2
        )

    J = np.concatenate(
        [stack_rows(lambda output, seed=f"d{name}": here.d[output][seed]) for name in _FOLLOWING],  # type: ignore[misc]
        axis=-1,
    )
    _, first = vary_parameters(machine, y, parameters, np.zeros((0, 0)), {}, w, varied)
    moved = -stack_rows(lambda output: first[output].reshape(-1, len(y), count).swapaxes(0, 1))
    # Positions and headings may have any change. The minimum-norm solution is the smallest change
    # of the state.
    following = np.linalg.pinv(J, rcond=1e-12) @ moved
    unfollowed = np.abs(J @ following - moved).max(axis=(0, 1))
    worst = int(np.argmax(unfollowed))
    if unfollowed[worst] > STEADY_TOLERANCE * (1.0 + np.abs(moved[..., worst]).max()):
        raise ConfigurationError(
            f"No straight running follows the parameter {list(machine.system.parameters)[varied[worst]]!r}: "
            "its derivative does not exist here."
        )
    sizes = [here.d["seen"][f"d{name}"].shape[2] for name in _FOLLOWING]
    # `vary_parameters` expects one column per state and parameter.
    columns = following.swapaxes(0, 1).reshape(sum(sizes), -1)
    changes = dict(zip(_FOLLOWING, np.split(columns, np.cumsum(sizes)[:-1]), strict=True))
    seeds = np.eye(machine.variation.inputs.count(*SEEDS))
    pair = vary_parameters(machine, y, parameters, seeds, changes, w, varied)
    values, rates = (sort_lanes(machine, out, len(y) * count) for out in pair)
    return values, rates


def _pad_with_zeros(block: MatrixJet, before: int, after: int) -> MatrixJet:
    """Return a matrix with columns of zeros before and after it."""
    widths = [(0, 0)] * 3 + [(before, after)]
    return MatrixJet(np.pad(block.value, widths), np.pad(block.rate, widths))
