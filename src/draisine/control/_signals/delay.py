"""Signals that come late."""

from draisine.algebra.scalar import Array, Scalar


def delay(signal: Scalar, z: Array, time: float) -> tuple[Scalar, list[Scalar]]:
    """Return a signal as it was some time ago, by Pade of second order with the states z, and their
    rates, eq. [delay]; without a delay the signal itself.
    """
    if not time > 0.0:
        return signal, []
    a, b = 6.0 / time, 12.0 / (time * time)
    return signal - 2.0 * a * z[1], [z[1], signal - b * z[0] - a * z[1]]
