"""Which constraint rows repeat others: ranks on the manifold of closed contacts and prescribed
joints.

Rows may repeat each other only where all conditions on the configuration hold (four wheels carry a
level car), so a configuration is closed by Newton's method before its rank counts. Three ranks tell
what to do: that of the drawing, that of its neighbours on the manifold, and that of neighbouring
parameters. Rows that repeat others in the drawing and beside it are spare: they are left out of the
elimination, and forces are shared. A drawing whose rank is less than that of its neighbours is a
singular shape: pivots are chosen beside it.
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
from draisine.mechanics.base import free_columns, is_free, spread
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import independent_vectors
from draisine.mechanics.tree import Tree, as_floats, assemble
from draisine.model import Model

REPEATS = 1e-9
"""Rows of unit length that are nearer than this to what others demand repeat them."""
CLOSED = 1e-9
"""What Newton's method may leave of the conditions, in m or rad."""


@dataclass(frozen=True, slots=True)
class SpareRow:
    """A row that demands nothing new: `repeats` are the rows that demand it already; it does so for
    all parameters, or for these values of `parameters` only.
    """

    label: str
    repeats: tuple[str, ...]
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = f"for these values of {', '.join(self.parameters)}" if self.parameters else "always"
        return f"{self.label} repeats {', '.join(self.repeats) or 'nothing that can move'} ({when})"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What the rows of a mode are worth: the rows that are `spare`, the rows that lose rank in the
    drawing alone (`singular`), and where pivots are chosen if not in the drawing: inner quaternion
    and shape.
    """

    labels: tuple[str, ...]
    spare: tuple[SpareRow, ...] = ()
    singular: tuple[str, ...] = ()
    nominal: tuple[Floats, Floats] | None = None

    @property
    def rank(self) -> int:
        """How many rows are independent, in general."""
        return len(self.labels) - len(self.spare)


@dataclass(frozen=True, eq=False)
class Place:
    """A configuration (pose q, p of the inner base frame, shape r) at a time, for numbers."""

    tree: Tree
    mode: Mode
    q: Floats
    p: Floats
    r: Floats
    t: float = 0.0

    @cached_property
    def found(self) -> projected.Rows:
        """Geometry and rows."""
        with np.errstate(divide="ignore", invalid="ignore"):  # `check_rows` names what is missing
            return projected.rows(self.tree, self.mode, rotation(self.q), self.r, self.p)

    @cached_property
    def C(self) -> Floats:
        """The rows in the directions of their labels, over the free columns, of unit length."""
        found = self.found
        columns = free_columns(self.tree.model)
        with np.errstate(divide="ignore", invalid="ignore"):
            C = constraints.matrix(self.tree, found.geo, found.world, found.active, named=True)
        C = np.asarray(C[:, columns], float)
        sizes = np.linalg.norm(C, axis=1)
        return C / np.where(sizes > 1e-12, sizes, np.inf)[:, None]

    @cached_property
    def b(self) -> Floats:
        """The speeds that the rows demand, in the scale of C."""
        found = self.found
        named = [replace(a, holds_all=False) for a in found.active]
        full = constraints.matrix(self.tree, found.geo, found.world, named)
        sizes = np.linalg.norm(full[:, free_columns(self.tree.model)].astype(float), axis=1)
        b = constraints.velocity_targets(self.tree, found.geo, found.world, named, self.p, self.t)
        return np.array(b, float) / np.where(sizes > 1e-12, sizes, 1.0)

    def rank(self) -> int:
        """Return how many rows are independent here."""
        return int((np.linalg.svd(self.C, compute_uv=False) > REPEATS).sum()) if len(self.C) else 0

    def closed(self, anchors: Floats) -> tuple["Place", float]:
        """Return the nearest configuration with closed contacts, prescribed joints where they
        should be, and what is left of the conditions.
        """
        at = self
        wrong = np.inf
        columns = free_columns(self.tree.model)
        for _ in range(40):
            values, rows, _ = projected.conditions(at.found, at.r, at.t, anchors)
            before = wrong
            wrong = float(np.abs(np.array(values, float)).max(initial=0.0))
            if wrong < 1e-14 or not wrong < before:
                break
            J = np.array(rows, float)[:, columns]
            cut = min(0.1, max(1e-9, 10 * wrong))
            step = -np.linalg.lstsq(J, np.array(values, float), rcond=cut)[0]
            at = at.moved(step / max(1.0, float(np.abs(step).max()) / 0.3))
        return at, wrong

    def moved(self, step: Floats, t: float | None = None) -> "Place":
        """Return the configuration displaced by speeds (V at the reference point, W, rdot)."""
        whole = np.asarray(spread(self.tree.model, step), float)
        V = whole[:3] - cross(whole[3:6], np.asarray(self.found.ref, float))
        q = self.q + quaternion_rate(self.q, whole[3:6])
        p = self.p + rotation(self.q) @ V
        t = self.t if t is None else t
        return replace(self, q=q / np.linalg.norm(q), p=p, r=self.r + whole[6:], t=t)

    def anchors(self) -> Floats:
        """Return where the pins are here."""
        pins = [
            at.c
            for c, (at, _) in zip(self.tree.model.contacts, self.found.found, strict=True)
            if c.anchored
        ]
        world = [self.p + rotation(self.q) @ np.asarray(c, float) for c in pins]
        return np.concatenate(world) if world else np.zeros(0)


def place_drawing(model: Model, mode: Mode) -> Place:
    """Return the drawing of a model of numbers, with prescribed joints where they start."""
    tree = assemble(model, aligned=is_free(model), evaluate=as_floats)
    base = tree.links[0]
    r = [0.0 if joint.motion is None else joint.motion(0.0)[0] for joint in model.joints]
    return Place(tree, mode, quaternion(base.R), np.asarray(base.o, float), np.array(r, float))


def survey(
    draw: Callable[[Mapping[str, float]], Model], parameters: Mapping[str, float], mode: Mode
) -> Survey:
    """Return which rows of a mode repeat others; `draw` makes the model for parameters.

    Rows that contradict each other are an error that names them.
    """
    model = draw(parameters)
    labels = tuple(constraints.labels(model, mode))
    start = place_drawing(model, mode)
    projected.check_rows(start.C, labels)
    anchors = start.anchors()
    here, wrong = start.closed(anchors)
    if not wrong < CLOSED:
        _check_heights(here, anchors, labels, wrong)
        here = start
    if here.rank() == len(labels):
        return Survey(labels, nominal=_elsewhere(start, here))
    beside = [at for at in _neighbours(here, anchors) if at.rank() >= here.rank()]
    rank = max([here.rank(), *(at.rank() for at in beside)])
    singular = here.rank() < rank
    if singular:
        here = max((at for at in beside if at.rank() == rank), key=lambda at: _least(at, rank))
    _check_speeds(here, rank, labels)
    keep = independent_rows(here.C, constraints.holonomic(model, mode), rank)
    spare = _spare_rows(draw, parameters, here, keep, labels)
    lost = _dependent(start.C[keep]) if singular else ()
    names = tuple(labels[keep[k]] for k in lost)
    return Survey(labels, spare, names, _elsewhere(start, here))


def spare_at(survey: Survey, model: Model, mode: Mode, q: Floats, r: Floats) -> tuple[str, ...]:
    """Return the rows to leave out where pivots are chosen at a configuration (inner quaternion and
    shape): as many as in the drawing, the best of them kept.
    """
    if not survey.spare:
        return ()
    at = replace(place_drawing(model, mode), q=np.asarray(q, float), r=np.asarray(r, float))
    keep = independent_rows(at.C, constraints.holonomic(model, mode), survey.rank)
    return tuple(label for k, label in enumerate(survey.labels) if k not in keep)


def independent_rows(C: Floats, first: Sequence[bool], rank: int) -> list[int]:
    """Return as many independent rows of unit length as the rank says: those named `first` are
    preferred (conditions on the configuration drift when they are left out), and those that are
    well independent of the ones before.
    """
    order = sorted(range(len(C)), key=lambda k: not first[k])
    return independent_vectors(C, [], REPEATS, order, rank)


def _neighbours(here: Place, anchors: Floats) -> list[Place]:
    """Return configurations beside one, on the manifold, at other times."""
    rng = np.random.default_rng(2)
    columns = len(free_columns(here.tree.model))
    out = []
    for t in (0.0731, 0.2173, 0.4419):
        moved = here.moved(0.1 * rng.uniform(-1, 1, columns), here.t + t)
        at, wrong = moved.closed(anchors)
        if wrong < CLOSED:
            out.append(at)
    return out


def _elsewhere(start: Place, here: Place) -> tuple[Floats, Floats] | None:
    """Return inner quaternion and shape of `here` where they are not those of the drawing."""
    drawing = np.zeros_like(start.r)
    away = max(np.abs(here.q - start.q).max(), np.abs(here.r - drawing).max(initial=0.0))
    return (here.q, here.r) if away > 1e-6 else None


def _least(at: Place, rank: int) -> float:
    """Return the least singular value that counts for the rank."""
    return float(np.linalg.svd(at.C, compute_uv=False)[rank - 1])


def _dependent(C: Floats, b: Floats | None = None) -> tuple[int, ...]:
    """Return which rows take part in what the rows demand twice; of the combinations of rows that
    vanish, the one that b breaks.
    """
    U, s, _ = np.linalg.svd(C)
    null = U[:, int((s > REPEATS).sum()) :]
    weight = np.abs(null).max(axis=1, initial=0.0) if b is None else np.abs(null @ (null.T @ b))
    return tuple(
        int(k) for k in np.flatnonzero(weight > 1e-6 * max(weight.max(initial=0.0), 1e-300))
    )


def _check_heights(at: Place, anchors: Floats, labels: Sequence[str], wrong: float) -> None:
    """Raise where conditions on the configuration contradict each other."""
    values, rows, where = projected.conditions(at.found, at.r, at.t, anchors)
    J = np.array(rows, float)[:, free_columns(at.tree.model)]
    if np.linalg.matrix_rank(J, tol=1e-6) == len(J):
        return
    names = [labels[where[k]] for k in _dependent(J, np.array(values, float))]
    raise RedundancyError(
        f"constraint rows {', '.join(names)} contradict each other: they cannot all be closed, "
        f"{wrong:.3g} is left. Draw the contacts on one plane, or open one of them."
    )


def _check_speeds(at: Place, rank: int, labels: Sequence[str]) -> None:
    """Raise where rows ask for speeds that contradict each other."""
    speeds = np.linalg.lstsq(at.C, at.b, rcond=REPEATS)[0]
    wrong = at.b - at.C @ speeds
    if np.abs(wrong).max(initial=0.0) <= 1e-9 * max(1.0, float(np.abs(at.b).max(initial=0.0))):
        return
    names = [labels[k] for k in _dependent(at.C, at.b)]
    raise RedundancyError(
        f"constraint rows {', '.join(names)} contradict each other: {len(labels)} rows of rank {rank} "
        "demand speeds that no motion has. Leave some of these joints free, or open a contact."
    )


def _spare_rows(
    draw: Callable[[Mapping[str, float]], Model],
    parameters: Mapping[str, float],
    here: Place,
    keep: Sequence[int],
    labels: Sequence[str],
) -> tuple[SpareRow, ...]:
    """Return the rows that are not kept, with the rows that they repeat and the parameters for
    whose values alone they do.
    """
    spare = [k for k in range(len(labels)) if k not in keep]
    shares = np.linalg.lstsq(here.C[keep].T, here.C[spare].T, rcond=None)[0]
    repeats = [
        tuple(labels[k] for k, x in zip(keep, column, strict=True) if abs(x) > 1e-6)
        for column in shares.T
    ]
    rng = np.random.default_rng(3)
    moves = {
        name: x * (1 + rng.uniform(0.03, 0.1)) if x else rng.uniform(0.03, 0.05)
        for name, x in parameters.items()
    }
    freed: dict[int, list[str]] = {k: [] for k in spare}
    if _independent_at(draw, {**parameters, **moves}, here, keep, spare):
        for name, x in moves.items():
            for k in _independent_at(draw, {**parameters, name: x}, here, keep, spare):
                freed[k].append(name)
    return tuple(
        SpareRow(labels[k], rows, tuple(freed[k])) for k, rows in zip(spare, repeats, strict=True)
    )


def _independent_at(
    draw: Callable[[Mapping[str, float]], Model],
    parameters: Mapping[str, float],
    like: Place,
    keep: Sequence[int],
    spare: Sequence[int],
) -> list[int]:
    """Return which spare rows are independent of the kept ones at other parameters, near a
    configuration; none where these parameters cannot be drawn.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of parameters that nobody has asked for
            start = place_drawing(draw(parameters), like.mode)
        anchors = start.anchors()
        at, wrong = replace(start, r=like.r, t=like.t).closed(anchors)
        places = [at, *_neighbours(at, anchors)]
    except (DraisineError, ZeroDivisionError, FloatingPointError):
        return []
    firm = constraints.holonomic(at.tree.model, at.mode)
    left = np.zeros(len(spare))
    for place in places:
        shares = np.linalg.lstsq(place.C[keep].T, place.C[spare].T, rcond=None)[0]
        missing = np.linalg.norm(place.C[spare].T - place.C[keep].T @ shares, axis=0)
        left = np.maximum(left, missing)
    return [k for k, x in zip(spare, left, strict=True) if x > 1e-7 or (firm[k] and wrong > CLOSED)]
