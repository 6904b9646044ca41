"""Linear systems about steady motions and along runs, by exact differentiation of the equations of
motion.

The states are named independent coordinates c and independent speeds s (`variation.Chart`). For each of them
there is a displacement, or a change of speeds, that changes this state alone and keeps the contacts closed.
The derivatives of the rates of c and s along it form one column of A in

    d/dt (delta c, delta s) = A (delta c, delta s) + B delta w,        eq. [linearisation].

Along a steady motion, straight or circular, the lean angle, the joint coordinates and their rates are
constant, so that A is constant, too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import draisine
from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.analysis.grounded import (
    GroundedMachine,
    ground_symmetry,
    lift_above_ground,
    nearest_contacts,
    sample_ground,
)
from draisine.analysis.symmetry import Symmetry, find_symmetry
from draisine.analysis.variation import (
    Chart,
    Variation,
    add_missing_axis,
    chart,
    chart_of,
    heading_derivatives,
    machine_at,
    rotate_to_heading,
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
from draisine.mechanics.readings import law_states
from draisine.model.names import Axes, benchmark_sign, check_axes, observation_units
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.run import TerrainRun
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.options import CONTACT, NUMERICS, ContactOptions, Task, memory_start
from draisine.simulation.trajectory import BilateralArc, Trajectory
from draisine.system.artifacts import require_system
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import choose_independent_rows, displace_states
from draisine.system.generic import make_generic
from draisine.system.state import State
from draisine.system.state import state as state_of_model
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

if TYPE_CHECKING:
    from pathlib import Path

    from xarray import Dataset

    from draisine.reading.document import Equations

ZERO_ENTRY = 1e-12
"""Rounding error of a matrix entry, as a fraction of the largest entry; smaller entries do not couple
states."""

CYCLIC_ENTRY = 1e-9
"""Rounding error of an entry of A at a random state, as a fraction of the largest entry in its row; smaller
entries mean that the rate of a state does not depend on a coordinate."""

SAME_ROWS = 1e-7
"""Largest difference of constraint rows and of speeds (SI units) before and after an event at which they
count as unchanged."""

GROUND_SAMPLES = (
    8  # number of instants of a run around which the ground is sampled for its symmetry
)

SET_GAP = 1e-9
"""Largest gap of a wheel after a vehicle is set on the ground, as a fraction of the vehicle's length; smaller
gaps are rounding errors."""

# Largest number of Newton steps that set a vehicle on the ground. Steps of limited rotation reach
# any slope within a few, and convergence needs a few more.
MAX_SETTING_STEPS = 50

MAX_SETTING_TURN = 0.3  # largest roll or pitch in one of these Newton steps, rad

GROUND_COORDINATES = ("x", "y", "yaw", "z")
"""Coordinates of the base that symmetries of the ground can change; a linear system omits as many of them as
there are symmetries, the first ones first."""

OBLIQUE_SYMMETRY = 1e-9
"""Rounding error of the change of a coordinate per unit displacement along a symmetry of the ground."""

SYMMETRY_MARGIN = 100.0
"""Tolerated rate of change in a steady motion per rad of the ground's symmetry error, SI units; the error
times gravity, about 10 m/s2, accelerates the base, and the wheels have larger accelerations."""

LINEARISATIONS = ("steady", "frozen", "dalembert")
"""Forms of linearisation: about a steady motion; at one instant of an accelerating motion; about the motion
at constant speed under the inertial load of its acceleration."""


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
        i = _select_indices(self.inputs, inputs, "input")
        o = _select_indices(self.outputs, outputs, "output")
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


def _select_indices(available: Sequence[str], names: Sequence[str] | None, kind: str) -> list[int]:
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
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
    cyclic: bool = False,
    tolerance: float = 1e-7,
    form: Literal["steady", "frozen"] = "steady",
    axes: Axes = "draisine",
) -> Linear:
    """Linearise the equations of motion about one motion, about a sequence of motions, or along a run.

    States of the linear system are independent coordinates, then independent speeds, then the states of
    tyres and of a control law. Cyclic coordinates are those on which the equations do not depend: position,
    heading, wheel angles. They, and the outputs that depend on them, are left out unless `cyclic` is true.

    Parameters
    ----------
    system
        The compiled system; or a run (`draisine.simulate`), about which the linear system varies with time:
        deviations from the run obey `d(dx)/dt = A(t) dx + B(t) dw`, with one A and one B per sample.
    motion
        State, or sequence of states, about which to linearise; None if `system` is a run.
    inputs
        Inputs (N m or N) in the motion, by name.
    outputs
        Names of outputs; by default all outputs of the model and its joint coordinates.
    mode
        Contact mode: statuses of contacts by name.
    law
        Control law. In a run, the values of a control law that cannot be traced count as recorded inputs.
    terrain
        The ground. The contacts that are closed in the state stay closed, and rolling contacts keep rolling.
        On the level plane (None) contacts are ideal. Motions on a terrain are steady if they follow a
        symmetry of the ground: straight on a plane or along a road of constant profile, circles in a bowl.
    contact
        Contact options on a terrain: friction and joint stops.
    cyclic
        Whether cyclic coordinates are states, too.
    tolerance
        Largest rate of change of a speed or non-cyclic coordinate in a steady motion, as a fraction of the
        largest observed value plus 1 (SI units).
    form
        "steady" raises an error if the motion is not steady. "frozen" accepts any motion and treats the
        derivatives at this instant as constant: an approximation for slowly changing motions. For the
        d'Alembert form use `steady(...).linear(form="dalembert")`.
    axes
        Sign convention of coordinates, speeds and inputs. "benchmark" is that of Meijaard et al. 2007
        (positive steer to the right); see `model.names`.

    Returns
    -------
    Linear
        The linear system with named states, inputs and outputs.

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

    On a road that rises to the left:

    >>> from draisine.terrain import plane
    >>> from draisine.analysis.equilibrium import steady
    >>> road = plane(camber=0.1)
    >>> ride = steady(bicycle, forward_speed=5.0, yaw=0.0, terrain=road)
    >>> across = linearise(bicycle, ride.state, terrain=road)
    >>> across.states
    ('lean', 'steer', 'yaw', 'lean_rate', 'steer_rate', 'rear_wheel_rate')

    Along a run that brakes:

    >>> run = simulate(bicycle, state(bicycle, forward_speed=5.0), 1.0, inputs={"rear_wheel": -20.0})
    >>> along = linearise(run)
    >>> along.A.shape[0] == len(along.times) == len(run.t)
    True
    """
    if isinstance(system, Trajectory):
        if any(option is not None for option in (motion, inputs, mode, law, terrain)):
            raise ParameterError(
                "linearise(run): motion, inputs, mode, law and terrain are those of the run. Leave them out."
            )
        machine_system = system.arcs[0].machine.system
        run_law = None if system.task is None else system.task.law
        options = {"outputs": outputs, "cyclic": cyclic, "axes": axes}
        recipe = call_recipe("linear", linearise, system, **options)
        along = _linearise_run(system, outputs, cyclic)
        return convert_axes(
            replace(along, made=provenance(machine_system, run_law, recipe)), machine_system, axes
        )
    require_system("linearise", system)
    if form not in ("steady", "frozen"):
        raise ParameterError(
            f"Unknown form {form!r}. Available: steady, frozen; "
            "analysis.equilibrium.steady(...).linear(form='dalembert') has the d'Alembert form."
        )
    motions = list(motion) if isinstance(motion, Sequence) else [motion]
    for each in motions:
        expect("linearise", each, State, "draisine.state(system, forward_speed=5.0) makes one")
    states = [each for each in motions if isinstance(each, State)]
    setup = ContactSetup(system, terrain, mode, contact, law, inputs)
    machine, first = setup.equations(states[0], setup.closed_contacts(states[0]))
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
        terrain=terrain, contact=None if contact == CONTACT else contact, cyclic=cyclic,
        tolerance=tolerance, form=form, axes=axes,
    )  # fmt: skip
    linear = linear[0] if isinstance(motion, State) else linear
    return convert_axes(replace(linear, made=provenance(system, law, recipe)), system, axes)


def smooth_arcs(run: Trajectory) -> list[BilateralArc]:
    """Return the trajectory arcs of a run that stays in one contact mode on the level plane.

    Raises
    ------
    ConfigurationError
        If the run has impacts or changing contacts.
    """
    arcs: list[Any] = list(run.arcs)
    if run.is_unilateral or any(arc.mode != arcs[0].mode for arc in arcs):
        raise _events_without_linear_system()
    return arcs


def _events_without_linear_system() -> ConfigurationError:
    """Return the error for a run along which no linear system exists, because events occur."""
    return ConfigurationError(
        "The run has impacts or changing contacts, about which no linear system exists. Use "
        "draisine.gradient, which differentiates through events."
    )


def _linearise_run(run: Trajectory, outputs: Sequence[str] | None, cyclic: bool) -> Linear:
    """Return the time-varying linear system along a run, one set of matrices per sample."""
    names: Chart | None = None
    systems = []
    for machine, t, y, w in _list_evaluated_samples(run):
        if names is None:
            names = chart(vary(machine, y, w, t=t, anchors=machine.anchors_at(y[0])))
        systems.append(
            linear_systems(
                machine, y, w, outputs=outputs, cyclic=cyclic, form="frozen", t=t, names=names
            )
        )
    arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in systems]) for name in arrays
    }
    return replace(systems[0], **joined, times=run.t)


def _list_evaluated_samples(run: Trajectory) -> Iterator[tuple[Any, Floats, Floats, Floats]]:
    """Yield the samples of a run: equations of motion in minimal coordinates, times (N,), states (N, entries)
    and inputs (N, inputs).
    """
    if not run.is_unilateral:
        for arc in smooth_arcs(run):
            yield arc.machine, arc.t, arc.y, arc.inputs
        return
    if any(arc.stores_forces for arc in run.arcs):
        raise _events_without_linear_system()
    arcs: list[Any] = list(run.arcs)
    machines = [_equations_of_arc(arc, run.contact or CONTACT) for arc in arcs]
    _check_continuous(run, arcs, machines)
    symmetry = _find_symmetry_along(arcs, machines)
    law = None if run.task is None else run.task.law
    cyclic_joints = _find_cyclic_joints(arcs[0].machine.system, law)
    for arc, machine in zip(arcs, machines, strict=True):
        for t, free in zip(arc.t_before, arc.y, strict=True):
            # Choose independent speeds anew at each sample, because the linear system does not
            # depend on this choice.
            here = replace(
                machine,
                B=machine.choose_speeds(free, t),
                symmetry=symmetry,
                cyclic_joints=cyclic_joints,
            )
            yield here, np.array([t]), here.reduce(free)[None], arc.inputs[None]


def _equations_of_arc(arc: Any, contact: ContactOptions) -> GroundedMachine:
    """Return the equations of motion in the contact mode of a trajectory arc, without independent speeds."""
    query = ContactQuery(arc.machine, arc.terrain, arc.inputs, arc.stops)
    return GroundedMachine(query, tuple(arc.closed), np.zeros((0, query.n)), contact)


def _check_continuous(
    run: Trajectory, arcs: Sequence[Any], machines: Sequence[GroundedMachine]
) -> None:
    """Raise an error if constraints or speeds of a run on a terrain change at an event between two arcs."""
    pairs = pairwise(zip(arcs, machines, strict=True))
    for event, ((_, before), (after_arc, after)) in zip(run.events, pairs, strict=False):
        y = after_arc.y[0]
        rows, rows_after = (
            machine.velocity_constraints(event.t, y)[0] for machine in (before, after)
        )
        is_smooth = rows.shape == rows_after.shape and np.allclose(rows, rows_after, atol=SAME_ROWS)
        if not is_smooth or np.abs(event.after.v - event.before.v).max() > SAME_ROWS:
            raise ConfigurationError(
                f"At {event.t:.6g} s contacts of the run change ({event.kind}), so that no linear system "
                "exists along it. Use draisine.gradient, which differentiates through "
                "events, or linearise a part of the run."
            )


def _find_symmetry_along(arcs: Sequence[Any], machines: Sequence[GroundedMachine]) -> Symmetry:
    """Return the symmetries of the ground along a run, from ground samples around its path."""
    samples = [(machine, y) for arc, machine in zip(arcs, machines, strict=True) for y in arc.y]
    some = np.unique(np.linspace(0, len(samples) - 1, GROUND_SAMPLES).round().astype(int))
    ground = [
        sample_ground(machine.query, y, machine.contact, machine.closed)
        for machine, y in (samples[k] for k in some)
    ]
    points, normals = (np.concatenate([pair[k] for pair in ground]) for k in range(2))
    model = arcs[0].machine.system.model
    middle = points.mean(axis=0)
    return find_symmetry(points, normals, middle, np.asarray(model.gravity, float))


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


@dataclass(frozen=True, eq=False)
class ContactSetup:
    """A vehicle with its contacts: ideal (bilateral) ones in a contact mode on the level plane, or unilateral
    ones on a terrain. It selects the equations of motion that analyses use.
    """

    system: System
    terrain: Terrain | None = None  # ground of unilateral contacts
    mode: Mapping[str, str] | None = None  # statuses of bilateral contacts by name
    contact: ContactOptions = CONTACT
    law: Law | None = None
    inputs: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.is_level:
            return
        expect("terrain", self.terrain, Terrain, "draisine.terrain.plane() makes one")
        if self.mode is not None:
            raise ParameterError(
                "On a terrain the state determines which contacts are closed. Leave `mode` or `terrain` out."
            )

    @property
    def is_level(self) -> bool:
        """Whether contacts are ideal, on the level plane."""
        return self.terrain is None

    def equations(self, state: State, closed: Sequence[Closed] = ()) -> tuple[Any, Floats]:
        """Return the equations of motion in minimal coordinates, and the state vector y of a state.

        On a terrain, `closed` are the closed contacts; by default those nearest to the wheels.
        """
        if self.is_level:
            return machine_at(self.system, state, self.mode, self.law)
        query, free = self._make_query(state)
        contacts = tuple(closed) or nearest_contacts(query, free, self.contact)
        machine = GroundedMachine(query, contacts, np.zeros((0, query.n)), self.contact)
        machine = replace(machine, B=machine.choose_speeds(free))
        y = machine.reduce(free)
        symmetry = ground_symmetry(machine, y)
        cyclic_joints = _find_cyclic_joints(self.system, self.law)
        return replace(machine, cyclic_joints=cyclic_joints, symmetry=symmetry), y

    def closed_contacts(self, state: State) -> tuple[Closed, ...]:
        """Return the contacts on a terrain that are closed at the beginning of a simulation from a state.

        Raises
        ------
        ConfigurationError
            If the simulation would begin with an impact or with the time-stepping scheme.
        """
        if self.is_level:
            return ()
        task = Task(
            self.system, state, 1.0, self.terrain, self.law, self.inputs, self.contact, NUMERICS,
            None,
        )  # fmt: skip
        run = TerrainRun(task)
        run.begin()
        if run.steps is not None or run.events:
            raise ConfigurationError(
                "The state is not consistent with its contacts: a run from it begins with an impact, or "
                "its wheels over-constrain it. Simulate until it rolls (run.final()), or use "
                "analysis.equilibrium.steady(..., terrain=)."
            )
        return tuple(run.now.closed)

    def _make_query(self, state: State) -> tuple[ContactQuery, Floats]:
        """Return the contact query on the terrain, and the state (q, p, r, v, z) of the free machine."""
        assert self.terrain is not None
        z = memory_start(self.system, state, self.law, law_states(self.law))
        machine = make_generic(self.system, self.law, self.terrain.motions)
        inputs = self.system.inputs(self.inputs)
        query = ContactQuery(machine, self.terrain, inputs, self.contact.stops)
        return query, machine.enter(state, z)


def set_on_ground(setup: ContactSetup, state: State) -> State:
    """Set a vehicle on the terrain below it and return the new state.

    Newton's method closes the gaps of the wheels by minimum-norm changes of height, roll and pitch. The
    horizontal position and the joint coordinates do not change; speeds are projected onto the constraints.

    Raises
    ------
    ConfigurationError
        If the gaps do not close.
    """
    query, free = setup._make_query(state)
    machine = GroundedMachine(query, (), np.zeros((0, query.n)), setup.contact)
    layout = query.machine.layout
    joints = len(setup.system.model.joints)
    tolerance = SET_GAP * query.units.length
    free = lift_above_ground(query, free)
    for _ in range(MAX_SETTING_STEPS):
        closed = nearest_contacts(query, free, setup.contact)
        rows = query.evaluate_rows(0.0, free, [contact for contact, *_ in closed])
        gaps = rows[:, query.row.gap.start]
        if np.abs(gaps).max(initial=0.0) < tolerance:
            return query.machine.leave(query.project(0.0, free, closed))
        R = rotation(free[layout.q])
        motions = np.zeros((6 + joints, 3))
        motions[:3, 0] = R[2]
        motions[3:6, 1] = R[0]
        motions[3:6, 2] = R[1]
        normal = query.jacobian(rows)[:, 0] @ motions[machine.columns]
        stretched = gaps / rows[:, query.row.stretch.start]
        step = -np.linalg.lstsq(normal, stretched, rcond=1e-9)[0]
        step *= min(1.0, MAX_SETTING_TURN / max(float(np.abs(step[1:]).max()), 1e-300))
        moved = displace_states(
            machine, machine.reduce(free)[None], (motions[machine.columns] @ step)[None]
        )
        free[query.pose] = moved[0][machine.layout.span("q", "r")]
    raise ConfigurationError(
        "The machine cannot be set on the terrain at its position: its wheels do not reach the ground "
        "together. Start from a state on the terrain: start=, draisine.place."
    )


def _find_cyclic_joints(system: System, law: Law | None) -> tuple[str, ...]:
    """Return the names of the cyclic joints, and "pitch" if the base itself is a rolling wheel.

    The equations of motion do not depend on the angle of a cyclic joint, such as that of a round wheel. The
    joints are determined on the level plane, because a round wheel is round on any ground.
    """
    level, y = machine_at(system, state_of_model(system), None, law)
    w = np.zeros(len(system.model.inputs))
    frame = chart(vary(level, y[None], w[None], anchors=level.anchors_at(y)))
    names = cyclic_coordinates(level, frame, y, w)
    return tuple(name for name in names if name not in GROUND_COORDINATES)


def linear_systems(
    machine: Any,
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
    """Return the linear systems about N states y (N, entries) with inputs w (N, inputs) at times t (s).

    The motions must be steady unless `form` is "frozen". `names` contains the coordinates and speeds that
    become states of the linear system; by default those with the largest pivots are chosen.
    """
    variation = vary(machine, y, w, t=t, anchors=machine.anchors_at(y[0]))
    frame = (
        chart(variation) if names is None else chart_of(variation, names.coordinates, names.speeds)
    )
    symmetric = find_symmetric_states(machine, variation, frame, y, w)
    hidden = symmetric.names
    if form == "steady":
        check_steady(variation, frame, hidden, tolerance)
    elif symmetric.is_oblique(frame.coordinates):
        # Symmetries that change several coordinates yield a constant A along steady motions only.
        # For this linear system, omit only coordinates that are cyclic by themselves.
        symmetric = symmetric.restrict_to_single(frame.coordinates)
        hidden = symmetric.names
    if cyclic:
        _check_base_does_not_roll(variation, hidden, tolerance)
    seeds = _state_tangents(variation, frame)
    A = _system_matrices(variation, frame, seeds)
    B = _input_matrices(variation, frame)
    states = [*frame.coordinates, *frame.speeds, *(f"z[{k}]" for k in range(machine.memory))]
    kept = [k for k, name in enumerate(states) if cyclic or name not in hidden]
    C = rotate_to_heading(
        variation, variation.names, _derivatives_along(variation.d["seen"], seeds)
    )
    shown = _select_outputs(variation, C, None if cyclic else symmetric, outputs)
    if not cyclic:
        A = symmetric.remove_symmetric_rates(frame.coordinates, A)
        B = symmetric.remove_symmetric_rates(frame.coordinates, B)
    named = [variation.observation(name) for name in (*frame.coordinates, *frame.speeds)]
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
        variation.observation("yaw"),
        _steady_state_rates(variation, frame, len(states))[:, kept],
    )


def _check_base_does_not_roll(
    variation: Variation, omitted_names: Sequence[str], tolerance: float
) -> None:
    """Raise an error if the base itself is a rolling wheel: its x and y then do not change uniformly."""
    if "pitch" in omitted_names and np.abs(variation.observation("pitch_rate")).max() > tolerance:
        raise ConfigurationError(
            "The base itself rolls, so that its position x and y does not change at a constant "
            "rate. Linearise without cyclic=True."
        )


def _steady_state_rates(variation: Variation, frame: Chart, count: int) -> Floats:
    """Return the time derivatives of the states in the steady motions themselves, (N, states)."""
    rates = np.zeros((len(variation), count))
    complete = add_missing_axis(frame.coordinates)
    named = [variation.observation(f"{name}_rate") for name in complete]
    turned = rotate_to_heading(variation, complete, np.stack(named, axis=1)[:, :, None])
    rates[:, : len(frame.coordinates)] = turned[:, : len(frame.coordinates), 0]
    return rates


def _select_outputs(
    variation: Variation,
    C: Floats,
    omitted: "CyclicStates | None",
    outputs: Sequence[str] | None,
) -> list[int]:
    """Return the indices of the selected outputs among the observations.

    If `outputs` is None, select all outputs and joint coordinates that do not depend on omitted states.
    """
    system = variation.machine.system
    usual = [*system.outputs, *(j.name for j in system.model.joints)]
    candidates = _select_indices(variation.names, usual if outputs is None else outputs, "output")
    scale = np.abs(C[:, candidates]).max(initial=1.0)
    blind = []
    if omitted is not None:
        changes = C[:, :, : omitted.directions.shape[1]] @ omitted.directions
        blind = [k for k in candidates if np.abs(changes[:, k]).max(initial=0) > 1e-9 * scale]
    if blind and outputs is not None:
        raise ConfigurationError(
            f"Output {variation.names[blind[0]]!r} depends on cyclic coordinates. Set cyclic=True."
        )
    return [k for k in candidates if k not in blind]


def check_steady(
    variation: Variation, frame: Chart, hidden: Sequence[str], tolerance: float
) -> None:
    """Raise an error if a motion is not steady within a relative tolerance.

    In a steady motion speeds and non-cyclic coordinates are constant, and the equations do not
    depend on time. `hidden` are the names of the cyclic coordinates.
    """
    steady_names = [name for name in frame.coordinates if name not in hidden]
    scale = 1.0 + np.abs(variation.values["seen"]).max(initial=0.0)
    drift: dict[str, Floats] = {}
    if "drift" in variation.values:
        # On a terrain, position and heading of a steady motion follow a symmetry of the ground, eq.
        # [symmetry]. Therefore check the velocity across the symmetries instead of the rates of
        # position and heading.
        steady_names = [name for name in steady_names if name not in GROUND_COORDINATES]
        drift = {"the position relative to the shape of the ground": variation.values["drift"]}
        tolerance = max(tolerance, SYMMETRY_MARGIN * variation.machine.symmetry.error)
    for rates in (
        {name: variation.observation(f"{name}_rate") for name in steady_names},
        drift,
        {name: variation.speed_rates([name]) for name in frame.speeds},
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


@dataclass(frozen=True, eq=False)
class CyclicStates:
    """Coordinates that a linear system omits because displacements along symmetries have no effect."""

    names: tuple[str, ...]  # names of the omitted coordinates
    directions: Floats  # changes of all coordinates along each symmetry, (N, coordinates, names)
    error: float = 0.0  # error of the symmetries of the ground, see `Symmetry.error`

    def is_oblique(self, coordinates: Sequence[str]) -> bool:
        """Return whether a symmetry, such as a rotation, also changes coordinates that are not omitted."""
        kept = [k for k, name in enumerate(coordinates) if name not in self.names]
        return bool(np.abs(self.directions[:, kept]).max(initial=0.0) > OBLIQUE_SYMMETRY)

    def restrict_to_single(self, coordinates: Sequence[str]) -> "CyclicStates":
        """Return only those symmetries that change a single coordinate, which is then omitted."""
        changes = np.abs(self.directions).max(axis=0, initial=0.0) > OBLIQUE_SYMMETRY
        columns = []
        names = []
        for k in range(changes.shape[1]):
            changed = [coordinates[i] for i in np.flatnonzero(changes[:, k]).tolist()]
            if len(changed) == 1 and changed[0] in self.names:
                columns.append(k)
                names.append(changed[0])
        return CyclicStates(tuple(names), self.directions[:, :, columns])

    def remove_symmetric_rates(self, coordinates: Sequence[str], rates: Floats) -> Floats:
        """Return the rates (N, states, ...) of all states, without their component along the symmetries.

        A displacement along the symmetries K brings the deviation x_E of the omitted coordinates E to zero.
        It changes the deviation x of the other states to `x - K_x K_E^-1 x_E`.
        """
        if not self.is_oblique(coordinates):
            return rates
        omitted = [coordinates.index(name) for name in self.names]
        out = np.array(rates)
        moved = np.linalg.solve(self.directions[:, omitted], rates[:, omitted])
        out[:, : len(coordinates)] -= self.directions @ moved
        return out


def find_symmetric_states(
    machine: Any, variation: Variation, frame: Chart, states: Floats, inputs: Floats
) -> CyclicStates:
    """Return the cyclic coordinates that a linear system about N states (N, entries) can omit."""
    coordinates = frame.coordinates
    if isinstance(machine, ClosedForm):
        names = cyclic_coordinates(machine, frame, states[0], inputs[0])
        units = np.eye(len(coordinates))[:, [coordinates.index(name) for name in names]]
        return CyclicStates(names, np.repeat(units[None], len(states), axis=0))
    both = [machine.symmetric_directions(state) for state in states]
    ground, own = (np.array([pair[k] for pair in both]) for k in range(2))
    rows = heading_derivatives(variation, coordinates)
    # Omit as many coordinates of position and heading as the ground has symmetries. Choose
    # coordinates that change independently along the symmetries.
    candidates = [name for name in GROUND_COORDINATES if name in coordinates]
    changes = (rows @ ground)[:, [coordinates.index(name) for name in candidates]]
    no_rows = np.zeros((len(states), 0, changes.shape[2]))
    chosen = choose_independent_rows(no_rows, changes, in_all_cases=True)[0]
    names = tuple(name for name, is_chosen in zip(candidates, chosen, strict=True) if is_chosen)
    return CyclicStates(
        (*names, *machine.cyclic_joints),
        rows @ np.concatenate([ground, own], axis=2),
        machine.symmetry.error,
    )


def _state_tangents(variation: Variation, frame: Chart) -> dict[str, Floats]:
    """Return the tangent vectors that change one state of the linear system each.

    Their parts dx (configuration), du (speeds) and dz (element and control states) have the shape
    (N, directions, states).
    """
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


def _derivatives_along(
    derivatives: Mapping[str, Floats], state_tangents: Mapping[str, Floats]
) -> Floats:
    """Return the derivatives of an output along the tangent vector of every state, (N, entries, states)."""
    return sum((derivatives[name] @ seed for name, seed in state_tangents.items()), np.zeros(1))


def _system_matrices(
    variation: Variation, frame: Chart, state_tangents: Mapping[str, Floats]
) -> Floats:
    """Return the system matrices A (N, states, states).

    States are coordinates, then speeds, then the states of tyres and control law.
    """
    complete = add_missing_axis(frame.coordinates)
    rates = [f"{name}_rate" for name in complete]
    moved = _derivatives_along(
        {seed: variation.observation_derivatives(rates, seed) for seed in state_tangents},
        state_tangents,
    )
    moved = rotate_to_heading(variation, complete, moved)
    if "x" in frame.coordinates and "y" in frame.coordinates:
        # The coordinates x and y are measured along and across the heading. These axes rotate with
        # the yaw rate.
        i = frame.coordinates.index("x")
        j = frame.coordinates.index("y")
        moved[:, i, j] += variation.observation("yaw_rate")
        moved[:, j, i] -= variation.observation("yaw_rate")
    elif len(complete) > len(frame.coordinates):
        # Only one of x and y is an independent coordinate; the ground determines the other one. The
        # change of the other one contributes through the rotation of the axes.
        here, other = ("x", "y") if complete[-1] == "y" else ("y", "x")
        turn = variation.observation("yaw_rate") * (1.0 if here == "x" else -1.0)
        across = heading_derivatives(variation, [other]) @ state_tangents["dx"]
        moved[:, complete.index(here)] += turn[:, None] * across[:, 0]
        moved = moved[:, : len(frame.coordinates)]
    paced = _derivatives_along(
        {seed: variation.speed_rate_derivatives(frame.speeds, seed) for seed in state_tangents},
        state_tangents,
    )
    return np.concatenate(
        [moved, paced, _derivatives_along(variation.d["zdot"], state_tangents)], axis=1
    )


def _input_matrices(variation: Variation, frame: Chart) -> Floats:
    """Return the input matrices B (N, states, inputs).

    States are coordinates, then speeds, then the states of tyres and control law.
    """
    paced = variation.speed_rate_derivatives(frame.speeds, "dw")
    still = np.zeros((len(variation), frame.X.shape[2], paced.shape[2]))
    return np.concatenate([still, paced, variation.d["zdot"]["dw"]], axis=1)


def cyclic_coordinates(machine: ClosedForm, frame: Chart, y: Floats, w: Floats) -> tuple[str, ...]:
    """Return the names of the cyclic coordinates: the rates of all other states do not depend on them.

    The dependence is tested at random states about y, because at y alone a coordinate may happen to have
    no influence.
    """
    rng = np.random.default_rng(1)
    moving = machine.layout.span("u", "z")
    samples = displace_states(
        machine, np.tile(y, (4, 1)), 0.1 * rng.normal(size=(4, len(machine.columns)))
    )
    samples[:, moving] = rng.normal(size=(4, moving.stop - moving.start))
    variation = vary(machine, samples, np.tile(w, (4, 1)))
    near = chart_of(variation, frame.coordinates, frame.speeds)
    A = np.abs(_system_matrices(variation, near, _state_tangents(variation, near)))
    # A row of A with small entries only may consist of rounding errors. Therefore compare it with
    # the largest entry of the whole matrix, too.
    threshold = CYCLIC_ENTRY * np.maximum(A.max(axis=2, keepdims=True), 1e-6 * A.max())
    depends = (threshold < A).any(axis=0)
    # Remove coordinates on which the rate of a remaining state depends, until no more can be
    # removed.
    hidden = list(range(len(frame.coordinates)))
    while needed := [i for i in hidden if np.delete(depends[:, i], hidden).any()]:
        hidden = [i for i in hidden if i not in needed]
    return tuple(frame.coordinates[i] for i in hidden)
