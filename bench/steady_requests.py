"""Steady motions that exist must be found: `python bench/steady_requests.py [--count 200] [--seed 0]`.

Families of steady motions are computed by continuation: hands-free circles of the ideal bicycle (three
families), turns of bicycle and motorcycle at several speeds, slopes, braking and accelerating turns. Each
request takes a random motion of a random family and prescribes as many of its quantities as decide it. The
motion itself is withheld: `steady` has no start. A request is found if the result is steady and has the
prescribed quantities; it may be another motion that has them, too.
"""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine import compile
from draisine.analysis.continuation import family, steady_turns
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.equilibrium.balance import Balance
from draisine.errors import ConfigurationError
from draisine.mechanics.forces.linear_tyre import LinearTyre

HANDS_FREE = ("lean", "steer", "rear_wheel_speed", "yaw_rate", "curvature")
TURNS = ("forward_speed", "lean", "steer", "yaw_rate", "curvature", "steer_torque")
TOLERANCE = 1e-7  # of a prescribed quantity, relative to 1 + its value


@dataclass(frozen=True)
class Source:
    """Motions of one family, the quantities to prescribe, and how many of them decide a motion."""

    name: str
    points: tuple[Steady, ...]
    names: tuple[str, ...]
    count: int
    free: tuple[str, ...] = ()
    always: tuple[str, ...] = ()


def quantities(point: Steady, names: tuple[str, ...]) -> dict[str, float]:
    """Return the values of named quantities in a motion."""
    inputs = list(point.inputs)
    balance = Balance(point.machine, point.y, point.w, range(len(inputs)))
    found = balance.evaluate(point.y, point.w)
    known = [name for name in names if name != "forward_acceleration"]
    values, _ = balance.quantities(found, point.y, point.w, known)
    out = dict(zip(known, map(float, values), strict=True))
    return out | {name: point.acceleration for name in names if name not in known}


def sources() -> list[Source]:
    """Return the families."""
    bicycle = compile("whipple")
    out = []
    for kind in ("forward", "reversed", "pivoting"):
        points = steady_turns(bicycle, kind=kind, step=0.05).points[1:]
        out.append(Source(f"whipple, hands-free, {kind}", points, HANDS_FREE, 1))
    for v in (2.0, 3.0, 5.0, 8.0):
        out.append(turns("whipple", bicycle, v, 1.2, ("steer",)))
    tyre = LinearTyre(8000.0, 500.0, 0.1)
    tyred = compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    out.append(turns("whipple on tyres", tyred, 5.0, 0.7, ("steer", "rear_wheel")))
    for tyres in ("linear_tyre", "sharp_tyre"):
        motorcycle = compile("motorcycle", tyres=tyres)
        for v in (8.0, 20.0, 35.0):
            name = f"motorcycle on {tyres}"
            out.append(turns(name, motorcycle, v, 1.1, ("steer", "rear_wheel")))
        out += [accelerating(name, motorcycle, a) for a in (-4.0, 2.0)]
    out += [accelerating("whipple", bicycle, a) for a in (-3.0, -1.0, 2.0)]
    free = ("steer", "rear_wheel")
    uphill = tuple(
        steady(compile("whipple", slope=a), free=free, forward_speed=v, lean=0.0, steer=0.0)
        for a in np.linspace(-0.3, 0.3, 13)
        for v in (2.0, 5.0, 9.0)
    )
    out.append(Source("whipple on a slope", uphill, ("lean", "steer"), 1, free, ("forward_speed",)))
    return out


def turns(name: str, system: Any, v: float, lean: float, free: tuple[str, ...]) -> Source:
    """Return the turns at a speed, to a lean or a little beyond their fold."""
    upright = steady(system, free=free, forward_speed=v, lean=0.0)
    found = family(
        upright,
        {"lean": 1.0},
        free=free,
        keep=["forward_speed"],
        until={"lean": lean},
        step=0.05,
        most=60,
    )
    return Source(f"{name}, turns at {v:g} m/s", found.points[1:], TURNS, 2, free)


def accelerating(name: str, system: Any, a: float) -> Source:
    """Return accelerating turns."""
    free = ("steer", "rear_wheel")
    points = tuple(
        steady(system, free=free, forward_speed=v, lean=lean, forward_acceleration=a)
        for v in (6.0, 12.0)
        for lean in np.linspace(-0.5, 0.5, 6)
    )
    always = ("forward_acceleration",)
    return Source(
        f"{name}, {a:g} m/s2", points, ("forward_speed", "lean", "yaw_rate"), 2, free, always
    )


def is_found(point: Steady, asked: dict[str, float]) -> bool:
    """Return whether a motion is steady and has the prescribed quantities."""
    own = quantities(point, tuple(asked))
    near = all(abs(own[n] - x) <= TOLERANCE * (1.0 + abs(x)) for n, x in asked.items())
    balance = Balance(point.machine, point.y, point.w, [])
    residual, _ = balance.equations(point.y, point.w, {"forward_acceleration": point.acceleration})
    return near and float(np.abs(residual).max()) < TOLERANCE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    families = sources()
    found, seconds = 0, []
    for _ in range(given.count):
        source = families[rng.integers(len(families))]
        point = source.points[rng.integers(len(source.points))]
        chosen = rng.choice(len(source.names), source.count, replace=False)
        names = (*source.always, *(source.names[k] for k in chosen))
        asked = quantities(point, names)
        begun = time.perf_counter()
        try:
            motion = steady(point.machine.system, free=source.free, **asked)
            success = is_found(motion, asked)
            reason = "" if success else "the result does not have the prescribed quantities"
        except ConfigurationError as error:
            success, reason = False, str(error)
        seconds.append(time.perf_counter() - begun)
        found += success
        if not success:
            print(f"missed: {source.name}: {asked}; {point}\n  {reason}", flush=True)
    share = found / given.count
    middle, worst = np.median(seconds), np.max(seconds)
    print(
        f"found {found} of {given.count} ({100 * share:.1f} %), {middle:.3f} s median, {worst:.2f} s at most"
    )


if __name__ == "__main__":
    main()
