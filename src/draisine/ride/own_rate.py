"""Rides that integrate the user's own equations of motion: `draisine ride --rate FILE.py:rate`.

The user's function `rate(t, y, u)` returns the time derivative of the state y = (theta, gamma, psi, x_C, y_C,
phi, epsilon, thetadot, gammadot, psidot), equation (49) of Escalona and Recuero (2012),
doi:10.1007/s11044-011-9282-7. If the bicycle has a leaning upper body, its angle eta follows psi in y, and
its rate etadot follows psidot. Signs are those of draisine. `u` contains the inputs by name: the torques of
the joints (N m) and the components of the disturbing force (N).
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
"""Type of the user's function: from time (s), state y and inputs by name to the time derivative of y."""


@cache
def load_rate(which: str) -> Rate:
    """Return the user's function, given as "FILE.py:function".

    The file is executed once. As with `python FILE.py`, it can import modules from its own folder.
    """
    folder = str(Path(which.removesuffix(".py").partition(".py:")[0]).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    rate: Rate = find("rate", which)
    return rate


MAX_STEP = 1.0 / 50.0
"""Largest step (s) of the Runge-Kutta method, so that a frame at 60 Hz needs one step. The method is stable
up to steps of 2.78 / 25 s, because the fastest eigenvalue of the benchmark bicycle below 10 m/s is -25 1/s.
"""


class OwnRateStepper:
    """A stepper that integrates the motion of a bicycle with the user's equations of motion.

    During a step the inputs have their mean value. The rider's control law, the contact forces and all other
    observations come from the package's stepper, evaluated in the integrated state.

    Parameters
    ----------
    stepper
        The package's stepper of the same bicycle on the plane, at its initial state.
    rate
        The user's function, which returns the time derivative of the state y.
    """

    def __init__(self, stepper: Stepper, rate: Rate) -> None:
        self._stepper = stepper
        self._rate = rate
        self._coordinates = Partitioned(stepper.system.model)
        self.y = self._coordinates.start(0.0, stepper.state)
        self._differentiate(0.0, self.y, self._inputs())

    @property
    def system(self) -> System:
        """The compiled system of the bicycle."""
        return self._stepper.system

    @property
    def time(self) -> float:
        """The current time, s."""
        return self._stepper.time

    @property
    def state(self) -> State:
        """The current state of the bicycle, see `State`."""
        return self._stepper.state

    @property
    def law_state(self) -> Floats:
        """The current states of the rider's control law, (states,), including the rider's commands."""
        return self._stepper.law_state

    def observe(self) -> dict[str, Floats]:
        """Return all observations in the current state by name, see `Stepper.observe`."""
        return self._stepper.observe()

    def values(self) -> dict[str, float]:
        """Return all outputs and coordinates in the current state by name, see `Stepper.values`."""
        return self._stepper.values()

    def _inputs(self) -> dict[str, float]:
        """Return the current inputs by name (N m or N), including the inputs that the control law sets."""
        names = self._stepper.system.model.inputs
        return dict(zip(names, self._stepper.observe()["inputs"].tolist(), strict=True))

    def _differentiate(self, t: float, y: Floats, inputs: Mapping[str, float]) -> Floats:
        """Call the user's function and return the time derivative of y (states,).

        An exception is raised if the function fails, or if its value has a wrong shape or is not finite.
        """
        try:
            ydot = np.asarray(self._rate(t, y.copy(), inputs), float)
        except Exception as error:  # errors of the user's code end the ride, not the server
            raise SimulationError(
                f"your function raised {type(error).__name__} at {t:.3f} s: {error}"
            ) from error
        if ydot.shape != y.shape:
            raise ParameterError(
                f"Your function returned an array of shape {ydot.shape}, but y has the shape {y.shape}. "
                "Return the time derivative of every number of y, in the same order."
            )
        if not np.isfinite(ydot).all():
            raise SimulationError(f"your function returned a value that is not finite at {t:.3f} s")
        return ydot

    def step(self, dt: float, inputs: Mapping[str, float] | None = None) -> None:
        """Advance the motion by `dt` (s) in equal steps of the classical Runge-Kutta method.

        `inputs` are new values of inputs by name, which stay constant until the next change.
        """
        if inputs:
            self._stepper.hold(inputs)
        for _ in range(steps := ceil(dt / MAX_STEP)):
            self._take_step(dt / steps)

    def _take_step(self, dt: float) -> None:
        """Advance the motion by one Runge-Kutta step of `dt` (s) with constant mean inputs."""
        start = self.time
        first = self._inputs()
        # Advance the package's own simulation first: it integrates the states of the control law, and
        # predicts the inputs at the end of the step. Their mean over the step makes the error O(h^2).
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
