"""Eigenvalues of any two-wheeler that runs straight (on tyres, with parts that give, with a rider, under
a control law), followed along the speed and named; and the speeds at which they pass into instability.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.eigenmodes import Eigenmodes, fill_speeds, track
from draisine.analysis.linear import linearise, reach_states
from draisine.errors import ConfigurationError
from draisine.system.state import state
from draisine.system.system import System
from draisine.system.tracing import Law

SETTLED = 30.0
"""Names are given at this speed, m/s, or at the highest asked for. Of the pairs that swing there and at a
third of it the slowest at the third is the weave, unless a rider (`torso`) leads it at most speeds; the real
eigenvalue next to zero is the capsize. Of the other pairs, a swaying rider's apart, the wobble is the one
that is damped least at some speed between a third and half of it. What is left is called by what moves most
at a third of it.
"""


@dataclass(frozen=True, eq=False)
class CriticalSpeed:
    """A speed at which an eigenmode changes its stability: its frequency there in rad/s, zero where it
    does not swing, and whether it is damped above.
    """

    name: str
    speed: float
    frequency: float
    damped_above: bool


@dataclass(frozen=True, eq=False)
class TwoWheeler:
    """A two-wheeler that can run straight at any speed, with its control law."""

    system: System
    law: Law | None = None
    inputs: Mapping[str, float] | None = None

    def matrices(self, speed: Floats) -> tuple[Floats, tuple[str, ...]]:
        """Return A (speeds, states, states) of the linear systems at speeds, and their states: those
        that have to do with lean and steer. The speed and what a suspension does in the plane of
        the machine do not, to first order.
        """
        unit = state(self.system, forward_speed=1.0)  # straight running is linear in the speed
        motions = [replace(unit, v=x * unit.v) for x in speed]
        found = linearise(self.system, motions, law=self.law, inputs=self.inputs)
        linked = np.abs(found.A).max(axis=0)
        linked = linked > 1e-9 * linked.max()
        aside = reach_states(linked | linked.T, np.isin(found.states, ("lean", "steer")))
        states = tuple(name for name, yes in zip(found.states, aside, strict=True) if yes)
        return found.A[:, aside][:, :, aside], states

    def eigenmodes(self, speed: Any) -> Eigenmodes:
        """Return the eigenmodes at speeds in m/s, linearised from the nonlinear model.

        >>> from draisine import compile
        >>> modes = TwoWheeler(compile("motorcycle", tyres="sharp_tyre")).eigenmodes([15.24])
        >>> print(modes.mode("wobble").round(3), modes.mode("capsize").round(3))
        [-6.519+54.589j] [0.073+0.j]
        """
        v = np.atleast_1d(np.asarray(speed, float))
        grid = fill_speeds(np.unique(np.concatenate([v, [0.0, SETTLED]])))
        A, states = self.matrices(grid)
        values, vectors = np.linalg.eig(A)
        order = track(values)
        followed = np.take_along_axis(values, order, axis=1)
        shapes = np.take_along_axis(vectors, order[:, None, :], axis=2)
        half = 2.0 * grid <= SETTLED
        middle = (3.0 * grid >= SETTLED) & half
        leads = _leads(shapes[half], states, self.system)
        sways = (leads == "torso") & (np.abs(followed[half].imag) > 1e-9)
        names, places = _named(followed[middle], followed[-1], leads[middle[half]][0], sways)
        at = np.searchsorted(grid, v)
        named = _upper_first(followed[at][:, places], names, followed[middle][0, places])
        return Eigenmodes(v, named, shapes[at][:, :, places], names, states)

    def crossings(self, low: float = 0.1, high: float = 20.0) -> list[CriticalSpeed]:
        """Return the speeds between two at which an eigenmode changes its stability, in rising order.

        >>> from draisine import compile
        >>> ideal = TwoWheeler(compile("whipple")).crossings(1.0, 10.0)
        >>> [(x.name, round(x.speed, 9)) for x in ideal]
        [('weave', 4.292382536), ('capsize', 6.024262015)]
        """
        v = fill_speeds(np.array([low, high]))
        modes = self.eigenmodes(v)
        growth = modes.values.real
        found: dict[tuple[str, int], CriticalSpeed] = {}
        for j, name in enumerate(modes.names):
            for k in np.flatnonzero(growth[:-1, j] * growth[1:, j] < 0.0):
                speed, value = self._refined(v[k : k + 2], modes.values[k : k + 2, j])
                if abs(value.real) > 1e-6 * (1.0 + abs(value)):
                    continue  # the two of a pair have changed places
                crossing = CriticalSpeed(name, speed, abs(value.imag), bool(growth[k, j] > 0))
                found[name, int(k)] = crossing
        return sorted(found.values(), key=lambda crossing: crossing.speed)

    def _refined(self, ends: Floats, known: Any) -> tuple[float, complex]:
        """Return the speed between two at which an eigenvalue known at both has no real part, and its
        value there. In between it is the one nearest to the chord.
        """
        from scipy.optimize import brentq

        def value(v: float) -> complex:
            part = (v - ends[0]) / (ends[1] - ends[0])
            near = known[0] + part * (known[1] - known[0])
            values = np.linalg.eigvals(self.matrices(np.array([v, 1.0]))[0][0])
            return complex(values[np.argmin(np.abs(values - near))])

        low, high = map(float, ends)
        speed = float(brentq(lambda v: value(v).real, low, high, xtol=1e-12, rtol=1e-14))
        return speed, value(speed)


def _leads(vectors: Floats, states: tuple[str, ...], system: System) -> Any:
    """Return the names (speeds, modes) of what takes the largest part in eigenvectors (speeds, states,
    modes): a coordinate, the tyres or the law.
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


def _named(
    middle: Floats, last: Floats, lead: Any, sways: Any
) -> tuple[tuple[str, ...], list[int]]:
    """Return the names of eigenvalues from those at middle speeds (speeds, modes) and at the last speed,
    from what leads at the first of the middle ones and from where a rider sways in them (speeds, modes),
    and which is whose.
    """
    first = middle[0]
    swings = np.abs(last.imag) > 1e-9
    # Weave and rider may pass near each other: what the rider leads at most speeds is no weave. A pair
    # of the tyres may swing at the last speed alone, so those that swing at both come first.
    rides = sways.mean(axis=0) > 0.5
    sways = sways.any(axis=0)
    slow = np.lexsort((np.abs(first.imag), rides, np.abs(first.imag) <= 1e-9))
    pairs = [int(k) for k in slow if last[k].imag > max(1e-9, abs(last[k].real))]
    firm = [int(k) for k in np.argsort(np.abs(last)) if not swings[k]]
    if not pairs or not firm:
        raise ConfigurationError(
            "at the highest speed there is no swinging eigenmode (weave) beside one that does not "
            "swing (capsize); ask analysis.linear for the eigenvalues as they are."
        )
    taken = {"weave": _pair(last, pairs[0])}
    growth = np.where((middle.imag > 1e-9) & ~sways, middle.real, -np.inf)
    growth[:, taken["weave"]] = -np.inf
    at, fastest = np.unravel_index(np.argmax(growth), growth.shape)
    if np.isfinite(growth[at, fastest]):
        taken["wobble"] = _pair(middle[at], int(fastest))
    used = [k for each in taken.values() for k in each]
    taken["capsize"] = [k for k in firm if k not in used][:1]
    names = [name for name, places in taken.items() for _ in places]
    places = [int(k) for each in taken.values() for k in each]
    rest = [int(k) for k in np.lexsort((-first.imag, first.real)) if k not in places]
    for k in rest:
        still = abs(first[k].imag) <= 1e-9
        name = "castering" if still and lead[k] in ("steer", "lean") else str(lead[k])
        names.append("torso" if sways[k] and not still else name)
    return tuple(names), [*places, *rest]


def _pair(values: Floats, k: int) -> list[int]:
    """Return an eigenvalue's place, and that of its conjugate."""
    others = [j for j in range(len(values)) if j != k]
    return [k, min(others, key=lambda j: abs(values[j] - np.conj(values[k])))]


def _upper_first(values: Floats, names: tuple[str, ...], middle: Floats) -> Floats:
    """Return eigenvalues whose pairs begin with the one of larger imaginary (or real) part: weave, wobble,
    and what swings at the middle speed.
    """
    out = values.copy()
    twins = [k for k in range(len(names) - 1) if names[k] == names[k + 1]]
    swing = [k for k in twins if middle[k].imag and abs(middle[k] - np.conj(middle[k + 1])) < 1e-6]
    named = [names.index(name) for name in ("weave", "wobble") if name in names]
    for k in {*named, *swing}:
        pair = out[:, k : k + 2]
        turned = (pair[:, 0].imag < pair[:, 1].imag) | (
            (pair[:, 0].imag == pair[:, 1].imag) & (pair[:, 0].real < pair[:, 1].real)
        )
        out[turned, k : k + 2] = pair[turned][:, ::-1]
    return out
