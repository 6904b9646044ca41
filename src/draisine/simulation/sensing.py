"""Readings of sensors: sampling, bias, noise and quantisation of the ideal signals of a run.

Readings are numbered from the start of the run: reading k is taken at the time k / rate after the start. The
noise is a function of seed, sensor and number of the reading (a counter-based generator). It therefore
depends neither on the spacing of samples nor on the division of time into calls of a stepper.

The generator is SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195), whose k-th number is a
hash of k, with the transformation of Box and Muller (1958, doi:10.1214/aoms/1177706645). Both are short
enough to be repeated in C: `interop/c/sensors.c` contains the same generator.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import SimulationError
from draisine.model import Model, Sensor
from draisine.model.sensor import signal_name
from draisine.system.system import System

if TYPE_CHECKING:
    from draisine.simulation.trajectory import Trajectory

GOLDEN_STEP = 0x9E3779B97F4A7C15
MIX_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Constants of the generator SplitMix64: increment of the counter, and factors of the hash."""

READING_TIME_TOLERANCE = 1e-9
"""Largest difference (s) between the time of a sample and of a reading that count as equal.

The rounding errors of sums of steps are smaller.
"""

WHOLE_STEP = 1e-6
"""Delay of a reading after the end of a step, in steps, with which it still belongs to this step.

`Stepper.step` has the same tolerance for rounding errors.
"""


def noise_key(sensor: Sensor, run_seed: int = 0) -> int:
    """Return the 64-bit key of the noise of a sensor, from its name, its seed and the seed of the run."""
    text = repr((sensor.name, sensor.seed, run_seed)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def normal_numbers(
    key: int | NDArray[np.uint64], ticks: NDArray[np.int64], channels: int
) -> Floats:
    """Return standard normal random numbers (channels, ticks) for the readings with numbers `ticks`.

    `key` is the 64-bit key of the sensor, or one key per reading.

    >>> ticks = np.arange(20_000)
    >>> draws = normal_numbers(1, ticks, 1)[0]
    >>> bool(abs(draws.mean()) < 0.03), bool(abs(draws.std() - 1.0) < 0.03)  # four standard errors
    (True, True)
    >>> bool((normal_numbers(1, ticks[7:9], 1)[0] == draws[7:9]).all())
    True
    """
    places = ticks.astype(np.uint64)[None, :] * np.uint64(channels)
    places = np.uint64(2) * (places + np.arange(channels, dtype=np.uint64)[:, None])
    first = _uniform(key, places)
    second = _uniform(key, places + np.uint64(1))
    # 1 - u is in (0, 1], so that its logarithm is finite.
    numbers: Floats = np.sqrt(-2.0 * np.log(1.0 - first)) * np.cos(2.0 * math.pi * second)
    return numbers


def _uniform(key: int | NDArray[np.uint64], places: NDArray[np.uint64]) -> Floats:
    """Return the numbers `places` of the SplitMix64 sequence of a key, as multiples of 2^-53 in [0, 1)."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64
        z = np.asarray(key, np.uint64) + (places + np.uint64(1)) * np.uint64(GOLDEN_STEP)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_FACTORS[0])
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_FACTORS[1])
        z = z ^ (z >> np.uint64(31))
    numbers: Floats = (z >> np.uint64(11)).astype(float) * 2.0**-53
    return numbers


def add_errors(
    model: Model,
    sensor: Sensor,
    ideal: Floats,
    ticks: NDArray[np.int64],
    key: int | NDArray[np.uint64],
) -> Floats:
    """Add bias, noise and quantisation to the ideal signals (channels, ticks) of a sensor.

    `ticks` are the numbers of the readings, and `key` is the `noise_key`, or one key per reading. Return the
    readings (channels, ticks).
    """
    errors = sensor.errors(model)
    readings = ideal + np.array([e.bias for e in errors])[:, None]
    deviation = np.array([e.noise for e in errors])[:, None]
    if deviation.any():
        readings = readings + deviation * normal_numbers(key, ticks, len(errors))
    for row, error in zip(readings, errors, strict=True):
        if error.quantum > 0.0:
            row[:] = error.quantum * np.rint(row / error.quantum)
    return readings


def signal_rows(model: Model) -> dict[str, slice]:
    """Return the slice of each sensor in the array (signals,) of all sensors, by name of the sensor."""
    rows = {}
    first = 0
    for sensor in model.sensors:
        count = len(sensor.channels(model))
        rows[sensor.name] = slice(first, first + count)
        first += count
    return rows


def signal_names(model: Model) -> list[str]:
    """Return the names of the signals of all sensors, in the order of the model."""
    return [
        signal_name(sensor, channel)
        for sensor in model.sensors
        for channel in sensor.channels(model)
    ]


class SensorSampler:
    """The latest readings of all sensors of a system that a stepper advances.

    A reading is taken at the end of the first step that reaches the time of the reading. Steps are counted
    from the start.
    """

    def __init__(self, system: System, start: float, dt: float, run_seed: int = 0) -> None:
        self.system = system
        self.model = system.model
        self.start = start  # s, time of the first reading
        self.dt = dt  # s, length of a step
        self.keys = {sensor.name: noise_key(sensor, run_seed) for sensor in self.model.sensors}
        self.rows = signal_rows(self.model)
        self.readings: Floats = np.full(sum(r.stop - r.start for r in self.rows.values()), np.nan)
        self._ticks = dict.fromkeys(self.rows, -1)  # number of the latest reading of each sensor

    def next_step(self, count: int) -> float:
        """Return the number of the next step after `count` at which a reading is due; infinity if none."""
        following = [
            _step_of_tick(self._tick(sensor, count) + 1, sensor.rate * self.dt)
            for sensor in self.model.sensors
            if sensor.rate is not None
        ]
        return min(following, default=math.inf)

    def is_due(self, count: int) -> bool:
        """Return whether a reading of a sensor with a rate is due at step `count`."""
        return any(
            sensor.rate is not None and self._tick(sensor, count) != self._ticks[sensor.name]
            for sensor in self.model.sensors
        )

    def _tick(self, sensor: Sensor, count: int) -> int:
        """Return the number of the latest reading at step `count`; 0 for a sensor without a rate."""
        if sensor.rate is None:
            return 0
        tick = math.floor(count * self.dt * sensor.rate + WHOLE_STEP * self.dt * sensor.rate)
        # Rounding can shift a reading by one step; the step of a reading is decisive.
        while _step_of_tick(tick + 1, sensor.rate * self.dt) <= count:
            tick += 1
        while tick > 0 and _step_of_tick(tick, sensor.rate * self.dt) > count:
            tick -= 1
        return tick

    def update(self, count: int, ideal: Floats) -> None:
        """Take the readings that are due at step `count`, from the ideal signals (signals,)."""
        for sensor in self.model.sensors:
            tick = self._tick(sensor, count)
            if sensor.rate is not None and tick == self._ticks[sensor.name]:
                continue
            self._ticks[sensor.name] = tick
            rows = self.rows[sensor.name]
            ticks = np.array([tick])
            column = ideal[rows][:, None]
            key = self.keys[sensor.name]
            self.readings[rows] = add_errors(self.model, sensor, column, ticks, key)[:, 0]

    def stamp(self, sensor: Sensor) -> float:
        """Return the time (s) of the latest reading of a sensor with a rate."""
        assert sensor.rate is not None
        return self.start + self._ticks[sensor.name] / sensor.rate

    def values(self) -> dict[str, float]:
        """Return the latest readings by name of the signal."""
        return dict(zip(signal_names(self.model), self.readings.tolist(), strict=True))


def _step_of_tick(tick: int, ticks_per_step: float) -> int:
    """Return the number of the first step at or after reading number `tick`."""
    return math.ceil(tick / ticks_per_step - WHOLE_STEP)


def run_readings(run: "Trajectory") -> dict[str, tuple[Floats, Floats]]:
    """Return times (s, (readings,)) and readings (channels, readings) of each sensor of a run, by name.

    A sensor without a rate has one reading per sample. With an adaptive integrator, readings are taken
    exactly at their times; with equal steps, at the first sample at or after them.
    """
    model = run.arcs[0].machine.system.model
    start = float(run.t[0])
    ideal_of: dict[int, Floats] = {}
    rows = signal_rows(model)
    readings = {}
    runs = [run]
    # High rates first: a run that is sampled at a high rate also serves its integer fractions.
    for sensor in sorted(model.sensors, key=lambda s: -(s.rate or math.inf)):
        if sensor.rate is None:
            times = run.t
            source = run
            places = np.arange(len(times))
            ticks = np.zeros(len(times), dtype=np.int64)
        else:
            ticks = np.arange(
                math.floor((float(run.t[-1]) - start + READING_TIME_TOLERANCE) * sensor.rate) + 1
            )
            times = start + ticks / sensor.rate
            source = _find_source(run, runs, times, sensor.rate)
            places = _places_of(source.t, times)
        key = id(source)
        if key not in ideal_of:
            ideal_of[key] = _ideal_signals(source)
        ideal = ideal_of[key][rows[sensor.name]][:, places]
        readings[sensor.name] = (times, add_errors(model, sensor, ideal, ticks, noise_key(sensor)))
    return readings


def _find_source(
    run: "Trajectory", runs: list["Trajectory"], times: Floats, rate: float
) -> "Trajectory":
    """Return a run with samples at the `times` (s) of the readings of a sensor with a rate (Hz).

    If none of `runs` has such samples, repeat the run with other sample times, which do not change the
    motion, and append it to `runs`.
    """
    for candidate in runs:
        distance = np.abs(candidate.t[_places_of(candidate.t, times)] - times)
        if (distance <= READING_TIME_TOLERANCE).all():
            return candidate
    task = run.task
    if task is None or run.simulate is None or not task.numerics.method.ADAPTIVE:
        return run
    numerics = replace(task.numerics, dt=1.0 / rate)
    try:
        again = run.simulate(replace(task, numerics=numerics, progress=None))
    except SimulationError as error:
        if error.partial is None:
            return run
        again = error.partial
    runs.append(again)
    return again


def _places_of(samples: Floats, times: Floats) -> NDArray[np.int64]:
    """Return the index of the first sample at or after each time (s).

    If there are several samples at this time, because of an event, return the last of them.
    """
    first = np.searchsorted(samples, times - READING_TIME_TOLERANCE)
    last = np.searchsorted(samples, times + READING_TIME_TOLERANCE, side="right") - 1
    return np.minimum(np.maximum(first, last), len(samples) - 1)


def _ideal_signals(run: "Trajectory") -> Floats:
    """Return the ideal signals (signals, samples) of all sensors at the samples of a run."""
    poses = [arc.pose() for arc in run.arcs]
    q, p = (np.concatenate([pose[k] for pose in poses], axis=1) for k in range(2))
    r = np.concatenate([arc.y[:, arc.machine.layout.r] for arc in run.arcs]).T
    system: System = run.arcs[0].machine.system
    return system.ideal_signals(q, p, r, run.observations)


def held_readings(run: "Trajectory") -> dict[str, Floats]:
    """Return the latest reading of each signal at the samples of a run, (samples,), by name of the signal."""
    model = run.arcs[0].machine.system.model
    values: dict[str, Floats] = {}
    readings = run_readings(run) if model.sensors else {}
    for sensor in model.sensors:
        times, columns = readings[sensor.name]
        places: Sequence[int] | NDArray[np.int64] = np.arange(len(times))
        if sensor.rate is not None:
            places = np.searchsorted(times, run.t + READING_TIME_TOLERANCE, side="right") - 1
        for channel, row in zip(sensor.channels(model), columns, strict=True):
            values[signal_name(sensor, channel)] = row[places]
    return values
