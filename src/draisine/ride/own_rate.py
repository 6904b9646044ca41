"""Rides whose motion comes from the user's own equations of motion: `draisine ride --rate FILE.py:rate`.

The function `rate(t, y, u)` returns the time derivative of y = (theta, gamma, psi, x_C, y_C, phi, epsilon,
thetadot, gammadot, psidot), equation (49) of Escalona and Recuero (2012), doi:10.1007/s11044-011-9282-7.
With a leaning upper body its angle eta follows psi, and etadot follows psidot. The signs are those of
draisine. `u` contains the inputs by name: the torques of the joints (N m) and the components of the push (N).
"""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from math import ceil
from pathlib import Path

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError
from draisine.mechanics.formulations.bicycle.partitioned import Partitioned
from draisine.registry import find
from draisine.simulation.stepper import Stepper
from draisine.system.state import State
from draisine.system.system import System

Rate = Callable[[float, Floats, Mapping[str, float]], Floats]
"""Function of time (s), y and the inputs by name that returns the time derivative of y."""


@cache
def load_rate(which: str) -> Rate:
    """Return the user's function (FILE.py:function); the file is executed once.

    As for `python FILE.py`, the file can import modules of its own folder.
    """
    folder = str(Path(which.removesuffix(".py").partition(".py:")[0]).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    rate: Rate = find("rate", which)
    return rate


MAX_STEP = 1.0 / 50.0
"""Largest step (s) of the Runge-Kutta method, so that a frame at 60 Hz is one step.

The fastest eigenvalue of the benchmark bicycle below 10 m/s is -25 1/s; the method is stable up to steps
of 2.78 / 25 s.
"""


class OwnRateStepper:
    """A stepper of a bicycle whose motion is integrated with the user's function.

    The inputs are constant during a step, with their mean value. The control law of the rider, the contact
    forces and the other observations are those of the given stepper in the integrated state.

    Parameters
    ----------
    stepper
        Stepper of the same bicycle on the plane, at its initial state.
    rate
        The user's function.
    """

    def __init__(self, stepper: Stepper, rate: Rate) -> None:
        self._stepper = stepper
        self._rate = rate
        self._coordinates = Partitioned(stepper.system.model)
        self.y = self._coordinates.start(0.0, stepper.state)
        self._differentiate(0.0, self.y, self._inputs())

    @property
    def system(self) -> System:
        """The compiled system."""
        return self._stepper.system

    @property
    def time(self) -> float:
        """The present time, in s."""
        return self._stepper.time

    @property
    def state(self) -> State:
        """The present state."""
        return self._stepper.state

    @property
    def law_state(self) -> Floats:
        """The present states of the control law, including its commands."""
        return self._stepper.law_state

    def observe(self) -> dict[str, Floats]:
        """Return all observations of the present state by name, see `Stepper.observe`."""
        return self._stepper.observe()

    def values(self) -> dict[str, float]:
        """Return all values of the present state by name, see `Stepper.values`."""
        return self._stepper.values()

    def _inputs(self) -> dict[str, float]:
        """Return the inputs of the present instant by name, including those of the control law."""
        names = self._stepper.system.model.inputs
        return dict(zip(names, self._stepper.observe()["inputs"].tolist(), strict=True))

    def _differentiate(self, t: float, y: Floats, inputs: Mapping[str, float]) -> Floats:
        """Return the time derivative of y; raise an error if it has another size or is not finite."""
        try:
            ydot = np.asarray(self._rate(t, y.copy(), inputs), float)
        except Exception as error:  # errors of the user's code end the ride, not the server
            raise SimulationError(
                f"your function raised {type(error).__name__} at {t:.3f} s: {error}"
            ) from error
        if ydot.shape != y.shape:
            raise ParameterError(
                f"The function of this ride returned an array of shape {ydot.shape}; y has the shape "
                f"{y.shape}. Return the derivative of every number of y, in the same order."
            )
        if not np.isfinite(ydot).all():
            raise SimulationError(f"your function returned a value that is not finite at {t:.3f} s")
        return ydot

    def step(self, dt: float, inputs: Mapping[str, float] | None = None) -> None:
        """Advance by dt seconds in equal steps of the classical Runge-Kutta method."""
        if inputs:
            self._stepper.hold(inputs)
        for _ in range(steps := ceil(dt / MAX_STEP)):
            self._take_step(dt / steps)

    def _take_step(self, dt: float) -> None:
        """Advance by one step, with constant inputs."""
        start = self.time
        first = self._inputs()
        # The control law has states of its own, which advance with the motion of the package. That motion
        # also predicts the inputs at the end of the step; with their mean value the error is O(h^2).
        self._stepper.step(dt)
        last = self._inputs()
        held = {name: (first[name] + last[name]) / 2.0 for name in first}
        h = self.time - start
        if h == 0.0:
            return
        k1 = self._differentiate(start, self.y, held)
        k2 = self._differentiate(start + h / 2.0, self.y + h / 2.0 * k1, held)
        k3 = self._differentiate(start + h / 2.0, self.y + h / 2.0 * k2, held)
        k4 = self._differentiate(start + h, self.y + h * k3, held)
        self.y = self.y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        found = self._coordinates.leave(self.time, self.y)
        before = self._stepper.state
        self._stepper.move_to(
            State(found.q, found.p, found.r, found.v, before.joints, before.speeds)
        )
