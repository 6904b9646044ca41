"""Sensors: what a measuring device reads, how often, and with which errors; sensors as tables, for files.

A sensor is a record with a `name`, the names of its `channels` and a function `measure`, which returns the
ideal signals. It is traced, so `measure` must work with any scalar type, like force elements. The record
`Sampled` adds what all devices have in common: sampling rate, bias, noise and quantisation.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from draisine.algebra.scalar import Scalar
from draisine.errors import ModelError, did_you_mean, expect_known
from draisine.registry import find, names

if TYPE_CHECKING:
    from draisine.model.model import Model

ByChannel = float | Mapping[str, float]
"""A number for all channels of a sensor, or numbers by channel or group of channels."""

MAX_RATE = 1e9
"""Largest accepted sampling rate (Hz); a larger number is assumed to be a mistake."""


@dataclass(frozen=True, slots=True)
class SensorChannel:
    """One scalar signal of a sensor.

    Channels of a vector belong to a group: `specific_force_x` to `specific_force`.
    """

    name: str  # name within the sensor; empty if the sensor has only one channel
    unit: str  # SI unit
    meaning: str  # description in a few words

    @property
    def group(self) -> str:
        """Name without the axis (`_x`, `_y`, `_z`)."""
        return self.name[:-2] if self.name[-2:] in ("_x", "_y", "_z") else self.name


class Sensor(Protocol):
    """Protocol of sensors: ideal signals, sampling rate and errors."""

    @property
    def name(self) -> str:
        """Name of the sensor, the first part of the names of its signals in results."""

    @property
    def rate(self) -> float | None:
        """Sampling rate (Hz); None if the signal is continuous."""

    @property
    def seed(self) -> int:
        """Seed of the noise."""

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return the channels for a model; raise ModelError if a body, joint or contact does not exist."""

    def errors(self, model: "Model") -> tuple["ChannelErrors", ...]:
        """Return bias, noise and quantum of each channel."""

    def measure(self, readings: Any) -> Sequence[Scalar]:
        """Return the ideal signals, one per channel.

        Parameters
        ----------
        readings
            `mechanics.readings.SensorReadings` of the state, its accelerations and forces.
        """


@dataclass(frozen=True, slots=True)
class ChannelErrors:
    """Errors of one channel, in the unit of its signal."""

    bias: float  # constant offset
    noise: float  # standard deviation of Gaussian white noise, of each sample
    quantum: float  # step of quantisation; 0: none


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Sampling and errors, which all sensors have in common.

    A reading is `signal + bias + noise`, rounded to a multiple of `quantum`. It is taken at the start of the
    run and then every 1 / `rate` seconds, and stays constant in between. The noise of a reading depends only
    on the seed, the name of the sensor and the number of the reading. `bias`, `noise` and `quantum` are
    numbers for all channels, or tables by channel or group of channels, such as `{"specific_force": 0.02}`.

    Parameters
    ----------
    rate
        Sampling rate, Hz. None for a continuous signal, which has no noise.
    bias
        Constant offset, in the unit of the signal.
    noise
        Standard deviation of the Gaussian noise of each reading, in the unit of the signal.
    quantum
        Step of quantisation, in the unit of the signal; 0 for none.
    seed
        Seed of the noise.
    """

    rate: float | None = None
    bias: ByChannel = 0.0
    noise: ByChannel = 0.0
    quantum: ByChannel = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        where = f"sensor {getattr(self, 'name', '')!r}"
        if self.rate is not None and not (
            _is_finite_number(self.rate) and 0.0 < self.rate <= MAX_RATE
        ):
            raise ModelError(f"{where}: rate = {self.rate!r} must be a positive number, in Hz.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ModelError(f"{where}: seed = {self.seed!r} must be an integer.")
        for what in ("bias", "noise", "quantum"):
            for name, value in _as_table(getattr(self, what)).items():
                label = f"{what} of {name!r}" if name else what
                if not _is_finite_number(value):
                    raise ModelError(f"{where}: {label} = {value!r:.80} must be a finite number.")
                if what != "bias" and value < 0.0:
                    raise ModelError(f"{where}: {label} = {value} must not be negative.")
        if self.rate is None and any(_as_table(self.noise).values()):
            raise ModelError(
                f"{where}: noise requires samples, but the sensor has no sampling rate. Set `rate`, in "
                "Hz."
            )

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return the channels for a model; each sensor defines its own."""
        raise NotImplementedError

    def errors(self, model: "Model") -> tuple[ChannelErrors, ...]:
        """Return bias, noise and quantum of each channel for a model."""
        channels = self.channels(model)
        channel_names = {name for channel in channels for name in (channel.name, channel.group)}
        columns = []
        for what in ("bias", "noise", "quantum"):
            value = getattr(self, what)
            table = _as_table(value)
            for name in table if isinstance(value, Mapping) else ():
                if name not in channel_names:
                    raise ModelError(
                        f"sensor {getattr(self, 'name', '')!r}: {what} of an unknown channel {name!r}. "
                        f"{did_you_mean(name, sorted(channel_names))}"
                    )
            default = 0.0 if isinstance(value, Mapping) else float(value)
            columns.append(
                [float(table.get(c.name, table.get(c.group, default))) for c in channels]
            )
        return tuple(ChannelErrors(*entries) for entries in zip(*columns, strict=True))


def _as_table(value: ByChannel) -> Mapping[str, float]:
    """Return numbers by channel; a single number has an empty name."""
    return value if isinstance(value, Mapping) else {"": value}


def _is_finite_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def signal_name(sensor: Sensor, channel: SensorChannel) -> str:
    """Return the name of a signal in results: sensor and channel, such as `imu_specific_force_x`."""
    return f"{sensor.name}_{channel.name}" if channel.name else sensor.name


def build_sensor(table: Mapping[str, Any]) -> Sensor:
    """Return the sensor that a table describes: its `kind` (see `draisine list sensors`) and its options.

    Raises
    ------
    UnknownNameError
        If the kind is unknown.
    ModelError
        If an option is missing, unknown or wrong.

    Examples
    --------
    >>> build_sensor({"kind": "encoder", "name": "turns", "joint": "rear_wheel", "counts": 500}).joint
    'rear_wheel'
    """
    kind = table.get("kind")
    if not isinstance(kind, str):
        raise ModelError(f"A sensor table needs a `kind`. Available: {', '.join(names('sensor'))}.")
    sensor: Any = find("sensor", kind)
    options = {key: value for key, value in table.items() if key != "kind"}
    fields = {field.name: field for field in dataclasses.fields(sensor)}
    for name in options:
        expect_known(f"sensor {kind!r}: no option", name, fields, ModelError)
    for name, field in fields.items():
        has_default = (field.default, field.default_factory) != (dataclasses.MISSING,) * 2
        if name not in options and not has_default:
            raise ModelError(f"sensor {kind!r}: the option {name!r} is missing. Add it.")
    built: Sensor = sensor(**options)
    return built


def sensor_table(sensor: Sensor) -> dict[str, Any] | None:
    """Return the table that describes a sensor, see `build_sensor`; None if its kind has no name."""
    kind = next((name for name in names("sensor") if find("sensor", name) is type(sensor)), None)
    if kind is None:
        return None
    record: Any = sensor
    options = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {"kind": kind} | {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in options.items()
    }
