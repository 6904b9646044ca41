"""Linear systems about steady motions, by differentiation.

Coordinates c are named, independent and respect the contacts (`variation.Chart`); speeds s are
named, too. Rates of both are functions of the state, and their derivatives along the displacement
and the change of speeds that each of them stands for are the columns of

    d/dt (delta c, delta s) = A (delta c, delta s) + B delta w,        eq. [linearisation].

Names mean the same all along a steady motion (lean, joints, their rates), so A is constant whether
the motion is straight or a circle.
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

SHRUNK = 0.02
"""Where a pivot has shrunk to this part of what it was when chosen, others are chosen."""

FORMS = ("steady", "frozen", "dalembert")
"""What is linearised: a steady motion; the instant of an accelerating one; its motion under inertial load."""


@dataclass(frozen=True, eq=False)
class Linear:
    """A labelled linear system `xdot = A dx + B dw, dy = C dx + D dw` of the deviations dx, dw and dy of
    states, inputs and outputs from what they are in a steady motion: x0, w0 and y0.

    Where it was asked for many motions at once, these are the first axis of every matrix. States x
    and y count along and across the `heading` of the motion; `rates` are those of its states: only
    cyclic ones (its place, angles of wheels) move along in it. Along a run `times` (s) belong to the
    first axis. `made` are the attributes of a stored system: machine, law, version, axes, and `recipe`, the
    script that makes it again.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    x0: Floats
    w0: Floats
    y0: Floats
    units: Mapping[str, str] = field(default_factory=dict)
    heading: Floats = field(default_factory=lambda: np.zeros(()))
    rates: Floats = field(default_factory=lambda: np.zeros(0))
    times: Floats | None = None
    made: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, k: int) -> "Linear":
        """Return the system about one of many motions."""
        if self.A.ndim == 2:
            raise ConfigurationError(
                "This is one linear system, about one motion: leave out [...]."
            )
        arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
        parts = {name: getattr(self, name)[k] for name in arrays}
        times = None if self.times is None else self.times[k]
        return replace(self, **parts, times=times, made=self._made_by(f"linear = linear[{k}]"))

    def _made_by(self, line: str) -> dict[str, str]:
        """Return the attributes of what one more line of the recipe makes."""
        made = dict(self.made)
        return made | {"recipe": f"{made['recipe']}{line}\n"} if "recipe" in made else made

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
        """Return the eigenvalues, in no particular order."""
        return np.linalg.eigvals(self.A)

    def equations(self, title: str = "Linear system", digits: int = 6) -> "Equations":
        """Return the system to read, in numbers of so many digits."""
        from draisine.reading.linear.page import write_numbers

        matrices = {"A": self.check_single("equations"), "B": self.B}
        return write_numbers(matrices, self.states, self.inputs, title, digits)

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
            w0=self.w0[..., i],
            y0=self.y0[..., o],
            made=self._made_by(f"linear = linear.part({_listed(inputs)}, {_listed(outputs)})"),
        )

    def response(self, omega: Any) -> Floats:
        """Return C (i omega - A)^-1 B + D at angular frequencies in rad/s, (frequencies, outputs,
        inputs).
        """
        s = 1j * np.atleast_1d(np.asarray(omega, float))
        pencil = s[:, None, None] * np.eye(len(self.states)) - self.check_single("response")
        states = np.linalg.solve(pencil, np.broadcast_to(self.B, (len(s), *self.B.shape)))
        return self.C @ states + self.D

    def simulate(self, start: Mapping[str, float], times: Any) -> "Dataset":
        """Return how the machine moves from a start at times in s by these equations, its inputs as in
        the steady motion: states and outputs by the names that a run has. States that are not named
        start as they are in the steady motion.

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
        A, t = self.check_single("simulate"), np.atleast_1d(np.asarray(times, float))
        self._check_still()
        begin = [start.get(name, x0) - x0 for name, x0 in zip(self.states, self.x0, strict=True)]
        x = expm(t[:, None, None] * A) @ np.array(begin, float)
        told = dict(zip(self.states, (self.x0 + x).T, strict=True))
        told |= dict(zip(self.outputs, (self.y0 + x @ self.C.T).T, strict=True))
        return xarray.Dataset(
            {name: ("time", y, {"units": self.units.get(name, "")}) for name, y in told.items()},
            coords={"time": ("time", t, {"units": "s"})},
            attrs={
                "title": "linear",
                **self._made_by(f"motion = linear.simulate({dict(start)!r}, {t.tolist()!r})"),
            },
        )

    def _check_still(self) -> None:
        """Raise where a coordinate moves along in the steady motion itself."""
        # Systems from elsewhere, such as a law's, have no rates.
        moving = [n for n, rate in zip(self.states, self.rates, strict=False) if abs(rate) > 1e-9]
        if moving:
            raise ConfigurationError(
                f"simulate: {', '.join(moving)} change in the steady motion itself; linearise "
                "without cyclic=True."
            )

    def transfer(self, input: str, output: str) -> "Transfer":
        """Return the transfer function from an input to an output, without the states that take no
        part in it.
        """
        part = self.part([input], [output])
        A, b, c, d = self.check_single("transfer"), part.B, part.C, part.D
        links, pushed, shown = (np.abs(x) > 1e-12 * np.abs(x).max(initial=0.0) for x in (A, b, c))
        taken = reach_states(links, pushed[:, 0]) & reach_states(links.T, shown[0])
        A, b, c = A[np.ix_(taken, taken)], b[taken], c[:, taken]
        return _transfer(A, b, c, float(d[0, 0]))

    def to_xarray(self) -> "Dataset":
        """Return the system as a dataset: A, B, C and D by the names of rates, states, inputs and outputs,
        and the motion x0, w0, y0 that it is about; many motions are the dimension `motion`, those along a
        run the dimension `time`.

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

        >>> from draisine import compile, linearise, state
        >>> bicycle = compile("whipple")
        >>> upright = linearise(bicycle, state(bicycle, forward_speed=5.0))
        >>> again = Linear.from_xarray(upright.to_xarray())
        >>> again.states == upright.states and bool(np.all(again.A == upright.A))
        True
        """
        if not {"A", "B", "C", "D", "x0", "w0", "y0"} <= set(data.data_vars):
            raise DataError(
                "the dataset holds no linear system: A, B, C, D, x0, w0 and y0 are needed."
            )
        states, inputs, outputs = (
            tuple(map(str, data[name].values)) for name in ("state", "input", "output")
        )
        A, B, C, D, x0, w0, y0 = (
            data[name].values for name in ("A", "B", "C", "D", "x0", "w0", "y0")
        )
        heading = data["heading"].values if "heading" in data else np.zeros(())
        rates = data["rates"].values if "rates" in data else np.zeros(0)
        times = data["time"].values if "time" in data.coords else None
        units = json.loads(str(data.attrs.get("units", "{}")))
        made = {k: str(x) for k, x in data.attrs.items() if k not in ("title", "units")}
        return cls(
            A, B, C, D, states, inputs, outputs, x0, w0, y0, units, heading, rates, times, made
        )

    def plot(
        self, figure: str | None = None, path: "str | Path | None" = None, **options: Any
    ) -> Any:
        """Draw the responses of the outputs to the first input against frequency and return the axes; `part`
        chooses others, see `draisine.plot`.
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

    def check_single(self, what: str) -> Floats:
        """Return A, or raise if these are linear systems about many motions."""
        if self.A.ndim != 2:
            raise ConfigurationError(
                f"{what} takes one linear system, not {len(self.A)} at once: linear[0] is the first one."
            )
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
    from scipy.linalg import eigvals

    pencil = np.block([[A, b], [c, np.array([[d]])]])
    found = eigvals(pencil, np.diag([1.0] * n + [0.0]))
    order = np.argsort(np.where(np.isfinite(found), np.abs(found), np.inf))
    return Transfer(found[order[: n - degree]], np.linalg.eigvals(A) + 0j, markov[degree])


def reach_states(links: Floats, start: Floats) -> Floats:
    """Return which states are reached along links[to, from] from the start."""
    reached = start
    for _ in range(len(start)):
        reached = reached | (links @ reached)
    return reached


def _listed(names: Sequence[str] | None) -> str:
    """Return names as an expression."""
    return repr(None if names is None else list(names))


def _places(known: Sequence[str], names: Sequence[str] | None, kind: str) -> list[int]:
    """Return where names stand among the known ones."""
    expect_known(f"linear system: no {kind}", names or (), known, UnknownNameError)
    return list(range(len(known))) if names is None else [known.index(name) for name in names]


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
    """Return the linear system about a motion, about each of a sequence of them, or along a run.

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
                "linearise(run): the run has its own motion, inputs, mode and law; leave them out."
            )
        own = system.arcs[0].machine.system
        own_law = None if system.task is None else system.task.law
        options = {"outputs": outputs, "cyclic": cyclic, "axes": axes}
        recipe = call_recipe("linear", linearise, system, **options)
        along = _linearise_run(system, outputs, cyclic)
        return in_axes(replace(along, made=provenance(own, own_law, recipe)), own, axes)
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
    found = linear_systems(
        machine, y, w, outputs=outputs, cyclic=cyclic, tolerance=tolerance, form=form
    )
    recipe = call_recipe(
        "linear", linearise, system, motion, inputs=inputs, outputs=outputs, mode=mode, law=law,
        cyclic=cyclic, tolerance=tolerance, form=form, axes=axes,
    )  # fmt: skip
    found = found[0] if isinstance(motion, State) else found
    return in_axes(replace(found, made=provenance(system, law, recipe)), system, axes)


def smooth_arcs(run: Trajectory) -> list[BilateralArc]:
    """Return the arcs of a run in one mode on the plane, or raise.

    Raises
    ------
    ConfigurationError
        If the run has impacts or changing contacts.
    """
    arcs = [arc for arc in run.arcs if isinstance(arc, BilateralArc)]
    if len(arcs) < len(run.arcs) or len({tuple(sorted(arc.mode.items())) for arc in arcs}) > 1:
        raise ConfigurationError(
            "the run has impacts or changing contacts, through which no linear system leads; "
            "draisine.gradient differentiates through events."
        )
    return arcs


def _linearise_run(run: Trajectory, outputs: Sequence[str] | None, cyclic: bool) -> Linear:
    """Return the time-varying linear system along a run, one matrix per sample."""
    names: Chart | None = None
    parts = []
    for arc in smooth_arcs(run):
        w = arc.inputs.T
        if names is None:
            names = chart(vary(arc.machine, arc.y, w, t=arc.t, anchors=arc.anchors))
        parts.append(
            linear_systems(
                arc.machine, arc.y, w, outputs=outputs, cyclic=cyclic, form="frozen", t=arc.t,
                names=names,
            )
        )  # fmt: skip
    arrays = ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates")
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in arrays
    }
    return replace(parts[0], **whole, times=run.t)


def in_axes(found: Linear, system: System, axes: Axes) -> Linear:
    """Return a linear system in ours or in the benchmark's axes; `found` is in ours."""
    check_axes(axes)
    if axes == "draisine":
        return found
    x, w, y = (
        np.array([benchmark_sign(system.model, name) for name in names])
        for names in (found.states, found.inputs, found.outputs)
    )
    return replace(
        found,
        A=x[:, None] * found.A * x,
        B=x[:, None] * found.B * w,
        C=y[:, None] * found.C * x,
        D=y[:, None] * found.D * w,
        x0=x * found.x0,
        w0=w * found.w0,
        y0=y * found.y0,
        heading=-found.heading,
        rates=x * found.rates if found.rates.size else found.rates,
        made={**found.made, "axes": axes},
    )


def machine_at(
    system: System, motion: State, mode: Statuses, law: Law | None
) -> tuple[ClosedForm, Floats]:
    """Return a machine whose pivots serve a state, and that state as its y, the law at its start."""
    states = law_states(law)
    z = memory_start(system, motion, law, states)
    machine = system.machine(mode, law, states)
    y = machine.enter(motion, z=z)
    if machine.least_pivot(y) < SHRUNK:
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
    """Return the linear systems about N motions y (N, entries) of one machine at times t (s), steady
    ones unless the `form` is "frozen"; `names` are the coordinates and speeds to use.
    """
    found = vary(machine, y, w, t=t, anchors=anchors_of(machine, y[0]))
    at = chart(found) if names is None else chart_of(found, names.coordinates, names.speeds)
    hidden = cyclic_coordinates(machine, at, y[0], w[0])
    if form == "steady":
        check_steady(found, at, hidden, tolerance)
    if cyclic:
        _check_base(found, hidden, tolerance)
    seeds = _seeds(found, at)
    A, B = _rates(found, at, seeds), _input_rates(found, at)
    states = [*at.coordinates, *at.speeds, *(f"z[{k}]" for k in range(machine.memory))]
    kept = [k for k, name in enumerate(states) if cyclic or name not in hidden]
    C = to_heading(found, found.names, _along(found.d["seen"], seeds))
    shown = _shown(found, C, [k for k in range(len(states)) if k not in kept], outputs)
    named = [found.value(name) for name in (*at.coordinates, *at.speeds)]
    x0 = np.column_stack([*named, y[:, machine.layout.z]])
    return Linear(
        A[:, kept][:, :, kept],
        B[:, kept],
        C[:, shown][:, :, kept],
        found.d["seen"]["dw"][:, shown],
        tuple(states[k] for k in kept),
        tuple(machine.system.model.inputs),
        tuple(found.names[k] for k in shown),
        x0[:, kept],
        np.array(w),
        found.values["seen"][:, shown],
        observation_units(machine.system.model),
        found.value("yaw"),
        _steady_rates(found, at, len(states))[:, kept],
    )


def _check_base(found: Variation, hidden: Sequence[str], tolerance: float) -> None:
    """Raise where the base itself rolls: its place is no steady coordinate."""
    if "pitch" in hidden and np.abs(found.value("pitch_rate")).max() > tolerance:
        raise ConfigurationError(
            "the base itself rolls, and the drawing's origin with it: x and y do not move steadily. "
            "Ask without cyclic coordinates."
        )


def _steady_rates(found: Variation, at: Chart, count: int) -> Floats:
    """Return how fast the states change in the steady motions themselves, (N, states)."""
    rates = np.zeros((len(found), count))
    named = [found.value(f"{name}_rate") for name in at.coordinates]
    turned = to_heading(found, at.coordinates, np.stack(named, axis=1)[:, :, None])
    rates[:, : len(named)] = turned[:, :, 0]
    return rates


def _shown(
    found: Variation, C: Floats, hidden: Sequence[int], outputs: Sequence[str] | None
) -> list[int]:
    """Return which of what is seen are outputs: those asked for, or all (with the joints) that do not
    change with hidden states.
    """
    system = found.machine.system
    asked = [*system.outputs, *(j.name for j in system.model.joints)]
    seen = _places(found.names, asked if outputs is None else outputs, "output")
    scale = np.abs(C[:, seen]).max(initial=1.0)
    blind = [k for k in seen if np.abs(C[:, k, hidden]).max(initial=0) > 1e-9 * scale]
    if blind and outputs is not None:
        raise ConfigurationError(
            f"output {found.names[blind[0]]!r} needs cyclic coordinates; ask with cyclic=True."
        )
    return [k for k in seen if k not in blind]


def check_steady(found: Variation, at: Chart, hidden: Sequence[str], tolerance: float) -> None:
    """Raise if a speed changes, or a coordinate that is not cyclic, or if the equations depend on time."""
    firm = [name for name in at.coordinates if name not in hidden]
    scale = 1.0 + np.abs(found.values["seen"]).max(initial=0.0)
    for rates in (
        {name: found.value(f"{name}_rate") for name in firm},
        {name: found.pace([name]) for name in at.speeds},
        {"a state of tyres or of the control law": found.values["zdot"]},
    ):
        pace = {name: float(np.abs(rate).max(initial=0.0)) for name, rate in rates.items()}
        worst = max(pace, key=lambda name: pace[name], default="")
        if worst and not pace[worst] <= tolerance * scale:
            raise ConfigurationError(
                f"the motion is not steady: {worst} changes by {pace[worst]:.3g} per second. "
                "analysis.equilibrium.steady finds steady motions, with the deflections of tyres; "
                "form='frozen' linearises at this instant."
            )
    found.check_time_invariant(tolerance)


def _seeds(found: Variation, at: Chart) -> dict[str, Floats]:
    """Return the seeds dx, du, dz (N, seeds, states) that each state stands for."""
    count, k, m = len(found), at.X.shape[2], at.G.shape[1]
    nz = found.d["zdot"]["dz"].shape[2]
    if m + nz == 0:
        raise ConfigurationError(
            "the contacts leave no speed free: nothing can be disturbed. Let one slide, "
            'mode={"foot": "sliding"}, or leave it out.'
        )
    T = np.linalg.inv(at.G)
    whole = np.zeros((count, at.X.shape[1] + m + nz, k + m + nz))
    whole[:, : -m - nz, :k] = at.X
    whole[:, -m - nz : whole.shape[1] - nz, : k + m] = np.concatenate([-T @ at.P @ at.X, T], axis=2)
    whole[:, whole.shape[1] - nz :, k + m :] = np.eye(nz)
    edges = np.cumsum([0, at.X.shape[1], m, nz])
    return {name: whole[:, edges[i] : edges[i + 1]] for i, name in enumerate(("dx", "du", "dz"))}


def _along(d: Mapping[str, Floats], seeds: Mapping[str, Floats]) -> Floats:
    """Return the derivative of a part along the seeds of every state."""
    return sum((d[name] @ seed for name, seed in seeds.items()), np.zeros(1))


def _rates(found: Variation, at: Chart, seeds: Mapping[str, Floats]) -> Floats:
    """Return A over (coordinates, speeds, law's states)."""
    rates = [f"{name}_rate" for name in at.coordinates]
    moved = _along({seed: found.rows(rates, seed) for seed in seeds}, seeds)
    moved = to_heading(found, at.coordinates, moved)
    if "x" in at.coordinates and "y" in at.coordinates:  # their axes turn with the motion
        i, j = at.coordinates.index("x"), at.coordinates.index("y")
        moved[:, i, j] += found.value("yaw_rate")
        moved[:, j, i] -= found.value("yaw_rate")
    paced = _along({seed: found.pace_rows(at.speeds, seed) for seed in seeds}, seeds)
    return np.concatenate([moved, paced, _along(found.d["zdot"], seeds)], axis=1)


def _input_rates(found: Variation, at: Chart) -> Floats:
    """Return B over (coordinates, speeds, law's states)."""
    paced = found.pace_rows(at.speeds, "dw")
    still = np.zeros((len(found), at.X.shape[2], paced.shape[2]))
    return np.concatenate([still, paced, found.d["zdot"]["dw"]], axis=1)


def cyclic_coordinates(machine: ClosedForm, at: Chart, y: Floats, w: Floats) -> tuple[str, ...]:
    """Return the coordinates that the rest of the state does not know of: its rates are the same
    wherever they are.

    They are recognised at random states about y, so that they belong to the machine and not to one
    motion.
    """
    rng = np.random.default_rng(1)
    moving = machine.layout.span("u", "z")
    some = displace(machine, np.tile(y, (4, 1)), 0.1 * rng.normal(size=(4, len(machine.columns))))
    some[:, moving] = rng.normal(size=(4, moving.stop - moving.start))
    found = vary(machine, some, np.tile(w, (4, 1)))
    near = chart_of(found, at.coordinates, at.speeds)
    A = np.abs(_rates(found, near, _seeds(found, near)))
    small = 1e-9 * np.maximum(A.max(axis=2, keepdims=True), 1e-6 * A.max())
    matters = (small < A).any(axis=0)
    hidden = list(range(len(at.coordinates)))
    while told := [i for i in hidden if np.delete(matters[:, i], hidden).any()]:
        hidden = [i for i in hidden if i not in told]
    return tuple(at.coordinates[i] for i in hidden)
