"""Detection of redundant constraint rows, by rank on the manifold of closed contacts and prescribed joints.

Rows may be dependent only if all holonomic constraints are satisfied (four wheels on level ground), so a
configuration is closed by Newton's method before its rank is computed. Three ranks are compared: that of the
zero configuration, that of neighbouring configurations on the manifold, and that at neighbouring parameters.
Rows that depend on others in the zero configuration and near it are redundant: they are left out of the
elimination, and their forces are the minimum-norm ones. If the rank of the zero configuration is less than
that of its neighbours, the zero configuration is a singular shape: pivots are chosen at a neighbour.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draisine.algebra.lie import cross, quaternion, quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError, RedundancyError
from draisine.mechanics import constraints
from draisine.mechanics.base import expand_speeds, free_columns, is_free
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import independent_vectors
from draisine.mechanics.tree import Tree, as_floats, assemble
from draisine.model import Model

DEPENDENCE_TOLERANCE = 1e-9
"""A constraint row counts as dependent on other rows if its unit row is nearer than this to their span;
rounding errors of rows are about 1e-15.
"""

CONTRADICTION_TOLERANCE = 1e-6
"""Largest singular value at which rows count as dependent in a configuration that cannot be closed.

Contacts that are micrometres off one plane are turned by the attempt to close them, so that the rows are
dependent only up to this turn.

"""

CLOSURE_TOLERANCE = 1e-9
"""Largest residual (m or rad) of the holonomic constraints at which Newton's method has converged.
"""


@dataclass(frozen=True, slots=True)
class RedundantRow:
    """Constraint row that depends linearly on other rows."""

    label: str
    repeats: tuple[str, ...]  # labels of the constraint rows on which this row depends
    # Parameters whose values make the row redundant, while it is independent at other values; empty
    # if the row is redundant for all values
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = f"for these values of {', '.join(self.parameters)}" if self.parameters else "always"
        if not self.repeats:
            return f"{self.label} blocks no possible motion ({when})"
        return f"{self.label} is redundant with {', '.join(self.repeats)} ({when})"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Result of the search for redundant constraint rows of a contact mode."""

    labels: tuple[str, ...]  # labels of all constraint rows
    redundant: tuple[RedundantRow, ...] = ()
    # Labels of the constraint rows that are linearly dependent in the zero configuration, but not
    # near it
    singular: tuple[str, ...] = ()
    # Base quaternion (internal frame) and joint coordinates of the configuration in which pivots
    # are chosen; None for the zero configuration
    nominal: tuple[Floats, Floats] | None = None

    @property
    def rank(self) -> int:
        """Number of constraint rows that are independent in almost all configurations."""
        return len(self.labels) - len(self.redundant)


@dataclass(frozen=True, eq=False)
class NumericalConfiguration:
    """Numerical configuration of a tree in a contact mode, whose constraint rows are examined."""

    tree: Tree
    mode: Mode
    q: Floats  # quaternion of the internal base frame, (4,)
    p: Floats  # position of the internal base frame, m, (3,)
    r: Floats  # joint coordinates, rad or m, (n,)
    t: float = 0.0  # time, s, which determines prescribed joints

    @cached_property
    def rows(self) -> projected.Rows:
        """Geometry and constraint rows of the configuration."""
        # Suppress the warnings of undefined constraint rows (a wheel that lies flat): `check_rows`
        # reports these rows by name.
        with np.errstate(divide="ignore", invalid="ignore"):
            return projected.constraint_rows(self.tree, self.mode, rotation(self.q), self.r, self.p)

    @cached_property
    def C(self) -> Floats:
        """Constraint matrix (m, free speeds) with one unit row per label; contact rows are along normal,
        along, across.
        """
        rows = self.rows
        columns = free_columns(self.tree.model)
        with np.errstate(divide="ignore", invalid="ignore"):
            C = constraints.constraint_matrix(
                self.tree, rows.geo, rows.world, rows.active, named=True
            )
        C = np.asarray(C[:, columns], float)
        lengths = np.linalg.norm(C, axis=1)
        return C / np.where(lengths > 1e-12, lengths, np.inf)[:, None]

    @cached_property
    def b(self) -> Floats:
        """Right-hand side of `C v = b`, scaled like the rows of C."""
        rows = self.rows
        named = [replace(a, holds_all=False) for a in rows.active]
        full = constraints.constraint_matrix(self.tree, rows.geo, rows.world, named)
        lengths = np.linalg.norm(full[:, free_columns(self.tree.model)].astype(float), axis=1)
        b = constraints.velocity_targets(self.tree, rows.geo, rows.world, named, self.p, self.t)
        return np.array(b, float) / np.where(lengths > 1e-12, lengths, 1.0)

    def rank(self) -> int:
        """Return the rank of the constraint matrix C."""
        return (
            int((np.linalg.svd(self.C, compute_uv=False) > DEPENDENCE_TOLERANCE).sum())
            if len(self.C)
            else 0
        )

    def project_to_manifold(self, pin_positions: Floats) -> tuple["NumericalConfiguration", float]:
        """Return the nearest configuration on the constraint manifold for the given positions of
        pins (m), and its largest residual.

        Newton's method with minimum-norm steps closes all holonomic constraints.
        """
        place = self
        error = np.inf
        columns = free_columns(self.tree.model)
        for _ in range(40):
            values, rows, _ = projected.holonomic_residuals(
                place.rows, place.r, place.t, pin_positions
            )
            previous_error = error
            error = float(np.abs(np.array(values, float)).max(initial=0.0))
            if error < 1e-14 or not error < previous_error:
                break
            J = np.array(rows, float)[:, columns]
            # Far from the constraint manifold, redundant rows differ from each other by about the
            # residual. Their difference has a small singular value, which would cause a large step.
            # Therefore truncate it.
            cutoff = min(0.1, max(1e-9, 10 * error))
            step = -np.linalg.lstsq(J, np.array(values, float), rcond=cutoff)[0]
            # At most 0.3 (rad or m) per step keeps the configuration within the range of the
            # linearisation.
            place = place.displaced(step / max(1.0, float(np.abs(step).max()) / 0.3))
        return place, error

    def displaced(self, step: Floats, t: float | None = None) -> "NumericalConfiguration":
        """Return the configuration displaced by a step of speeds (V at the reference point, W,
        rdot).
        """
        speeds = np.asarray(expand_speeds(self.tree.model, step), float)
        V = speeds[:3] - cross(speeds[3:6], np.asarray(self.rows.ref, float))
        q = self.q + quaternion_rate(self.q, speeds[3:6])
        p = self.p + rotation(self.q) @ V
        t = self.t if t is None else t
        return replace(self, q=q / np.linalg.norm(q), p=p, r=self.r + speeds[6:], t=t)

    def pin_positions(self) -> Floats:
        """Return the positions of the pins in the world, concatenated."""
        pins = [
            point.c
            for c, (point, _) in zip(
                self.tree.model.contacts, self.rows.contact_points, strict=True
            )
            if c.anchored
        ]
        world = [self.p + rotation(self.q) @ np.asarray(c, float) for c in pins]
        return np.concatenate(world) if world else np.zeros(0)


def make_zero_configuration(model: Model, mode: Mode) -> NumericalConfiguration:
    """Return the zero configuration of a numerical model, with prescribed joints at their initial
    values.
    """
    tree = assemble(model, aligned=is_free(model), evaluate=as_floats)
    base = tree.links[0]
    r = [0.0 if joint.motion is None else joint.motion(0.0)[0] for joint in model.joints]
    return NumericalConfiguration(
        tree, mode, quaternion(base.R), np.asarray(base.o, float), np.array(r, float)
    )


def survey_redundancy(
    draw: Callable[[Mapping[str, float]], Model], parameters: Mapping[str, float], mode: Mode
) -> Survey:
    """Find the redundant constraint rows of a contact mode; `draw` maps parameters to the model.

    Raises
    ------
    RedundancyError
        If constraint rows contradict each other; the error names them.
    """
    model = draw(parameters)
    labels = tuple(constraints.row_labels(model, mode))
    start = make_zero_configuration(model, mode)
    projected.check_rows(start.C, labels)
    anchors = start.pin_positions()
    nominal, error = start.project_to_manifold(anchors)
    if not error < CLOSURE_TOLERANCE:
        _check_configuration(nominal, anchors, labels, error)
        nominal = start
    if nominal.rank() == len(labels):
        return Survey(labels, nominal=_nominal_configuration(start, nominal))
    neighbours = [
        place
        for place in _find_nearby_configurations(nominal, anchors)
        if place.rank() >= nominal.rank()
    ]
    rank = max([nominal.rank(), *(place.rank() for place in neighbours)])
    singular = nominal.rank() < rank
    if singular:
        nominal = max(
            (place for place in neighbours if place.rank() == rank),
            key=lambda place: _smallest_singular_value(place, rank),
        )
    _check_prescribed_speeds(nominal, rank, labels)
    keep = independent_rows(nominal.C, constraints.holonomic_flags(model, mode), rank)
    redundant = _describe_redundant_rows(draw, parameters, nominal, keep, labels)
    dependent = _find_dependent_rows(start.C[keep]) if singular else ()
    names = tuple(labels[keep[k]] for k in dependent)
    return Survey(labels, redundant, names, _nominal_configuration(start, nominal))


def redundant_rows_at(
    survey_redundancy: Survey, model: Model, mode: Mode, q: Floats, r: Floats
) -> tuple[str, ...]:
    """Return the labels of the constraint rows to leave out if pivots are chosen at another
    configuration.

    The configuration is the quaternion q of the internal base frame and the joint coordinates r.
    The number of rows is that of the zero configuration; the best conditioned rows are kept.
    """
    if not survey_redundancy.redundant:
        return ()
    place = replace(
        make_zero_configuration(model, mode), q=np.asarray(q, float), r=np.asarray(r, float)
    )
    keep = independent_rows(
        place.C, constraints.holonomic_flags(model, mode), survey_redundancy.rank
    )
    return tuple(label for k, label in enumerate(survey_redundancy.labels) if k not in keep)


def independent_rows(C: Floats, first: Sequence[bool], rank: int) -> list[int]:
    """Return the indices of `rank` independent rows of a matrix C (m, n) with unit rows.

    Rows marked in `first` are preferred: holonomic rows drift if they are left out. Then clearly
    independent rows come before nearly dependent ones.
    """
    order = sorted(range(len(C)), key=lambda k: not first[k])
    return independent_vectors(C, [], DEPENDENCE_TOLERANCE, order, rank)


def _find_nearby_configurations(
    nominal: NumericalConfiguration, pin_positions: Floats
) -> list[NumericalConfiguration]:
    """Return up to three configurations on the constraint manifold near a nominal one.

    Each has another time, so that prescribed joints are displaced as well.
    """
    rng = np.random.default_rng(2)
    columns = len(free_columns(nominal.tree.model))
    neighbours = []
    for t in (0.0731, 0.2173, 0.4419):
        displaced = nominal.displaced(0.1 * rng.uniform(-1, 1, columns), nominal.t + t)
        place, error = displaced.project_to_manifold(pin_positions)
        if error < CLOSURE_TOLERANCE:
            neighbours.append(place)
    return neighbours


def _nominal_configuration(
    start: NumericalConfiguration, nominal: NumericalConfiguration
) -> tuple[Floats, Floats] | None:
    """Return base quaternion (internal frame) and joint coordinates of the configuration `nominal`;
    None if it is the zero configuration.
    """
    drawing = np.zeros_like(start.r)
    distance = max(np.abs(nominal.q - start.q).max(), np.abs(nominal.r - drawing).max(initial=0.0))
    return (nominal.q, nominal.r) if distance > 1e-6 else None


def _smallest_singular_value(configuration: NumericalConfiguration, rank: int) -> float:
    """Return the smallest of the `rank` largest singular values of the constraint matrix."""
    return float(np.linalg.svd(configuration.C, compute_uv=False)[rank - 1])


def _find_dependent_rows(
    C: Floats, b: Floats | None = None, tolerance: float = DEPENDENCE_TOLERANCE
) -> tuple[int, ...]:
    """Return the indices of the rows of C that are linearly dependent; with b, only of those rows whose
    equations `C v = b` contradict each other.
    """
    U, s, _ = np.linalg.svd(C)
    null = U[:, int((s > tolerance).sum()) :]
    weight = np.abs(null).max(axis=1, initial=0.0) if b is None else np.abs(null @ (null.T @ b))
    return tuple(
        int(k) for k in np.flatnonzero(weight > 1e-6 * max(weight.max(initial=0.0), 1e-300))
    )


def _check_configuration(
    configuration: NumericalConfiguration,
    pin_positions: Floats,
    labels: Sequence[str],
    error: float,
) -> None:
    """Raise an error if holonomic constraints contradict each other."""
    values, rows, indices = projected.holonomic_residuals(
        configuration.rows, configuration.r, configuration.t, pin_positions
    )
    J = np.array(rows, float)[:, free_columns(configuration.tree.model)]
    if np.linalg.matrix_rank(J, tol=CONTRADICTION_TOLERANCE) == len(J):
        return
    dependent = _find_dependent_rows(J, np.array(values, float), CONTRADICTION_TOLERANCE)
    names = [labels[indices[k]] for k in dependent]
    raise RedundancyError(
        f"The constraint rows {', '.join(names)} contradict each other: they cannot all be closed; the "
        f"residual is {error:.3g}. Draw the contacts on one plane, or open one of them."
    )


def _check_prescribed_speeds(
    configuration: NumericalConfiguration, rank: int, labels: Sequence[str]
) -> None:
    """Raise an error if the velocities that constraint rows prescribe contradict each other."""
    speeds = np.linalg.lstsq(configuration.C, configuration.b, rcond=DEPENDENCE_TOLERANCE)[0]
    violation = configuration.b - configuration.C @ speeds
    if np.abs(violation).max(initial=0.0) <= 1e-9 * max(
        1.0, float(np.abs(configuration.b).max(initial=0.0))
    ):
        return
    names = [labels[k] for k in _find_dependent_rows(configuration.C, configuration.b)]
    prescribed = [k for k, label in enumerate(labels) if label.endswith(".motion")]
    others = [k for k in range(len(labels)) if k not in prescribed]
    other_rank = (
        int(np.linalg.matrix_rank(configuration.C[others], tol=DEPENDENCE_TOLERANCE))
        if others
        else 0
    )
    reason = ""
    if prescribed:
        reason = (
            f" The other rows leave {rank - other_rank} independent motions to the {len(prescribed)} "
            "prescribed joints."
        )
    raise RedundancyError(
        f"The constraint rows {', '.join(names)} contradict each other: {len(labels)} rows of rank {rank} "
        f"prescribe speeds that no motion has.{reason} Leave some of these joints free, or open a contact."
    )


def _describe_redundant_rows(
    draw: Callable[[Mapping[str, float]], Model],
    parameters: Mapping[str, float],
    configuration: NumericalConfiguration,
    independent_rows: Sequence[int],
    labels: Sequence[str],
) -> tuple[RedundantRow, ...]:
    """Return the redundant constraint rows, with the rows and the parameter values on which they depend.

    Parameters are perturbed by 3 to 10 %, first all together and, if a row becomes independent, one by one.
    """
    redundant = [k for k in range(len(labels)) if k not in independent_rows]
    shares = np.linalg.lstsq(
        configuration.C[independent_rows].T, configuration.C[redundant].T, rcond=None
    )[0]
    repeats = [
        tuple(labels[k] for k, x in zip(independent_rows, column, strict=True) if abs(x) > 1e-6)
        for column in shares.T
    ]
    rng = np.random.default_rng(3)
    perturbed = {
        name: x * (1 + rng.uniform(0.03, 0.1)) if x else rng.uniform(0.03, 0.05)
        for name, x in parameters.items()
    }
    freeing_parameters: dict[int, list[str]] = {k: [] for k in redundant}
    if _find_conditionally_redundant(
        draw, {**parameters, **perturbed}, configuration, independent_rows, redundant
    ):
        for name, x in perturbed.items():
            for k in _find_conditionally_redundant(
                draw, {**parameters, name: x}, configuration, independent_rows, redundant
            ):
                freeing_parameters[k].append(name)
    return tuple(
        RedundantRow(labels[k], rows, tuple(freeing_parameters[k]))
        for k, rows in zip(redundant, repeats, strict=True)
    )


def _find_conditionally_redundant(
    draw: Callable[[Mapping[str, float]], Model],
    parameters: Mapping[str, float],
    configuration: NumericalConfiguration,
    independent_rows: Sequence[int],
    redundant: Sequence[int],
) -> list[int]:
    """Return those redundant constraint rows that become independent of the rows `independent_rows`
    at other parameter values.

    The rank is computed near a configuration. If these parameters are physically invalid, no row is
    returned.
    """
    try:
        # Perturbed parameters may cause warnings about values that the user has not chosen.
        with warnings.catch_warnings(action="ignore"):
            start = make_zero_configuration(draw(parameters), configuration.mode)
        anchors = start.pin_positions()
        nearby, error = replace(start, r=configuration.r, t=configuration.t).project_to_manifold(
            anchors
        )
        places = [nearby, *_find_nearby_configurations(nearby, anchors)]
    except (DraisineError, ZeroDivisionError, FloatingPointError):
        return []
    holonomic = constraints.holonomic_flags(nearby.tree.model, nearby.mode)
    distance = np.zeros(len(redundant))
    for place in places:
        shares = np.linalg.lstsq(place.C[independent_rows].T, place.C[redundant].T, rcond=None)[0]
        remainders = np.linalg.norm(
            place.C[redundant].T - place.C[independent_rows].T @ shares, axis=0
        )
        distance = np.maximum(distance, remainders)
    return [
        k
        for k, x in zip(redundant, distance, strict=True)
        if x > 1e-7 or (holonomic[k] and error > CLOSURE_TOLERANCE)
    ]
