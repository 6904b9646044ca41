"""The equations of a steady motion, and Newton's method for them.

A motion is steady if its speeds and its coordinates, except the cyclic ones, are constant: rest, straight
running, circles (relative equilibria). It is quasi-steady with a forward acceleration a if all speeds
change in proportion to themselves,

    d(speed)/dt = (a / v) speed,        eq. [quasi-steady],

as they do in a machine that keeps its shape while its forward speed v changes: lean, steer and the slips
of the tyres stay, the wheels spin up.

The unknowns are a displacement of the configuration, the independent speeds, the states of tyres and
control law, and the free inputs. The equations are closed contacts, cyclic coordinates as at the start,
constant other coordinates, eq. [quasi-steady], constant states, and the prescribed quantities. They are
affine in the prescribed values, which continuation uses. All derivatives are exact.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.linear import SHRUNK, cyclic_coordinates
from draisine.analysis.variation import SEEDS, Chart, Variation, anchors_of, chart, vary
from draisine.errors import ConfigurationError, ParameterError
from draisine.model import Model
from draisine.model.names import hidden_states, observation_names
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import displace
from draisine.system.layout import Layout
from draisine.system.state import State
from draisine.system.tracing import Law

SPEED_SCALE = 10.0
"""A change of speeds by this much (m/s or rad/s) counts as far as one of coordinates by 1."""

ACCELERATION_SCALE = 10.0
"""An input counts 1 if it accelerates some speed by this much (m/s2 or rad/s2), about gravity: then a
motion is kept up by inputs rather than by a change of its configuration."""

STEP_LIMIT = 0.3
"""Largest scaled Newton step of coordinates and speeds: a third of a radian stays where derivatives tell
something. Inputs enter linearly and need no limit."""

DIVERGED = 1e100  # scaled residual from which Newton's method does not return

MAX_IDLE = 15
"""Newton steps in a row that do not reduce the residual, until the search is given up."""

ACCELERATION = "forward_acceleration"
CURVATURE = "curvature"


def quantity_names(model: Model) -> dict[str, str]:
    """Return what can be prescribed in a steady motion, with units.

    These are all that `observation_names` lists, the inputs (`steer_torque`, `way_force`), the deflections
    of tyres (`rear_tyre_slip`), and for machines with a forward speed `forward_acceleration` and the
    `curvature` of the path.

    >>> from draisine.vehicles.motorcycle import motorcycle
    >>> [name for name in quantity_names(motorcycle()) if name.startswith("steer")]
    ['steer', 'steer_rate', 'steer_torque']
    """
    from draisine.model.names import observation_units

    units = observation_units(model)
    efforts = {joint.name: joint.effort for joint in model.joints}
    units |= {f"{n}_{_effort(efforts.get(n, 'N'))}": efforts.get(n, "N") for n in model.inputs}
    units |= dict.fromkeys(_slip_names(model), "")
    if "forward_speed" in units:
        units |= {ACCELERATION: "m/s2", CURVATURE: "1/m"}
    return units


def _effort(unit: str) -> str:
    return "force" if unit == "N" else "torque"


def _slip_names(model: Model) -> list[str]:
    """Return the names of the states of force elements; of several with one name the first counts."""
    return hidden_states(model, model.memory)


def state_of(machine: ClosedForm, y: Floats) -> State:
    """Return a y of a machine as a user's state, with the deflections of its tyres."""
    model, at = machine.system.model, machine.layout.split(y)
    q, p = machine.user_pose(at["q"], at["p"])
    found = vary(machine, y[None], seeds=("dt",))
    names = observation_names(model)
    v = np.array([found.values["seen"][0, names.index(name)] for name in model.speeds])
    return State(q, p, at["r"], v, element_state=at["z"][: model.memory])


def choose_pivots(machine: ClosedForm, y: Floats, law: Law | None) -> tuple[ClosedForm, Floats]:
    """Return the machine and its y as they are, or with other pivots if these have shrunk there."""
    if machine.least_pivot(y) >= SHRUNK:
        return machine, y
    parts = machine.layout.split(y)
    around = (parts["q"], parts["r"])
    fresh = machine.system.machine(machine.mode, law, machine.states, configuration=around)
    return fresh, fresh.enter(state_of(machine, y), z=parts["z"])


class Balance:
    """The equations of a steady motion of one machine, with the cyclic coordinates kept as they start."""

    def __init__(self, machine: ClosedForm, y: Floats, w: Floats, free: Sequence[int]) -> None:
        self.machine = machine
        self.free = list(free)
        self.anchors = anchors_of(machine, y)
        found = self.look(y, w)
        self._places = {name: k for k, name in enumerate(found.names)}
        self.chart: Chart = chart(found)
        cyclic = cyclic_coordinates(machine, self.chart, y, w)
        essential = [name for name in self.chart.coordinates if name not in cyclic]
        self.kept = {name: float(found.value(name)[0]) for name in cyclic}
        self.constant = {f"{name}_rate": 0.0 for name in essential}
        self.speeds = self._constant_speeds(found, "pitch" in cyclic)
        self.scale = self._scale(found)

    @property
    def sizes(self) -> dict[str, int]:
        """How many unknowns of each kind there are."""
        at = self.machine.layout
        configuration = len(self.machine.columns)
        return {
            "dx": configuration,
            "du": at.count("u"),
            "dz": at.count("z"),
            "dw": len(self.free),
        }

    def surplus(self, asked: Mapping[str, float]) -> int:
        """Return how many more equations than unknowns there are, if all are independent."""
        at = self.machine.layout
        gaps = len(self.machine.columns) - len(self.chart.coordinates)
        equations = gaps + len(self.kept) + len(self.constant) + at.count("u") + at.count("z")
        wanted = [name for name in asked if name != ACCELERATION and name not in self.constant]
        return equations + len(wanted) - sum(self.sizes.values())

    def _constant_speeds(self, found: Variation, base_rolls: bool) -> list[str]:
        """Return the speeds that are constant in a steady motion.

        Independent speeds would do, but they may be dependent elsewhere (both wheel rates and the yaw
        rate, for tyres at zero steer). So all are taken that are constant. The twist of a base that rolls
        is not, in its own axes.
        """
        model = self.machine.system.model
        prescribed = {f"{joint.name}_rate" for joint in model.joints if joint.motion is not None}
        twist = set(model.speeds[: len(model.twist)]) if base_rolls else set()
        left_out = (prescribed | twist) - set(self.chart.speeds)
        return [name for name in found.speeds if name not in left_out]

    def _scale(self, found: Variation) -> Floats:
        """Return the size that counts as 1 for each unknown."""
        by_input = np.abs(found.d["paced"]["dw"][0][:, self.free]).max(axis=0, initial=0.0)
        inputs = ACCELERATION_SCALE / np.where(by_input > 1e-12, by_input, ACCELERATION_SCALE)
        sizes = self.sizes
        ones = np.ones(sizes["dx"]), np.full(sizes["du"], SPEED_SCALE), np.ones(sizes["dz"])
        return np.concatenate([*ones, inputs])

    def look(self, y: Floats, w: Floats) -> Variation:
        """Return values and derivatives at one state."""
        return vary(self.machine, y[None], w[None], anchors=self.anchors)

    def quantities(
        self, found: Variation, y: Floats, w: Floats, names: Iterable[str]
    ) -> tuple[Floats, Floats]:
        """Return the values of named quantities (k,) and their derivatives by all unknowns (k, n)."""
        names = list(names)
        values = np.zeros(len(names))
        rows = np.zeros((len(names), len(self.scale)))
        seen = [k for k, name in enumerate(names) if name in self._places]
        at = [self._places[names[k]] for k in seen]
        values[seen] = found.values["seen"][0, at]
        rows[seen] = self._rows({seed: found.d["seen"][seed][0][at] for seed in SEEDS})
        for k in set(range(len(names))) - set(seen):
            values[k], rows[k] = self._quantity(found, y, w, names[k])
        return values, rows

    def _quantity(self, found: Variation, y: Floats, w: Floats, name: str) -> tuple[float, Floats]:
        model = self.machine.system.model
        """Return the value and the derivatives of a quantity that is not observed."""
        row = np.zeros(len(self.scale))
        if name == CURVATURE:
            forward = forward_name(found.names)
            (v, turn), (dv, dturn) = self.quantities(found, y, w, [forward, "yaw_rate"])
            if v == 0.0:
                return np.nan, np.full(len(self.scale), np.nan)
            return turn / v, (dturn - turn / v * dv) / v
        sizes = Layout(self.sizes)
        if name in _slip_names(model):
            k = _slip_names(model).index(name)
            row[sizes.dz.start + k] = 1.0
            return float(y[self.machine.layout.z][k]), row
        k = list(model.inputs).index(name.rpartition("_")[0])
        if k in self.free:
            row[sizes.dw.start + self.free.index(k)] = 1.0
        return float(w[k]), row

    def _rows(self, d: Mapping[str, Floats]) -> Floats:
        """Return derivatives by all unknowns (entries, n)."""
        return np.hstack([d["dx"], d["du"], d["dz"], d["dw"][:, self.free]])

    def equations(
        self, y: Floats, w: Floats, asked: Mapping[str, float], found: Variation | None = None
    ) -> tuple[Floats, Floats]:
        """Return the residual of each equation, and its derivatives by the scaled unknowns.

        Each kind of equation is divided by its largest derivative, so that none dominates the others
        and redundant ones stay small. `found` are values and derivatives at y and w if they are known.
        """
        found = self.look(y, w) if found is None else found
        goals = self.kept | self.constant | dict(asked)
        a = goals.pop(ACCELERATION, 0.0)
        values, rows = self.quantities(found, y, w, goals)
        residual = values - np.array(list(goals.values()))
        if "yaw" in goals:
            k = list(goals).index("yaw")
            residual[k] = (residual[k] + np.pi) % (2 * np.pi) - np.pi
        residuals, blocks = [residual], [rows * self.scale]
        for part in ("conditions", "paced", "zdot"):
            value = found.values[part][0]
            block = self._rows({seed: found.d[part][seed][0] for seed in SEEDS})
            if part == "paced":
                only = [found.speeds.index(name) for name in self.speeds]
                value, block = self._proportional(found, y, w, a, value[only], block[only])
            block = block * self.scale
            scale = np.abs(block).max(initial=1e-300)
            residuals.append(value / scale)
            blocks.append(block / scale)
        return np.concatenate(residuals), np.vstack(blocks)

    def _proportional(
        self, found: Variation, y: Floats, w: Floats, a: float, value: Floats, block: Floats
    ) -> tuple[Floats, Floats]:
        """Return the residuals of eq. [quasi-steady] and their derivatives from the rates of speeds."""
        if a == 0.0:
            return value, block
        speeds, by_speed = self.quantities(found, y, w, self.speeds)
        (v,), dv = self.quantities(found, y, w, ["forward_speed"])
        if v == 0.0:
            return np.full(len(value), np.nan), block
        ratio = a / v
        return value - ratio * speeds, block - ratio * by_speed + np.outer(
            speeds, ratio / v * dv[0]
        )

    def move(self, y: Floats, w: Floats, step: Floats) -> tuple[Floats, Floats]:
        """Return state and inputs after a step of the scaled unknowns."""
        at = self.machine.layout
        parts = Layout(self.sizes).split(step * self.scale)
        y = displace(self.machine, y[None], parts["dx"][None])[0]
        y[at.u] += parts["du"]
        y[at.z] += parts["dz"]
        w = w.copy()
        w[self.free] += parts["dw"]
        return y, w

    def check(self, asked: Mapping[str, float]) -> None:
        """Raise if a rate is prescribed that is zero in every steady motion."""
        for name in (name for name in asked if name in self.constant and asked[name] != 0.0):
            raise ParameterError(
                f"steady motion: {name} = {asked[name]:g}, but in a steady motion it is zero: "
                f"{name.removesuffix('_rate')} is constant."
            )

    def solve(self, y: Floats, w: Floats, asked: Mapping[str, float]) -> tuple[Floats, Floats]:
        """Return the steady motion near y by Newton's method; of a family the nearest one.

        Raises
        ------
        ConfigurationError
            If the iteration does not converge.
        """
        last = np.inf
        least, idle = np.inf, 0
        for _ in range(60):
            residual, J = self.equations(y, w, asked)
            # A diverging iteration ends before squares of its values overflow.
            if not (np.abs(residual).max(initial=0.0) < DIVERGED and np.all(np.isfinite(J))):
                break
            norm = float(np.linalg.norm(residual))
            idle = 0 if norm < 0.9 * least else idle + 1
            least = min(least, norm)
            if idle > MAX_IDLE and norm > 1e-8:
                break
            step = -np.linalg.lstsq(J, residual, rcond=1e-9)[0]
            size = float(np.abs(step).max(initial=0.0))
            y, w = self.move(y, w, step * self.limit(step))
            if size < 1e-14 or (size < 1e-9 and size >= 0.5 * last):
                if np.abs(residual).max(initial=0.0) < 1e-8:
                    return y, w
                break
            last = size
        raise ConfigurationError("Newton's method does not converge.")

    def limit(self, step: Floats) -> float:
        """Return the part of a scaled step that can be taken at once."""
        moved = np.abs(step[: len(step) - len(self.free)]).max(initial=0.0)
        return min(1.0, STEP_LIMIT / max(float(moved), 1e-300))


def forward_name(names: Sequence[str]) -> str:
    """Return the speed by which curvatures are counted: that of the rear wheel's rim if the machine has
    this output, else the forward speed.
    """
    return "rear_wheel_speed" if "rear_wheel_speed" in names else "forward_speed"
