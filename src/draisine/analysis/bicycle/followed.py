"""Eigenvalues of any two-wheeler in straight running, tracked over the speed and named.

The two-wheeler may have tyres, compliant parts, a moving rider or a control law. Names are assigned at
`NAMING_SPEED`. Critical speeds are refined by Brent's method.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.eigenmodes import Eigenmodes, refine_speeds, track_eigenvalues
from draisine.analysis.linear import find_connected_states, linearise
from draisine.errors import ConfigurationError
from draisine.system.state import state
from draisine.system.system import System
from draisine.system.tracing import Law

# How eigenmodes are named. Two speeds are compared: the naming speed `NAMING_SPEED` and a third of
# it. Weave: of the pairs that oscillate at both speeds, the one with the slowest oscillation at the
# lower speed, unless the rider (`torso`) dominates it at most speeds. Capsize: the real eigenvalue
# closest to zero. Wobble: of the remaining pairs that the rider does not dominate, the least damped
# one between a third and half of the naming speed. Other eigenmodes have the name of their largest
# component at a third of the naming speed.
NAMING_SPEED = 30.0
"""Speed at which eigenmodes are named, m/s; the highest requested speed is used if it is higher."""

ZERO_FREQUENCY = 1e-9
"""Smallest imaginary part (rad/s) of an oscillation; smaller ones are rounding errors of real
eigenvalues.
"""


@dataclass(frozen=True, eq=False)
class CriticalSpeed:
    """Speed at which an eigenmode changes its stability."""

    name: str  # name of the eigenmode
    speed: float  # critical speed, m/s
    frequency: float  # imaginary part of the eigenvalue, rad/s; zero if it is real
    damped_above: bool  # whether the eigenmode is stable above this speed


@dataclass(frozen=True, eq=False)
class TwoWheeler:
    """Two-wheeler that can run straight at any speed, with its control law.

    Parameters
    ----------
    system
        The compiled two-wheeler.
    law
        Control law.
    inputs
        Values of the inputs by name (N m or N).
    """

    system: System
    law: Law | None = None
    inputs: Mapping[str, float] | None = None

    def matrices(self, speed: Floats) -> tuple[Floats, tuple[str, ...]]:
        """Return the system matrices A (speeds, states, states) of lateral motion, and the state names.

        Lateral states are those coupled to lean and steer. To first order, forward speed and the motion of a
        suspension in the plane of the frame are not coupled to them.
        """
        # In straight running the speeds of all joints are proportional to the forward speed.
        unit = state(self.system, forward_speed=1.0)
        motions = [replace(unit, v=x * unit.v) for x in speed]
        linear = linearise(self.system, motions, law=self.law, inputs=self.inputs)
        coupling = np.abs(linear.A).max(axis=0)
        coupling = coupling > 1e-9 * coupling.max()  # smaller entries are rounding errors
        lateral = find_connected_states(
            coupling | coupling.T, np.isin(linear.states, ("lean", "steer"))
        )
        states = tuple(name for name, yes in zip(linear.states, lateral, strict=True) if yes)
        return linear.A[:, lateral][:, :, lateral], states

    def eigenmodes(self, speed: Any) -> Eigenmodes:
        """Return the eigenmodes at speeds in m/s, linearised from the nonlinear model.

        >>> from draisine import compile
        >>> modes = TwoWheeler(compile("motorcycle", tyres="sharp_tyre")).eigenmodes([15.24])
        >>> print(modes.mode("wobble").round(3), modes.mode("capsize").round(3))
        [-6.519+54.589j] [0.073+0.j]
        """
        v = np.atleast_1d(np.asarray(speed, float))
        grid = refine_speeds(np.unique(np.concatenate([v, [0.0, NAMING_SPEED]])))
        A, states = self.matrices(grid)
        values, vectors = np.linalg.eig(A)
        order = track_eigenvalues(values)
        followed = np.take_along_axis(values, order, axis=1)
        shapes = np.take_along_axis(vectors, order[:, None, :], axis=2)
        half = 2.0 * grid <= NAMING_SPEED
        middle = (3.0 * grid >= NAMING_SPEED) & half
        leads = _dominant_components(shapes[half], states, self.system)
        sways = (leads == "torso") & (np.abs(followed[half].imag) > ZERO_FREQUENCY)
        names, order_of_names = _name_eigenmodes(
            followed[middle], followed[-1], leads[middle[half]][0], sways
        )
        indices = np.searchsorted(grid, v)
        named = followed[indices][:, order_of_names]
        order = _upper_first_order(named, names, followed[middle][0, order_of_names])
        vectors = np.take_along_axis(
            shapes[indices][:, :, order_of_names], order[:, None, :], axis=2
        )
        return Eigenmodes(v, np.take_along_axis(named, order, axis=1), vectors, names, states)

    def crossings(self, low: float = 0.1, high: float = 20.0) -> list[CriticalSpeed]:
        """Return the critical speeds between two speeds (m/s), in increasing order.

        >>> from draisine import compile
        >>> ideal = TwoWheeler(compile("whipple")).crossings(1.0, 10.0)
        >>> [(x.name, round(x.speed, 9)) for x in ideal]
        [('weave', 4.292382536), ('capsize', 6.024262015)]
        """
        v = refine_speeds(np.array([low, high]))
        modes = self.eigenmodes(v)
        growth = modes.values.real
        located: dict[tuple[str, int], CriticalSpeed] = {}
        for j, name in enumerate(modes.names):
            for k in np.flatnonzero(growth[:-1, j] * growth[1:, j] < 0.0):
                speed, value = self._refine_crossing(v[k : k + 2], modes.values[k : k + 2, j])
                if abs(value.real) > 1e-6 * (1.0 + abs(value)):
                    # Ignore a false crossing: the two eigenvalues of a pair have exchanged their
                    # columns.
                    continue
                crossing = CriticalSpeed(name, speed, abs(value.imag), bool(growth[k, j] > 0))
                located[name, int(k)] = crossing
        return sorted(located.values(), key=lambda crossing: crossing.speed)

    def _refine_crossing(self, ends: Floats, end_values: Any) -> tuple[float, complex]:
        """Return the speed (m/s) in an interval at which an eigenvalue has no real part, and the
        eigenvalue.

        Inside the interval, the eigenvalue nearest to the linear interpolation of the end values is
        used.
        """
        from scipy.optimize import brentq

        def tracked_eigenvalue(speed: float) -> complex:
            """Return the tracked eigenvalue (1/s) at the speed (m/s)."""
            share = (speed - ends[0]) / (ends[1] - ends[0])
            near = end_values[0] + share * (end_values[1] - end_values[0])
            values = np.linalg.eigvals(self.matrices(np.array([speed, 1.0]))[0][0])
            return complex(values[np.argmin(np.abs(values - near))])

        low, high = map(float, ends)
        speed = float(
            brentq(lambda v: tracked_eigenvalue(v).real, low, high, xtol=1e-12, rtol=1e-14)
        )
        return speed, tracked_eigenvalue(speed)


def _dominant_components(vectors: Floats, states: tuple[str, ...], system: System) -> Any:
    """Return the names (speeds, modes) of the largest components of eigenvectors (speeds, states,
    modes).

    A name is that of a coordinate, "tyre" for a tyre state or "law" for a state of the control law.
    """
    joints = {joint.name for joint in system.model.joints}
    memory = system.model.memory
    shares: dict[str, Floats] = {}
    for k, name in enumerate(states):
        if name.startswith("z["):
            name = "tyre" if int(name[2:-1]) < memory else "law"
        elif name not in joints and name != "lean":
            continue
        shares[name] = np.maximum(shares.get(name, 0.0), np.abs(vectors[:, k]))
    return np.array(list(shares))[np.argmax(list(shares.values()), axis=0)]


def _name_eigenmodes(
    middle_values: Floats, last_values: Floats, largest_components: Any, is_rider: Any
) -> tuple[tuple[str, ...], list[int]]:
    """Return the names of the eigenvalues, and the column of each.

    Parameters
    ----------
    middle_values, last_values
        Eigenvalues at middle speeds (speeds, modes) and at the last speed (modes,).
    largest_components
        Name of the largest component of each mode at the first middle speed.
    is_rider
        Whether the rider dominates an oscillation, (speeds, modes).
    """
    first = middle_values[0]
    swings = np.abs(last_values.imag) > ZERO_FREQUENCY
    # Weave and rider modes may pass close to each other. Therefore a mode that the rider dominates
    # at most speeds is not the weave. A pair of the tyres may oscillate at the last speed only.
    # Therefore pairs that oscillate at both speeds come first.
    rides = is_rider.mean(axis=0) > 0.5
    is_rider = is_rider.any(axis=0)
    slow = np.lexsort((np.abs(first.imag), rides, np.abs(first.imag) <= ZERO_FREQUENCY))
    pairs = [
        int(k) for k in slow if last_values[k].imag > max(ZERO_FREQUENCY, abs(last_values[k].real))
    ]
    real_modes = [int(k) for k in np.argsort(np.abs(last_values)) if not swings[k]]
    if not pairs or not real_modes:
        raise ConfigurationError(
            "The eigenmodes have no names: at the highest speed an oscillating one (weave) or a real one "
            "(capsize) is missing. linearise(system, motion).eigenvalues() has no names."
        )
    columns_by_name = {"weave": _find_conjugate_pair(last_values, pairs[0])}
    growth = np.where(
        (middle_values.imag > ZERO_FREQUENCY) & ~is_rider, middle_values.real, -np.inf
    )
    growth[:, columns_by_name["weave"]] = -np.inf
    row, fastest = np.unravel_index(np.argmax(growth), growth.shape)
    if np.isfinite(growth[row, fastest]):
        columns_by_name["wobble"] = _find_conjugate_pair(middle_values[row], int(fastest))
    used = [k for each in columns_by_name.values() for k in each]
    columns_by_name["capsize"] = [k for k in real_modes if k not in used][:1]
    names = [name for name, columns in columns_by_name.items() for _ in columns]
    columns = [int(k) for each in columns_by_name.values() for k in each]
    rest = [int(k) for k in np.lexsort((-first.imag, first.real)) if k not in columns]
    for k in rest:
        is_real = abs(first[k].imag) <= ZERO_FREQUENCY
        name = (
            "castering"
            if is_real and largest_components[k] in ("steer", "lean")
            else str(largest_components[k])
        )
        names.append("torso" if is_rider[k] and not is_real else name)
    return tuple(names), [*columns, *rest]


def _find_conjugate_pair(values: Floats, index: int) -> list[int]:
    """Return the index of one eigenvalue and the index of its complex conjugate."""
    others = [j for j in range(len(values)) if j != index]
    return [index, min(others, key=lambda j: abs(values[j] - np.conj(values[index])))]


def _upper_first_order(values: Floats, names: tuple[str, ...], middle: Floats) -> Any:
    """Return the column order (speeds, modes) in which the upper eigenvalue of each pair comes first.

    Upper means larger imaginary part or, if these are equal, larger real part. Pairs are weave,
    wobble, the modes that oscillate at the middle speed, and, at each speed, all complex conjugate
    eigenvalues: two real modes of different names may merge into an oscillation, and which of them
    has the positive imaginary part is arbitrary.
    """
    speeds, modes = values.shape
    order = np.tile(np.arange(modes), (speeds, 1))
    twins = [k for k in range(modes - 1) if names[k] == names[k + 1]]
    oscillating = [
        k for k in twins if middle[k].imag and abs(middle[k] - np.conj(middle[k + 1])) < 1e-6
    ]
    leading = [names.index(name) for name in ("weave", "wobble") if name in names]
    named_pairs = [(k, k + 1) for k in sorted({*leading, *oscillating})]
    for row, eigenvalues in zip(order, values, strict=True):
        for first, second in named_pairs:
            _sort_pair(row, eigenvalues, first, second)
        for k in np.flatnonzero(eigenvalues[row].imag < -ZERO_FREQUENCY):
            _sort_pair(row, eigenvalues, *sorted(_find_conjugate_pair(eigenvalues[row], int(k))))
    return order


def _sort_pair(row: Any, eigenvalues: Floats, first: int, second: int) -> None:
    """Exchange two entries of an order of columns if the second eigenvalue is the upper one."""
    a, b = eigenvalues[row[[first, second]]]
    if (a.imag, a.real) < (b.imag, b.real):
        row[[first, second]] = row[[second, first]]
