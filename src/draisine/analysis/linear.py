"""Linear systems about steady motions and along runs, by exact differentiation of the equations of
motion.

Coordinates c and speeds s are named and independent, and displacements along c keep the contacts closed
(`variation.Chart`). The derivatives of their rates, along the displacement or the change of speeds that
belongs to each of them, are the columns of

    d/dt (delta c, delta s) = A (delta c, delta s) + B delta w,        eq. [linearisation].

Named coordinates (lean, joints, their rates) are constant along a steady motion, straight or circular, so A
is constant, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.analysis.variation import (
    Chart,
    Variation,
    anchors_of,
    chart,
    chart_of,
    to_heading,
    vary,
)
from draisine.errors import (
    ConfigurationError,
    DataError,
    ParameterError,
    UnknownNameError,
    expect,
    expect_known,
    import_extra,
)
from draisine.mechanics.constraints import Statuses
from draisine.mechanics.readings import law_states
from draisine.model.names import Axes, benchmark_sign, check_axes, observation_units
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.options import memory_start
from draisine.simulation.trajectory import BilateralArc, Trajectory
from draisine.system.artifacts import check_system
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import displace
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law

if TYPE_CHECKING:
    from pathlib import Path

    from xarray import Dataset

    from draisine.reading.document import Equations

MIN_LINEARISATION_PIVOT = 0.02
"""Smallest pivot of the independent speeds, relative to its value when it was chosen.

Below it, new independent speeds are chosen: a small pivot amplifies rounding errors, most of all
those of derivatives.
"""

ZERO_ENTRY = 1e-12
"""Matrix entries below this fraction of the largest entry are rounding errors and do not couple
states.
"""

CYCLIC_ENTRY = 1e-9
"""Entries of A at random states below this fraction of the largest entry of their row are rounding
errors.
"""

LINEARISATIONS = ("steady", "frozen", "dalembert")
"""Forms of linearisation: about a steady motion; at an instant of an accelerating motion; about the
motion under its inertial load.
"""


@dataclass(frozen=True, eq=False)
class Linear:
    """Linear system `d(dx)/dt = A dx + B dw, dy = C dx + D dw` with named variables, about a
    motion.

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
    # Time derivatives of x0; nonzero for cyclic states only
    rates: Floats = field(default_factory=lambda: np.zeros(0))
    times: Floats | None = None  # times of the linear systems along a run, s
    # Attributes of stored files: machine, law, version, axes, Python script
    made: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, k: int) -> "Linear":
        """Return the linear system about the k-th of many motions."""
        if self.A.ndim == 2:
            raise ConfigurationError(
                "This is one linear system, about one motion. Leave out the index [...]."
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
        return f"<pre>{self!r}</pre>" if self.A.ndim > 2 else self.equations()._repr_html_()

    def eigenvalues(self) -> Floats:
        """Return the eigenvalues of A (1/s), (..., states), in no particular order."""
        return np.linalg.eigvals(self.A)

    def equations(self, title: str = "Linear system", digits: int = 6) -> "Equations":
        """Return the linear system as typeset equations, with numbers of `digits` digits."""
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
            The same states with the columns of B and D and the rows of C and D of these names.
        """
        i = _indices(self.inputs, inputs, "input")
        o = _indices(self.outputs, outputs, "output")
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
            Initial values of states by name; the others begin at x0.
        times
            Times of the samples (s).

        Returns
        -------
        xarray.Dataset
            States and outputs over `time`, by the names that a run has.

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
        """Raise an error if a state changes in the steady motion itself."""
        # Linear systems that `linearise` did not make, such as those of a control law, have no
        # rates.
        moving = [n for n, rate in zip(self.states, self.rates, strict=False) if abs(rate) > 1e-9]
        if moving:
            raise ConfigurationError(
                f"simulate: {', '.join(moving)} change in the steady motion itself. Linearise without "
                "cyclic=True."
            )

    def transfer(self, input: str, output: str) -> "Transfer":
        """Return the transfer function from one input to one output, of the minimal realisation.

        States that the input does not reach, or that the output does not depend on, are left out:
        zeros would cancel their poles.
        """
        channel = self.part([input], [output])
        A = self.check_single("transfer")
        links, driven, observed = (
            np.abs(x) > ZERO_ENTRY * np.abs(x).max(initial=0.0) for x in (A, channel.B, channel.C)
        )
        kept = reach_states(links, driven[:, 0]) & reach_states(links.T, observed[0])
        d = float(channel.D[0, 0])
        return _transfer(A[np.ix_(kept, kept)], channel.B[kept], channel.C[:, kept], d)

    def to_xarray(self) -> "Dataset":
        """Return the linear system as a dataset.

        Returns
        -------
        xarray.Dataset
            A, B, C and D with named rates, states, inputs and outputs, and x0, w0, y0. Many motions are the
            dimension `motion`, those along a run the dimension `time`.

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
            If the dataset is no linear system.

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
        """Write the system into a file (.nc, .zarr), see `draisine.save`."""
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
        """Return A (states, states); raise an error if these are linear systems about many motions."""
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


def _transfer(A: Floats, b: Floats, c: Floats, d: float) -> Transfer:
    """Return the transfer function of the single-input single-output system (A, b, c, d).

    Zeros are generalised eigenvalues of the pencil [A - s, b; c, d], poles the eigenvalues of A. The gain is
    the first Markov parameter d, c b, c A b, ... that is not zero.
    """
    n = len(A)
    markov = [d]
    power = b
    for _ in range(n):
        markov.append(float((c @ power)[0, 0]))
        power = A @ power
    magnitudes = np.abs(markov)
    degree = next((k for k, x in enumerate(magnitudes) if x > ZERO_ENTRY * magnitudes.max()), None)
    if degree is None:
        return Transfer(np.zeros(0, complex), np.zeros(0, complex), 0.0)
    from scipy.linalg import eigvals

    pencil = np.block([[A, b], [c, np.array([[d]])]])
    zeros = eigvals(pencil, np.diag([1.0] * n + [0.0]))
    # The pencil is singular: the number of infinite zeros is the relative degree. Keep the smallest
    # zeros.
    order = np.argsort(np.where(np.isfinite(zeros), np.abs(zeros), np.inf))
    return Transfer(zeros[order[: n - degree]], np.linalg.eigvals(A) + 0j, markov[degree])


def reach_states(links: Floats, start: Floats) -> Floats:
    """Return which states (bool) can be reached from the start states (bool) along links[to, from]."""
    reached = start
    for _ in range(len(start)):
        reached = reached | (links @ reached)
    return reached


def _format_names(names: Sequence[str] | None) -> str:
    """Return a list of names as a Python expression."""
    return repr(None if names is None else list(names))


def _indices(available: Sequence[str], names: Sequence[str] | None, kind: str) -> list[int]:
    """Return the indices of names among the available names; all indices if no names are given."""
    expect_known(f"linear system: no {kind}", names or (), available, UnknownNameError)
    return (
        list(range(len(available))) if names is None else [available.index(name) for name in names]
    )


def linearise(
    system: System | Trajectory,
    motion: State | Sequence[State] | None = None,
    *,
    inputs: Mapping[str, float] | None = None,
    outputs: Sequence[str] | None = None,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    cyclic: bool = False,
    tolerance: float = 1e-7,
    form: Literal["steady", "frozen"] = "steady",
    axes: Axes = "draisine",
) -> Linear:
    """Return the linear system about a motion, the linear systems about a sequence of motions, or
    along a run.

    States are independent coordinates, then independent speeds, then the states of tyres and of a
    control law. Cyclic coordinates (place, heading, angles of wheels: the equations do not depend on
    them) are left out, with the outputs that need them, unless `cyclic` is true.

    Parameters
    ----------
    system
        The machine; or a run (`draisine.simulate`), whose linear system varies with time: deviations from
        the run obey `d(dx)/dt = A(t) dx + B(t) dw`, with one matrix per sample.
    motion
        State or states; none for a run.
    inputs
        Inputs (N m or N) in the motion, by name.
    outputs
        Outputs by name; by default those of the model and its joints.
    mode
        Statuses of contacts, by name.
    law
        Control law. In a run, a law that cannot be traced counts as recorded inputs.
    cyclic
        Whether cyclic coordinates are states, too.
    tolerance
        Largest rate of change of a steady motion, relative.
    form
        "steady" raises an error if the motion is not steady. "frozen" takes the derivatives at this
        instant of any motion as constant: a quasi-steady approximation while the motion changes slowly.
        `steady(...).linear(form="dalembert")` has the d'Alembert form.
    axes
        Signs of coordinates, speeds and inputs. "benchmark": those of Meijaard et al. 2007 (steer to the
        right); see `model.names`.

    Returns
    -------
    Linear
        The labelled system.

    Raises
    ------
    ConfigurationError
        If the motion is not steady, or a run has impacts or changing contacts.

    Examples
    --------
    >>> from draisine import compile, simulate, state
    >>> bicycle = compile("whipple")
    >>> upright = linearise(bicycle, state(bicycle, forward_speed=5.0))
    >>> upright.states
    ('lean', 'steer', 'lean_rate', 'steer_rate', 'rear_wheel_rate')

    Along a run that brakes:

    >>> run = simulate(bicycle, state(bicycle, forward_speed=5.0), 1.0, inputs={"rear_wheel": -20.0})
    >>> along = linearise(run)
    >>> along.A.shape[0] == len(along.times) == len(run.t)
    True
    """
    if isinstance(system, Trajectory):
        if motion is not None or inputs is not None or mode is not None or law is not None:
            raise ParameterError(
                "linearise(run): motion, inputs, mode and law are those of the run. Leave them out."
            )
        machine_system = system.arcs[0].machine.system
        run_law = None if system.task is None else system.task.law
        options = {"outputs": outputs, "cyclic": cyclic, "axes": axes}
        recipe = call_recipe("linear", linearise, system, **options)
        along = _linearise_run(system, outputs, cyclic)
        return in_axes(
            replace(along, made=provenance(machine_system, run_law, recipe)), machine_system, axes
        )
    check_system("linearise", system)
    if form not in ("steady", "frozen"):
        raise ParameterError(
            f"Unknown form {form!r}. Available: steady, frozen; "
            "analysis.equilibrium.steady(...).linear(form='dalembert') has the d'Alembert form."
        )
    motions = list(motion) if isinstance(motion, Sequence) else [motion]
    for each in motions:
        expect("linearise", each, State, "draisine.state(system, forward_speed=5.0) makes one")
    states = [each for each in motions if isinstance(each, State)]
    machine, first = machine_at(system, states[0], mode, law)
    rest = [
        machine.enter(each, z=memory_start(system, each, law, machine.states))
        for each in states[1:]
    ]
    y = np.array([first, *rest])
    w = np.broadcast_to(system.inputs(inputs), (len(y), len(system.model.inputs)))
    linear = linear_systems(
        machine, y, w, outputs=outputs, cyclic=cyclic, tolerance=tolerance, form=form
    )
    recipe = call_recipe(
        "linear", linearise, system, motion, inputs=inputs, outputs=outputs, mode=mode, law=law,
        cyclic=cyclic, tolerance=tolerance, form=form, axes=axes,
    )  # fmt: skip
    linear = linear[0] if isinstance(motion, State) else linear
    return in_axes(replace(linear, made=provenance(system, law, recipe)), system, axes)


def smooth_arcs(run: Trajectory) -> list[BilateralArc]:
    """Return the arcs of a run that stays in one contact mode on the plane.

    Raises
    ------
    ConfigurationError
        If the run has impacts or changing contacts.
    """
    arcs = [arc for arc in run.arcs if isinstance(arc, BilateralArc)]
    if len(arcs) < len(run.arcs) or len({tuple(sorted(arc.mode.items())) for arc in arcs}) > 1:
        raise ConfigurationError(
            "The run has impacts or changing contacts, about which no linear system exists. Use "
            "draisine.gradient, which differentiates through events."
        )
    return arcs


def _linearise_run(run: Trajectory, outputs: Sequence[str] | None, cyclic: bool) -> Linear:
    """Return the time-varying linear system along a run, one set of matrices per sample."""
    names: Chart | None = None
    systems = []
    for arc in smooth_arcs(run):
        w = arc.inputs.T
        if names is None:
            names = chart(vary(arc.machine, arc.y, w, t=arc.t, anchors=arc.anchors))
        systems.append(
            linear_systems(
                arc.machine, arc.y, w, outputs=outputs, cyclic=cyclic, form="frozen", t=arc.t,
                names=names,
            )
        )  # fmt: skip
    arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in systems]) for name in arrays
    }
    return replace(systems[0], **joined, times=run.t)


def in_axes(linear: Linear, system: System, axes: Axes) -> Linear:
    """Return a linear system in draisine's or in the benchmark's axes; the argument is in
    draisine's axes.
    """
    check_axes(axes)
    if axes == "draisine":
        return linear
    # Signs of states, inputs and outputs in the benchmark's axes.
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


def machine_at(
    system: System, motion: State, mode: Statuses, law: Law | None
) -> tuple[ClosedForm, Floats]:
    """Return the compiled machine with independent speeds that suit a state, and the state as its
    vector y.

    A control law starts with its initial states.
    """
    states = law_states(law)
    z = memory_start(system, motion, law, states)
    machine = system.machine(mode, law, states)
    y = machine.enter(motion, z=z)
    if machine.least_pivot(y) < MIN_LINEARISATION_PIVOT:
        around = (y[machine.layout.q], y[machine.layout.r])
        machine = system.machine(mode, law, states, configuration=around)
        y = machine.enter(motion, z=z)
    return machine, y


def linear_systems(
    machine: ClosedForm,
    y: Floats,
    w: Floats,
    *,
    outputs: Sequence[str] | None = None,
    cyclic: bool = False,
    tolerance: float = 1e-7,
    form: str = "steady",
    t: Floats | float = 0.0,
    names: Chart | None = None,
) -> Linear:
    """Return the linear systems about N motions y (N, entries) of one machine at times t (s).

    Motions must be steady unless `form` is "frozen". `names` are the coordinates and speeds that
    are the states; by default they are chosen by their pivots.
    """
    variation = vary(machine, y, w, t=t, anchors=anchors_of(machine, y[0]))
    frame = (
        chart(variation) if names is None else chart_of(variation, names.coordinates, names.speeds)
    )
    hidden = cyclic_coordinates(machine, frame, y[0], w[0])
    if form == "steady":
        check_steady(variation, frame, hidden, tolerance)
    if cyclic:
        _check_base(variation, hidden, tolerance)
    seeds = _state_directions(variation, frame)
    A = _system_matrices(variation, frame, seeds)
    B = _input_matrices(variation, frame)
    states = [*frame.coordinates, *frame.speeds, *(f"z[{k}]" for k in range(machine.memory))]
    kept = [k for k, name in enumerate(states) if cyclic or name not in hidden]
    C = to_heading(variation, variation.names, _derivatives_along(variation.d["seen"], seeds))
    shown = _selected_outputs(
        variation, C, [k for k in range(len(states)) if k not in kept], outputs
    )
    named = [variation.value(name) for name in (*frame.coordinates, *frame.speeds)]
    x0 = np.column_stack([*named, y[:, machine.layout.z]])
    return Linear(
        A[:, kept][:, :, kept],
        B[:, kept],
        C[:, shown][:, :, kept],
        variation.d["seen"]["dw"][:, shown],
        tuple(states[k] for k in kept),
        tuple(machine.system.model.inputs),
        tuple(variation.names[k] for k in shown),
        x0[:, kept],
        np.array(w),
        variation.values["seen"][:, shown],
        observation_units(machine.system.model),
        variation.value("yaw"),
        _steady_rates(variation, frame, len(states))[:, kept],
    )


def _check_base(variation: Variation, hidden: Sequence[str], tolerance: float) -> None:
    """Raise an error if the base itself rolls, because its position then does not change steadily."""
    if "pitch" in hidden and np.abs(variation.value("pitch_rate")).max() > tolerance:
        raise ConfigurationError(
            "The base itself rolls, so that its position x and y does not change steadily. "
            "Linearise without cyclic=True."
        )


def _steady_rates(variation: Variation, frame: Chart, count: int) -> Floats:
    """Return the time derivatives of the states in the steady motions themselves, (N, states)."""
    rates = np.zeros((len(variation), count))
    named = [variation.value(f"{name}_rate") for name in frame.coordinates]
    turned = to_heading(variation, frame.coordinates, np.stack(named, axis=1)[:, :, None])
    rates[:, : len(named)] = turned[:, :, 0]
    return rates


def _selected_outputs(
    variation: Variation, C: Floats, hidden: Sequence[int], outputs: Sequence[str] | None
) -> list[int]:
    """Return the indices of the selected outputs among the observations.

    By default these are all outputs and joints that do not depend on hidden states.
    """
    system = variation.machine.system
    usual = [*system.outputs, *(j.name for j in system.model.joints)]
    candidates = _indices(variation.names, usual if outputs is None else outputs, "output")
    scale = np.abs(C[:, candidates]).max(initial=1.0)
    blind = [k for k in candidates if np.abs(C[:, k, hidden]).max(initial=0) > 1e-9 * scale]
    if blind and outputs is not None:
        raise ConfigurationError(
            f"Output {variation.names[blind[0]]!r} depends on cyclic coordinates. Set cyclic=True."
        )
    return [k for k in candidates if k not in blind]


def check_steady(
    variation: Variation, frame: Chart, hidden: Sequence[str], tolerance: float
) -> None:
    """Raise an error if a motion is not steady.

    In a steady motion speeds and non-cyclic coordinates are constant, and the equations do not
    depend on time.
    """
    steady_names = [name for name in frame.coordinates if name not in hidden]
    scale = 1.0 + np.abs(variation.values["seen"]).max(initial=0.0)
    for rates in (
        {name: variation.value(f"{name}_rate") for name in steady_names},
        {name: variation.pace([name]) for name in frame.speeds},
        {"a state of tyres or of the control law": variation.values["zdot"]},
    ):
        speeds = {name: float(np.abs(rate).max(initial=0.0)) for name, rate in rates.items()}
        worst = max(speeds, key=lambda name: speeds[name], default="")
        if worst and not speeds[worst] <= tolerance * scale:
            raise ConfigurationError(
                f"The motion is not steady: {worst} changes by {speeds[worst]:.3g} per second. "
                "analysis.equilibrium.steady finds steady motions, with the deflections of tyres; "
                "form='frozen' linearises at this instant."
            )
    variation.check_time_invariant(tolerance)


def _state_directions(variation: Variation, frame: Chart) -> dict[str, Floats]:
    """Return the tangent vectors dx, du, dz, (N, directions, states), that change one state each."""
    count = len(variation)
    k = frame.X.shape[2]
    m = frame.G.shape[1]
    nz = variation.d["zdot"]["dz"].shape[2]
    if m + nz == 0:
        raise ConfigurationError(
            "The contacts leave no degree of freedom, so that there is no linear system. Let a contact "
            'slide, such as mode={"foot": "sliding"}, or leave it out.'
        )
    T = np.linalg.inv(frame.G)
    seeds = np.zeros((count, frame.X.shape[1] + m + nz, k + m + nz))
    seeds[:, : -m - nz, :k] = frame.X
    seeds[:, -m - nz : seeds.shape[1] - nz, : k + m] = np.concatenate(
        [-T @ frame.P @ frame.X, T], axis=2
    )
    seeds[:, seeds.shape[1] - nz :, k + m :] = np.eye(nz)
    edges = np.cumsum([0, frame.X.shape[1], m, nz])
    return {name: seeds[:, edges[i] : edges[i + 1]] for i, name in enumerate(("dx", "du", "dz"))}


def _derivatives_along(d: Mapping[str, Floats], seeds: Mapping[str, Floats]) -> Floats:
    """Return the derivatives of an output of the program along the tangent vector of every state."""
    return sum((d[name] @ seed for name, seed in seeds.items()), np.zeros(1))


def _system_matrices(variation: Variation, frame: Chart, seeds: Mapping[str, Floats]) -> Floats:
    """Return the system matrices A (N, states, states) over coordinates, speeds and states of tyres
    and law.
    """
    rates = [f"{name}_rate" for name in frame.coordinates]
    moved = _derivatives_along({seed: variation.rows(rates, seed) for seed in seeds}, seeds)
    moved = to_heading(variation, frame.coordinates, moved)
    if "x" in frame.coordinates and "y" in frame.coordinates:
        # The axes of x and y rotate with the heading.
        i = frame.coordinates.index("x")
        j = frame.coordinates.index("y")
        moved[:, i, j] += variation.value("yaw_rate")
        moved[:, j, i] -= variation.value("yaw_rate")
    paced = _derivatives_along(
        {seed: variation.pace_rows(frame.speeds, seed) for seed in seeds}, seeds
    )
    return np.concatenate([moved, paced, _derivatives_along(variation.d["zdot"], seeds)], axis=1)


def _input_matrices(variation: Variation, frame: Chart) -> Floats:
    """Return the input matrices B (N, states, inputs) over coordinates, speeds and states of tyres
    and law.
    """
    paced = variation.pace_rows(frame.speeds, "dw")
    still = np.zeros((len(variation), frame.X.shape[2], paced.shape[2]))
    return np.concatenate([still, paced, variation.d["zdot"]["dw"]], axis=1)


def cyclic_coordinates(machine: ClosedForm, frame: Chart, y: Floats, w: Floats) -> tuple[str, ...]:
    """Return the cyclic coordinates, on which the rates of all other states do not depend.

    They are determined at random states about y: at y alone, a coordinate may have no influence by
    chance.
    """
    rng = np.random.default_rng(1)
    moving = machine.layout.span("u", "z")
    samples = displace(
        machine, np.tile(y, (4, 1)), 0.1 * rng.normal(size=(4, len(machine.columns)))
    )
    samples[:, moving] = rng.normal(size=(4, moving.stop - moving.start))
    variation = vary(machine, samples, np.tile(w, (4, 1)))
    near = chart_of(variation, frame.coordinates, frame.speeds)
    A = np.abs(_system_matrices(variation, near, _state_directions(variation, near)))
    # Compare rows of small entries with the whole matrix: they may consist of rounding errors.
    threshold = CYCLIC_ENTRY * np.maximum(A.max(axis=2, keepdims=True), 1e-6 * A.max())
    depends = (threshold < A).any(axis=0)
    # Remove coordinates on which the rate of a remaining state depends, until no more can be
    # removed.
    hidden = list(range(len(frame.coordinates)))
    while needed := [i for i in hidden if np.delete(depends[:, i], hidden).any()]:
        hidden = [i for i in hidden if i not in needed]
    return tuple(frame.coordinates[i] for i in hidden)
