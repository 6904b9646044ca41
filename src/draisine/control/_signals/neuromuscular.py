"""Dynamics of the rider between commanded and applied torque: transport delay and muscles."""

from dataclasses import dataclass

from draisine.algebra.scalar import Array, Scalar
from draisine.control._signals.delay import delay
from draisine.errors import ParameterError


def lag(signal: Scalar, z: Array, frequency: float, damping: float) -> tuple[Scalar, list[Scalar]]:
    """Return a signal filtered by `w^2 / (s^2 + 2 d w s + w^2)`, and the rates of the filter states
    z.

    `frequency` is w in rad/s, `damping` is d. The states are the filtered signal and its rate.
    """
    w = frequency
    return z[0], [z[1], w * w * (signal - z[0]) - 2.0 * damping * w * z[1]]


@dataclass(frozen=True)
class Neuromuscular:
    """Transport delay and neuromuscular lag between the rider's command and the applied torque.

    The delay is Padé's approximation, eq. [delay]; the muscles are a second-order lag, as in Hess,
    Moore and Hubbard 2012, doi:10.1109/TSMCA.2011.2164244. Without either, the torque is the
    command. A rider who knows the states of delay and muscles predicts the motion over the delay,
    as the human operator of Kleinman, Baron and Levison 1970, doi:10.1016/0005-1098(70)90051-8,
    does.

    Parameters
    ----------
    delay
        Transport delay, s.
    order
        Order of Padé's approximation. At order 4 and a delay of 0.2 s, the phase error stays below
        0.001 rad up to 15 rad/s.
    frequency
        Natural frequency of the muscles, rad/s. None leaves them out.
    damping
        Damping ratio of the muscles.

    Examples
    --------
    >>> Neuromuscular(delay=0.2, frequency=30.0).states
    6
    """

    delay: float = 0.0
    order: int = 4
    frequency: float | None = None
    damping: float = 0.707

    def __post_init__(self) -> None:
        if not 0.0 <= self.delay < float("inf"):
            raise ParameterError(f"delay = {self.delay} s must not be negative or infinite.")
        if isinstance(self.order, bool) or self.order not in range(1, 13):
            raise ParameterError(f"order = {self.order} must be an integer from 1 to 12.")
        if self.frequency is not None and not self.frequency > 0.0:
            raise ParameterError(
                f"frequency = {self.frequency} rad/s must be positive; None leaves the muscles out."
            )
        if not self.damping > 0.0:
            raise ParameterError(f"damping = {self.damping} must be positive.")

    @property
    def delay_states(self) -> int:
        """Number of states of the delay."""
        return self.order if self.delay > 0.0 else 0

    @property
    def states(self) -> int:
        """Number of states of delay and muscles."""
        return self.delay_states + (0 if self.frequency is None else 2)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of delay and muscles."""
        delayed = tuple(f"delay_{k}" for k in range(1, self.delay_states + 1))
        return delayed if self.frequency is None else (*delayed, "torque", "torque_rate")

    def __call__(self, command: Scalar, z: Array) -> tuple[Scalar, list[Scalar]]:
        """Return the applied torque for a command and the states z, and the rates of z."""
        count = self.delay_states
        torque, rates = delay(command, z[:count], self.delay)
        if self.frequency is None:
            return torque, rates
        torque, lag_rates = lag(torque, z[count:], self.frequency, self.damping)
        return torque, [*rates, *lag_rates]
