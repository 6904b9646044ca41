"""Linear systems about steady motions, by differentiation.

With a displacement xi of the pose, rho of the shape and a change du of the independent speeds, the
motion nearby follows

    xidot = delta eta - ad(eta) xi        rhodot = delta rdot        M delta udot = delta f

where delta is the derivative along (xi, rho, du), eq. [linearisation]. About a steady motion all
coefficients are constant, whether it is straight or a circle. Named coordinates on the constraint
manifold (`variation.Chart`) and their rates make it a small system with labels.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from draisine.analysis.variation import (
    Chart,
    Variation,
    anchors_of,
    chart,
    displaced,
    heading_rows,
    vary,
)
from draisine.derivation import Law
from draisine.errors import ConfigurationError, UnknownNameError, did_you_mean
from draisine.system import Floats, Machine, State, System


@dataclass(frozen=True, eq=False)
class Linear:
    """A labelled linear system `xdot = A x + B w, y = C x + D w` of deviations from a steady
    motion.

    Where it was asked for many motions at once, these are the first axis of every matrix. States x
    and y count along and across the heading.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def eigenvalues(self) -> Floats:
        """Return the eigenvalues, in no particular order."""
        return np.linalg.eigvals(self.A)

    def part(
        self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
    ) -> "Linear":
        """Return the same system with some of its inputs and outputs, in the order given."""
        i = _places(self.inputs, inputs, "input")
        o = _places(self.outputs, outputs, "output")
        return replace(
            self,
            B=self.B[..., i],
            C=self.C[..., o, :],
            D=self.D[..., o, :][..., i],
            inputs=tuple(self.inputs[k] for k in i),
            outputs=tuple(self.outputs[k] for k in o),
        )

    def response(self, omega: Any) -> Floats:
        """Return C (i omega - A)^-1 B + D at angular frequencies in rad/s, (frequencies, outputs,
        inputs).
        """
        s = 1j * np.atleast_1d(np.asarray(omega, float))
        pencil = s[:, None, None] * np.eye(len(self.states)) - self._one("response")
        return self.C @ np.linalg.solve(pencil, np.broadcast_to(self.B, (len(s), *self.B.shape)))

    def transfer(self, input: str, output: str) -> "Transfer":
        """Return the transfer function from an input to an output, without the states that take no
        part in it.
        """
        part = self.part([input], [output])
        A, b, c, d = self._one("transfer"), part.B, part.C, part.D
        links = np.abs(A) > 1e-12 * np.abs(A).max(initial=0.0)
        taken = _reached(links, b[:, 0] != 0) & _reached(links.T, c[0] != 0)
        A, b, c = A[np.ix_(taken, taken)], b[taken], c[:, taken]
        return _transfer(A, b, c, float(d[0, 0]))

    def to_scipy(self) -> Any:
        """Return the system as a `scipy.signal.StateSpace`."""
        from scipy.signal import StateSpace

        return StateSpace(self._one("to_scipy"), self.B, self.C, self.D)

    def to_control(self, name: str | None = None) -> Any:
        """Return the system as a labelled state space of python-control, which must be installed."""
        control: Any = importlib.import_module("control")
        labels = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        lists = {key: list(value) for key, value in labels.items()}
        return control.ss(self._one("to_control"), self.B, self.C, self.D, name=name, **lists)

    def _one(self, what: str) -> Floats:
        if self.A.ndim != 2:
            raise ConfigurationError(f"{what} takes one linear system, not {len(self.A)} at once.")
        return self.A


@dataclass(frozen=True, eq=False)
class Transfer:
    """A transfer function by its zeros, poles and gain: `gain prod(s - zeros) / prod(s - poles)`."""

    zeros: Floats
    poles: Floats
    gain: float

    def __call__(self, s: Any) -> Floats:
        """Return the value at (an array of) complex s."""
        s = np.asarray(s, complex)[..., None]
        return self.gain * np.prod(s - self.zeros, axis=-1) / np.prod(s - self.poles, axis=-1)

    @property
    def polynomials(self) -> tuple[Floats, Floats]:
        """Numerator and denominator, highest power first."""
        return self.gain * np.real(np.poly(self.zeros)), np.real(np.poly(self.poles))


def _transfer(A: Floats, b: Floats, c: Floats, d: float) -> Transfer:
    """Return zeros from the pencil [A - s, b; c, d], poles of A, and the first Markov parameter
    that is not zero as gain.
    """
    n = len(A)
    markov, reach = [d], b
    for _ in range(n):
        markov.append(float((c @ reach)[0, 0]))
        reach = A @ reach
    sizes = np.abs(markov)
    degree = next((k for k, x in enumerate(sizes) if x > 1e-12 * sizes.max()), None)
    if degree is None:
        return Transfer(np.zeros(0, complex), np.zeros(0, complex), 0.0)
    pencil = np.block([[A, b], [c, np.array([[d]])]])
    found = scipy.linalg.eigvals(pencil, np.diag([1.0] * n + [0.0]))
    order = np.argsort(np.where(np.isfinite(found), np.abs(found), np.inf))
    return Transfer(found[order[: n - degree]], np.linalg.eigvals(A) + 0j, markov[degree])


def _reached(links: Floats, start: Floats) -> Floats:
    """Return which states are reached along links[to, from] from the start."""
    reached = start
    for _ in range(len(start)):
        reached = reached | (links @ reached)
    return reached


def _places(known: Sequence[str], names: Sequence[str] | None, kind: str) -> list[int]:
    """Return where names stand among the known ones."""
    for name in names or ():
        if name not in known:
            raise UnknownNameError(
                f"linear system: no {kind} {name!r}. {did_you_mean(name, known)}"
            )
    return list(range(len(known))) if names is None else [known.index(name) for name in names]


def linearise(
    system: System,
    motion: State | Sequence[State],
    *,
    inputs: Mapping[str, float] | None = None,
    outputs: Sequence[str] | None = None,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    cyclic: bool = False,
    tolerance: float = 1e-7,
) -> Linear:
    """Return the linear system about a steady motion, or about each of a sequence of them.

    States are independent coordinates, then independent speeds, then the states of a control law.
    Cyclic coordinates (place, heading, angles of wheels: the equations do not know them) are left
    out, with the outputs that need them, unless `cyclic` is true. Outputs are those of the model
    and its joints, or any that `derivation.seen_names` lists. A motion whose speeds change faster
    than the tolerance is not steady, and an error.

    >>> from draisine import compile, state
    >>> bicycle = compile("whipple")
    >>> upright = linearise(bicycle, state(bicycle, forward_speed=5.0))
    >>> upright.states
    ('lean', 'steer', 'lean_rate', 'steer_rate', 'rear_wheel_rate')
    """
    machine = system.machine(mode, law, int(getattr(law, "states", 0)))
    motions = [motion] if isinstance(motion, State) else list(motion)
    start = np.asarray(getattr(law, "start", np.zeros(machine.states)), float)
    y = np.array([machine.enter(each, z=start) for each in motions])
    w = np.broadcast_to(system.inputs(inputs), (len(y), len(system.model.inputs)))
    found = linear_systems(machine, y, w, outputs=outputs, cyclic=cyclic, tolerance=tolerance)
    if not isinstance(motion, State):
        return found
    return replace(found, A=found.A[0], B=found.B[0], C=found.C[0], D=found.D[0])


def linear_systems(
    machine: Machine,
    y: Floats,
    w: Floats,
    *,
    outputs: Sequence[str] | None = None,
    cyclic: bool = False,
    tolerance: float = 1e-7,
) -> Linear:
    """Return the linear systems about N steady motions y (N, entries) of one machine."""
    model = machine.system.model
    found = vary(machine, y, w, anchors=anchors_of(machine, y[0]))
    at = chart(found)
    check_steady(found, at, tolerance)
    A, seeds = _state_matrix(found, at)
    states = [*at.coordinates, *at.speeds, *(f"z[{k}]" for k in range(machine.states))]
    names = found.names
    asked = [*machine.system.outputs, *(j.name for j in model.joints)]
    seen = _places(names, asked if outputs is None else outputs, "output")
    C = _along(found, heading_rows(found, names), "seen", seeds)[:, seen]
    B = _input_matrix(found, at)
    D = found.d["seen"]["dw"][:, seen]
    dropped = [] if cyclic else [states.index(name) for name in cyclic_coordinates(machine, at, w)]
    kept = [k for k in range(len(states)) if k not in dropped]
    scale = np.abs(C).max(initial=1.0)
    blind = [k for k in range(len(seen)) if np.abs(C[:, k, dropped]).max(initial=0) > 1e-9 * scale]
    if blind and outputs is not None:
        raise ConfigurationError(
            f"output {names[seen[blind[0]]]!r} needs cyclic coordinates; ask with cyclic=True."
        )
    shown = [k for k in range(len(seen)) if k not in blind]
    return Linear(
        A[:, kept][:, :, kept],
        B[:, kept],
        C[:, shown][:, :, kept],
        D[:, shown],
        tuple(states[k] for k in kept),
        tuple(model.inputs),
        tuple(names[seen[k]] for k in shown),
    )


def check_steady(found: Variation, at: Chart, tolerance: float) -> None:
    """Raise where a speed changes, or would after some time."""
    motion = found.values["speeds"][:, :, None]
    drift = {
        part: found.d[part]["dt"] + found.d[part]["dx"] @ motion
        for part in ("force", "speeds", "zdot")
    }
    now = at.G @ np.linalg.solve(found.mass, found.values["force"][:, :, None])
    later = at.G @ np.linalg.solve(found.mass, drift["force"])
    scale = 1.0 + np.abs(motion).max(initial=0.0)
    worst = np.maximum(np.abs(now), np.abs(later)).max(axis=(0, 2), initial=0.0)
    turning = max(np.abs(drift[part]).max(initial=0.0) for part in ("speeds", "zdot"))
    if max(worst.max(initial=0.0), turning) > tolerance * scale:
        name = at.speeds[int(np.argmax(worst))]
        raise ConfigurationError(
            f"the motion is not steady: {name} changes (by {worst.max():.3g} per second, now or "
            "soon). Linear systems stand on steady motions; analysis.equilibrium.steady finds them."
        )


def _state_matrix(found: Variation, at: Chart) -> tuple[Floats, dict[str, Floats]]:
    """Return A over (coordinates, speeds, law's states), and the seeds dx, du, dz of each state."""
    count, k, m = len(found), at.X.shape[2], at.G.shape[1]
    nz = found.d["zdot"]["dz"].shape[2]
    inverse = np.linalg.inv(at.G)
    none = np.zeros((count, at.X.shape[1], m + nz))
    seeds = {
        "dx": np.concatenate([at.X, none], axis=2),
        "du": np.concatenate([-inverse @ at.P @ at.X, inverse, np.zeros((count, m, nz))], axis=2),
        "dz": np.concatenate(
            [np.zeros((count, nz, k + m)), np.broadcast_to(np.eye(nz), (count, nz, nz))], axis=2
        ),
    }
    xidot = _along(found, found.d["speeds"]["dx"], "speeds", seeds)
    xidot = xidot - _brackets(found) @ seeds["dx"]
    udot = np.linalg.solve(found.mass, _along(found, found.d["force"]["dx"], "force", seeds))
    zdot = _along(found, found.d["zdot"]["dx"], "zdot", seeds)
    return np.concatenate([at.E @ xidot, at.P @ xidot + at.G @ udot, zdot], axis=1), seeds


def _input_matrix(found: Variation, at: Chart) -> Floats:
    """Return B over (coordinates, speeds, law's states)."""
    udot = np.linalg.solve(found.mass, found.d["force"]["dw"])
    still = np.zeros((len(found), at.X.shape[2], udot.shape[2]))
    return np.concatenate([still, at.G @ udot, found.d["zdot"]["dw"]], axis=1)


def _along(found: Variation, by_dx: Floats, part: str, seeds: dict[str, Floats]) -> Floats:
    """Return the derivative of a part along the seeds of every state."""
    d = found.d[part]
    return by_dx @ seeds["dx"] + d["du"] @ seeds["du"] + d["dz"] @ seeds["dz"]


def _brackets(found: Variation) -> Floats:
    """Return ad(eta) over the free speeds, (N, n, n)."""
    machine = found.machine
    columns, size = machine.columns, 6 + len(machine.system.model.joints)
    eta = np.zeros((len(found), size))
    eta[:, columns] = found.values["speeds"]
    out = np.zeros((len(found), size, size))
    V, W = _hats(eta[:, :3]), _hats(eta[:, 3:6])
    out[:, :3, :3], out[:, :3, 3:6], out[:, 3:6, 3:6] = W, V, W
    return out[:, columns][:, :, columns]


def _hats(w: Floats) -> Floats:
    """Return the matrices of cross products with each row of w."""
    out = np.zeros((len(w), 3, 3))
    out[:, 2, 1], out[:, 0, 2], out[:, 1, 0] = w.T
    return out - out.transpose(0, 2, 1)


def cyclic_coordinates(machine: Machine, at: Chart, w: Floats) -> tuple[str, ...]:
    """Return the coordinates that the equations do not know: moving along them changes neither
    speeds nor forces.

    They are recognised at random states, so that they belong to the machine and not to a motion.
    """
    rng = np.random.default_rng(1)
    sizes = machine.variation.inputs
    q, p = machine.inner_pose(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3))
    drawn = np.concatenate([q, p, np.zeros(sizes["r"] + sizes["u"] + sizes["z"])])
    y = displaced(machine, np.tile(drawn, (4, 1)), 0.2 * rng.normal(size=(4, sizes["dx"])))
    y[:, 7 + sizes["r"] :] = rng.normal(size=(4, sizes["u"] + sizes["z"]))
    found = vary(machine, y, np.broadcast_to(w[0], (4, len(w[0]))))
    rows = heading_rows(found, list(at.coordinates))
    hard = found.d["conditions"]["dx"]
    X = np.linalg.inv(np.concatenate([hard, rows], axis=1))[:, :, hard.shape[1] :]
    known = np.zeros(len(at.coordinates), dtype=bool)
    for part in ("force", "speeds", "zdot"):
        moved = np.abs(found.d[part]["dx"] @ X)
        known |= (moved > 1e-9 * moved.max(initial=1e-300)).any(axis=(0, 1))
    return tuple(name for name, is_known in zip(at.coordinates, known, strict=True) if not is_known)
