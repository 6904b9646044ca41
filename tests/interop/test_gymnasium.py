"""Environments of Gymnasium move as the package itself does."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import draisine
from draisine.errors import ParameterError, UnknownNameError
from draisine.scenario.library import read_template

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
rides = pytest.importorskip("draisine.interop.gymnasium")


@pytest.mark.parametrize("name", list(rides.TASKS))
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(f"draisine/{name}-v0").unwrapped)


def test_held_actions_are_inputs_of_a_run() -> None:
    env = rides.MachineEnv("Path")
    env.reset(seed=4)
    start = env.stepper.state
    system = env.stepper.system
    for _ in range(16):
        seen, *_ = env.step(np.array([0.02]))
    run = draisine.simulate(
        system, start, 0.5, inputs={"steer": 0.2}, numerics=draisine.Numerics(rtol=1e-12)
    ).to_xarray()
    expected = [float(run[name][-1]) for name in env.task.observed if name in run]
    named = [k for k, name in enumerate(env.task.observed) if name in run]
    assert len(named) > 4
    assert_allclose(seen[named], expected, atol=1e-6)  # 32 bits are seen


def test_the_agent_takes_the_place_of_laws(tmp_path) -> None:
    """Without actions the machine is left alone, as if its scenario had no law."""
    law = '[[law]]\nname = "steer_into_lean"\nlean_gain = 8.0\nrate_gain = 4.0\n'
    path = tmp_path / "held.toml"
    path.write_text(read_template("mauny2018/passive-stabilisation") + law, encoding="utf-8")
    held = rides.MachineEnv(replace(rides.TASKS["Balance"], scenario=str(path)))
    free = rides.MachineEnv("Balance")
    for env in (held, free):
        env.reset(seed=3)
    ends = [[env.step(np.zeros(1))[0] for _ in range(20)] for env in (held, free)]
    assert_allclose(ends[0], ends[1], atol=0.0)


def test_lanes_have_the_numbers_of_single_machines() -> None:
    """One lane and one machine, the same actions, over a fall and a new start."""
    task = replace(rides.TASKS["Balance"], duration=2.0)
    lanes = rides.MachineLanesEnv(task, 1)
    alone = rides.MachineEnv(task)
    many, _ = lanes.reset(seed=5)
    one, _ = alone.reset(seed=5)
    assert_array_equal(many[0], one)
    ended = False
    ends = []
    for k in range(80):
        action = np.array([1.0 if k < 40 else -0.05])
        many, reward, fell, over, values = lanes.step(action[None])
        if ended:
            one, _ = alone.reset()
            assert_array_equal([reward[0], fell[0], over[0]], 0)
            assert_array_equal(many[0], one)
            ended = False
            continue
        one, gained, *ends, known = alone.step(action)
        assert_array_equal([fell[0], over[0]], ends)
        assert_allclose(values["lean"][0], known["lean"], rtol=1e-12, atol=1e-14)
        assert_allclose(reward[0], gained, rtol=1e-12)
        ended = any(ends)
    assert lanes.count[0] < 80


def test_the_reward_of_a_jump_counts_the_lost_energy() -> None:
    """Energies before and after the landings: `mauny2018/ramp-jump`, an independent computation."""
    task = replace(rides.TASKS["Jump"], start={})
    env = rides.MachineEnv(task)
    env.reset(seed=0)
    total = 0.0
    lost = 0.0
    for _ in range(task.steps):
        _, reward, fell, over, values = env.step(np.zeros(2))
        assert not fell
        total = total + reward
        lost = lost + values["lost"]
    assert over
    assert_allclose(lost, 4913.610986384904 - 4357.323329126459, atol=1e-5)
    assert_allclose(total, 1.0 - lost / 1000.0)


def test_invalid_tasks_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'Balance'"):
        rides.MachineEnv("Balanc")
    with pytest.raises(ParameterError, match="MachineThreadsEnv"):
        rides.MachineLanesEnv("Jump")
    wrong = replace(rides.TASKS["Balance"], actions={"handlebar": 1.0})
    with pytest.raises(ParameterError, match="no input 'handlebar'"):
        rides.MachineEnv(wrong).reset()
    blind = replace(rides.TASKS["Balance"], observed={"leen": 1.0})
    with pytest.raises(ParameterError, match="Did you mean 'lean'"):
        rides.MachineEnv(blind).reset()


@pytest.mark.parametrize("threads", [1, 2])
def test_machines_on_terrain_over_threads_move_as_single_ones(monkeypatch, threads) -> None:
    """Three machines, each beside a single one from the same starts with the same actions, over the ends of
    episodes and new starts.
    """
    task = replace(rides.TASKS["Jump"], duration=0.25)
    starts = []
    drawn = rides.LearningTask.begin_many

    def record(self, random, count):
        states = drawn(self, random, count)
        starts.append(states)
        return states

    monkeypatch.setattr(rides.LearningTask, "begin_many", record)
    many = rides.MachineThreadsEnv(task, 3, threads=threads)
    seen, _ = many.reset(seed=5)
    singles = [rides.MachineEnv(task) for _ in range(3)]
    alone = [env.start(start) for env, start in zip(singles, starts[0], strict=True)]
    assert_array_equal(seen, [task.observation(values) for values in alone])
    ended = np.zeros(3, bool)
    for _ in range(2 * task.steps):
        actions = np.stack([[0.1, 0.2], [-0.1, 0.0], [0.0, 1.0]])
        seen, rewards, fell, over, _ = many.step(actions)
        new = iter(starts[-1] if ended.any() else [])
        for k, env in enumerate(singles):
            if ended[k]:
                expected = (task.observation(env.start(next(new))), 0.0, False, False)
            else:
                expected = env.step(actions[k])[:4]
            assert_array_equal(seen[k], expected[0])
            assert (rewards[k], fell[k], over[k]) == expected[1:]
        ended = fell | over
    assert any(starts[1:])
    many.close()


def test_a_vector_of_jumps_is_made_by_name() -> None:
    envs = gymnasium.make_vec(
        "draisine/Jump-v0", num_envs=2, vectorization_mode="vector_entry_point"
    )
    seen, _ = envs.reset(seed=1)
    assert seen.shape == (2, len(rides.TASKS["Jump"].observed))
    one, _ = rides.MachineThreadsEnv("Jump", 1).reset(seed=1)
    alone, _ = gymnasium.make("draisine/Jump-v0").reset(seed=1)
    assert_array_equal(one[0], alone)
    envs.close()


SENSED = """
kind = "run"
title = "A pendulum on two wheels with an IMU"
run = { until = 1.0 }
[vehicle]
name = "segway"
[[vehicle.sensors]]
kind = "imu"
name = "imu"
body = "BODY"
point = [0.0, 0.0, 0.5]
rate = RATE
noise = { specific_force = 0.05, angular_velocity = 0.01 }
"""


def sensed_task(folder, rate):
    body = draisine.compile("segway").model.bodies[0].name
    path = folder / "sensed.toml"
    path.write_text(SENSED.replace("BODY", body).replace("RATE", str(rate)))
    return rides.LearningTask(
        scenario=str(path),
        start={"pitch": (-0.1, 0.1)},
        observed={"imu_angular_velocity_y": 5.0, "imu_specific_force_x": 5.0},
        actions={"left": 5.0, "right": 5.0},
        reward=lambda values: -(values["pitch"] ** 2),
        failed=lambda values: abs(values["pitch"]) > 0.8,
    )


def test_sensors_in_lanes_are_those_of_single_machines(tmp_path) -> None:
    task = sensed_task(tmp_path, 64)
    single = rides.MachineEnv(task)
    single.reset(seed=1)
    lanes = rides.MachineLanesEnv(task, 3)
    threads = rides.MachineThreadsEnv(task, 3)
    seen, _ = lanes.reset(seed=3)
    others, _ = threads.reset(seed=3)
    assert_array_equal(seen, others)
    random = np.random.default_rng(0)
    for _ in range(8):
        actions = random.uniform(-1.0, 1.0, (3, 2)).astype(np.float32)
        assert_array_equal(lanes.step(actions)[0], threads.step(actions)[0])
    threads.close()


def test_each_episode_has_its_own_noise(tmp_path) -> None:
    env = rides.MachineEnv(sensed_task(tmp_path, 50))
    noise = []
    for seed in (1, 1, 2):
        _, values = env.reset(seed=seed)
        noise.append(values["imu_angular_velocity_x"])  # zero without noise
    assert noise[0] == noise[1] != noise[2]


def test_lanes_reject_readings_between_actions(tmp_path) -> None:
    with pytest.raises(ParameterError, match="multiple of the 32 Hz"):
        rides.MachineLanesEnv(sensed_task(tmp_path, 50), 2)
