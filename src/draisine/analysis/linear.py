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
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import draisine
from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.analysis.grounded import (
    GroundedMachine,
    ground_symmetry,
    lift_above,
    nearest_contacts,
    sample_ground,
)
from draisine.analysis.symmetry import Symmetry, find_symmetry
from draisine.analysis.variation import (
    Chart,
    Variation,
    anchors_of,
    chart,
    chart_of,
    heading_rows,
    machine_at,
    to_heading,
    vary,
    with_plane,
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
from draisine.simulation.contact.arc import TerrainArc
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.run import TerrainRun
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.options import CONTACT, NUMERICS, ContactOptions, Task, memory_start
from draisine.simulation.trajectory import BilateralArc, Trajectory
from draisine.system.artifacts import require_system
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import choose_independent_rows, displace
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
"""Matrix entries below this fraction of the largest entry are rounding errors and do not couple
states.
"""

CYCLIC_ENTRY = 1e-9
"""Entries of A at random states below this fraction of the largest entry of their row are rounding
errors.
"""

SAME_ROWS = 1e-7
"""Difference of constraint rows, and of speeds in SI units, below which they do not change at an event."""

GROUND_SAMPLES = 8  # places along a run at which the symmetry of the ground is determined

SET_GAP = 1e-9
"""Of the machine's length; smaller gaps of a machine that is set on the ground are rounding errors."""

MAX_SETTING_STEPS = 50  # limited steps reach any slope; convergence needs a few more

MAX_SETTING_TURN = 0.3  # rad; largest roll or pitch of a step that sets a machine on the ground

GROUND_COORDINATES = ("x", "y", "yaw", "z")
"""Coordinates of the base that the symmetries of a ground change, in the order in which they are omitted."""

OBLIQUE_SYMMETRY = 1e-9
"""Change of a coordinate per unit of a symmetry, below which it is a rounding error."""

SYMMETRY_MARGIN = 100.0
"""Accelerations of a motion on a ground that is symmetric up to an error (rad) differ from zero by its
product with gravity, about 10 m/s2, and with the accelerations of wheels, which are larger."""

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
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
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
    terrain
        The ground. The closed contacts of the state stay closed, and rolling ones roll. On the level plane
        (None) contacts are ideal. Motions on a terrain are steady if they follow a symmetry of the ground:
        straight on a plane or along a road of constant profile, circles in a bowl.
    contact
        Friction and stops on a terrain.
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
        if motion is not None or inputs is not None or mode is not None or law is not None:
            raise ParameterError(
                "linearise(run): motion, inputs, mode and law are those of the run. Leave them out."
            )
        if terrain is not None:
            raise ParameterError("linearise(run): the terrain is that of the run. Leave it out.")
        machine_system = system.arcs[0].machine.system
        run_law = None if system.task is None else system.task.law
        options = {"outputs": outputs, "cyclic": cyclic, "axes": axes}
        recipe = call_recipe("linear", linearise, system, **options)
        along = _linearise_run(system, outputs, cyclic)
        return in_axes(
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
    machine: Any
    if terrain is None:
        machine, first = machine_at(system, states[0], mode, law)
    else:
        if mode is not None:
            raise ParameterError(
                "linearise: on a terrain the state determines the contacts. Leave `mode` out."
            )
        start = TerrainStart(system, states[0], terrain, contact, law, inputs)
        machine, first = machine_on(start, start.closed_contacts())
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
    if all(isinstance(arc, TerrainArc) for arc in run.arcs):
        return _linearise_on_terrain(run, outputs, cyclic)
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


def _linearise_on_terrain(run: Trajectory, outputs: Sequence[str] | None, cyclic: bool) -> Linear:
    """Return the time-varying linear system along a run on a terrain, one matrix per sample."""
    arcs = [arc for arc in run.arcs if isinstance(arc, TerrainArc)]
    machines = [_machine_of(arc, run.contact or CONTACT) for arc in arcs]
    _check_continuous(run, arcs, machines)
    symmetry = _symmetry_along(arcs, machines)
    law = None if run.task is None else run.task.law
    cyclic_joints = _cyclic_joints(arcs[0].machine.system, law)
    names: Chart | None = None
    systems = []
    for arc, machine in zip(arcs, machines, strict=True):
        w = arc.inputs[None]
        for t, free in zip(arc.t_before, arc.y, strict=True):
            # Independent speeds of each sample: the linear system does not depend on their choice.
            here = replace(
                machine,
                B=machine.choose_speeds(free, t),
                symmetry=symmetry,
                cyclic_joints=cyclic_joints,
            )
            y = here.reduce(free)[None]
            if names is None:
                names = chart(vary(here, y, w, t=t))
            systems.append(
                linear_systems(
                    here, y, w, outputs=outputs, cyclic=cyclic, form="frozen", t=t, names=names
                )
            )
    arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in systems]) for name in arrays
    }
    return replace(systems[0], **joined, times=run.t)


def _machine_of(arc: TerrainArc, contact: ContactOptions) -> GroundedMachine:
    """Return the machine in the contact mode of an arc."""
    query = ContactQuery(arc.machine, arc.terrain, arc.inputs, arc.stops)
    return GroundedMachine(query, tuple(arc.closed), np.zeros((0, query.n)), contact)


def _check_continuous(
    run: Trajectory, arcs: Sequence[TerrainArc], machines: Sequence[GroundedMachine]
) -> None:
    """Raise if the constraints of a run on a terrain change between two arcs."""
    pairs = pairwise(zip(arcs, machines, strict=True))
    for event, ((_, before), (after_arc, after)) in zip(run.events, pairs, strict=False):
        y = after_arc.y[0]
        rows, rows_after = (machine.rows(event.t, y)[0] for machine in (before, after))
        is_smooth = rows.shape == rows_after.shape and np.allclose(rows, rows_after, atol=SAME_ROWS)
        if not is_smooth or np.abs(event.after.v - event.before.v).max() > SAME_ROWS:
            raise ConfigurationError(
                f"At {event.t:.6g} s contacts of the run change ({event.kind}), so that no linear system "
                "exists along it. Use draisine.gradient, which differentiates through "
                "events, or linearise a part of the run."
            )


def _symmetry_along(arcs: Sequence[TerrainArc], machines: Sequence[GroundedMachine]) -> Symmetry:
    """Return the symmetries of the ground along a run, from samples beside its path."""
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


@dataclass(frozen=True, eq=False)
class TerrainStart:
    """A state of a machine on a terrain, at which its equations are linearised."""

    system: System
    state: State
    terrain: Terrain
    contact: ContactOptions = CONTACT
    law: Law | None = None
    inputs: Mapping[str, float] | None = None

    def closed_contacts(self) -> tuple[Closed, ...]:
        """Return the contacts that a run from this state has closed.

        Raises
        ------
        ConfigurationError
            If the run would begin with an impact or in time steps.
        """
        task = Task(
            self.system, self.state, 1.0, self.terrain, self.law, self.inputs, self.contact,
            NUMERICS, None,
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


def machine_on(
    start: TerrainStart, closed: Sequence[Closed] = ()
) -> tuple[GroundedMachine, Floats]:
    """Return a machine on a terrain and its y; closed contacts are by default those next to its wheels."""
    system = start.system
    z = memory_start(system, start.state, start.law, law_states(start.law))
    free_machine = make_generic(system, start.law, start.terrain.motions)
    free = free_machine.enter(start.state, z)
    inputs = system.inputs(start.inputs)
    query = ContactQuery(free_machine, start.terrain, inputs, start.contact.stops)
    contacts = tuple(closed) or nearest_contacts(query, free, start.contact)
    no_speeds = np.zeros((0, query.n))
    machine = GroundedMachine(query, contacts, no_speeds, start.contact)
    machine = replace(machine, B=machine.choose_speeds(free))
    y = machine.reduce(free)
    machine = replace(
        machine,
        cyclic_joints=_cyclic_joints(system, start.law),
        symmetry=ground_symmetry(machine, y),
    )
    return machine, y


def set_on_ground(start: TerrainStart) -> State:
    """Return a state with the machine set on the terrain below it.

    The smallest changes of height, roll and pitch close the gaps of its wheels, one Newton step after the
    other. Position in the plane and joints stay; the speeds are projected onto the constraints.

    Raises
    ------
    ConfigurationError
        If the gaps do not close.
    """
    system = start.system
    free_machine = make_generic(system, start.law, start.terrain.motions)
    z = memory_start(system, start.state, start.law, law_states(start.law))
    free = free_machine.enter(start.state, z)
    query = ContactQuery(
        free_machine, start.terrain, system.inputs(start.inputs), start.contact.stops
    )
    machine = GroundedMachine(query, (), np.zeros((0, query.n)), start.contact)
    layout = free_machine.layout
    joints = len(system.model.joints)
    tolerance = SET_GAP * query.units.length
    free = lift_above(query, free)
    for _ in range(MAX_SETTING_STEPS):
        closed = nearest_contacts(query, free, start.contact)
        rows = query.evaluate_rows(0.0, free, [contact for contact, *_ in closed])
        gaps = rows[:, query.row.gap.start]
        if np.abs(gaps).max(initial=0.0) < tolerance:
            return free_machine.leave(query.project(0.0, free, closed))
        R = rotation(free[layout.q])
        motions = np.zeros((6 + joints, 3))
        motions[:3, 0] = R[2]
        motions[3:6, 1] = R[0]
        motions[3:6, 2] = R[1]
        normal = query.jacobian(rows)[:, 0] @ motions[machine.columns]
        stretched = gaps / rows[:, query.row.stretch.start]
        step = -np.linalg.lstsq(normal, stretched, rcond=1e-9)[0]
        step *= min(1.0, MAX_SETTING_TURN / max(float(np.abs(step[1:]).max()), 1e-300))
        moved = displace(
            machine, machine.reduce(free)[None], (motions[machine.columns] @ step)[None]
        )
        free[query.pose] = moved[0][machine.layout.span("q", "r")]
    raise ConfigurationError(
        "The machine cannot be set on the terrain at its position: its wheels do not reach the ground "
        "together. Start from a state on the terrain: start=, draisine.place."
    )


def _cyclic_joints(system: System, law: Law | None) -> tuple[str, ...]:
    """Return the joints on whose angles nothing depends, and `pitch` if the base itself rolls.

    They are those of the machine on the level plane: a wheel that is round is so on any ground.
    """
    level, y = machine_at(system, state_of_model(system), None, law)
    w = np.zeros(len(system.model.inputs))
    frame = chart(vary(level, y[None], w[None], anchors=anchors_of(level, y)))
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
    """Return the linear systems about N motions y (N, entries) of one machine at times t (s).

    Motions must be steady unless `form` is "frozen". `names` are the coordinates and speeds that
    are the states; by default they are chosen by their pivots.
    """
    variation = vary(machine, y, w, t=t, anchors=anchors_of(machine, y[0]))
    frame = (
        chart(variation) if names is None else chart_of(variation, names.coordinates, names.speeds)
    )
    symmetric = symmetric_states(machine, variation, frame, y, w)
    hidden = symmetric.names
    if form == "steady":
        check_steady(variation, frame, hidden, tolerance)
    elif symmetric.is_oblique(frame.coordinates):
        # The quotient is constant along steady motions only: omit single cyclic coordinates.
        symmetric = symmetric.aligned(frame.coordinates)
        hidden = symmetric.names
    if cyclic:
        _check_base(variation, hidden, tolerance)
    seeds = _state_directions(variation, frame)
    A = _system_matrices(variation, frame, seeds)
    B = _input_matrices(variation, frame)
    states = [*frame.coordinates, *frame.speeds, *(f"z[{k}]" for k in range(machine.memory))]
    kept = [k for k, name in enumerate(states) if cyclic or name not in hidden]
    C = to_heading(variation, variation.names, _derivatives_along(variation.d["seen"], seeds))
    shown = _selected_outputs(variation, C, None if cyclic else symmetric, outputs)
    if not cyclic:
        A = symmetric.quotient(frame.coordinates, A)
        B = symmetric.quotient(frame.coordinates, B)
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
    complete = with_plane(frame.coordinates)
    named = [variation.value(f"{name}_rate") for name in complete]
    turned = to_heading(variation, complete, np.stack(named, axis=1)[:, :, None])
    rates[:, : len(frame.coordinates)] = turned[:, : len(frame.coordinates), 0]
    return rates


def _selected_outputs(
    variation: Variation,
    C: Floats,
    omitted: "CyclicStates | None",
    outputs: Sequence[str] | None,
) -> list[int]:
    """Return the indices of the selected outputs among the observations.

    By default these are all outputs and joints that do not depend on omitted states.
    """
    system = variation.machine.system
    usual = [*system.outputs, *(j.name for j in system.model.joints)]
    candidates = _indices(variation.names, usual if outputs is None else outputs, "output")
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
    """Raise an error if a motion is not steady.

    In a steady motion speeds and non-cyclic coordinates are constant, and the equations do not
    depend on time.
    """
    steady_names = [name for name in frame.coordinates if name not in hidden]
    scale = 1.0 + np.abs(variation.values["seen"]).max(initial=0.0)
    drift: dict[str, Floats] = {}
    if "drift" in variation.values:
        # On a terrain position and heading follow a symmetry of the ground, eq. [symmetry].
        steady_names = [name for name in steady_names if name not in GROUND_COORDINATES]
        drift = {"the position relative to the shape of the ground": variation.values["drift"]}
        tolerance = max(tolerance, SYMMETRY_MARGIN * variation.machine.symmetry.error)
    for rates in (
        {name: variation.value(f"{name}_rate") for name in steady_names},
        drift,
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


@dataclass(frozen=True, eq=False)
class CyclicStates:
    """Coordinates that a linear system omits, because nothing depends on displacements along symmetries."""

    names: tuple[str, ...]  # the omitted coordinates
    directions: Floats  # (N, coordinates, names): changes of all coordinates along the symmetries

    def is_oblique(self, coordinates: Sequence[str]) -> bool:
        """Return whether a symmetry changes coordinates that are not omitted, such as a rotation."""
        kept = [k for k, name in enumerate(coordinates) if name not in self.names]
        return bool(np.abs(self.directions[:, kept]).max(initial=0.0) > OBLIQUE_SYMMETRY)

    def aligned(self, coordinates: Sequence[str]) -> "CyclicStates":
        """Return the part of the symmetries that changes one omitted coordinate each."""
        changes = np.abs(self.directions).max(axis=0, initial=0.0) > OBLIQUE_SYMMETRY
        columns = []
        names = []
        for k in range(changes.shape[1]):
            changed = [coordinates[i] for i in np.flatnonzero(changes[:, k]).tolist()]
            if len(changed) == 1 and changed[0] in self.names:
                columns.append(k)
                names.append(changed[0])
        return CyclicStates(tuple(names), self.directions[:, :, columns])

    def quotient(self, coordinates: Sequence[str], rates: Floats) -> Floats:
        """Return the rates (N, states, ...) of the states modulo displacements along the symmetries.

        A deviation is moved along the symmetries until the omitted coordinates E do not deviate. So the
        other states deviate by `x - K_x K_E^-1 x_E`, with the directions K of the symmetries.
        """
        if not self.is_oblique(coordinates):
            return rates
        omitted = [coordinates.index(name) for name in self.names]
        out = np.array(rates)
        moved = np.linalg.solve(self.directions[:, omitted], rates[:, omitted])
        out[:, : len(coordinates)] -= self.directions @ moved
        return out


def symmetric_states(
    machine: Any, variation: Variation, frame: Chart, y: Floats, w: Floats
) -> CyclicStates:
    """Return the coordinates that a linear system about motions y (N, entries) omits."""
    coordinates = frame.coordinates
    if isinstance(machine, ClosedForm):
        names = cyclic_coordinates(machine, frame, y[0], w[0])
        units = np.eye(len(coordinates))[:, [coordinates.index(name) for name in names]]
        return CyclicStates(names, np.repeat(units[None], len(y), axis=0))
    both = [machine.symmetric_directions(state) for state in y]
    ground, own = (np.array([pair[k] for pair in both]) for k in range(2))
    rows = heading_rows(variation, coordinates)
    # Of position and heading, omit as many as the ground has symmetries: those that change along them.
    candidates = [name for name in GROUND_COORDINATES if name in coordinates]
    changes = (rows @ ground)[:, [coordinates.index(name) for name in candidates]]
    no_rows = np.zeros((len(y), 0, changes.shape[2]))
    chosen = choose_independent_rows(no_rows, changes, in_all_cases=True)[0]
    names = tuple(name for name, is_chosen in zip(candidates, chosen, strict=True) if is_chosen)
    return CyclicStates(
        (*names, *machine.cyclic_joints), rows @ np.concatenate([ground, own], axis=2)
    )


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
    complete = with_plane(frame.coordinates)
    rates = [f"{name}_rate" for name in complete]
    moved = _derivatives_along({seed: variation.rows(rates, seed) for seed in seeds}, seeds)
    moved = to_heading(variation, complete, moved)
    if "x" in frame.coordinates and "y" in frame.coordinates:
        # The axes of x and y rotate with the heading.
        i = frame.coordinates.index("x")
        j = frame.coordinates.index("y")
        moved[:, i, j] += variation.value("yaw_rate")
        moved[:, j, i] -= variation.value("yaw_rate")
    elif len(complete) > len(frame.coordinates):
        # One of them depends on the other coordinates: the ground guides the machine across.
        here, other = ("x", "y") if complete[-1] == "y" else ("y", "x")
        turn = variation.value("yaw_rate") * (1.0 if here == "x" else -1.0)
        across = heading_rows(variation, [other]) @ seeds["dx"]
        moved[:, complete.index(here)] += turn[:, None] * across[:, 0]
        moved = moved[:, : len(frame.coordinates)]
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
