"""Solve random contact problems by both friction solvers and compare with enumeration: `python
bench/contact_solvers.py [--small 10000] [--large 1000] [--seed 0]`.

Small problems have one to six contacts, regular and rank-deficient. With infinite mu and without friction
velocities are unique and are compared with those of the enumeration of all sets of pressed contacts. With
finite mu the solution must obey Coulomb's law by its definition; if a solver finds none, all combinations of
open, sticking and sliding contacts are enumerated to see whether there is one. Large problems have 8 to 64
contacts and are judged by the violation of the law. Tests run a fixed small sample.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

BENCH = Path(__file__).parent
sys.path[:] = [str(BENCH.parent / "tests"), *(p for p in sys.path if Path(p) != BENCH)]

from draisine.simulation.contact.complementarity.coulomb import (
    FrictionContact,
    solve_friction,
)
from draisine.simulation.contact.complementarity.impulses import (
    solve_contact_impulses,
)
from simulation.contact.complementarity.contact_problems import (
    enumerate_ideal,
    enumerate_solutions,
    measure_violation,
    random_problem,
)

KINDS = ("regular", "deficient", "axle", "slab")
LAWFUL = 1e-9  # violation of the law by exact forces, of the largest free velocity
ITERATED = 1e-7  # the same by iterated impulses, of the largest |W lam| or |b|: these are compliant


def exact(W, b, mu):
    """Return the forces of the exact solver, or None."""
    touches = [FrictionContact(3 * k, 3, friction) for k, friction in enumerate(mu)]
    return solve_friction(W, b, touches, 1e-13)


def draw_friction(rng):
    """Return a friction coefficient: none, some or infinite."""
    return float(rng.choice([0.0, rng.uniform(0.05, 1.5), rng.uniform(0.05, 1.5), np.inf]))


def check_small(rng, count):
    """Return the results of problems of up to six contacts, and descriptions of the failures."""
    results, failures = Counter(), []
    for number in range(count):
        contacts, kind = int(rng.integers(1, 7)), str(rng.choice(KINDS))
        friction = draw_friction(rng)
        W, b, mu = random_problem(rng, contacts, kind, friction)
        impulse, velocity, residual = solve_contact_impulses(W, b, mu)
        name = f"{number}: {contacts} contacts, {kind}, mu {friction:.3g}"
        if friction in (0.0, np.inf):
            wanted = enumerate_ideal(W, b, mu)
            if wanted is None:
                results["no set of contacts is admissible"] += 1
                continue
            away = np.abs(velocity - wanted).max() / max(np.abs(b).max(), np.abs(W * impulse).max())
            results["unique velocities"] += 1
            # Ideal contacts that carry no load are released: their tangents then move freely.
            idle = impulse[::3] <= 1e-12 * np.abs(impulse).max()
            released = np.isinf(friction) and residual <= 1e-8 and idle.any()
            if away > 1e-5 and not released:
                failures.append(f"{name}: velocities differ by {away:.2g}")
            continue
        lam = exact(W, b, mu)
        # Contacts that jam have impulses far above b / W; the compliance acts on these.
        bias = ITERATED * max(1.0, np.abs(W * impulse).max() / np.abs(b).max())
        for solver, found, bound in (("exact", lam, LAWFUL), ("iterated", impulse, bias)):
            off = np.inf if found is None else measure_violation(W, b, mu, found)
            if off <= bound:
                results[f"{solver}: lawful"] += 1
            elif enumerate_solutions(W, b, mu) if contacts <= 3 else [None]:
                failures.append(f"{name}: {solver} violates the law by {off:.2g}")
            else:
                results[f"{solver}: none exists"] += 1
    return results, failures


def check_large(rng, count):
    """Return the violations of the law by both solvers for problems of 8 to 64 contacts."""
    results, failures = Counter(), []
    for number in range(count):
        contacts, kind = int(rng.integers(8, 65)), str(rng.choice(KINDS))
        friction = float(rng.uniform(0.05, 1.5))
        W, b, mu = random_problem(rng, contacts, kind, friction)
        begun = time.process_time()
        impulse, _, _ = solve_contact_impulses(W, b, mu)
        spent = time.process_time() - begun
        off = measure_violation(W, b, mu, impulse)
        results[f"violation below 1e{int(np.ceil(np.log10(max(off, 1e-12))))}"] += 1
        results["milliseconds"] += spent * 1e3
        if off > ITERATED * max(1.0, np.abs(W * impulse).max() / np.abs(b).max()):
            failures.append(
                f"{number}: {contacts} contacts, {kind}, mu {friction:.3g}: {off:.2g}, {spent:.2g} s"
            )
    return results, failures


def main():
    """Print results and failures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--small", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for check, count in ((check_small, given.small), (check_large, given.large)):
        results, failures = check(np.random.default_rng(given.seed), count)
        print(f"{check.__name__}: {count} problems")
        for name, number in sorted(results.items()):
            print(f"  {name}: {number:.6g}")
        print(f"  failures: {len(failures)}")
        for line in failures[:40]:
            print(f"    {line}")


if __name__ == "__main__":
    main()
