"""Bags of ROS 2 (rosbag2) from stored runs, written by the package rosbags, without ROS.

A bag is a folder with a file of messages and `metadata.yaml`. The messages are those of the node: clock,
odometry, transforms, joint states, one topic per IMU. Further scalar variables of the result (outputs and
their rates, energies, contact forces, sensors) become numbers on topics such as `/result/energy`, for plots
with PlotJuggler.
"""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError, import_extra
from draisine.interop.ros.messages import (
    RosMessage,
    RosRobot,
    clock_message,
    nanoseconds,
    scalar_message,
    topic_part,
)
from draisine.results.bodies import restore_model

if TYPE_CHECKING:
    from xarray import Dataset

BAG_VERSION = 9
"""Version of the metadata format of rosbag2, as ROS 2 Jazzy and newer write it."""

MESSAGE_VARIABLES = ("orientation", "position", "speeds", "accelerations", "shape", "inputs")
"""Variables of a result that the standard messages contain; they get no scalar topics."""

Storage = Literal["mcap", "sqlite3"]
"""Storage format of the messages in a bag."""


def export_bag(
    data: "Dataset", path: str | Path, storage: Storage = "mcap", base_frame: str | None = None
) -> None:
    """Write a stored run as a bag of ROS 2.

    Parameters
    ----------
    data
        Result of a run, in draisine's axes.
    path
        Folder of the bag; it must not exist.
    storage
        "mcap", the default of ROS 2 since Iron, or "sqlite3".
    base_frame
        Name of the base frame, see `RosRobot`.

    Raises
    ------
    DataError
        If the result is no run, its vehicle cannot be compiled again, or the folder exists.
    MissingPackageError
        If the package rosbags is not installed.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, forward_speed=2.0), 1.0).to_xarray()
    >>> export_bag(run, "disc-bag")  # doctest: +SKIP
    """
    rosbag2 = import_extra("rosbags.rosbag2", "ros")
    typesys = import_extra("rosbags.typesys", "ros")
    folder = Path(path)
    if folder.exists():
        raise DataError(f"{folder} exists. Choose another folder for the bag, or delete it.")
    robot = RosRobot(restore_model(data), base_frame)
    types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    plugin = getattr(rosbag2.StoragePlugin, storage.upper())
    try:
        with rosbag2.Writer(folder, version=BAG_VERSION, storage_plugin=plugin) as writer:
            connections = {}
            for t, topic, message in bag_messages(data, robot):
                kind = message.ros_type
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, kind, typestore=types)
                writer.write(connections[topic], nanoseconds(t), types.serialize_cdr(message, kind))
    except BaseException:
        # An interrupted bag has no metadata and cannot be read.
        shutil.rmtree(folder, ignore_errors=True)
        raise


def bag_messages(data: "Dataset", robot: RosRobot) -> Iterator[tuple[float, str, RosMessage]]:
    """Return the messages of a stored run in the order of time.

    Parameters
    ----------
    data
        Result of a run.
    robot
        The machine of the run.

    Returns
    -------
    iterator of tuple
        Time (s), topic and message.
    """
    scalars = scalar_series(data)
    times = data.time.values
    for sample in robot.samples(data):
        # The last of several samples at the same time, as in `RosRobot.samples`.
        k = int(np.searchsorted(times, sample.time, side="right")) - 1
        messages = {
            "/clock": clock_message(sample.time),
            "/odom": robot.odometry(sample),
            "/tf": robot.transforms(sample),
            "/joint_states": robot.joint_states(sample),
        }
        messages |= {f"/{topic_part(imu.name)}": robot.imu(sample, imu) for imu in robot.imus}
        messages |= {topic: scalar_message(values[k]) for topic, values in scalars.items()}
        for topic, message in messages.items():
            yield sample.time, topic, message


def scalar_series(data: "Dataset") -> dict[str, Floats]:
    """Return the scalar time series of a result by topic.

    Parameters
    ----------
    data
        Result of a run.

    Returns
    -------
    dict of arrays
        Series (times,) by topic, such as `/result/forward_speed` and
        `/result/contact_force/rear/normal`.
    """
    series: dict[str, Floats] = {}
    for name, variable in data.data_vars.items():
        is_number = np.issubdtype(variable.dtype, np.number) or variable.dtype == bool
        if variable.dims[:1] != ("time",) or name in MESSAGE_VARIABLES or not is_number:
            continue
        dims = variable.dims[1:]
        labels = [
            data[dim].values if dim in data.coords else range(data.sizes[dim]) for dim in dims
        ]
        columns = variable.values.reshape(len(data.time), -1)
        for k, label in enumerate(itertools.product(*labels)):
            topic = "/".join(topic_part(part) for part in (name, *label))
            series[f"/result/{topic}"] = columns[:, k].astype(float)
    return series
