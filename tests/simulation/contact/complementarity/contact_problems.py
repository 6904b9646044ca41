"""Random contact problems, and their solutions by enumeration, independent of the package.

A problem is (W, b, mu): u = W lam + b, with Coulomb's law at every contact. `W` may be rank-deficient: more
rows than speeds, wheels with the same rows, feet of one slab.
"""

from itertools import product

import numpy as np

OPEN, STICK, SLIDE = range(3)


def random_problem(rng, contacts, kind, friction):
    """Return W, b and mu of a machine with random masses.

    `kind` is "regular" (as many speeds as rows), "deficient" (fewer), "axle" (pairs of contacts share their
    last row) or "slab" (feet of one rigid body on a plane).
    """
    rows = 3 * contacts
    if kind == "slab":
        C = slab_rows(rng.uniform(-1.0, 1.0, (contacts, 2)))
        M = np.diag([1.0, 1.0, 1.0, *rng.uniform(0.1, 0.5, 3)])
    else:
        speeds = {"regular": rows + 2, "axle": rows}.get(
            kind, max(2, int(rng.integers(rows // 2, rows)))
        )
        C = rng.normal(size=(rows, speeds))
        if kind == "axle":
            C[5::6] = C[2::6][: len(C[5::6])]
        root = rng.normal(size=(speeds, speeds))
        M = root @ root.T + 0.1 * np.eye(speeds)
    v = rng.normal(size=len(M))
    return C @ np.linalg.solve(M, C.T), C @ v, np.full(contacts, friction)


def slab_rows(places):
    """Return the rows (normal, along, across) of feet of a body at places (x, y), 0.3 m below its origin."""
    rows = []
    for x, y in places:
        for axis in ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
            rows.append([*axis, *np.cross([x, y, -0.3], axis)])
    return np.array(rows)


def measure_violation(W, b, mu, lam):
    """Return the largest violation of Coulomb's law by its definition, in parts of the largest entry of b."""
    worst = 0.0
    u = W @ lam + b
    for k, friction in enumerate(mu):
        d = np.trace(W[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]) / 3
        (normal, *push), (gap, *slip) = lam[3 * k : 3 * k + 3], u[3 * k : 3 * k + 3]
        limit = friction * normal if normal > 0.0 else 0.0
        speed, used = np.hypot(*slip), np.hypot(*push)
        worst = max(worst, -gap, -d * normal, min(abs(gap), d * abs(normal)), d * (used - limit))
        if normal > 0.0 and speed > 0.0 and np.isfinite(friction):
            opposed = np.array(push) + limit * np.array(slip) / speed
            worst = max(worst, min(speed, d * np.abs(opposed).max()))
        elif normal > 0.0:
            worst = max(worst, speed)
    return worst / np.abs(b).max()


def classify(W, b, mu, lam):
    """Return what each contact does: open, stick or slide."""
    u, out = (W @ lam + b).reshape(-1, 3), []
    for (normal, *push), (_, *slip), friction in zip(lam.reshape(-1, 3), u, mu, strict=True):
        pressed = normal > 1e-12 * np.abs(lam).max()
        slides = (
            np.hypot(*push) >= friction * normal * (1 - 1e-6)
            and np.hypot(*slip) > 1e-6 * np.abs(b).max()
        )
        out.append(OPEN if not pressed else SLIDE if slides else STICK)
    return tuple(out)


def forces_of(W, b, mu, statuses, angles):
    """Return lam for given statuses and slip directions; forces that are not unique get minimum norm."""
    count = len(mu)
    columns, held = [], []
    for k, status in enumerate(statuses):
        if status == STICK:
            columns += list(np.eye(3 * count)[3 * k : 3 * k + 3])
            held += [3 * k, 3 * k + 1, 3 * k + 2]
        elif status == SLIDE:
            column = np.eye(3 * count)[3 * k]
            column[3 * k + 1 : 3 * k + 3] = -mu[k] * np.array(
                [np.cos(angles[k]), np.sin(angles[k])]
            )
            columns.append(column)
            held.append(3 * k)
    if not held:
        return np.zeros(3 * count)
    B = np.array(columns).T
    return B @ np.linalg.lstsq((W @ B)[held], -b[held], rcond=1e-10)[0]


def solve_statuses(W, b, mu, statuses, slip):
    """Return lam for given statuses, by Newton's method in the slip directions from given slips (k, 2); None
    if it does not converge or violates the law.
    """
    angles = np.arctan2(slip[:, 1], slip[:, 0])
    sliding = [k for k in range(len(mu)) if statuses[k] == SLIDE]

    def turns(angles):
        """Return the slip across the assumed direction, of each sliding contact."""
        u = (W @ forces_of(W, b, mu, statuses, angles) + b).reshape(-1, 3)[sliding]
        return np.cos(angles[sliding]) * u[:, 2] - np.sin(angles[sliding]) * u[:, 1]

    for _ in range(20 if sliding else 0):
        value = turns(angles)
        slope = np.zeros((len(sliding), len(sliding)))
        for i, k in enumerate(sliding):
            moved = angles.copy()
            moved[k] += 1e-7
            slope[:, i] = (turns(moved) - value) / 1e-7
        step = np.linalg.lstsq(slope, -value, rcond=1e-12)[0]
        angles[sliding] += np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-12:
            break
    lam = forces_of(W, b, mu, statuses, angles)
    return lam if measure_violation(W, b, mu, lam) < 1e-7 else None


def enumerate_solutions(W, b, mu, directions=8):
    """Return a solution of each combination of open, sticking and sliding contacts that has one."""
    found = []
    turns = 2 * np.pi * np.arange(directions) / directions
    for statuses in product((STICK, OPEN, SLIDE), repeat=len(mu)):
        for turn in turns if SLIDE in statuses else turns[:1]:
            slip = np.tile([np.cos(turn), np.sin(turn)], (len(mu), 1))
            lam = solve_statuses(W, b, mu, statuses, slip)
            if lam is not None:
                found.append(lam)
                break
    return found


def enumerate_ideal(W, b, mu):
    """Return the velocities of ideal contacts (infinite mu, tangents held even without load) or of contacts
    without friction (mu = 0), by trying every set of pressed normals; they are unique. None if none will do.
    """
    count = len(mu)
    tangents = [3 * k + j for k in range(count) if np.isinf(mu[k]) for j in (1, 2)]
    for pressed in product((True, False), repeat=count):
        rows = sorted([3 * k for k in range(count) if pressed[k]] + tangents)
        lam = np.zeros(len(b))
        if rows:
            lam[rows] = np.linalg.lstsq(W[np.ix_(rows, rows)], -b[rows], rcond=1e-10)[0]
        u = W @ lam + b
        small = 1e-8 * np.abs(b).max()
        if np.abs(u[rows]).max(initial=0.0) > small or u[::3].min() < -small:
            continue
        if has_pushing_forces(
            W[np.ix_(rows, rows)], lam[rows], [i for i, r in enumerate(rows) if r % 3 == 0]
        ):
            return u
    return None


def has_pushing_forces(W, lam, normals):
    """Return whether some multipliers with the same effect push at all normals."""
    from scipy.optimize import linprog

    if not normals or lam[normals].min() >= 0.0:
        return True
    # Maximise the smallest normal multiplier along the null space of W.
    U, s, _ = np.linalg.svd(W)
    null = U[:, s < 1e-10 * s.max()]
    if not null.shape[1]:
        return False
    size = np.abs(lam).max()
    A = np.column_stack([-null[normals], np.ones(len(normals))])
    cost = np.append(np.zeros(null.shape[1]), -1.0)
    bounds = [(None, None)] * null.shape[1] + [(None, 1.0)]
    best = linprog(cost, A_ub=A, b_ub=lam[normals] / size, bounds=bounds)
    return best.status == 0 and best.x[-1] >= -1e-9
