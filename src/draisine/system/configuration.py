"""Solve for configurations and speeds with requested values, for many sets of parameters at once.

Configurations are found by Newton's method, then speeds by linear equations. A configuration must satisfy the
hard equations: the requested values and the constraints. Usually they do not determine it. The soft equations
keep the other coordinates at their values in the zero configuration: joints first, then position and heading,
then lean, pitch and height. A soft equation is used if it is independent of all equations before it.

Speeds without a request are zero if possible, in this order: rates of joints, angular velocity of the base,
spins of rolling wheels, translation. Joints and base thus stay at rest while wheels roll. Near a singularity,
a zero speed can require very large speeds elsewhere: a leaning torus wheel could have its forward speed
without any spin, with a yaw rate of hundreds of rad/s. The requirement of a zero speed is therefore dropped
if it multiplies the kinetic energy.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.lie import quaternion_product, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.energy import rest_speeds
from draisine.mechanics.tree import Tree, assemble, wheel_joints
from draisine.model.names import BASE_POSITION, state_names

if TYPE_CHECKING:
    from draisine.system.closed_form import ClosedForm
    from draisine.system.compiled import Compiled

SOFT_POSE = ("x", "y", "yaw", "lean", "pitch", "z")
"""Coordinates of the base, in the order in which they are kept at their values in the zero
configuration.
"""

BASE_ANGULAR_VELOCITIES = ("Wx", "Wy", "Wz")
"""Names of the components of the base's angular velocity (rad/s), in its own axes."""
BASE_LINEAR_VELOCITIES = ("Vx", "Vy", "Vz")
"""Names of the components of the base's linear velocity (m/s), in its own axes."""

WEAK_ZERO_RESIDUAL = 0.3
"""A zero speed is weak, and may be dropped, if its equation is nearly dependent on the equations before it.
This is the bound on the part of its unit row that is perpendicular to all rows before it (1: perpendicular).
"""

COSTLY_ENERGY_FACTOR = 10.0
"""A weak zero speed is dropped if it multiplies the least kinetic energy by more than this factor; 10 means
about three times the speeds. The energy alone is no criterion: a light part at rest often requires that a
heavy part moves.
"""

MIN_SCALED_MASS = 1e-9
"""Lower bound of the eigenvalues of the mass matrix after scaling to a unit diagonal. Smaller eigenvalues are
replaced by it, so that massless parts have kinetic energy, too. Speeds are scaled by its square root (3e-5),
which is far above rounding errors (1e-16).
"""

MAX_ANGLE_STEP = 0.1
"""Largest change of a requested angle, rad, in one intermediate goal; Newton's method converges from one
goal to the next.
"""

MAX_NEWTON_ANGLE = 0.3
"""Largest change of an angle (rad) in one Newton step."""

MAX_RESIDUAL = 1e-11
"""Largest residual (m, rad) of a solution; rounding errors of coordinates of up to 1e4 m stay below it."""

MIN_SOFT_RESIDUAL = 1e-3
"""A soft equation counts as independent if the part of its unit row that is perpendicular to all rows before
it is longer than this. A nearly dependent equation would change other coordinates by large amounts.
"""

MIN_HARD_RESIDUAL = 1e-9
"""The same bound for hard equations, which are dropped only if they are redundant up to rounding."""


def find_configurations(
    machine: "ClosedForm", requested: Mapping[str, Floats], parameters: Floats | None = None
) -> Floats:
    """Return N configurations at rest as state vectors y (N, entries).

    Each has closed contacts and the requested coordinates (N values each), and is otherwise as close to the
    zero configuration as possible. `parameters` (N, parameters) contains the parameters of each vehicle.
    """
    pose = Configuration(machine, len(next(iter(requested.values()))), parameters=parameters)
    expect_known("no coordinate", requested, [x for x in pose.names if x not in pose.fast])
    pose.move_to(requested)
    return pose.y


def displace_states(machine: Any, y: Floats, dx: Floats) -> Floats:
    """Return state vectors (N, entries) after finite displacements dx (N, n) of their configurations, in
    the coordinates of the speeds.
    """
    layout = machine.layout
    step = np.zeros((len(y), 6 + layout.count("r")))
    step[:, machine.columns] = dx
    V = step[:, :3]
    W = step[:, 3:6]
    q = y[:, layout.q]
    scalar = q[:, :1]
    vector = q[:, 1:]
    turned = q.copy()
    turned[:, 0] -= np.sum(vector * W, axis=1) / 2
    turned[:, 1:] += (scalar * W + np.cross(vector, W)) / 2
    displaced = y.copy()
    displaced[:, layout.q] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    displaced[:, layout.p] += V + 2 * np.cross(vector, scalar * V + np.cross(vector, V))
    displaced[:, layout.r] += step[:, 6:]
    return displaced


class Configuration:
    """N configurations of a system at rest, y (N, entries), which are moved from the zero configuration to
    requested values independently of each other. q, p and r are those of the first configuration.

    The contacts are closed on level ground. The requested values apply after the vehicle is rotated by the
    quaternion `tilt` onto a slope, except x, y and z, which are those on level ground.
    """

    def __init__(
        self,
        machine: "ClosedForm",
        count: int = 1,
        t: float = 0.0,
        parameters: Floats | None = None,
        tilt: Floats | None = None,
    ) -> None:
        model = machine.system.model
        self.machine = machine
        self.t = t
        self._parameters = parameters
        self._tilt = tilt
        self._initial = self.prologue_table(machine.initial)
        self.names = state_names(model)
        self.columns = len(machine.columns)
        self.frames = None if parameters is None else machine.frames_for(parameters.T)
        upright = np.repeat(np.eye(4)[:, :1], count, axis=1)
        q, p = machine.inner_pose(upright, np.zeros((3, count)), self.frames)
        r = [joint.motion(t)[0] if joint.motion else 0.0 for joint in model.joints]
        self.y = np.ascontiguousarray(machine.layout.pack(q=q, p=p, r=r).T)
        self._spinning = wheel_joints(model)
        order = sorted(range(len(model.joints)), key=lambda k: k in self._spinning)
        self.joints = [model.joints[k].name for k in order]
        self.soft = [*self.joints, *SOFT_POSE]
        level, tilted = self._evaluate_level_and_tilted(np.arange(count))
        # All named values (N, values) of the zero configuration, with gravity vertical (level
        # ground) and tilted (slope)
        self.start = level["values"].T
        self._drawn = tilted["values"].T
        # Named values with a gradient with respect to the speeds are rates; all others are
        # coordinates.
        gradients = self.speed_gradients()
        self.fast = {name for name, row in zip(self.names, gradients, strict=True) if np.any(row)}

    @property
    def q(self) -> Floats:
        """The quaternion (4) of the inner base frame of the first configuration."""
        return self.y[0, self.machine.layout.q]

    @property
    def p(self) -> Floats:
        """The position (3) of the inner base frame of the first configuration, m."""
        return self.y[0, self.machine.layout.p]

    @property
    def r(self) -> Floats:
        """The joint coordinates (rad or m) of the first configuration."""
        return self.y[0, self.machine.layout.r]

    def prologue_table(self, program: "Compiled") -> Floats | None:
        """Return the prologue results of a program, one column per vehicle; None if all vehicles have equal
        parameters.
        """
        return None if self._parameters is None else program.tables(self._parameters.T)

    def numerical_tree(self, vehicle_index: int) -> Tree:
        """Return the kinematic tree of one vehicle."""
        system = self.machine.system
        if self._parameters is None:
            return system.tree
        parameters = dict(
            zip(system.parameters, self._parameters[vehicle_index].tolist(), strict=True)
        )
        return assemble(system.artifacts.draw(parameters))

    def evaluate(
        self, speeds: Floats | None = None, indices: Floats | None = None, tilted: bool = False
    ) -> dict[str, Floats]:
        """Return the outputs of the program `initial`, one column for each configuration.

        Parameters
        ----------
        speeds
            Speeds (n,) of the inner base frame and joints, equal for all configurations; by default zero.
        indices
            Indices of the configurations; by default all.
        tilted
            Whether the configurations are rotated onto the slope.
        """
        y = self.y if indices is None else self.y[indices]
        if tilted:
            y = self._rotate_by_tilt(y)
        table = self._initial
        if indices is not None and table is not None:
            table = table[:, indices]
        parts = self.machine.layout.split(y.T)
        count = len(y)
        inputs = {name: parts[name] for name in "qpr"} | {"t": np.full((1, count), self.t)}
        if speeds is not None:
            inputs["s"] = np.repeat(speeds[:, None], count, axis=1)
        program = self.machine.initial
        if program.inputs.count("anchors") and self.machine.system.model.ground is None:
            out = program.batch(program.inputs.pack(**inputs), table)
            inputs["anchors"] = self._set_anchors(out["conditions"])
        return program.batch(program.inputs.pack(**inputs), table)

    def _rotate_by_tilt(self, y: Floats) -> Floats:
        """Return state vectors rotated by the quaternion `tilt` about the world's origin."""
        if self._tilt is None:
            return y
        layout = self.machine.layout
        turned = y.copy()
        tilt = np.repeat(self._tilt[:, None], len(y), axis=1)
        turned[:, layout.q] = quaternion_product(tilt, y[:, layout.q].T).T
        turned[:, layout.p] = y[:, layout.p] @ rotation(self._tilt).T
        return turned

    def _evaluate_level_and_tilted(
        self, indices: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Return the outputs of `initial` on level ground, where the contacts are closed, and on the slope,
        where requested values apply; x, y and z of both are those on level ground.
        """
        level = self.evaluate(indices=indices)
        if self._tilt is None:
            return level, level
        tilted = self.evaluate(indices=indices, tilted=True)
        positions = [self.names.index(name) for name in BASE_POSITION]
        tilted["values"][positions] = level["values"][positions]
        for name in ("by_pose", "by_speed"):
            shape = (self.columns, -1, len(indices))
            gradients = tilted[name].reshape(shape)
            gradients[:, positions] = level[name].reshape(shape)[:, positions]
            tilted[name] = gradients
        return level, tilted

    def _set_anchors(self, conditions: Floats) -> Floats:
        """Return anchor points (m) at the present positions of the pins, because a pin may close at any
        position.
        """
        model = self.machine.system.model
        rows = constraints.holonomic_rows(self.machine.mode, model)
        pins = [k for k, c in enumerate(model.contacts) if hasattr(c, "axes")]
        anchors = np.zeros((3 * len(pins), conditions.shape[1]))
        for value, (k, name) in zip(conditions, rows, strict=False):
            if k in pins:
                anchors[3 * pins.index(k) + "xyz".index(name)] = value
        return anchors

    def speed_gradients(self) -> Floats:
        """Return the gradients (values, n) of all named values with respect to the speeds, at the first
        configuration. The speeds are random, because some gradients vanish at rest by symmetry.
        """
        rng = np.random.default_rng(1)
        out = self.evaluate(rng.normal(size=self.columns), np.array([0]))
        return out["by_speed"][:, 0].reshape(self.columns, -1).T

    def close_loops(self, requested: Iterable[str]) -> Floats:
        """Return the joint coordinates (N, joints) nearest to the zero configuration that close all
        kinematic loops; requested coordinates keep their values of the zero configuration.
        """
        self.try_move_to({name: self._drawn[:, self.names.index(name)] for name in requested})
        return self.y[:, self.machine.layout.r].copy()

    def move_to(self, targets: Mapping[str, Floats]) -> None:
        """Move the configurations from the zero configuration to the targets; raise ConfigurationError if a
        target cannot be reached.
        """
        for text in self.try_move_to(targets).values():
            raise ConfigurationError(text)

    def try_move_to(self, targets: Mapping[str, Floats]) -> dict[int, str]:
        """Move the configurations from the zero configuration to the targets, distant angles in steps.
        Return the error messages of targets that cannot be reached, by index.
        """
        model = self.machine.system.model
        # Position, heading and wheel spins enter the constraint equations linearly or not at all.
        # Newton's method reaches them in one step.
        linear = {"x", "y", "z", "yaw", *(model.joints[k].name for k in self._spinning)}
        largest_angle = np.zeros(len(self.y))
        for name in targets.keys() - linear:
            largest_angle = np.maximum(largest_angle, np.abs(targets[name]))
        steps = np.clip(np.ceil(largest_angle / MAX_ANGLE_STEP), 1, 200)
        begin = {name: self._drawn[:, self.names.index(name)] for name in targets}
        residual = np.zeros(len(self.y))
        for k in range(1, int(steps.max(initial=0)) + 1):
            indices = np.flatnonzero(k <= steps)
            goal = {n: x0 + k / steps * (targets[n] - x0) for n, x0 in begin.items()}
            # Intermediate goals need a low accuracy only, because each serves as the start for the
            # next goal.
            precision = np.where(k == steps, 1e-15, 1e-3)
            residual[indices] = self._solve_newton(goal, indices, precision)
        failed = np.flatnonzero(~(residual < MAX_RESIDUAL)).tolist()
        return {k: self._describe_unreached(targets, float(residual[k]), k) for k in failed}

    def _describe_unreached(
        self, targets: Mapping[str, Floats], residual: float, configuration_index: int
    ) -> str:
        """Return the error message for the configuration with this index, whose targets cannot be
        reached.
        """
        requests = ", ".join(
            f"{name} = {x[configuration_index]:.6g}" for name, x in targets.items()
        )
        if prescribed := self._check_prescribed(targets, configuration_index):
            return prescribed
        return (
            f"no configuration has {requests or 'closed contacts'} with the contacts "
            f"{dict(self.machine.mode)}: an error of {residual:.3g} remains. Request smaller values, or "
            "open a contact."
        )

    def _check_prescribed(self, requested: Mapping[str, Floats], configuration_index: int) -> str:
        """Return the error message if requested values contradict a prescribed joint motion;
        otherwise an empty string.
        """
        for joint in self.machine.system.model.joints:
            if joint.motion is None:
                continue
            r, rdot, _ = joint.motion(self.t)
            for name, value in ((joint.name, r), (f"{joint.name}_rate", rdot)):
                if (
                    name in requested
                    and abs(requested[name][configuration_index] - float(value)) > 1e-9
                ):
                    return (
                        f"{name} = {requested[name][configuration_index]:.6g} is not possible: "
                        f"the joint {joint.name!r} follows a prescribed motion, "
                        f"with {name} = {float(value):.6g} at {self.t:g} s. "
                        "Leave it out, or change that motion."
                    )
        return ""

    def _solve_newton(
        self, goal: Mapping[str, Floats], indices: Floats, precision: Floats
    ) -> Floats:
        """Move the configurations with the given indices to a goal by Newton's method; return, for each, the
        largest residual (m, rad) of its hard equations.
        """
        angles = [
            i for i, k in enumerate(self.machine.columns) if k >= 3 and k - 6 not in self._spinning
        ]
        hard_error = np.full(len(self.y), np.inf)
        error = np.full(len(self.y), np.inf)
        size = np.full(len(self.y), np.inf)
        active = indices
        for _ in range(60):
            residual, rows, hard, chosen = self._assemble_equations(goal, active)
            hard_error[active] = np.abs(residual[:, :hard]).max(axis=1, initial=0.0)
            error[active] = np.abs(np.where(chosen, residual, 0.0)).max(axis=1, initial=0.0)
            finite = np.isfinite(residual).all(axis=1)
            active = active[finite]
            step = -_solve_chosen(rows[finite], residual[finite], chosen[finite])
            last_size = size[active]
            size[active] = np.abs(step).max(axis=1, initial=0.0)
            is_small = np.minimum(size[active], error[active]) < precision[active]
            # When Newton steps reach the size of rounding errors, they do not become smaller: stop
            # at this limit of accuracy.
            is_rounding = (size[active] < MAX_RESIDUAL) & (size[active] >= 0.5 * last_size)
            unfinished = ~(is_small | is_rounding)
            active = active[unfinished]
            step = step[unfinished]
            if not len(active):
                break
            turn = np.abs(step[:, angles]).max(axis=1, initial=MAX_NEWTON_ANGLE)
            damped = step * (MAX_NEWTON_ANGLE / turn)[:, None]
            self.y[active] = displace_states(self.machine, self.y[active], damped)
        return hard_error[indices]

    def _assemble_equations(
        self, goal: Mapping[str, Floats], indices: Floats
    ) -> tuple[Floats, Floats, int, Floats]:
        """Return the equations of the configurations with the given indices: first the hard ones (closed
        contacts, then the goal), then the soft ones (the other coordinates keep their initial values).

        Returns
        -------
        residual
            Residuals of the equations, (N, equations).
        rows
            Derivatives of the residuals, (N, equations, n).
        hard
            Number of hard equations.
        chosen
            Whether each equation is used, (N, equations): all hard equations, and the soft ones that are
            independent of those before.
        """
        level, tilted = self._evaluate_level_and_tilted(indices)
        index = self.names.index
        pin_conditions = self._find_pin_conditions()
        values = level["values"].T
        conditions = level["conditions"].T
        J, K = (
            out["by_pose"].reshape(self.columns, -1, len(indices)).transpose(2, 1, 0)
            for out in (level, tilted)
        )
        kept = [k for k in range(conditions.shape[1]) if k not in pin_conditions]
        soft = [name for name in self.soft if name not in goal]
        deviations = [tilted["values"][index(name)] - x[indices] for name, x in goal.items()]
        deviations += [values[:, index(name)] - self.start[indices, index(name)] for name in soft]
        residual = np.column_stack([conditions[:, kept], *deviations])
        goal_rows = [index(name) for name in goal]
        soft_rows = [index(name) for name in soft]
        condition_rows = [len(self.names) + k for k in kept]
        rows = np.concatenate([J[:, condition_rows], K[:, goal_rows], J[:, soft_rows]], axis=1)
        if "yaw" in (*goal, *soft):
            # The heading is periodic: correct it by the shortest rotation.
            column = len(kept) + (*goal, *soft).index("yaw")
            residual[:, column] = (residual[:, column] + np.pi) % (2 * np.pi) - np.pi
        hard = len(kept) + len(goal)
        chosen = np.ones(residual.shape, dtype=bool)
        chosen[:, hard:] = choose_independent_rows(rows[:, :hard], rows[:, hard:])
        return residual, rows, hard, chosen

    def constrained_directions(self, names: Sequence[str]) -> Floats:
        """Return displacements (names, n) of the first configuration that keep the contacts closed; each
        changes one of the named coordinates by 1 (rad or m), and the others as little as possible.
        """
        values = self.evaluate(indices=np.array([0]))["values"]
        goal = {name: values[self.names.index(name)] for name in names}
        _, rows, hard, chosen = self._assemble_equations(goal, np.array([0]))
        units = np.zeros((len(names), rows.shape[1]))
        units[:, hard - len(names) : hard] = np.eye(len(names))
        rows, chosen = (np.repeat(x, len(names), axis=0) for x in (rows, chosen))
        return _solve_chosen(rows, units, chosen)

    def values(self) -> dict[str, float]:
        """Return all named values (coordinates and rates) of the first configuration at rest."""
        return dict(zip(self.names, map(float, self.evaluate()["values"][:, 0]), strict=True))

    def speeds(
        self, requested: Mapping[str, Floats], at_rest: bool = False
    ) -> tuple[Floats, dict[int, str]]:
        """Return speeds with requested values, and the error messages of contradictory requests.

        Parameters
        ----------
        requested
            N values of each requested name; coordinates are ignored.
        at_rest
            Whether the kinetic energy is least; otherwise as many of the other speeds as possible are zero.

        Returns
        -------
        s
            Free speeds of the inner base frame (N, n), with V at the origin of the base.
        errors
            Error messages by index of the configuration.
        """
        index = self.names.index
        count = len(self.y)
        _, out = self._evaluate_level_and_tilted(np.arange(count))
        rows = out["by_speed"].reshape(self.columns, -1, count).transpose(2, 1, 0)
        b, C = self._constraint_rows()
        fast = {name: x for name, x in requested.items() if name in self.fast}
        first, last = ([], []) if at_rest else self._speeds_to_minimise(requested)
        soft = [index(name) for name in (*first, *last)]
        hard_rows = [index(name) for name in fast]
        b = np.column_stack([b, *(x - out["values"][index(n)] for n, x in fast.items())])
        C = np.concatenate([C, rows[:, hard_rows]], axis=1)
        A = np.concatenate([C, rows[:, soft]], axis=1)
        chosen = np.ones(A.shape[:2], dtype=bool)
        chosen[:, b.shape[1] :] = _choose_zeros(
            C, b, rows[:, soft], len(first), self._mass_matrices
        )
        s = _solve_chosen(A, np.column_stack([b, np.zeros((count, len(soft)))]), chosen)
        residual = np.abs((C @ s[:, :, None])[:, :, 0] - b).max(axis=1, initial=0.0)
        contradictory = residual > 1e-9 * np.maximum(1.0, np.abs(b).max(axis=1, initial=0.0))
        errors = {
            k: self._describe_contradiction(fast, k) for k in np.flatnonzero(contradictory).tolist()
        }
        if at_rest:
            M = self._mass_matrices()
            s = np.array([rest_speeds(M[k], A[k, chosen[k]], s[k]) for k in range(count)])
        return s, errors

    def _describe_contradiction(
        self, requested_rates: Mapping[str, Floats], vehicle_index: int
    ) -> str:
        """Return the error message for a vehicle without speeds that have the requested rates."""
        requests = ", ".join(f"{n} = {x[vehicle_index]:.6g}" for n, x in requested_rates.items())
        if prescribed := self._check_prescribed(requested_rates, vehicle_index):
            return prescribed
        return (
            f"no speeds have {requests or 'the prescribed rates'} with the contacts "
            f"{dict(self.machine.mode)}; they contradict each other.{self._singular_hint()}"
        )

    def _constraint_rows(self) -> tuple[Floats, Floats]:
        """Return b (N, rows) and C (N, rows, n) of the constraint rows `C s = b` of contacts and prescribed
        joints.
        """
        machine = self.machine
        program = machine.rows
        count = len(self.y)
        parts = machine.layout.split(self.y.T)
        inputs = {name: parts[name] for name in "qpr"} | {"t": np.full((1, count), self.t)}
        out = program.batch(program.inputs.pack(**inputs), self.prologue_table(program))
        n = 6 + len(machine.system.model.joints)
        C = out["C"].reshape(-1, n, count).transpose(2, 0, 1).copy()
        # The program takes the velocity V at its reference point, this function at the origin of
        # the base: transform the columns of V.
        C[:, :, 3:6] += np.cross(out["ref"].T[:, None, :], C[:, :, :3])
        return out["b"].T, C[:, :, machine.columns]

    def _speeds_to_minimise(self, requested: Collection[str]) -> tuple[list[str], list[str]]:
        """Return the names of the speeds that are zero if possible, in two lists in order of priority: those
        that vanish while the vehicle rolls straight ahead, then wheel spins and translation.
        """
        model = self.machine.system.model
        spins = [f"{model.joints[k].name}_rate" for k in sorted(self._spinning)]
        spins += [BASE_ANGULAR_VELOCITIES[k] for k in self._find_axle_axes()]
        rotations = [*(f"{name}_rate" for name in self.joints), *BASE_ANGULAR_VELOCITIES]
        first = [name for name in rotations if name not in spins]
        free = [name for name in self.names if name not in requested]
        return [n for n in first if n in free], [
            n for n in [*spins, *BASE_LINEAR_VELOCITIES] if n in free
        ]

    def _find_axle_axes(self) -> set[int]:
        """Return the indices of the base axes nearest to the axles of rolling wheels that are fixed to the
        base.
        """
        model = self.machine.system.model
        statuses = dict(self.machine.mode)
        return {
            int(np.argmax(np.abs(np.asarray(wheel.guide, float))))
            for wheel in model.wheels
            if wheel.body == model.bodies[0].name and "along" in wheel.rows[statuses[wheel.name]]
        }

    def _mass_matrices(self) -> Floats:
        """Return the mass matrices (N, n, n) for the speeds of the inner base frame."""
        machine = self.machine
        layout = machine.layout
        count = len(self.y)
        n = self.columns
        program = machine.masses
        q, p = machine.user_pose(self.y[:, layout.q].T, self.y[:, layout.p].T, self.frames)
        r = self.y[:, layout.r].T
        inputs = program.inputs.pack(t=np.full((1, count), self.t), q=q, p=p, r=r)
        M = program.batch(inputs, self.prologue_table(program))["M"].reshape(n, n, count)
        units = np.repeat(np.eye(n)[:, :, None], 1 if self.frames is None else count, axis=2)
        T = np.array([machine.user_speeds(unit, self.frames) for unit in units]).transpose(2, 0, 1)
        return T @ M.transpose(2, 0, 1) @ T.transpose(0, 2, 1)

    def _singular_hint(self) -> str:
        """Return a hint if the zero configuration is singular; otherwise an empty string."""
        singular = self.machine.system.survey(self.machine.mode).singular
        if not singular:
            return ""
        return (
            f" The rows {', '.join(singular)} agree in the drawing alone, not beside it: if wheels steer "
            "by several joints, couple these joints."
        )

    def _find_pin_conditions(self) -> list[int]:
        """Return the indices of the position constraints of pins in space. They are no equations for the
        configuration, because a pin may close at any position.
        """
        model = self.machine.system.model
        if model.ground is not None:
            return []
        rows = constraints.holonomic_rows(self.machine.mode, model)
        return [i for i, (_, name) in enumerate(rows) if name in "xyz"]


def _solve_chosen(matrices: Floats, right_sides: Floats, is_chosen: Floats) -> Floats:
    """Return solutions x (N, n) of the chosen equations (N, equations) among `A x = b` with
    matrices; by least squares if the chosen matrix is not square and regular.

    Elimination preserves zeros that follow from symmetry exactly; orthogonal transformations do not.
    """
    x = np.zeros((len(matrices), matrices.shape[2]))
    remaining = np.arange(len(matrices))
    while len(remaining):
        # Solve all cases with the same chosen equations in one call.
        rows = is_chosen[remaining[0]]
        has_same = (is_chosen[remaining] == rows).all(axis=1)
        group = remaining[has_same]
        remaining = remaining[~has_same]
        x[group] = _solve_systems(matrices[group][:, rows], right_sides[group][:, rows])
    return x


def _solve_systems(matrices: Floats, right_sides: Floats) -> Floats:
    """Return the solutions (N, n) of N linear systems with matrices (N, equations, n)."""
    if matrices.shape[1] == matrices.shape[2]:
        try:
            x = np.linalg.solve(matrices, right_sides[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            if len(matrices) > 1:
                # A single singular matrix makes the solution of all systems fail: solve the systems
                # one by one.
                return np.array(
                    [
                        _solve_systems(matrices[k : k + 1], right_sides[k : k + 1])[0]
                        for k in range(len(matrices))
                    ]
                )
            x = np.full(right_sides.shape, np.nan)
        residual = np.abs((matrices @ x[:, :, None])[:, :, 0] - right_sides).max(
            axis=1, initial=0.0
        )
        unsolved = ~(
            residual <= 1e-12 * np.maximum(1.0, np.abs(right_sides).max(axis=1, initial=0.0))
        )
    else:
        x = np.zeros((len(matrices), matrices.shape[2]))
        unsolved = np.ones(len(matrices), dtype=bool)
    for k in np.flatnonzero(unsolved):
        finite = np.isfinite(matrices[k]).all() and np.isfinite(right_sides[k]).all()
        x[k] = np.linalg.lstsq(matrices[k], right_sides[k], rcond=None)[0] if finite else np.nan
    return x


def choose_independent_rows(
    hard_rows: Floats, rows: Floats, in_all_cases: bool = False
) -> NDArray[np.bool_]:
    """Return a mask (N, rows) of the rows (N, rows, n) that are independent of the hard rows and of the
    rows chosen before them.

    With `in_all_cases`, a row is chosen only if it is independent in all N cases.
    """
    cases, count, n = rows.shape
    span = _Span(cases, n)
    chosen = np.zeros((cases, count), dtype=bool)
    for k in range(hard_rows.shape[1]):
        span.add_hard(hard_rows[:, k])
    for k in range(count):
        if span.is_complete:
            break
        residual, is_independent = span.project_out(rows[:, k])
        chosen[:, k] = is_independent.all() if in_all_cases else is_independent
        span.add_directions(residual, chosen[:, k])
    return chosen


class _Span:
    """Orthonormal bases of the spans of the chosen rows, in N cases."""

    def __init__(self, cases: int, n: int) -> None:
        self.basis = np.zeros((0, n, cases))
        self.rank = np.zeros(cases, dtype=int)

    @property
    def is_complete(self) -> bool:
        """Whether the bases are complete in all cases, so that no further row is independent."""
        return bool((self.rank == self.basis.shape[1]).all())

    def project_out(
        self, rows: Floats, threshold: float = MIN_SOFT_RESIDUAL, passes: int = 1
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the unit rows (N, n) minus their projections onto the span, as columns (n, N), and whether
        they are independent: whether the norm of this residual exceeds the threshold.
        """
        size = np.sqrt((rows * rows).sum(axis=1))
        residual = (rows / np.where(size > 1e-12, size, np.inf)[:, None]).T
        for _ in range(passes):
            projections = (self.basis * residual).sum(axis=1)[:, None] * self.basis
            residual = residual - projections.sum(axis=0)
        return residual, np.sqrt((residual * residual).sum(axis=0)) > threshold

    def add_directions(self, residual: Floats, chosen: NDArray[np.bool_]) -> None:
        """Add residuals (n, N) to the bases of the cases in which they are chosen."""
        if chosen.any():
            size = np.sqrt((residual * residual).sum(axis=0))
            new = np.where(chosen, residual / np.where(chosen, size, 1.0), 0.0)
            self.basis = np.concatenate([self.basis, new[None]])
            self.rank += chosen

    def add_hard(self, rows: Floats) -> NDArray[np.bool_]:
        """Add the rows (N, n) of hard equations to the bases; return which are independent."""
        # A second pass of Gram-Schmidt removes the rounding errors of the first pass.
        residual, is_independent = self.project_out(rows, MIN_HARD_RESIDUAL, passes=2)
        self.add_directions(residual, is_independent)
        return is_independent


def _choose_zeros(
    C: Floats, b: Floats, rows: Floats, hard_count: int, masses: Callable[[], Floats]
) -> NDArray[np.bool_]:
    """Choose which of the equations `rows s = 0` (N, rows, n) are imposed besides the hard ones, `C s = b`.

    The rows are examined in their order; a row is chosen if it is independent of the rows before it.
    One of the `hard_count` rows that is nearly dependent on the rows before it and would multiply the
    kinetic energy is postponed until all clearly independent rows are chosen. `masses` returns the mass
    matrices (N, n, n). The result is a mask (N, rows).
    """
    cases, count, n = rows.shape
    span = _Span(cases, n)
    energy = _LeastEnergy(masses)
    chosen = np.zeros((cases, count), dtype=bool)
    for k in range(b.shape[1]):
        energy.add(C[:, k], b[:, k], span.add_hard(C[:, k]))
    postponed = np.zeros(cases, dtype=bool)
    for k in range(hard_count):
        residual, is_independent = span.project_out(rows[:, k])
        is_weak = is_independent & (np.sqrt((residual * residual).sum(axis=0)) < WEAK_ZERO_RESIDUAL)
        if is_weak.any():
            postponed |= is_weak & (energy.energy_factor(rows[:, k]) > COSTLY_ENERGY_FACTOR)
        # Do not replace a postponed weak row by another weak one: the kinetic energy would grow by
        # as much.
        chosen[:, k] = is_independent & ~(is_weak & postponed)
        span.add_directions(residual, chosen[:, k])
        energy.add(rows[:, k], np.zeros(cases), chosen[:, k])
    for k in range(count):
        if span.is_complete:
            break
        residual, is_independent = span.project_out(rows[:, k])
        chosen[:, k] |= is_independent
        span.add_directions(residual, is_independent)
    return chosen


class _LeastEnergy:
    """Speeds of least kinetic energy that satisfy the chosen rows in N cases, in coordinates x with the
    kinetic energy `x . x / 2`. The computation is deferred to the first query, because few initial states
    need it.
    """

    def __init__(self, masses: Callable[[], Floats]) -> None:
        self._masses = masses
        self._waiting: list[tuple[Floats, Floats, NDArray[np.bool_]]] = []
        self._solution: tuple[_Span, Floats] | None = None

    def add(self, rows: Floats, values: Floats, chosen: NDArray[np.bool_]) -> None:
        """Add the equations rows (N, n) = values (N) in the cases in which they are chosen."""
        self._waiting.append((rows, values, chosen))

    def energy_factor(self, rows: Floats) -> Floats:
        """Return the factor (N,) by which the least kinetic energy grows if the equation `rows s = 0`, with
        rows (N, n), is added; eq. [dear-zero].
        """
        span, x = self._solve_least_energy()
        missing, residual = self._project_equations(span, x, rows)
        energy = (x * x).sum(axis=0)
        rise = missing**2 / np.maximum((residual * residual).sum(axis=0), np.finfo(float).tiny)
        return 1.0 + np.divide(rise, energy, out=np.zeros(len(rise)), where=energy > 0.0)

    def _solve_least_energy(self) -> tuple[_Span, Floats]:
        """Return the span of the chosen rows, and the speeds of least energy x (n, N)."""
        cases, n, _ = self._row_transformation.shape
        span, x = self._solution or (_Span(cases, n), np.zeros((n, cases)))
        for rows, values, chosen in self._waiting:
            missing, residual = self._project_equations(span, x, rows, values)
            square = np.where(chosen, (residual * residual).sum(axis=0), 1.0)
            x = x + np.where(chosen, residual * (missing / square), 0.0)
            span.add_directions(residual, chosen)
        self._waiting = []
        self._solution = (span, x)
        return span, x

    def _project_equations(
        self, span: _Span, coordinates: Floats, rows: Floats, values: Floats | float = 0.0
    ) -> tuple[Floats, Floats]:
        """Return the residuals (N) of the equations `rows = values` at the coordinates, for
        rows scaled to unit length, and the components (n, N) of these rows outside the span of the
        chosen rows.
        """
        mapped = np.einsum("tij,tj->ti", self._row_transformation, rows)
        size = np.maximum(np.linalg.norm(mapped, axis=1), np.finfo(float).tiny)
        residual, _ = span.project_out(mapped, passes=2)
        return (values - (mapped.T * coordinates).sum(axis=0)) / size, residual

    @cached_property
    def _row_transformation(self) -> Floats:
        """The matrix (N, n, n) that transforms rows over the speeds to rows over x."""
        M = self._masses()
        # If the configuration of a case does not exist, its mass matrix M is not finite. Such cases
        # are reported by other code, so use a unit matrix.
        is_finite = np.isfinite(M).all(axis=(1, 2), keepdims=True)
        M = np.where(is_finite, M, np.eye(M.shape[1]))
        inertia = np.diagonal(M, axis1=1, axis2=2)
        mean = np.abs(inertia).mean(axis=1, keepdims=True)
        inertia = np.where(inertia > 0.0, inertia, np.where(mean > 0.0, mean, 1.0))
        scale = 1.0 / np.sqrt(inertia)
        sizes, axes = np.linalg.eigh(scale[:, :, None] * M * scale[:, None, :])
        scaled = axes / np.sqrt(np.maximum(sizes, MIN_SCALED_MASS))[:, None, :]
        return np.asarray(scaled.transpose(0, 2, 1) * scale[:, None, :])
