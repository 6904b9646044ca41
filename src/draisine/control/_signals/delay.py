"""Transport delay as a rational transfer function, so that delayed loops have eigenvalues."""

from draisine.algebra.scalar import Array, Scalar


def delay(signal: Scalar, z: Array, time: float) -> tuple[Scalar, list[Scalar]]:
    """Return a delayed signal by Padé's approximation of order len(z), eq. [delay].

    `exp(-p) = (1 - Z) / (1 + Z)` with `Z = tanh(p / 2)`, and the continued fraction
    `1 / Z = 1 / q + 1 / (3 / q + 1 / (5 / q + ...))`, `q = p / 2`, is a ladder of integrators. Cut
    after n of them it is Padé's [n/n] function, with states of the magnitude of the signal. The
    phase error is `(w T)^(2 n + 1) (n!)^2 / ((2 n)! (2 n + 1)!)` at the angular frequency w.

    Parameters
    ----------
    signal
        Current value of the signal.
    z
        States of the ladder, shape (n,). At a constant signal the first is the signal, the others
        are zero.
    time
        Delay T, s. Without a delay, the signal itself is returned, without rates.

    Returns
    -------
    tuple
        The delayed signal, and the n rates of z.

    Examples
    --------
    >>> delay(3.0, [3.0, 0.0, 0.0], 0.2)  # a constant signal is not changed
    (3.0, [0.0, 0.0, 0.0])
    """
    if not time > 0.0:
        return signal, []
    order = len(z)
    # flow[k] is the input of integrator k + 1. Every second one contains the difference to the
    # signal.
    flow: list[Scalar] = [0.0] * (order + 2)
    flow[order] = signal - sum(z[1:], z[0])
    for k in range(order - 1, 0, -1):
        flow[k] = z[k] + flow[k + 2] if k + 2 <= order else z[k]
    rates = [(2.0 * (2 * k - 1) / time) * flow[k] for k in range(1, order + 1)]
    return signal - 2.0 * flow[1], rates
