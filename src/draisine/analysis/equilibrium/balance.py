"""The equations of a steady motion, and Newton's method for them.

A motion is steady if its speeds and its coordinates, except the cyclic ones, are constant: rest, straight
running, circles (relative equilibria). It is quasi-steady with a forward acceleration a if all speeds
change in proportion to themselves,

    d(speed)/dt = (a / v) speed,        eq. [quasi-steady],

with the forward speed v. Then lean, steer and the slips of the tyres stay constant, while forward speed and
wheel rates grow in proportion.

The unknowns are a displacement of the configuration, the independent speeds, the states of tyres and
control law, and the free inputs. The equations require closed contacts, initial values of the cyclic
coordinates, constant values of the other coordinates, eq. [quasi-steady] for the speeds, constant states of
tyres and control law, and the prescribed values. They are affine in the prescribed values, which
continuation uses. All derivatives are exact.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.grounded import GroundedMachine
from draisine.analysis.linear import GROUND_COORDINATES, SYMMETRY_MARGIN, find_symmetric_states
from draisine.analysis.variation import (
    SEEDS,
    Chart,
    Variation,
    chart,
    vary,
)
from draisine.errors import ConfigurationError, ParameterError
from draisine.model import Model
from draisine.model.names import hidden_states
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import displace_states
from draisine.system.layout import Layout

SPEED_SCALE = 10.0
"""Unit of speeds (m/s or rad/s) in the scaled unknowns; coordinates have the unit 1 (m or rad)."""

ACCELERATION_SCALE = 10.0
"""Acceleration that defines the unit of an input in the scaled unknowns, m/s2 or rad/s2.

The unit of an input is the input that causes this acceleration. The value is about gravity, so that
minimum-norm steps change inputs rather than the configuration.
"""

STEP_LIMIT = 0.3
"""Largest Newton step of coordinates and speeds, in scaled units; a linearisation is valid within about a
third of a radian. Inputs enter linearly and need no limit."""

DIVERGED_RESIDUAL = 1e100  # scaled residual beyond which Newton's method has diverged

# Largest number of Newton steps. Steps limited to 0.3 rad reach any angle within ten, and
# convergence needs a few more.
MAX_BALANCE_STEPS = 60

MAX_IDLE_STEPS = 15
"""Number of successive Newton steps without a smaller residual after which the search ends."""

# Largest scaled residual of a solution (dimensionless). In redundant equations, too, only rounding
# errors remain.
RESIDUAL_TOLERANCE = 1e-8

# Smallest singular value of the Jacobian that counts towards its rank, as a fraction of the largest
# one. Smaller values belong to redundant equations.
RANK_TOLERANCE = 1e-9

Machine = ClosedForm | GroundedMachine

ACCELERATION = "forward_acceleration"
PATH_CURVATURE = "curvature"


def quantity_names(model: Model) -> dict[str, str]:
    """Return the units of all quantities that can be prescribed in a steady motion, by name.

    The quantities are those of `observation_names`, the inputs (`steer_torque`, `way_force`) and the
    deflections of tyres (`rear_tyre_slip`). Models with a forward speed also have `forward_acceleration` and
    the `curvature` of the path.

    >>> from draisine.vehicles.motorcycle import motorcycle
    >>> [name for name in quantity_names(motorcycle()) if name.startswith("steer")]
    ['steer', 'steer_rate', 'steer_torque']
    """
    from draisine.model.names import observation_units

    units = observation_units(model)
    efforts = {joint.name: joint.effort for joint in model.joints}
    units |= {f"{n}_{_name_effort(efforts.get(n, 'N'))}": efforts.get(n, "N") for n in model.inputs}
    units |= dict.fromkeys(_slip_names(model), "")
    if "forward_speed" in units:
        units |= {ACCELERATION: "m/s2", PATH_CURVATURE: "1/m"}
    return units


def _name_effort(unit: str) -> str:
    """Return "torque" or "force" for an input with the given unit (N m or N)."""
    return "force" if unit == "N" else "torque"


def _slip_names(model: Model) -> list[str]:
    """Return the names of the states of force elements, (states,).

    If a name is repeated, it denotes the first state with this name.
    """
    return hidden_states(model, model.memory)


class Balance:
    """Equations of a steady motion in one contact mode; cyclic coordinates keep their initial values."""

    def __init__(self, machine: Machine, y: Floats, w: Floats, free: Sequence[int]) -> None:
        self.machine = machine
        self.free = list(free)
        self.anchors = machine.anchors_at(y)
        variation = self.evaluate(y, w)
        self._indices = {name: k for k, name in enumerate(variation.names)}
        self.chart: Chart = chart(variation)
        symmetric = find_symmetric_states(machine, variation, self.chart, y[None], w[None])
        cyclic = symmetric.names
        essential = [name for name in self.chart.coordinates if name not in cyclic]
        # If a symmetry of the ground is only approximate (a spline), redundant equations seem to be
        # independent. Therefore the tolerance of the rank must exceed the error of the symmetry.
        error = SYMMETRY_MARGIN * symmetric.error
        if "drift" in variation.values:
            # In a steady motion on a terrain, position and heading follow a symmetry of the ground.
            # Require zero `drift` (velocity across the symmetries) instead of zero rates of
            # position and heading.
            essential = [name for name in essential if name not in GROUND_COORDINATES]
        self.rank_tolerance = max(RANK_TOLERANCE, error)
        self.residual_tolerance = max(RESIDUAL_TOLERANCE, error)
        self.kept = {name: float(variation.observation(name)[0]) for name in cyclic}
        self.constant = {f"{name}_rate": 0.0 for name in essential}
        self.speeds = self._constant_speed_names(variation, "pitch" in cyclic)
        self.scale = self._unknown_scales(variation)

    @property
    def unknown_counts(self) -> dict[str, int]:
        """Number of unknowns of each kind: displacement, speeds, states of tyres and control law, inputs."""
        layout = self.machine.layout
        configuration = len(self.machine.columns)
        return {
            "dx": configuration,
            "du": layout.count("u"),
            "dz": layout.count("z"),
            "dw": len(self.free),
        }

    def count_surplus_equations(self, prescribed: Mapping[str, float]) -> int:
        """Return the number of equations minus the number of unknowns, redundant equations included."""
        layout = self.machine.layout
        gaps = len(self.machine.columns) - len(self.chart.coordinates)
        equations = (
            gaps + len(self.kept) + len(self.constant) + layout.count("u") + layout.count("z")
        )
        wanted = [name for name in prescribed if name != ACCELERATION and name not in self.constant]
        return equations + len(wanted) - sum(self.unknown_counts.values())

    def _constant_speed_names(self, variation: Variation, base_rolls: bool) -> list[str]:
        """Return the names of the speeds that are constant in a steady motion.

        The independent speeds would suffice, but at another state they may become dependent, such as both
        wheel rates and the yaw rate with tyres at zero steer. So all constant speeds are listed. If the base
        itself rolls, its velocities in its own axes are not constant and are left out.
        """
        model = self.machine.system.model
        prescribed_rates = {
            f"{joint.name}_rate" for joint in model.joints if joint.motion is not None
        }
        twist = set(model.speeds[: len(model.twist)]) if base_rolls else set()
        excluded = (prescribed_rates | twist) - set(self.chart.speeds)
        return [name for name in variation.speeds if name not in excluded]

    def _unknown_scales(self, variation: Variation) -> Floats:
        """Return the value of one scaled unit of each unknown, in the unknown's own unit, (unknowns,)."""
        by_input = np.abs(variation.d["paced"]["dw"][0][:, self.free]).max(axis=0, initial=0.0)
        inputs = ACCELERATION_SCALE / np.where(by_input > 1e-12, by_input, ACCELERATION_SCALE)
        sizes = self.unknown_counts
        ones = np.ones(sizes["dx"]), np.full(sizes["du"], SPEED_SCALE), np.ones(sizes["dz"])
        return np.concatenate([*ones, inputs])

    def evaluate(self, state: Floats, inputs: Floats) -> Variation:
        """Return values and derivatives of the equations of motion at one state and inputs."""
        return vary(self.machine, state[None], inputs[None], anchors=self.anchors)

    def quantities(
        self, variation: Variation, state: Floats, inputs: Floats, names: Iterable[str]
    ) -> tuple[Floats, Floats]:
        """Return the values of named quantities (k,) and their derivatives by all unknowns (k, n)."""
        names = list(names)
        values = np.zeros(len(names))
        rows = np.zeros((len(names), len(self.scale)))
        observed = [k for k, name in enumerate(names) if name in self._indices]
        indices = [self._indices[names[k]] for k in observed]
        values[observed] = variation.values["seen"][0, indices]
        rows[observed] = self._join_derivatives(
            {seed: variation.d["seen"][seed][0][indices] for seed in SEEDS}
        )
        for k in set(range(len(names))) - set(observed):
            values[k], rows[k] = self._special_quantity(variation, state, inputs, names[k])
        return values, rows

    def _special_quantity(
        self, variation: Variation, state: Floats, inputs: Floats, name: str
    ) -> tuple[float, Floats]:
        """Return the value of a named quantity that is not an observation, and its derivatives (n,)."""
        model = self.machine.system.model
        row = np.zeros(len(self.scale))
        if name == PATH_CURVATURE:
            forward = path_speed_name(variation.names)
            (v, turn), (dv, dturn) = self.quantities(
                variation, state, inputs, [forward, "yaw_rate"]
            )
            if v == 0.0:
                # At zero speed the curvature of the path is undefined. Newton's method rejects NaN
                # and shortens its step.
                return np.nan, np.full(len(self.scale), np.nan)
            return turn / v, (dturn - turn / v * dv) / v
        sizes = Layout(self.unknown_counts)
        if name in _slip_names(model):
            k = _slip_names(model).index(name)
            row[sizes.dz.start + k] = 1.0
            return float(state[self.machine.layout.z][k]), row
        k = list(model.inputs).index(name.rpartition("_")[0])
        if k in self.free:
            row[sizes.dw.start + self.free.index(k)] = 1.0
        return float(inputs[k]), row

    def _join_derivatives(self, derivatives: Mapping[str, Floats]) -> Floats:
        """Join the derivatives of an output by all kinds of unknowns into one matrix (entries, n)."""
        return np.hstack(
            [
                derivatives["dx"],
                derivatives["du"],
                derivatives["dz"],
                derivatives["dw"][:, self.free],
            ]
        )

    def equations(
        self,
        state: Floats,
        inputs: Floats,
        prescribed: Mapping[str, float],
        variation: Variation | None = None,
    ) -> tuple[Floats, Floats]:
        """Return scaled residuals (equations,) and their Jacobian (equations, n) by the scaled unknowns.

        Each kind of equation is divided by its largest derivative, so that none dominates the others
        and redundant ones stay small. `variation` contains values and derivatives at y and w; it is computed
        if it is None.
        """
        variation = self.evaluate(state, inputs) if variation is None else variation
        goals = self.kept | self.constant | dict(prescribed)
        a = goals.pop(ACCELERATION, 0.0)
        values, rows = self.quantities(variation, state, inputs, goals)
        residual = values - np.array(list(goals.values()))
        if "yaw" in goals:
            # Headings that differ by multiples of 2 pi are equal: use the smallest difference.
            k = list(goals).index("yaw")
            residual[k] = (residual[k] + np.pi) % (2 * np.pi) - np.pi
        residuals = [residual]
        blocks = [rows * self.scale]
        for group in ("conditions", "paced", "zdot", "drift"):
            if group not in variation.values:
                continue
            value = variation.values[group][0]
            block = self._join_derivatives({seed: variation.d[group][seed][0] for seed in SEEDS})
            if group == "paced":
                only = [variation.speeds.index(name) for name in self.speeds]
                value, block = self._quasi_steady_rows(
                    variation, state, inputs, a, value[only], block[only]
                )
            block = block * self.scale
            # On a plane, the contacts alone prevent velocities across the symmetries (`drift`), so
            # that their derivatives are rounding errors. Do not scale these up.
            scale = np.abs(block).max(initial=1.0 if group == "drift" else 1e-300)
            residuals.append(value / scale)
            blocks.append(block / scale)
        return np.concatenate(residuals), np.vstack(blocks)

    def _quasi_steady_rows(
        self,
        variation: Variation,
        state: Floats,
        inputs: Floats,
        acceleration: float,
        value: Floats,
        derivatives: Floats,
    ) -> tuple[Floats, Floats]:
        """Return the residuals and derivatives of eq. [quasi-steady] for a forward acceleration
        (m/s2).

        `value` and `derivatives` are the accelerations of the speeds and their derivatives by the unknowns.
        """
        if acceleration == 0.0:
            return value, derivatives
        speeds, by_speed = self.quantities(variation, state, inputs, self.speeds)
        (v,), dv = self.quantities(variation, state, inputs, ["forward_speed"])
        if v == 0.0:
            return np.full(len(value), np.nan), derivatives
        ratio = acceleration / v
        return value - ratio * speeds, derivatives - ratio * by_speed + np.outer(
            speeds, ratio / v * dv[0]
        )

    def move(self, state: Floats, inputs: Floats, step: Floats) -> tuple[Floats, Floats]:
        """Return the state and the inputs after a step of the scaled unknowns."""
        layout = self.machine.layout
        parts = Layout(self.unknown_counts).split(step * self.scale)
        state = displace_states(self.machine, state[None], parts["dx"][None])[0]
        state[layout.u] += parts["du"]
        state[layout.z] += parts["dz"]
        inputs = inputs.copy()
        inputs[self.free] += parts["dw"]
        return state, inputs

    def check_prescribed(self, prescribed: Mapping[str, float]) -> None:
        """Raise an error if a nonzero value is prescribed for a rate that is zero in all steady motions."""
        for name in (
            name for name in prescribed if name in self.constant and prescribed[name] != 0.0
        ):
            raise ParameterError(
                f"steady motion: {name} = {prescribed[name]:g}, but {name.removesuffix('_rate')} is constant "
                "in a steady motion. Leave this rate out."
            )

    def solve(
        self, state: Floats, inputs: Floats, prescribed: Mapping[str, float]
    ) -> tuple[Floats, Floats]:
        """Return state and inputs of the steady motion nearest to the given ones, by Newton's method.

        Raises
        ------
        ConfigurationError
            If the iteration does not converge.
        """
        last = np.inf
        least = np.inf
        idle = 0
        for _ in range(MAX_BALANCE_STEPS):
            residual, J = self.equations(state, inputs, prescribed)
            # Stop a diverging iteration before the squares of its residuals overflow.
            if not (
                np.abs(residual).max(initial=0.0) < DIVERGED_RESIDUAL and np.all(np.isfinite(J))
            ):
                break
            norm = float(np.linalg.norm(residual))
            idle = 0 if norm < 0.9 * least else idle + 1
            least = min(least, norm)
            if idle > MAX_IDLE_STEPS and norm > self.residual_tolerance:
                break
            # The minimum-norm step leads to the nearest member of a family of steady motions. It
            # also tolerates redundant equations.
            step = -np.linalg.lstsq(J, residual, rcond=self.rank_tolerance)[0]
            size = float(np.abs(step).max(initial=0.0))
            state, inputs = self.move(state, inputs, step * self.limit_step(step))
            # The iteration has converged if the step is tiny, or if it is small and no longer
            # shrinks because of rounding errors.
            if size < 1e-14 or (size < 1e-9 and size >= 0.5 * last):
                if np.abs(residual).max(initial=0.0) < self.residual_tolerance:
                    return state, inputs
                break
            last = size
        raise ConfigurationError(
            "Newton's method does not converge to a steady motion. Start closer to one, or "
            "prescribe other values."
        )

    def limit_step(self, step: Floats) -> float:
        """Return the factor in (0, 1] that limits a scaled step to `STEP_LIMIT`."""
        moved = np.abs(step[: len(step) - len(self.free)]).max(initial=0.0)
        return min(1.0, STEP_LIMIT / max(float(moved), 1e-300))


def path_speed_name(names: Sequence[str]) -> str:
    """Return the name of the speed (m/s) along the path whose curvature is prescribed.

    It is the rolling speed of the rear wheel if the model has this output, else the forward speed.
    """
    return "rear_wheel_speed" if "rear_wheel_speed" in names else "forward_speed"
