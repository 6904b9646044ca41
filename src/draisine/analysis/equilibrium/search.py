"""Search for a steady motion with prescribed quantities: the function `steady` returns a `Steady`.

`steady` tries, in this order: Newton's method from the start; a homotopy from steady motions near the
start, or from straight running, to the prescribed values; Newton's method from random starts. Newton's
method is fast. The homotopy follows a family of steady motions through folds. Random starts reach families
that are not connected to straight running, such as those with a reversed handlebar. The equations are those
of `balance`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from draisine.algebra.lie import rotation, yaw_lean_pitch
from draisine.algebra.scalar import Floats
from draisine.analysis.equilibrium.balance import (
    ACCELERATION,
    PATH_CURVATURE,
    Balance,
    Machine,
    path_speed_name,
    quantity_names,
)
from draisine.analysis.equilibrium.curve import GROW_BEND, MAX_BEND, Curve
from draisine.analysis.equilibrium.inertial import under_inertial_load
from draisine.analysis.linear import (
    LINEARISATIONS,
    ContactSetup,
    Linear,
    convert_axes,
    linear_systems,
    set_on_ground,
)
from draisine.analysis.variation import vary
from draisine.errors import ConfigurationError, ParameterError, expect, expect_known
from draisine.mechanics.tree import spinning_joints
from draisine.model import Model
from draisine.model.names import SYNONYMS, Axes, hidden_states, state_names
from draisine.simulation.dataset import call_recipe, provenance
from draisine.simulation.options import CONTACT, NUMERICS, ContactOptions, Numerics
from draisine.simulation.simulate import simulate
from draisine.simulation.trajectory import Trajectory
from draisine.system.artifacts import require_system
from draisine.system.state import State, state
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

MAX_CURVE_STEPS = 100
"""Largest number of continuation steps of one homotopy; a homotopy from an upright motorcycle to a lean of
50 deg takes about 20."""

FIRST_CURVE_STEP = 0.05
MAX_CURVE_STEP = 0.3
MIN_CURVE_STEP = 1e-5
"""First, largest and smallest length of a continuation step, in the scaled unknowns of `balance`; a homotopy
that needs a shorter step ends."""

SAME_MOTION = 1e-6
"""Largest absolute and relative difference of two steady motions that count as equal (SI units); a homotopy
from the same motion is not computed twice."""

GUESSED_SPEEDS = (5.0, 15.0, 1.5, 35.0)
"""Forward speeds of the initial guesses if no speed is prescribed, m/s; typical of bicycles and
motorcycles."""

MIN_PATH_SPEED = 1e-3
"""Smallest speed of a motion with prescribed curvature, m/s; at rest the path has no curvature."""

MAX_CONTACT_CHANGES = 10
"""Largest number of Newton solutions on a terrain; a solution is repeated if the wheels end on other ground
features than those it was computed for."""

MAX_RANDOM_STARTS = 40
"""Largest number of random starts of Newton's method; each takes about 20 ms."""


@dataclass(frozen=True, eq=False)
class Steady:
    """Steady motion of a system: the state vector y = (q, p, r, u, z) and the inputs w.

    Attributes
    ----------
    machine
        The equations of motion in the contact mode; on a terrain, with the ground features below the wheels.
    y
        State vector of these equations.
    w
        Inputs (N m or N) in the order of `model.inputs`.
    law
        Control law, which is part of the equations of motion.
    acceleration
        Forward acceleration (m/s2); zero unless the motion is quasi-steady.
    prescribed
        The prescribed quantities with their values.
    free
        Names of the inputs whose values were unknowns of the search.
    """

    machine: Machine
    y: Floats
    w: Floats
    law: Law | None = None
    acceleration: float = 0.0
    prescribed: Mapping[str, float] = field(default_factory=dict)
    free: tuple[str, ...] = ()

    def __repr__(self) -> str:
        model = self.machine.system.model
        joints = [
            joint.name for k, joint in enumerate(model.joints) if k not in spinning_joints(model)
        ]
        heading = ["yaw"] if is_inclined(self.machine.system) else []
        shown = [
            *(output.name for output in model.outputs[:1]), *heading, "lean", *joints, "yaw_rate",
        ]  # fmt: skip
        text = ", ".join(
            f"{n} = {_format_number(self.values[n])}" for n in shown if n in self.values
        )
        inputs = ", ".join(
            f"{n} = {_format_number(x)}" for n, x in self.inputs.items() if abs(x) > 1e-12
        )
        changing = (
            f", {ACCELERATION} = {_format_number(self.acceleration)}" if self.acceleration else ""
        )
        return f"Steady({text}{changing}; inputs: {inputs or 'none'})"

    @cached_property
    def values(self) -> dict[str, float]:
        """Coordinates, outputs and speeds of the motion by name, in SI units and radians."""
        variation = vary(self.machine, self.y[None], self.w[None], seeds=("dt",))
        return dict(zip(variation.names, map(float, variation.values["seen"][0]), strict=True))

    @property
    def state(self) -> State:
        """The motion as a state with coordinates, speeds and tyre deflections."""
        return self.machine.leave(self.y)

    @property
    def inputs(self) -> dict[str, float]:
        """Inputs of the motion by name (N m or N)."""
        return dict(zip(self.machine.system.model.inputs, map(float, self.w), strict=True))

    @property
    def hidden(self) -> dict[str, float]:
        """States of tyres and control law by name; equal names are numbered."""
        z = self.y[self.machine.layout.z]
        names = hidden_states(self.machine.system.model, len(z))
        earlier = [names[:k].count(name) for k, name in enumerate(names)]
        labels = [f"{name}_{n + 1}" if n else name for name, n in zip(names, earlier, strict=True)]
        return dict(zip(labels, map(float, z), strict=True))

    @property
    def contact_forces(self) -> dict[str, Floats]:
        """Forces of the ground on each contact (N): normal, along and across.

        A motion with a negative normal force is not physically valid.
        """
        return self.machine.contact_forces(self.y, self.w)

    def linear(
        self,
        *,
        outputs: Sequence[str] | None = None,
        cyclic: bool = False,
        form: Literal["steady", "frozen", "dalembert"] = "steady",
        axes: Axes = "draisine",
    ) -> Linear:
        """Return the linear system about the motion, as `linearise` does about a state.

        Parameters
        ----------
        outputs
            Names of the outputs; all of the model and its joints by default.
        cyclic
            Whether cyclic coordinates are states, too.
        form
            Form of the linearisation. "steady": about a motion without acceleration. "frozen": the
            derivatives at this instant of an accelerating motion, taken as constant. "dalembert": about the
            motion at constant speed under the inertial load, see `inertial`.
        axes
            Sign convention of coordinates, speeds and inputs; "benchmark" is that of Meijaard et al. 2007.

        Raises
        ------
        ConfigurationError
            If the motion accelerates and `form` is "steady".

        Examples
        --------
        >>> from draisine import compile
        >>> braking = steady(
        ...     compile("whipple"), free=["rear_wheel"], forward_speed=5.0, lean=0.0,
        ...     forward_acceleration=-2.0,
        ... )
        >>> for form in ("frozen", "dalembert"):
        ...     weave = max(braking.linear(form=form).eigenvalues(), key=lambda s: s.imag)
        ...     print(f"{weave:.3f}")
        0.210+4.233j
        -0.131+4.349j
        """
        if form not in LINEARISATIONS:
            raise ParameterError(f"Unknown form {form!r}. Available: {', '.join(LINEARISATIONS)}.")
        shown = None if outputs is None else list(outputs)
        options = f"outputs={shown!r}, cyclic={cyclic!r}, form={form!r}, axes={axes!r}"
        recipe = f"{self.recipe}linear = motion.linear({options})\n"
        if form == "dalembert":
            linear = self.inertial().linear(outputs=outputs, cyclic=cyclic, axes=axes)
            return replace(linear, made={**linear.made, "recipe": recipe})
        linear = linear_systems(
            self.machine, self.y[None], self.w[None], outputs=outputs, cyclic=cyclic, form=form
        )[0]
        system = self.machine.system
        return convert_axes(
            replace(linear, made=provenance(system, self.law, recipe)), system, axes
        )

    @property
    def recipe(self) -> str:
        """Python script that computes the motion again."""
        fixed = {name: x for name, x in self.inputs.items() if name not in self.free}
        return call_recipe(
            "motion", steady, self.machine.system, start=self.state, free=list(self.free),
            inputs=fixed, law=self.law, **self.machine.contact_options, **self.prescribed,
        )  # fmt: skip

    def inertial(self) -> "Steady":
        """Return the motion at constant speed under the inertial load of the acceleration (d'Alembert).

        It has the same prescribed quantities and free inputs as the accelerating motion. Its drive torque
        does not include the torque that accelerates the rotation of the wheels.
        """
        loaded = under_inertial_load(self.machine.system, self.acceleration)
        prescribed: dict[str, Any] = {n: x for n, x in self.prescribed.items() if n != ACCELERATION}
        fixed = {name: x for name, x in self.inputs.items() if name not in self.free}
        prescribed |= self.machine.contact_options
        return steady(loaded, start=self, free=self.free, inputs=fixed, law=self.law, **prescribed)

    def simulate(
        self,
        until: float,
        *,
        change: Mapping[str, float] | None = None,
        contact: ContactOptions | None = None,
        numerics: Numerics = NUMERICS,
        strict: bool = False,
    ) -> Trajectory:
        """Simulate a run from this motion, with its inputs, tyre deflections and control-law states.

        Parameters
        ----------
        until
            End of the run (s).
        change
            Inputs that differ from those of the motion (N m or N), by name.
        contact, numerics, strict
            As in `draisine.simulate`; contact mode, terrain and friction are those of the motion.

        Examples
        --------
        >>> from draisine import compile
        >>> motorcycle = compile("motorcycle")
        >>> turn = steady(motorcycle, free=["steer", "rear_wheel"], forward_speed=20.0, lean=0.3)
        >>> run = turn.simulate(2.0).to_xarray()
        >>> bool(abs(run.lean - 0.3).max() < 1e-8)
        True
        """
        machine = self.machine
        options = machine.contact_options
        contact = contact or options.get("contact", CONTACT)
        return simulate(
            machine.system,
            self.state,
            until,
            terrain=options.get("terrain"),
            law=self.started_law,
            inputs=self.inputs | dict(change or {}),
            contact=replace(contact, mode=options.get("mode", contact.mode)),
            numerics=numerics,
            strict=strict,
        )

    @property
    def started_law(self) -> Any:
        """The control law, with its states in this motion as initial states."""
        states = self.machine.states
        if not states:
            return self.law
        z = self.y[self.machine.layout.z][-states:]
        return StartedLaw(self.law, states, tuple(map(float, z)))


@dataclass(frozen=True, eq=False)
class StartedLaw:
    """Control law with replaced initial states."""

    law: Any
    states: int  # number of states of the law
    start: tuple[float, ...]  # initial value of each state

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which the output of the law may be discontinuous."""
        return tuple(getattr(self.law, "breakpoints", ()))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of the law; empty if the law does not name them."""
        return tuple(getattr(self.law, "state_names", ()))

    def __call__(self, readings: Any, z: Any) -> Any:
        """Return the inputs (N m or N) and the rates of the states of the law."""
        return self.law(readings, z)


def steady(
    system: System,
    *,
    start: State | Steady | None = None,
    free: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
    **prescribed: float,
) -> Steady:
    """Find a steady motion with prescribed quantities.

    Parameters
    ----------
    system
        The compiled system.
    start
        Initial guess of the search: a state, or another steady motion with its inputs, tyre deflections and
        control-law states. By default the consistent state nearest to the zero configuration, then others.
    free
        Names of the inputs whose values are unknowns; all others have the values of `inputs`, or zero.
    inputs
        Values of the other inputs (N m or N), by name.
    mode
        Contact mode: statuses of contacts by name.
    law
        Control law.
    terrain
        The ground; None is the level plane with ideal contacts. On a terrain a motion is steady if it
        follows a symmetry of the ground: straight lines on planes and along roads of constant profile,
        circles about the axis of a bowl or a banked curve. Elsewhere only rest is steady.
    contact
        Contact options on a terrain: friction and joint stops.
    prescribed
        Prescribed quantities by name, in SI units and radians: any coordinate, output or speed, an input
        (`steer_torque`), a tyre deflection (`rear_tyre_slip`), `curvature` (1/m) or `radius` (m, positive
        to the left) of the path of the rear wheel, and `forward_acceleration` (m/s2). If a family of motions
        has the prescribed values, its member nearest to the start is returned.

    Returns
    -------
    Steady
        The steady motion. With a `forward_acceleration` it is quasi-steady: all speeds change in proportion
        to themselves.

    Raises
    ------
    ConfigurationError
        If no such motion is found. The message reports at which values the homotopy towards it ended.
    ParameterError
        If a name is unknown, or a rate is prescribed that is zero in every steady motion.

    Examples
    --------
    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> turn = steady(bicycle, free=["steer"], lean=-0.2, forward_speed=5.0)
    >>> print(f"{turn.values['steer']:.4f} rad, {turn.inputs['steer']:.4f} N m")
    0.0838 rad, -0.1371 N m

    Braking with 2 m/s2 at the rear wheel:

    >>> braking = steady(
    ...     bicycle, free=["rear_wheel"], forward_speed=5.0, lean=0.0, forward_acceleration=-2.0
    ... )
    >>> print(f"{braking.inputs['rear_wheel']:.2f} N m")
    -58.57 N m
    """
    require_system("steady", system)
    prescribed = _resolve_quantities(system, prescribed)
    w = np.array(system.inputs(inputs))
    expect_known("no input", free, list(system.model.inputs))
    for name in free:
        if name in (inputs or {}):
            raise ParameterError(
                f"steady motion: input {name} is free and has a value. Remove it from `free` or from "
                "`inputs`."
            )
    free_inputs = [list(system.model.inputs).index(name) for name in free]
    if isinstance(start, Steady):
        if mode is None and terrain is None:
            options = start.machine.contact_options
            mode = options.get("mode")
            terrain = options.get("terrain")
            contact = options.get("contact", contact) if contact is CONTACT else contact
        w[free_inputs] = start.w[free_inputs]
    elif start is not None:
        expect("steady", start, State, "draisine.state(system, ...) makes one")
    search = _MotionSearch(
        ContactSetup(system, terrain, mode, contact, law), free_inputs, w, prescribed
    )
    return _check_motion(search.find_motion(start))


def _check_motion(motion: Steady) -> Steady:
    """Check that the equations of a motion are time-invariant and its contact forces feasible; return it."""
    vary(motion.machine, motion.y[None], motion.w[None], seeds=("dt",)).check_time_invariant()
    motion.machine.check_forces(motion.y, motion.w)
    return motion


def _resolve_quantities(system: System, prescribed: Mapping[str, float]) -> dict[str, float]:
    """Check the prescribed quantities and return them by their standard names (curvature for radius)."""
    out: dict[str, float] = {}
    units = quantity_names(system.model)
    for alias, value in prescribed.items():
        name = SYNONYMS.get(alias, alias)
        if name == "radius" and PATH_CURVATURE in units:
            if value == 0.0:
                raise ParameterError(
                    "steady motion: the radius must not be zero. It is positive to the left."
                )
            name = PATH_CURVATURE
            value = 1.0 / value
        expect_known("steady motion: nothing is called", name, [*units, "radius"])
        if name in out:
            raise ParameterError(
                f"steady motion: {alias} means {name}, which is prescribed, too. Leave one out."
            )
        if not math.isfinite(value):
            raise ParameterError(f"steady motion: {alias} = {value} is not a finite number.")
        out[name] = float(value)
    if out.get(ACCELERATION) and out.get("forward_speed") == 0.0:
        raise ParameterError(
            f"steady motion: {ACCELERATION} = {out[ACCELERATION]:g} at rest. Speeds change in proportion "
            "to themselves in a quasi-steady motion, so prescribe a forward_speed other than zero."
        )
    return out


def steady_driven(system: System, free: Sequence[str] = (), **request: Any) -> Steady:
    """Find a steady motion with prescribed quantities and the smallest inputs.

    First a motion without free inputs is searched, near the start; if none exists, one with free inputs.
    On an inclined plane the machine keeps the heading of the start, by default along x, unless `yaw`,
    `yaw_rate`, `curvature`, `radius` or a lean other than zero is prescribed.

    Parameters
    ----------
    system
        The compiled system.
    free
        Inputs that may be used; by default those of `drive_joints`.
    request
        Prescribed quantities and the options `start`, `inputs`, `mode` and `law` of `steady`.

    Returns
    -------
    Steady
        The steady motion.

    Examples
    --------
    >>> from draisine import Body, Model, Prismatic, compile
    >>> def sledge(*, damper: float = 2.0) -> Model:
    ...     way = Prismatic("way", "rail", "sledge", (1.0, 0.0, 0.0), damper=damper)
    ...     return Model([Body("rail"), Body("sledge", 1.0)], [way], base="fixed")
    >>> steady_driven(compile(sledge), way_rate=3.0).inputs
    {'way': 6.0}
    """
    prescribed = {name: x for name, x in request.items() if name not in _OPTIONS}
    if request.get("terrain") is None:
        request.pop("terrain", None)
        request.pop("contact", None)
        request |= _find_heading_on_incline(system, prescribed, request.get("start"))
    if not prescribed.get(ACCELERATION):
        with suppress(ConfigurationError):
            return _search_without_inputs(system, **request)
    return steady(system, free=free or drive_joints(system.model), **request)


def drive_joints(model: Model) -> list[str]:
    """Return the names of the joints whose inputs sustain a steady motion by default.

    Joints with a spring and without a motor are suspensions: they are left out, unless the machine has no
    other joint.

    >>> from draisine import Body, Prismatic, Revolute
    >>> strut = Prismatic("strut", "frame", "hub", (0.0, 0.0, 1.0), spring=5000.0)
    >>> axle = Revolute("axle", "hub", "wheel", (0.0, 1.0, 0.0))
    >>> drive_joints(Model([Body("frame"), Body("hub"), Body("wheel")], [strut, axle]))
    ['axle']
    """
    movable = [joint for joint in model.joints if joint.motion is None]
    driven = [joint for joint in movable if not joint.spring or joint.motor is not None]
    return [joint.name for joint in driven or movable]


_OPTIONS = ("start", "inputs", "mode", "law", "terrain", "contact")


def _find_heading_on_incline(
    system: System, prescribed: Mapping[str, Any], start: State | Steady | None
) -> dict[str, float]:
    """Return the yaw (rad) that a machine keeps on an inclined plane; empty on the level plane.

    On the level plane all headings are equivalent. On an incline they are not, and a search for the
    nearest steady motion would turn the machine. A prescribed lean decides the heading of a two-wheeler.
    """
    names = {SYNONYMS.get(name, name) for name in prescribed}
    if names & {"yaw", "yaw_rate", PATH_CURVATURE, "radius"} or prescribed.get("lean"):
        return {}
    if not is_inclined(system) or "yaw" not in quantity_names(system.model):
        return {}
    if start is None:
        return {"yaw": 0.0}
    begin = start.state if isinstance(start, Steady) else start
    return {"yaw": float(yaw_lean_pitch(rotation(begin.q))[0])}


def is_inclined(system: System) -> bool:
    """Return whether gravity is tilted against the normal of the ground, the z axis.

    >>> from draisine import compile
    >>> is_inclined(compile("car")), is_inclined(compile("car", slope=0.1))
    (False, True)
    """
    along, across, normal = np.asarray(system.model.gravity, float)
    # Gravity in the x-y plane belongs to planar machines, which move on a wall and have no ground
    # below them.
    return bool(normal) and bool(along or across)


def _search_without_inputs(system: System, **request: Any) -> Steady:
    """Return the steady motion to which Newton's method converges without free inputs."""
    options = {name: request.pop(name, None) for name in _OPTIONS}
    setup = ContactSetup(
        system, options["terrain"], options["mode"], options["contact"] or CONTACT, options["law"]
    )
    search = _MotionSearch(
        setup, [], system.inputs(options["inputs"]), _resolve_quantities(system, request)
    )
    return _check_motion(search.solve_from(search.starting_point(options["start"])))


_Point = tuple[Machine, Floats, Floats]
"""Equations of motion in a contact mode, their state vector y and the inputs w."""


@dataclass(frozen=True, eq=False)
class _MotionSearch:
    """Search for one steady motion: the problem and the successive strategies."""

    setup: ContactSetup  # vehicle with its contacts and control law
    free: Sequence[int]  # indices of the inputs that are unknowns
    w: Floats  # initial values of the inputs, N m or N
    prescribed: Mapping[str, float]  # prescribed quantities by name, in SI units

    @property
    def system(self) -> System:
        """The compiled system."""
        return self.setup.system

    def find_motion(self, start: State | Steady | None) -> Steady:
        """Return the steady motion; raise an error that describes the failed search if none is
        found.
        """
        point = self.starting_point(start)
        first = Balance(*point, self.free)
        first.check_prescribed(self.prescribed)
        self._check_ground(point[0])
        with suppress(ConfigurationError):
            return self.solve_from(point)
        if start is None:
            for guess in self._yield_guesses():
                with suppress(ConfigurationError):
                    return self.solve_from(self.starting_point(self._consistent_state(guess)))
        ends: list[str] = []
        tried: list[Floats] = []
        for near in self._yield_bases(point):
            point_values = np.array([*near.values.values(), *near.w])
            if any(
                np.allclose(point_values, other, rtol=SAME_MOTION, atol=SAME_MOTION)
                for other in tried
            ):
                continue
            tried.append(point_values)
            motion, end = self._follow_homotopy(near)
            if motion is not None:
                return motion
            ends += [end] if end else []
        # A single surplus equation is redundant if nothing dissipates energy, because the speed is
        # then constant.
        if (
            start is None
            and self.setup.is_level
            and first.count_surplus_equations(self.prescribed) <= 1
        ):
            for scattered in self._yield_random_starts():
                with suppress(ConfigurationError):
                    return self.solve_from(scattered)
        raise ConfigurationError(self._describe_failure(first, ends))

    def starting_point(self, start: State | Steady | None) -> _Point:
        """Return the point (machine, y, w) at which the search begins."""
        if isinstance(start, Steady):
            machine, y = self.setup.equations(start.state)
            z = start.y[start.machine.layout.z]
            if len(z) == machine.memory:
                y[machine.layout.z] = z
            return machine, y, self.w
        if start is None:
            start = self._consistent_state(self.prescribed)
        machine, y = self.setup.equations(start)
        return machine, y, self.w

    def _check_ground(self, machine: Any) -> None:
        """Raise an error if the prescribed motion does not follow a symmetry of the ground."""
        speeds = [n for n in self.prescribed if n in ("forward_speed", "rear_wheel_speed")]
        if self.setup.is_level or not any(self.prescribed[name] for name in speeds):
            return
        symmetry = machine.symmetry
        if symmetry.count and symmetry.turn is None and "yaw" in self.prescribed:
            yaw = self.prescribed["yaw"]
            heading = np.array([math.cos(yaw), math.sin(yaw), 0.0])
            # Tyre slip changes the direction of motion by a few degrees from the heading. If the
            # heading is more than 45 degrees from every symmetry of the ground, the vehicle moves
            # across them.
            if np.linalg.norm(symmetry.translations @ heading) < math.sqrt(0.5):
                x, y = map(_format_number, symmetry.translations[0][:2])
                raise ConfigurationError(
                    f"steady motion: yaw = {yaw:g} leads across the profile of the ground, which is constant "
                    f"along (x, y) = ({x}, {y}) only. Leave yaw out, or linearise at an instant: "
                    "linearise(..., terrain=, form='frozen')."
                )
        if not symmetry.count:
            raise ConfigurationError(
                "The ground near the machine has no symmetry, so that only rest is steady there. A plane has "
                "one, a road of constant profile, a bowl or a banked curve about a vertical axis. Linearise "
                "at an instant: linearise(..., terrain=, form='frozen'), or along a run: linearise(run)."
            )

    def _consistent_state(self, wanted_values: Mapping[str, float]) -> State:
        """Return a state with closed contacts and the wanted values.

        If no such state exists (a turn on tyres, for example), the wanted rates are left out.
        """
        names = [n for n in state_names(self.system.model) if n in wanted_values]
        simple: dict[str, Any] = {name: wanted_values[name] for name in names}
        try:
            level = state(self.system, mode=self.setup.mode, **simple)
        except ConfigurationError:
            slow = {n: x for n, x in simple.items() if not n.endswith("_rate")}
            level = state(self.system, mode=self.setup.mode, **slow)
        return level if self.setup.is_level else self._place_on_ground(level, wanted_values)

    def _place_on_ground(self, level_state: State, wanted_values: Mapping[str, float]) -> State:
        """Move a state from level ground onto the terrain.

        For a circle, place it at the prescribed radius from the ground's axis of rotation.
        """
        placed = set_on_ground(self.setup, level_state)
        curvature = wanted_values.get(PATH_CURVATURE)
        if not curvature or "x" in wanted_values or "y" in wanted_values:
            return placed
        machine, _ = self.setup.equations(placed)
        axis = machine.symmetry.rotation_axis()
        if axis is None:
            return placed
        # For a heading along x, the axis of the circle is on the left (+y), at the distance 1 /
        # curvature.
        moved = np.array([axis[0], axis[1] - 1.0 / curvature, level_state.p[2]])
        return set_on_ground(self.setup, replace(level_state, p=moved))

    def _yield_guesses(self) -> Iterator[dict[str, float]]:
        """Yield initial guesses for a leaning vehicle, by name: the steady turn of an inverted pendulum.

        With the curvature c of the path and the wheelbase l, the lean (to the right) is -atan(v^2 c
        / g) and the steer angle atan(l c).
        """
        model = self.system.model
        prescribed = self.prescribed
        if "forward_speed" not in self.system.outputs or "Wx" not in model.speeds:
            return
        g = float(np.linalg.norm(np.asarray(model.gravity, float))) or 1.0
        centres = [float(contact.centre[0]) for contact in model.contacts]
        base = max(max(centres, default=0.0) - min(centres, default=0.0), 0.1)
        v = prescribed.get("forward_speed", prescribed.get("rear_wheel_speed"))
        c = prescribed.get(PATH_CURVATURE)
        if c is None and "yaw_rate" in prescribed and v:
            c = prescribed["yaw_rate"] / v
        if c is None and "steer" in prescribed:
            c = math.tan(prescribed["steer"]) / base
        lean = prescribed.get("lean")
        for guess in GUESSED_SPEEDS:
            speed = guess if v is None else v
            if v is None and lean and c and lean * c < 0.0:
                speed = math.sqrt(g * math.tan(abs(lean)) / abs(c))
            bend = -math.tan(lean or 0.0) * g / max(speed, 0.1) ** 2 if c is None else c
            turn = {
                "forward_speed": speed,
                "lean": -math.atan(speed**2 * bend / g),
                "steer": math.atan(base * bend),
            }
            names = state_names(model)
            yield {n: x for n, x in turn.items() if n in names} | dict(prescribed)
            if v is not None:
                return

    def solve_from(
        self, starting_point: _Point, prescribed: Mapping[str, float] | None = None
    ) -> Steady:
        """Return the steady motion to which Newton's method converges from a point (machine, y, w)."""
        machine, y, w = starting_point
        prescribed = self.prescribed if prescribed is None else prescribed
        y, w = Balance(machine, y, w, self.free).solve(y, w, prescribed)
        for _ in range(MAX_CONTACT_CHANGES):
            renewed, y = machine.renewed(y)
            if renewed is machine:
                break
            # Repeat the search if the independent speeds are ill-conditioned at this state, or if
            # the wheels are on other ground features than those for which the motion was computed.
            machine = renewed
            y, w = Balance(machine, y, w, self.free).solve(y, w, prescribed)
        free = tuple(self.system.model.inputs[k] for k in self.free)
        motion = Steady(
            machine, y, w, self.setup.law, prescribed.get(ACCELERATION, 0.0), dict(prescribed), free
        )
        if (
            PATH_CURVATURE in prescribed
            and abs(motion.values[path_speed_name(list(motion.values))]) < MIN_PATH_SPEED
        ):
            raise ConfigurationError(
                "The machine is at rest, so that its path has no curvature. Prescribe a "
                "forward_speed, or leave the curvature out."
            )
        return motion

    def _yield_bases(self, starting_point: _Point) -> Iterator[Steady]:
        """Yield steady motions from which a homotopy may reach the prescribed values."""
        speed = {
            n: x for n, x in self.prescribed.items() if n in ("forward_speed", "rear_wheel_speed")
        }
        with suppress(ConfigurationError):
            yield self.solve_from(starting_point, speed)
        with suppress(ConfigurationError):
            yield self.solve_from(starting_point, {})
        if "forward_speed" not in self.system.outputs:
            return
        for v in [*speed.values(), *GUESSED_SPEEDS[:2]]:
            straight = {"forward_speed": v}
            with suppress(ConfigurationError):
                machine, y, w = self.starting_point(self._consistent_state(straight))
                yield self.solve_from((machine, y, w), straight)

    def _follow_homotopy(self, start_motion: Steady) -> tuple[Steady | None, str]:
        """Follow a homotopy from another steady motion to the prescribed values.

        Return the motion and a text. If the homotopy fails, the motion is None, and the text describes the
        values at which the homotopy ended.
        """
        balance = Balance(start_motion.machine, start_motion.y, start_motion.w, self.free)
        variation = balance.evaluate(start_motion.y, start_motion.w)
        names = [name for name in self.prescribed if name != ACCELERATION]
        values, _ = balance.quantities(variation, start_motion.y, start_motion.w, names)
        base = dict(zip(names, map(float, values), strict=True))
        if not np.all(np.isfinite(values)):
            return None, ""
        base |= {name: 0.0 for name in self.prescribed if name == ACCELERATION}
        curve = Curve(
            balance, start_motion.y, start_motion.w, self.setup.law, base, self.prescribed
        )
        wanted = np.zeros(len(curve.along))
        wanted[-1] = 1.0
        if not curve.set_direction(wanted):
            return None, ""
        size = FIRST_CURVE_STEP
        farthest = 0.0
        for _ in range(MAX_CURVE_STEPS):
            try:
                y, w, s, bend = curve.compute_next_point(size)
            except (ConfigurationError, np.linalg.LinAlgError):
                bend = np.inf
            if bend > MAX_BEND:
                size /= 2
                if size < MIN_CURVE_STEP:
                    break
                continue
            if s >= 1.0:
                # Shorten the last step so that it ends at the prescribed values. Newton's method
                # then starts close to the solution.
                share = (1.0 - curve.s) / max(s - curve.s, 1e-300)
                with suppress(ConfigurationError):
                    near_y, near_w, _, _ = curve.compute_next_point(size * min(share, 1.0))
                    y = near_y
                    w = near_w
                with suppress(ConfigurationError):
                    return self.solve_from((curve.balance.machine, y, w)), ""
                return None, ""
            try:
                curve.accept_point(y, w, s)
            # Stop at singular coordinates: a wheel lies flat, or the base points straight up.
            except ConfigurationError:
                break
            farthest = max(farthest, s)
            # Give up if the curve has passed a fold, or if it leads away from the prescribed
            # values.
            if s < -0.5 or (farthest > 0.02 and s < 0.0):
                break
            size = min(MAX_CURVE_STEP, 1.5 * size) if bend < GROW_BEND else size
        if farthest <= 0.0:
            return None, ""
        last = curve.prescribed_values(farthest)
        moved = [n for n in last if abs(last[n] - base[n]) > 1e-9 * (1.0 + abs(last[n]))]
        return None, ", ".join(f"{n} = {last[n]:.6g}" for n in moved)

    def _yield_random_starts(self) -> Iterator[_Point]:
        """Yield random starts of the search.

        Joint angles, lean and speed are random. In every third start all joints, such as the handlebar, are
        turned by half a turn.
        """
        rng = np.random.default_rng(1)
        model = self.system.model
        shape = [j.name for k, j in enumerate(model.joints) if k not in spinning_joints(model)]
        for k in range(MAX_RANDOM_STARTS):
            wide = 0.3 if k < MAX_RANDOM_STARTS // 4 else 1.0
            wanted = {name: wide * rng.normal() for name in shape}
            if k % 3 == 2:  # every third start has its joints reversed by half a turn
                wanted = {name: x + np.pi for name, x in wanted.items()}
            wanted["lean"] = wide * rng.uniform(-1.0, 1.0)
            if "forward_speed" in self.system.outputs:
                wanted["forward_speed"] = 0.5 * 80.0 ** rng.uniform()
            names = state_names(model)
            wanted = {n: x for n, x in wanted.items() if n in names} | dict(self.prescribed)
            with suppress(ConfigurationError, ParameterError):
                machine, y, w = self.starting_point(self._consistent_state(wanted))
                yield *machine.renewed(y), w

    def _describe_failure(self, balance: Balance, homotopy_ends: Sequence[str]) -> str:
        """Return the error message of a failed search.

        It reports the number of equations, and the values at which the homotopies ended.
        """
        text = ", ".join(f"{n} = {x:.6g}" for n, x in self.prescribed.items())
        message = "No steady motion found" + (f" with {text}." if text else ".")
        surplus = balance.count_surplus_equations(self.prescribed) - (not self.system.model.memory)
        if surplus > 0:
            idle = [n for k, n in enumerate(self.system.model.inputs) if k not in self.free]
            message += (
                f" There {'is one equation' if surplus == 1 else f'are {surplus} equations'} more than "
                f"unknowns: prescribe less, or free an input ({', '.join(idle)})."
            )
        if homotopy_ends:
            message += (
                " The family that leads there from straight running or rest ends "
                f"at {homotopy_ends[0]}."
            )
        elif surplus <= 0:
            message += " No computed family of steady motions leads there: start closer."
        return message


def _format_number(number: float) -> str:
    """Return a number as text with six digits; rounding errors become zero."""
    return f"{round(number, 12) + 0.0:.6g}"
