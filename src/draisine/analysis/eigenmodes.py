"""Eigenmodes as functions of the speed, about steady motions of any system.

Eigenvalues are tracked from one speed to the next by the assignment with the smallest total change.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.analysis.equilibrium import Steady, steady_driven
from draisine.analysis.linear import linear_systems
from draisine.analysis.lqr import StateFeedback
from draisine.errors import DataError, ParameterError, UnknownNameError, expect_known
from draisine.model import Model
from draisine.model.names import hidden_states
from draisine.system.system import System
from draisine.system.tracing import Law

if TYPE_CHECKING:
    from pathlib import Path

    from xarray import Dataset

MODE_NAMES = ("weave", "weave", "capsize", "castering")
MODE_STATES = ("lean", "steer", "lean_rate", "steer_rate")
"""Names of the eigenmodes and states of the ideal bicycle (Meijaard et al. 2007,
doi:10.1098/rspa.2007.1857).
"""

MAX_SPEED_STEP = 0.05
"""Largest speed step (m/s) over which eigenvalues are assigned to each other."""

ROUNDED_EIGENVALUE = 1e-7
"""Eigenvalues below this fraction of the largest are zero up to rounding: double zeros split by
about 1e-8.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Eigenmodes:
    """Eigenvalues and eigenvectors over speed; leading axes are those of a sweep.

    The two weave values are a conjugate pair, the one with positive imaginary part first, or two
    real numbers, the larger first. Vectors of `eigenvalues` follow the benchmark's signs (lean and steer
    to the right); for the ideal bicycle the larger of lean and steer is 1.
    """

    speed: Floats  # forward speeds, m/s, (speeds,)
    values: Floats  # eigenvalues, 1/s, (..., speeds, modes)
    vectors: Floats  # eigenvectors as columns, (..., speeds, states, modes)
    names: tuple[str, ...] = MODE_NAMES
    states: tuple[str, ...] = MODE_STATES
    # Attributes that are written to files: system, control law, version, axes
    made: Mapping[str, str] = field(default_factory=dict)

    def mode(self, name: str) -> Floats:
        """Return the eigenvalues (..., speeds) of an eigenmode by name.

        For the weave pair, the eigenvalue with non-negative imaginary part is returned.
        """
        expect_known("no eigenmode", name, self.names, UnknownNameError)
        return self.values[..., self.names.index(name)]

    def __repr__(self) -> str:
        v = self.speed
        names = ", ".join(dict.fromkeys(self.names))
        if self.stable.size == 1:
            stable = "stable" if self.stable.all() else "unstable"
            return f"Eigenmodes at {v[0]:g} m/s: {names}; {stable}"
        many = f"{len(v)} speeds, {v.min():g} to {v.max():g}" if len(v) > 1 else f"{v[0]:g}"
        return f"Eigenmodes at {many} m/s: {names}; stable at {int(self.stable.sum())}"

    def _repr_html_(self) -> str:
        """Return a table of at most twenty speeds as HTML, with stable speeds in green."""
        if self.values.ndim > 2:
            return f"<pre>{self!r}</pre>"
        head = "".join(f"<th>{name}</th>" for name in self.names)
        rows = []
        for k in range(0, len(self.speed), max(1, len(self.speed) // 20)):
            cells = "".join(f"<td>{_format_complex(z)}</td>" for z in self.values[k].tolist())
            colour = ' style="background:#dff0d8"' * bool(self.stable[k])
            rows.append(f"<tr{colour}><th>{self.speed[k]:g}</th>{cells}</tr>")
        return f"<table><tr><th>m/s</th>{head}</tr>{''.join(rows)}</table>"

    def to_xarray(self) -> "Dataset":
        """Return eigenvalues and eigenvectors as a dataset.

        Returns
        -------
        xarray.Dataset
            Real and imaginary parts over speed, state and eigenmode; the axes of a sweep are `sweep_0`,
            `sweep_1` and so on.

        Examples
        --------
        >>> from draisine import compile, eigenvalues
        >>> data = eigenvalues(compile("whipple"), [4.0, 5.0]).to_xarray()
        >>> print(float(data.eigenvalue_real.sel(speed=5.0, eigenmode="weave").round(6)))
        -0.775342
        """
        import xarray

        dims = (*(f"sweep_{k}" for k in range(self.values.ndim - 2)), "speed", "eigenmode")
        speed = ("speed", self.speed, {"units": "m/s", "long_name": "forward speed"})
        across = (*dims[:-1], "state", "eigenmode")
        return xarray.Dataset(
            {
                "eigenvalue_real": (dims, self.values.real, {"units": "1/s"}),
                "eigenvalue_imaginary": (dims, self.values.imag, {"units": "rad/s"}),
                "eigenvector_real": (across, self.vectors.real),
                "eigenvector_imaginary": (across, self.vectors.imag),
            },
            coords={
                "speed": speed,
                "eigenmode": eigenmode_labels(self.names),
                "state": list(self.states),
            },
            attrs={"title": repr(self).partition(":")[0], **self.made},
        )

    @classmethod
    def from_xarray(cls, data: "Dataset") -> "Eigenmodes":
        """Return the eigenmodes of a dataset, such as `draisine.load` returns.

        >>> from draisine import compile, eigenvalues
        >>> modes = eigenvalues(compile("whipple"), [4.0, 5.0])
        >>> bool(np.all(Eigenmodes.from_xarray(modes.to_xarray()).vectors == modes.vectors))
        True
        """
        if not {"eigenvalue_real", "eigenvector_real"} <= set(data.data_vars):
            raise DataError(
                "The dataset does not contain eigenmodes: it needs eigenvalues and eigenvectors."
            )
        values, vectors = (
            data[f"{name}_real"].values + 1j * data[f"{name}_imaginary"].values
            for name in ("eigenvalue", "eigenvector")
        )
        labels = [str(name) for name in data["eigenmode"].values]
        names = tuple(re.sub(r"_\d+$", "", name) for name in labels)
        states = tuple(map(str, data["state"].values))
        attributes = {k: str(x) for k, x in data.attrs.items() if k != "title"}
        return cls(data["speed"].values, values, vectors, names, states, attributes)

    def plot(
        self, figure: str | None = None, path: "str | Path | None" = None, **options: Any
    ) -> Any:
        """Draw the eigenvalues over speed and return the axes, see `draisine.plot`."""
        return draisine.plot(self, figure, path, **options)

    def save(self, path: "str | Path") -> None:
        """Write the eigenvalues into a file (.nc, .zarr, .csv), see `draisine.save`."""
        draisine.save(self, path)

    @property
    def stable(self) -> Floats:
        """Whether all eigenvalues have negative real parts, (..., speeds)."""
        return np.all(self.values.real < 0, axis=-1)


def eigenmode_labels(names: Sequence[str]) -> list[str]:
    """Return unique labels of eigenmodes; repeated names are numbered.

    >>> eigenmode_labels(["weave", "weave", "capsize", "torso", "torso"])
    ['weave', 'weave_2', 'capsize', 'torso', 'torso_2']
    """
    earlier = [list(names[:k]).count(name) for k, name in enumerate(names)]
    return [f"{name}_{n + 1}" if n else name for name, n in zip(names, earlier, strict=True)]


def _format_complex(number: complex) -> str:
    """Return a complex number as text, without the imaginary part if it is zero."""
    return f"{number.real:.4f} {number.imag:+.4f}i" if number.imag else f"{number.real:.4f}"


def refine_speeds(speeds: Floats) -> Floats:
    """Return increasing speeds (m/s), refined so that no step exceeds `MAX_SPEED_STEP`."""
    gaps = np.diff(speeds)
    steps = np.maximum(1, np.ceil(gaps / MAX_SPEED_STEP)).astype(int)
    within = np.arange(steps.sum()) - np.repeat(np.cumsum(steps) - steps, steps)
    return np.append(
        np.repeat(speeds[:-1], steps) + within * np.repeat(gaps / steps, steps), speeds[-1]
    )


def track_eigenvalues(values: Floats) -> Floats:
    """Return column orders (steps, n) that make eigenvalues (steps, n) continuous.

    From step to step the assignment with the smallest total change is chosen.
    """
    steps, n = values.shape
    cost = np.abs(values[:-1, :, None] - values[1:, None, :])
    if n <= 4:
        # For four eigenvalues, comparing all 24 permutations of all steps at once is faster than
        # one call of an assignment solver per step.
        arrangements = np.array(list(permutations(range(n))))
        totals = cost[:, np.arange(n), arrangements].sum(axis=2)
        moves = arrangements[np.argmin(totals, axis=1)]
    else:
        from scipy.optimize import linear_sum_assignment

        moves = np.array([linear_sum_assignment(each)[1] for each in cost]).reshape(-1, n)
    order = np.tile(np.arange(n), (steps, 1))
    for k, move in enumerate(moves, start=1):
        order[k] = move[order[k - 1]]
    return order


def growth_beside(eigenvalues: Floats) -> Floats:
    """Return the largest real part of eigenvalues (motions, n), without the eigenvalue closest to
    zero.

    That eigenvalue is zero: it belongs to the tangent of the family of motions.
    """
    order = np.argsort(np.abs(eigenvalues), axis=1)
    return np.take_along_axis(eigenvalues, order[:, 1:], axis=1).real.max(axis=1)


def phasors(eigenvector: Any) -> tuple[Floats, Floats]:
    """Return magnitude and phase (rad) of each entry of an eigenvector."""
    x = np.asarray(eigenvector, complex)
    return np.abs(x), np.angle(x)


def steady_modes(
    system: System, speed: Any, law: Law | None = None
) -> tuple[Eigenmodes, list[Steady]]:
    """Return the eigenmodes about the steady motions of a system at forward speeds, and these motions.

    A system without a forward speed has one steady motion, at speed 0. An eigenmode has the name
    of its largest coordinate at the last speed. If it has no coordinate, it has the name of a tyre
    slip or a speed. Eigenvalues of the size of rounding errors are set to zero.

    Parameters
    ----------
    system
        The compiled system.
    speed
        Forward speeds (m/s), a number or an array.
    law
        Control law.

    Returns
    -------
    Eigenmodes
        Eigenvalues (1/s) and eigenvectors over speed.
    list of Steady
        The steady motions, one per speed.

    Examples
    --------
    >>> from draisine import compile
    >>> modes, _ = steady_modes(compile("cart_pole"), 0.0)
    >>> print(modes.names, modes.values[0].real.round(3))
    ('pole', 'pole', 'cart') [ 3.871 -3.871  0.   ]
    """
    v = np.atleast_1d(np.asarray(speed, float))
    if isinstance(law, StateFeedback) and len(v) > 1:
        raise ParameterError(
            "An LQR law stabilises one steady motion. Compute its eigenvalues at one speed, --speed 5."
        )
    motions = _find_steady_motions(system, v, law)
    y = np.array([motion.y for motion in motions])
    w = np.array([motion.w for motion in motions])
    linear = linear_systems(motions[0].machine, y, w)
    values, vectors = np.linalg.eig(linear.A)
    values[np.abs(values) < ROUNDED_EIGENVALUE * np.abs(values).max(initial=1.0)] = 0.0
    order = track_eigenvalues(values)
    last = np.take_along_axis(values, order, axis=1)[-1]
    sizes = [
        -np.abs(x).round(6) for x in (last, last.imag)
    ]  # oscillating modes first, then by magnitude
    order = order[:, np.lexsort((-last.real, -last.imag, *sizes))]
    values = np.take_along_axis(values, order, axis=1)
    vectors = np.take_along_axis(vectors, order[:, None, :], axis=2)
    names = _leading_states(vectors[-1], linear.states, motions[0].machine.system.model)
    return Eigenmodes(v, values, vectors, names, linear.states), motions


def _leading_states(vectors: Floats, states: tuple[str, ...], model: Model) -> tuple[str, ...]:
    """Return the name of the largest coordinate of each eigenvector (states, modes).

    An eigenvector without coordinates has the name of a speed, or of a state of a tyre or control law.
    """
    # With small weights, the states of tyres and the speeds rank behind all coordinates.
    moving = [name.endswith("_rate") or name in model.speeds for name in states]
    hidden = [name.startswith("z[") for name in states]
    shares = np.abs(vectors) * np.where(moving, 1e-6, np.where(hidden, 1e-3, 1.0))[:, None]
    visible = [name for name, no in zip(states, hidden, strict=True) if not no]
    labels = [*visible, *hidden_states(model, sum(hidden))]  # hidden states come last
    return tuple(labels[k].removesuffix("_rate") for k in np.argmax(shares, axis=0))


def _find_steady_motions(system: System, speeds: Floats, law: Law | None) -> list[Steady]:
    """Return the steady motions at speeds (m/s); each search starts at the previous motion."""
    if "forward_speed" not in system.outputs:
        if np.any(speeds != 0.0):
            raise ParameterError(
                f"{system.vehicle.__name__} has no forward_speed. Compute its eigenvalues at speed 0."
            )
        return [steady_driven(system, law=law)] * len(speeds)
    motions: list[Steady] = []
    for x in speeds.tolist():
        start = motions[-1].state if motions else None
        motions.append(steady_driven(system, start=start, law=law, forward_speed=x))
    return motions
