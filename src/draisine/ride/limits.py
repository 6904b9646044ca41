"""Largest acceleration and deceleration of a bicycle before a wheel lifts off, in closed form.

The bicycle is upright, runs straight ahead and has a rigid rider. The parameters are those of the benchmark
bicycle (Meijaard et al. 2007) by name, in SI units; `zB` and `zH` are negative above the ground.
"""

from collections.abc import Mapping


def _masses(p: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the total mass (kg), and the first moments of mass (kg m) about the rear contact point.

    The first moments are the sums of mass times distance, forward and upward.
    """
    bodies = [(p["mR"], 0.0, p["rR"]), (p["mB"], p["xB"], -p["zB"])]
    bodies += [(p["mH"], p["xH"], -p["zH"]), (p["mF"], p["w"], p["rF"])]
    mass = sum(m for m, _, _ in bodies)
    return mass, sum(m * x for m, x, _ in bodies), sum(m * z for m, _, z in bodies)


def _resistance(p: Mapping[str, float]) -> float:
    """Return the pitching moment about a contact point per longitudinal acceleration, kg m.

    It is the moment of all inertia forces: the upward first moment of mass, plus spin inertia / radius of
    both wheels.
    """
    return _masses(p)[2] + p["IRyy"] / p["rR"] + p["IFyy"] / p["rF"]


def brake_limit(p: Mapping[str, float]) -> tuple[float, float]:
    """Return the deceleration (m/s2) at which the rear wheel lifts off, and the required front brake torque
    (N m).

    At lift-off, the moment of the weight about the front contact point balances the moment of the inertia
    forces and of the decelerating wheels. The brake torque follows from the front contact force and the spin
    inertia of the front wheel. `p` contains the parameters of the benchmark bicycle by name.

    >>> from draisine.vehicles import parameter_set
    >>> print("{:.3f} m/s2, {:.1f} N m".format(*brake_limit(parameter_set("whipple", "benchmark"))))
    7.609 m/s2, 260.0 N m
    """
    mass, forward, _ = _masses(p)
    a = p["g"] * (mass * p["w"] - forward) / _resistance(p)
    return a, (mass + p["IRyy"] / p["rR"] ** 2) * a * p["rF"] + p["IFyy"] / p["rF"] * a


def wheelie_limit(p: Mapping[str, float]) -> tuple[float, float]:
    """Return the acceleration (m/s2) at which the front wheel lifts off, and the required rear drive torque
    (N m).

    At lift-off, the moment of the weight about the rear contact point balances the moment of the inertia
    forces and of the accelerating wheels. `p` contains the parameters of the benchmark bicycle by name.

    >>> from draisine.vehicles import parameter_set
    >>> print("{:.3f} m/s2, {:.1f} N m".format(*wheelie_limit(parameter_set("whipple", "benchmark"))))
    3.840 m/s2, 112.5 N m
    """
    mass, forward, _ = _masses(p)
    a = p["g"] * forward / _resistance(p)
    return a, (mass + p["IFyy"] / p["rF"] ** 2) * a * p["rR"] + p["IRyy"] / p["rR"] * a
