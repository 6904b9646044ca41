"""Largest acceleration and deceleration of a bicycle before a wheel lifts off, in closed form."""

from collections.abc import Mapping


def _masses(p: Mapping[str, float]) -> tuple[float, float, float]:
    """Return total mass (kg) and first moments of mass (kg m) about the rear contact, forward and upward."""
    bodies = [(p["mR"], 0.0, p["rR"]), (p["mB"], p["xB"], -p["zB"])]
    bodies += [(p["mH"], p["xH"], -p["zH"]), (p["mF"], p["w"], p["rF"])]
    mass = sum(m for m, _, _ in bodies)
    return mass, sum(m * x for m, x, _ in bodies), sum(m * z for m, _, z in bodies)


def _resistance(p: Mapping[str, float]) -> float:
    """Return the upward first moment of mass plus spin inertia / radius of both wheels, kg m.

    Multiplied by the acceleration, it is the pitching moment of all inertia forces about a contact.
    """
    return _masses(p)[2] + p["IRyy"] / p["rR"] + p["IFyy"] / p["rF"]


def brake_limit(p: Mapping[str, float]) -> tuple[float, float]:
    """Return the deceleration (m/s2) at which the rear wheel lifts off, and the front brake torque (N m).

    `p` contains the benchmark parameters of a bicycle. At lift-off, the moment of the weight about the front
    contact balances those of the inertia forces and of the decelerating wheels. The brake torque follows from
    the front contact force and the spin inertia of the front wheel.

    >>> from draisine.vehicles import parameter_set
    >>> print("{:.3f} m/s2, {:.1f} N m".format(*brake_limit(parameter_set("whipple", "benchmark"))))
    7.609 m/s2, 260.0 N m
    """
    mass, forward, _ = _masses(p)
    a = p["g"] * (mass * p["w"] - forward) / _resistance(p)
    return a, (mass + p["IRyy"] / p["rR"] ** 2) * a * p["rF"] + p["IFyy"] / p["rF"] * a


def wheelie_limit(p: Mapping[str, float]) -> tuple[float, float]:
    """Return the acceleration (m/s2) at which the front wheel lifts off, and the rear drive torque (N m).

    >>> from draisine.vehicles import parameter_set
    >>> print("{:.3f} m/s2, {:.1f} N m".format(*wheelie_limit(parameter_set("whipple", "benchmark"))))
    3.840 m/s2, 112.5 N m
    """
    mass, forward, _ = _masses(p)
    a = p["g"] * forward / _resistance(p)
    return a, (mass + p["IFyy"] / p["rF"] ** 2) * a * p["rR"] + p["IRyy"] / p["rR"] * a
