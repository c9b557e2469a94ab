"""Masks, limits and seeds as training libraries meet them: wrappers, workers, MaskablePPO."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import klondike_env
from klondike_env.games.klondike.rules import PRESETS


@pytest.mark.parametrize("env_id", klondike_env.ENV_IDS)
def test_a_running_game_always_has_a_legal_action(env_id: str) -> None:
    """entity-neural-network/incubator #186, sb3-contrib #279: masks that forbid everything."""
    for actions in ("turn", "reach") if PRESETS[env_id].allows_reach else ("turn",):
        envs = gym.make_vec(
            env_id, num_envs=64, vectorization_mode="vector_entry_point", actions=actions
        )
        _, infos = envs.reset(seed=1)
        rng = np.random.default_rng(1)
        for _ in range(300):
            assert infos["action_mask"].any(axis=1).all()
            assert set(np.unique(infos["action_mask"])) <= {0, 1}
            actions_now = klondike_env.sample_actions(infos["action_mask"], rng)
            _, _, _, _, infos = envs.step(actions_now)


def test_the_step_that_leaves_no_move_ends_the_game() -> None:
    """The last card of the last pass comes up and fits nowhere."""
    position = {
        "tableau": [
            "6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS",
            "(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS",
        ],
        "stock": "2C 3C 4C 5C 7C 9C JC KC 2S 3S 4S 5S 6S 7S 9S JS KS 2D 3D 4D 6D 8D QD TD",
        "redeals_left": 0,
    }  # fmt: skip
    env = gym.make("Klondike-Draw3-Pass3-v0", draw_count=24)
    _, info = env.reset(options={"position": position})
    assert np.flatnonzero(info["action_mask"]).tolist() == [0]
    _, _, terminated, truncated, info = env.step(0)
    assert (terminated, truncated, info["outcome"]) == (True, False, "stuck")


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lengths_and_returns_of_episodes(mode: AutoresetMode) -> None:
    """Farama-Foundation/Gymnasium #1017: off by one from the second episode on."""
    envs = gym.make_vec(
        "Klondike-Draw3-v0",
        num_envs=2,
        vectorization_mode="vector_entry_point",
        autoreset_mode=mode,
        max_episode_steps=3,
        reward="progress",
    )
    envs = RecordEpisodeStatistics(envs)
    _, infos = envs.reset(seed=1)
    rng = np.random.default_rng(1)
    paid, episodes = np.zeros(2), 0
    was_over = np.zeros(2, dtype=bool)
    while episodes < 20:
        actions = klondike_env.sample_actions(envs.unwrapped.action_masks(), rng)
        _, rewards, terminated, truncated, infos = envs.step(actions)
        paid = np.where(was_over & (mode == AutoresetMode.NEXT_STEP), 0, paid + rewards)
        over = terminated | truncated
        for row in np.flatnonzero(over):
            assert infos["episode"]["l"][row] == 3
            assert infos["episode"]["r"][row] == pytest.approx(paid[row])
            episodes += 1
            paid[row] = 0 if mode == AutoresetMode.SAME_STEP else paid[row]
        was_over = over


def make_env() -> gym.Env[Any, Any]:
    return gym.make("Klondike-Draw3-v0", max_episode_steps=12)


@pytest.mark.parametrize("context", ["sync", "fork", "spawn"])
def test_sub_environments_play_different_deals_everywhere_alike(context: str) -> None:
    """Farama-Foundation/Minigrid #173: all parallel environments played the same game."""

    def deals(envs: Any) -> list[list[int]]:
        met = [envs.reset(seed=7)[1]["deal"].tolist()]
        met += [envs.reset()[1]["deal"].tolist() for _ in range(2)]
        envs.close()
        return met

    expected = deals(SyncVectorEnv([make_env] * 8))
    assert len({deal for row in expected for deal in row}) == 24
    if context != "sync":
        assert deals(AsyncVectorEnv([make_env] * 8, context=context)) == expected


def make_monitored() -> Any:
    from stable_baselines3.common.monitor import Monitor

    return Monitor(TimeLimit(gym.make("Klondike-Draw1-v0", reward="progress"), 50))


@pytest.mark.parametrize("kind", ["DummyVecEnv", "SubprocVecEnv"])
def test_masks_are_found_behind_wrappers(kind: str) -> None:
    """sb3-contrib PR #25, #279, #68."""
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    envs = getattr(vec_env, kind)([make_monitored] * 2)
    try:
        envs.seed(1)
        envs.reset()
        for _ in range(60):
            masks = np.stack(envs.env_method("action_masks"))
            assert masks.shape == (2, 87)
            assert masks.dtype == np.bool_
            envs.step(np.array([np.flatnonzero(mask)[0] for mask in masks]))
    finally:
        envs.close()
    assert gym.make("Klondike-Draw1-v0").get_wrapper_attr("action_masks") is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_masked_model_trains_and_plays_no_illegal_action() -> None:
    """sb3-contrib #212: masks used in training but not in evaluation. Illegal ones raise here."""
    contrib = pytest.importorskip("sb3_contrib")
    from sb3_contrib.common.maskable.utils import get_action_masks

    env = make_monitored()
    model = contrib.MaskablePPO(
        "MultiInputPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=1, device="cpu"
    )
    model.learn(256)

    class Player:
        def reset(self, num_envs: int, seed: int) -> None:
            pass

        def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
            actions, _ = model.predict(
                observations, action_masks=action_masks.astype(bool), deterministic=True
            )
            return actions

    deals = klondike_env.deals.suite("validation", 50)
    result = klondike_env.evaluate(Player(), "Klondike-Draw1-v0", deals, max_episode_steps=40)
    assert result.games == 50
    env.reset(seed=1)
    assert get_action_masks(env).shape == (87,)
