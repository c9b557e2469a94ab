"""What the throughput benchmark measures: this project's environments and other simulators.

Each contender is a function that builds its simulator and returns ``play``; one call of ``play``
makes a short burst of uniformly random legal steps, with the observation and the legal actions on
every step, and returns how many it made. Deals count as time, not as steps. What is not
installed raises `MissingError` with its name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import gymnasium as gym
import numpy as np

from klondike_env import sample_actions

Play = Callable[[], int]

SINGLE_STEPS = 200  # in one burst of a simulator that plays one game at a time


class MissingError(Exception):
    """The simulator can't be measured here; the message names it and says why."""


@dataclass(frozen=True)
class Contender:
    """A named simulator; ``peer`` tells other projects' from our own."""

    name: str
    build: Callable[[], Play]
    peer: bool = False


def all_contenders() -> list[Contender]:
    """Every contender, our own first."""
    ours = [
        Contender(
            f"{env_id}, {actions}, {count:,} envs",
            partial(_vector, env_id, count, actions),
        )
        for env_id in ("Klondike-Draw1-v0", "Klondike-Draw3-v0")
        for actions in ("turn", "reach")
        for count in (64, 1024, 16384)
    ]
    return [
        *ours,
        Contender(
            "Klondike-Draw1-v0, turn, 16,384, 2 threads",
            partial(_vector, "Klondike-Draw1-v0", 16384, "turn", num_threads=2),
        ),
        Contender("Klondike-Draw1-v0, gymnasium.make", partial(_single, "Klondike-Draw1-v0")),
        Contender(
            "Klondike-Draw1-v0, gymnasium.make, a picture of every step",
            partial(_single, "Klondike-Draw1-v0", "rgb_array"),
        ),
        Contender(OPEN_SPIEL, _open_spiel, peer=True),
        Contender("OpenSpiel solitaire, rl_environment", _open_spiel_rl, peer=True),
        Contender(
            "EnvPool Blackjack, 1,024 envs", partial(_envpool, "Blackjack-v1", 1024), peer=True
        ),
        Contender(
            "EnvPool Play2048, 1,024 envs", partial(_envpool, "Play2048-v1", 1024), peer=True
        ),
        Contender("Gymnasium Blackjack, sync vector of 8", _gymnasium_blackjack, peer=True),
    ]


def _vector(env_id: str, count: int, actions: str, num_threads: int = 1) -> Play:
    envs = gym.make_vec(
        env_id,
        num_envs=count,
        vectorization_mode="vector_entry_point",
        actions=actions,
        num_threads=num_threads,
    )
    _, infos = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    masks = infos["action_mask"]
    ended = 0

    def play() -> int:
        nonlocal masks, ended
        chosen = sample_actions(masks, rng, num_threads)
        _, _, terminated, truncated, infos = envs.step(chosen)
        masks = infos["action_mask"]
        # A row that ended is dealt anew by the next step, which is no step of a game.
        steps = count - ended
        ended = int(np.count_nonzero(terminated | truncated))
        return steps

    return play


def _single(env_id: str, render_mode: str | None = None) -> Play:
    env = gym.make(env_id, render_mode=render_mode)
    _, info = env.reset(seed=0)
    rng = np.random.default_rng(0)
    try:
        if render_mode:
            env.render()
    except gym.error.DependencyNotInstalled as error:
        raise MissingError(f"{env_id}, {render_mode}: {error}, skipped") from None

    def play() -> int:
        nonlocal info
        for _ in range(SINGLE_STEPS):
            action = sample_actions(info["action_mask"][None], rng)[0]
            _, _, terminated, truncated, info = env.step(action)
            if render_mode:
                env.render()
            if terminated or truncated:
                _, info = env.reset()
        return SINGLE_STEPS

    return play


OPEN_SPIEL = "OpenSpiel solitaire, pyspiel"


def _open_spiel() -> Play:
    try:
        import pyspiel
        from open_spiel.python.observation import make_observation
    except ImportError:
        raise MissingError("open_spiel: not installed, skipped") from None
    game = pyspiel.load_game("solitaire")
    # The documented way to read a state's tensor as a NumPy array, and the fastest from Python:
    # `observation_tensor` goes through a list.
    observation = make_observation(game)
    uniform = random.Random(0).random
    state = game.new_initial_state()

    def play() -> int:
        nonlocal state
        steps = 0
        while steps < SINGLE_STEPS:
            if state.is_terminal():
                state = game.new_initial_state()
            elif state.is_chance_node():
                # Every card is equally likely, so no weights are needed.
                outcomes = state.chance_outcomes()
                state.apply_action(outcomes[int(uniform() * len(outcomes))][0])
            else:
                observation.set_from(state, 0)
                legal = state.legal_actions()
                state.apply_action(legal[int(uniform() * len(legal))])
                steps += 1
        return steps

    return play


def _open_spiel_rl() -> Play:
    try:
        from open_spiel.python import rl_environment
    except ImportError:
        raise MissingError("open_spiel: not installed, skipped") from None
    env = rl_environment.Environment("solitaire")
    env.seed(0)
    uniform = random.Random(0).random
    now = env.reset()

    def play() -> int:
        nonlocal now
        for _ in range(SINGLE_STEPS):
            if now.last():
                now = env.reset()
            legal = now.observations["legal_actions"][0]
            now = env.step([legal[int(uniform() * len(legal))]])
        return SINGLE_STEPS

    return play


def _envpool(env_id: str, count: int) -> Play:
    try:
        import envpool
    except ImportError:
        raise MissingError("envpool: not installed, skipped") from None
    if env_id not in envpool.list_all_envs():
        raise MissingError(f"envpool {env_id}: not in the installed version, skipped")
    envs = envpool.make(env_id, env_type="gymnasium", num_envs=count, num_threads=1, seed=0)
    envs.reset()
    rng = np.random.default_rng(0)
    actions = envs.action_space.n
    ended = 0

    def play() -> int:
        nonlocal ended
        # It gives no mask of legal actions: any action may be played.
        _, _, terminated, truncated, _ = envs.step(rng.integers(actions, size=count))
        steps = count - ended
        ended = int(np.count_nonzero(terminated | truncated))
        return steps

    return play


def _gymnasium_blackjack() -> Play:
    count = 8
    envs = gym.make_vec("Blackjack-v1", num_envs=count, vectorization_mode="sync")
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    ended = 0

    def play() -> int:
        nonlocal ended
        steps = 0
        for _ in range(SINGLE_STEPS // count):
            _, _, terminated, truncated, _ = envs.step(rng.integers(2, size=count))
            steps += count - ended
            ended = int(np.count_nonzero(terminated | truncated))
        return steps

    return play
