"""`draisine ros`: a ROS 2 node that simulates a vehicle or scenario."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_START_OPTIONS,
    MachineOptions,
    StartOptions,
)
from draisine.cli.export import check_no_vehicle_options, is_scenario

if TYPE_CHECKING:
    from draisine.simulation.stepper import Stepper


def ros(
    vehicle: str,
    /,
    *,
    rate: float = 50.0,
    speed: float = 1.0,
    base_frame: str | None = None,
    links: Annotated[bool, Parameter(negative="--no-links")] = True,
    stamped: bool = False,
    name: str = "draisine",
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    begin: StartOptions = NO_START_OPTIONS,
) -> None:
    """Simulate a vehicle as a ROS 2 node: cmd_vel in; odom, tf, joint_states, imu and clock out.

    The node needs an active ROS 2 installation (rclpy). Ctrl-C stops it. Arguments after --ros-args belong to
    ROS: --ros-args -r cmd_vel:=robot/cmd_vel

    Parameters
    ----------
    vehicle
        Name of a vehicle, FILE.py:function, or a scenario of a run (FILE.toml), for a terrain and for the law
        cmd_vel.
    rate
        Publishing rate in Hz.
    speed
        Simulated seconds per second; 1 is real time.
    base_frame
        Name of the base frame. Default: base_link, or base_footprint if the root body has this name.
    links
        Publish the transforms of all bodies. Use --no-links if robot_state_publisher runs.
    stamped
        Subscribe to cmd_vel as TwistStamped instead of Twist.
    name
        Name of the node.
    """
    from draisine.interop.ros.node import import_rclpy, run_node

    # Report a missing ROS before the machine is compiled, because this takes seconds.
    import_rclpy()
    options = {"rate": rate, "speed": speed, "base_frame": base_frame, "links": links}
    stepper = _make_stepper(vehicle, machine, begin)
    run_node(stepper, name, stamped=stamped, **options)


def _make_stepper(vehicle: str, machine: MachineOptions, begin: StartOptions) -> "Stepper":
    """Return the simulation of a vehicle or scenario; a machine without an IMU gets an ideal one."""
    from draisine.experiment.simulator import load_run, parse_law, parse_start
    from draisine.interop.ros.messages import add_imu
    from draisine.scenario.validate.vehicle import build_system
    from draisine.simulation.options import ContactOptions
    from draisine.simulation.stepper import Stepper

    if is_scenario(vehicle):
        check_no_vehicle_options(vehicle, machine, begin)
        plan = load_run(vehicle)
        return Stepper(
            add_imu(plan.system),
            plan.copy_state(),
            terrain=plan.terrain,
            law=plan.law,
            contact=plan.contact,
        )
    system = add_imu(build_system(vehicle, machine.parameters, machine.parameter_set))
    start = parse_start(system, begin.values, begin.statuses)
    law = parse_law(system, begin.laws, begin.values)
    return Stepper(system, start, law=law, contact=ContactOptions(mode=begin.statuses or None))
