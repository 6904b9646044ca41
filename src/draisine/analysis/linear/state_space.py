"""Linear systems with named states, inputs and outputs: poles, responses, transfer functions, files, sign
conventions.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    DataError,
    UnknownNameError,
    expect_known,
    import_extra,
)
from draisine.model.names import Axes, benchmark_sign, check_axes
from draisine.system.system import System

if TYPE_CHECKING:
    from pathlib import Path

    from xarray import Dataset

    from draisine.reading.document import Equations

ZERO_ENTRY = 1e-12
"""Rounding error of a matrix entry, as a fraction of the largest entry; smaller entries do not couple
states."""


@dataclass(frozen=True, eq=False)
class Linear:
    """Linear system `d(dx)/dt = A dx + B dw, dy = C dx + D dw` with named variables about a motion.

    dx, dw and dy are the deviations of states, inputs and outputs from x0, w0 and y0. The states "x" and "y"
    are measured along and across the `heading` of the motion. About many motions, or along a run, every
    array has one more axis in front.
    """

    A: Floats  # system matrix, (states, states)
    B: Floats  # input matrix, (states, inputs)
    C: Floats  # output matrix, (outputs, states)
    D: Floats  # feedthrough matrix, (outputs, inputs)
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    x0: Floats  # states in the motion, (states,)
    w0: Floats  # inputs in the motion, (inputs,)
    y0: Floats  # outputs in the motion, (outputs,)
    units: Mapping[str, str] = field(default_factory=dict)
    heading: Floats = field(default_factory=lambda: np.zeros(()))  # yaw angle of the motion, rad
    # Time derivatives of the states x0 in the motion itself, (states,); nonzero for cyclic states
    # only
    rates: Floats = field(default_factory=lambda: np.zeros(0))
    times: Floats | None = None  # times of the linear systems along a run, s
    # Attributes that are written to files: vehicle, control law, version, axes, Python script
    made: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, k: int) -> "Linear":
        """Return the linear system about the k-th of many motions."""
        if self.A.ndim == 2:
            raise ConfigurationError(
                "This is one linear system, about one motion. Leave the index out."
            )
        arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
        selected = {name: getattr(self, name)[k] for name in arrays}
        times = None if self.times is None else self.times[k]
        return replace(
            self, **selected, times=times, made=self._extend_script(f"linear = linear[{k}]")
        )

    def _extend_script(self, line: str) -> dict[str, str]:
        """Return the stored attributes with one more line of the Python script."""
        attributes = dict(self.made)
        if "recipe" in attributes:
            attributes["recipe"] += f"{line}\n"
        return attributes

    def __repr__(self) -> str:
        sizes = f"Linear system of {len(self.states)} states, {len(self.inputs)} inputs"
        if self.A.ndim > 2:
            return f"{sizes} at {len(self.A)} motions: {', '.join(self.states)}"
        rows = [["xdot = A x + B w", *self.states, *self.inputs]]
        for name, row in zip(self.states, np.hstack([self.A, self.B]), strict=True):
            rows.append([name, *(f"{x:.5g}" for x in row)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.rjust, row, widths)) for row in rows)
        return "\n".join([sizes, *lines])

    def _repr_html_(self) -> str:
        """Return the linear system as an HTML table for notebooks."""
        return f"<pre>{self!r}</pre>" if self.A.ndim > 2 else self.equations()._repr_html_()

    def eigenvalues(self) -> Floats:
        """Return the eigenvalues of A (1/s), (..., states), in no particular order."""
        return np.linalg.eigvals(self.A)

    def equations(self, title: str = "Linear system", digits: int = 6) -> "Equations":
        """Return the linear system as typeset equations, with numbers rounded to `digits` digits."""
        from draisine.reading.linear.page import write_numbers

        matrices = {"A": self.check_single("equations"), "B": self.B}
        return write_numbers(matrices, self.states, self.inputs, title, digits)

    def part(
        self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
    ) -> "Linear":
        """Return the linear system with selected inputs and outputs.

        Parameters
        ----------
        inputs, outputs
            Names in the order of the result; all by default.

        Returns
        -------
        Linear
            Linear system with the same states, the selected inputs (columns of B and D) and the selected
            outputs (rows of C and D).
        """
        i = select_indices(self.inputs, inputs, "input")
        o = select_indices(self.outputs, outputs, "output")
        return replace(
            self,
            B=self.B[..., i],
            C=self.C[..., o, :],
            D=self.D[..., o, :][..., i],
            inputs=tuple(self.inputs[k] for k in i),
            outputs=tuple(self.outputs[k] for k in o),
            w0=self.w0[..., i],
            y0=self.y0[..., o],
            made=self._extend_script(
                f"linear = linear.part({_format_names(inputs)}, {_format_names(outputs)})"
            ),
        )

    def response(self, omega: Any) -> Floats:
        """Return the frequency response C (i omega - A)^-1 B + D.

        Parameters
        ----------
        omega
            Angular frequencies (rad/s), a number or an array.

        Returns
        -------
        Complex array (frequencies, outputs, inputs).
        """
        s = 1j * np.atleast_1d(np.asarray(omega, float))
        pencil = s[:, None, None] * np.eye(len(self.states)) - self.check_single("response")
        states = np.linalg.solve(pencil, np.broadcast_to(self.B, (len(s), *self.B.shape)))
        return self.C @ states + self.D

    def simulate(self, start: Mapping[str, float], times: Any) -> "Dataset":
        """Compute the motion of the linear system from an initial state, with the inputs w0.

        Parameters
        ----------
        start
            Initial values of states by name (SI units, rad); all other states begin at x0.
        times
            Times of the samples (s).

        Returns
        -------
        xarray.Dataset
            States and outputs over `time`, with the same names as in the dataset of a simulated run.

        Raises
        ------
        ConfigurationError
            If the system has cyclic states, whose x0 changes with time.

        Examples
        --------
        >>> from draisine import compile, linearise, state
        >>> bicycle = compile("whipple")
        >>> upright = linearise(bicycle, state(bicycle, forward_speed=4.6))
        >>> motion = upright.simulate({"lean_rate": 0.5}, [0.0, 0.1, 10.0])
        >>> bool(motion.lean[1] > 0.01 > abs(motion.lean[2]))
        True
        """
        import xarray
        from scipy.linalg import expm

        expect_known("linear system: no state", start, self.states, UnknownNameError)
        A = self.check_single("simulate")
        t = np.atleast_1d(np.asarray(times, float))
        self._check_constant_states()
        begin = [start.get(name, x0) - x0 for name, x0 in zip(self.states, self.x0, strict=True)]
        x = expm(t[:, None, None] * A) @ np.array(begin, float)
        series = dict(zip(self.states, (self.x0 + x).T, strict=True))
        series |= dict(zip(self.outputs, (self.y0 + x @ self.C.T).T, strict=True))
        return xarray.Dataset(
            {name: ("time", y, {"units": self.units.get(name, "")}) for name, y in series.items()},
            coords={"time": ("time", t, {"units": "s"})},
            attrs={
                "title": "linear",
                **self._extend_script(f"motion = linear.simulate({dict(start)!r}, {t.tolist()!r})"),
            },
        )

    def _check_constant_states(self) -> None:
        """Raise an error if a state, such as a position, changes in the steady motion itself."""
        # `rates` is empty if `linearise` did not create this linear system (for example that of a
        # control law).
        moving = [n for n, rate in zip(self.states, self.rates, strict=False) if abs(rate) > 1e-9]
        if moving:
            raise ConfigurationError(
                f"simulate: {', '.join(moving)} change in the steady motion itself. Linearise without "
                "cyclic=True."
            )

    def transfer(self, input: str, output: str) -> "Transfer":
        """Return the transfer function of the minimal realisation from one input to one output.

        States that the input does not excite, or on which the output does not depend, are left out:
        zeros would cancel their poles.
        """
        channel = self.part([input], [output])
        A = self.check_single("transfer")
        links, driven, observed = (
            np.abs(x) > ZERO_ENTRY * np.abs(x).max(initial=0.0) for x in (A, channel.B, channel.C)
        )
        kept = find_connected_states(links, driven[:, 0]) & find_connected_states(
            links.T, observed[0]
        )
        d = float(channel.D[0, 0])
        return _minimal_transfer(A[np.ix_(kept, kept)], channel.B[kept], channel.C[:, kept], d)

    def to_xarray(self) -> "Dataset":
        """Return the linear system as a dataset.

        Returns
        -------
        xarray.Dataset
            A, B, C and D with named rates, states, inputs and outputs, and x0, w0, y0. Linear systems about
            many motions have the dimension `motion`, those along a run the dimension `time`.

        Examples
        --------
        >>> from draisine import compile, linearise, state
        >>> bicycle = compile("whipple")
        >>> data = linearise(bicycle, state(bicycle, forward_speed=5.0)).to_xarray()
        >>> print(f"{float(data.A.sel(rate='lean_rate', state='lean')):.4f}")
        9.4898
        """
        import xarray

        many = ("motion" if self.times is None else "time",) * (self.A.ndim - 2)
        dims: dict[str, tuple[str, ...]] = {
            "A": ("rate", "state"),
            "B": ("rate", "input"),
            "C": ("output", "state"),
        }
        dims |= {"D": ("output", "input"), "x0": ("state",), "w0": ("input",), "y0": ("output",)}
        dims |= {"heading": (), "rates": ("state",)} if self.rates.size else {}
        names = {"rate": self.states, "state": self.states, "input": self.inputs}
        return xarray.Dataset(
            {name: ((*many, *dim), getattr(self, name)) for name, dim in dims.items()},
            coords={name: list(x) for name, x in (names | {"output": self.outputs}).items()}
            | ({} if self.times is None else {"time": (many, self.times, {"units": "s"})}),
            attrs={"title": "linear system", "units": json.dumps(dict(self.units)), **self.made},
        )

    @classmethod
    def from_xarray(cls, data: "Dataset") -> "Linear":
        """Return the linear system of a dataset, such as `draisine.load` returns.

        Parameters
        ----------
        data
            Dataset of `to_xarray`.

        Raises
        ------
        DataError
            If the dataset does not contain a linear system.

        Examples
        --------
        >>> from draisine import compile, linearise, state
        >>> bicycle = compile("whipple")
        >>> upright = linearise(bicycle, state(bicycle, forward_speed=5.0))
        >>> again = Linear.from_xarray(upright.to_xarray())
        >>> again.states == upright.states and bool(np.all(again.A == upright.A))
        True
        """
        if not {"A", "B", "C", "D", "x0", "w0", "y0"} <= set(data.data_vars):
            raise DataError(
                "The dataset is not a linear system: it needs A, B, C, D, x0, w0 and y0."
            )
        return cls(
            **{name: data[name].values for name in ("A", "B", "C", "D", "x0", "w0", "y0")},
            states=tuple(map(str, data["state"].values)),
            inputs=tuple(map(str, data["input"].values)),
            outputs=tuple(map(str, data["output"].values)),
            units=json.loads(str(data.attrs.get("units", "{}"))),
            heading=data["heading"].values if "heading" in data else np.zeros(()),
            rates=data["rates"].values if "rates" in data else np.zeros(0),
            times=data["time"].values if "time" in data.coords else None,
            made={k: str(x) for k, x in data.attrs.items() if k not in ("title", "units")},
        )

    def plot(
        self, figure: str | None = None, path: "str | Path | None" = None, **options: Any
    ) -> Any:
        """Draw the frequency responses of the outputs to the first input, and return the axes.

        `part` selects other inputs and outputs. See `draisine.plot` for the arguments.
        """
        return draisine.plot(self, figure, path, **options)

    def save(self, path: "str | Path") -> None:
        """Write the linear system to a file (.nc or .zarr), see `draisine.save`."""
        draisine.save(self, path)

    def to_scipy(self) -> Any:
        """Return the system as a `scipy.signal.StateSpace`."""
        from scipy.signal import StateSpace

        return StateSpace(self.check_single("to_scipy"), self.B, self.C, self.D)

    def to_control(self, name: str | None = None) -> Any:
        """Return the system as a labelled state space of python-control, which must be installed."""
        control = import_extra("control", "control")
        labels = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        lists = {key: list(value) for key, value in labels.items()}
        return control.ss(
            self.check_single("to_control"), self.B, self.C, self.D, name=name, **lists
        )

    def check_single(self, function: str) -> Floats:
        """Return A (states, states) for the function named `function`.

        Raise an error if this object contains the linear systems about many motions.
        """
        if self.A.ndim != 2:
            raise ConfigurationError(
                f"{function} needs one linear system, not {len(self.A)}. Select one, such as linear[0]."
            )
        return self.A


@dataclass(frozen=True, eq=False)
class Transfer:
    """Transfer function as zeros, poles and gain: `gain prod(s - zeros) / prod(s - poles)`."""

    zeros: Floats  # zeros, 1/s
    poles: Floats  # poles, 1/s
    gain: float

    def __call__(self, s: Any) -> Floats:
        """Return the transfer function at complex frequencies s (1/s), a number or an array."""
        s = np.asarray(s, complex)[..., None]
        return self.gain * np.prod(s - self.zeros, axis=-1) / np.prod(s - self.poles, axis=-1)

    @property
    def polynomials(self) -> tuple[Floats, Floats]:
        """Coefficients of numerator and denominator, highest power first."""
        return self.gain * np.real(np.poly(self.zeros)), np.real(np.poly(self.poles))


def _minimal_transfer(
    state_matrix: Floats, input_column: Floats, output_row: Floats, feedthrough: float
) -> Transfer:
    """Return the transfer function of a system with one input and one output, given by its matrices A,
    b, c, d.

    Zeros are generalised eigenvalues of the pencil [A - s, b; c, d], poles the eigenvalues of A. The gain is
    the first Markov parameter, c b, c A b, ... that is not zero.
    """
    n = len(state_matrix)
    markov = [feedthrough]
    power = input_column
    for _ in range(n):
        markov.append(float((output_row @ power)[0, 0]))
        power = state_matrix @ power
    magnitudes = np.abs(markov)
    degree = next((k for k, x in enumerate(magnitudes) if x > ZERO_ENTRY * magnitudes.max()), None)
    if degree is None:
        return Transfer(np.zeros(0, complex), np.zeros(0, complex), 0.0)
    from scipy.linalg import eigvals

    pencil = np.block([[state_matrix, input_column], [output_row, np.array([[feedthrough]])]])
    zeros = eigvals(pencil, np.diag([1.0] * n + [0.0]))
    # The pencil has as many infinite zeros as the relative degree requires. Rounding errors make
    # them large but finite, so keep only the smallest zeros.
    order = np.argsort(np.where(np.isfinite(zeros), np.abs(zeros), np.inf))
    return Transfer(
        zeros[order[: n - degree]], np.linalg.eigvals(state_matrix) + 0j, markov[degree]
    )


def find_connected_states(links: Floats, start: Floats) -> Floats:
    """Return the mask (states,) of all states that are connected to the start states (mask).

    links[i, k] is true if state k influences state i (boolean matrix).
    """
    reached = start
    for _ in range(len(start)):
        reached = reached | (links @ reached)
    return reached


def _format_names(names: Sequence[str] | None) -> str:
    """Return names as the text of a Python list, or "None"."""
    return repr(None if names is None else list(names))


def select_indices(available: Sequence[str], names: Sequence[str] | None, kind: str) -> list[int]:
    """Return the indices of names among the available names; all indices if no names are given."""
    expect_known(f"linear system: no {kind}", names or (), available, UnknownNameError)
    return (
        list(range(len(available))) if names is None else [available.index(name) for name in names]
    )


def convert_axes(linear: Linear, system: System, axes: Axes) -> Linear:
    """Convert a linear system from draisine's sign convention to that of `axes`."""
    check_axes(axes)
    if axes == "draisine":
        return linear
    # Factors (1 or -1) that convert states, inputs and outputs to the signs of the benchmark's axes
    x, w, y = (
        np.array([benchmark_sign(system.model, name) for name in names])
        for names in (linear.states, linear.inputs, linear.outputs)
    )
    return replace(
        linear,
        A=x[:, None] * linear.A * x,
        B=x[:, None] * linear.B * w,
        C=y[:, None] * linear.C * x,
        D=y[:, None] * linear.D * w,
        x0=x * linear.x0,
        w0=w * linear.w0,
        y0=y * linear.y0,
        heading=-linear.heading,
        rates=x * linear.rates if linear.rates.size else linear.rates,
        made={**linear.made, "axes": axes},
    )
