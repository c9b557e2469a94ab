"""The bridge to Stable-Baselines3 gives what its own wrappers would give, for all rows at once."""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from agents.sb3 import SB3VecEnv
from klondike_env import sample_actions

LIMIT = 25


def bridge(num_envs: int = 4, env_id: str = "Klondike-Draw3-v0", **options: Any) -> SB3VecEnv:
    return SB3VecEnv(
        gym.make_vec(env_id, num_envs, "vector_entry_point", autoreset_mode="SameStep", **options)
    )


@pytest.mark.parametrize("observation", ["dict", "flat"])
@pytest.mark.parametrize("foundation_to_tableau", [True, False])
def test_the_bridge_does_what_dummy_vec_env_does(
    observation: str, foundation_to_tableau: bool
) -> None:
    options = {
        "observation": observation,
        "actions": "reach",
        "reward": "cards",
        "foundation_to_tableau": foundation_to_tableau,
        "max_episode_steps": LIMIT,
    }
    ours = bridge(**options)
    theirs = DummyVecEnv([lambda: Monitor(gym.make("Klondike-Draw3-v0", **options))] * 4)

    def check(mine: Any, other: Any) -> None:
        mine, other = (x if isinstance(x, dict) else {"": x} for x in (mine, other))
        assert mine.keys() == other.keys()
        for name in other:
            np.testing.assert_array_equal(mine[name], other[name])

    for envs in (ours, theirs):
        envs.seed(11)
    check(ours.reset(), theirs.reset())
    rng = np.random.default_rng(0)
    ends = {True: 0, False: 0}
    for _ in range(120):
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        actions = sample_actions(masks.view(np.int8), rng)
        mine, other = ours.step(actions), theirs.step(actions)
        check(mine[0], other[0])
        for place in (1, 2):
            np.testing.assert_array_equal(mine[place], other[place])
            assert mine[place].dtype == other[place].dtype
        for info, expected in zip(mine[3], other[3], strict=True):
            assert ("terminal_observation" in info) == ("terminal_observation" in expected)
            if info:
                check(info["terminal_observation"], expected["terminal_observation"])
                assert info["TimeLimit.truncated"] == expected["TimeLimit.truncated"]
                assert info["deal"] == expected["deal"]
                for name in "rl":
                    assert info["episode"][name] == expected["episode"][name]
                ends[info["TimeLimit.truncated"]] += 1
    assert ends[True] > 5
    if not foundation_to_tableau:
        assert ends[False] > 0


def test_masks_of_all_rows_come_in_one_array() -> None:
    """R20."""
    envs = bridge(3)
    envs.reset()
    assert is_masking_supported(envs)
    masks = envs.env_method("action_masks")
    assert isinstance(masks, np.ndarray)
    assert (masks.dtype, masks.shape) == (np.bool_, (3, 87))
    np.testing.assert_array_equal(envs.env_method("action_masks", indices=[2, 0]), masks[[2, 0]])
    np.testing.assert_array_equal(envs.env_method("action_masks", indices=1), masks[[1]])
    assert envs.get_attr("rules", indices=[0, 1]) == [envs.envs.rules] * 2
    assert envs.env_is_wrapped(Monitor) == [True] * 3
    assert envs.env_is_wrapped(gym.wrappers.TimeLimit) == [False] * 3


def test_seeds_and_options_hold_for_one_reset() -> None:
    envs = bridge(2)
    envs.seed(3)
    envs.reset()
    first = envs.envs.get_state()["deal"].tolist()
    assert first == [gym.make("Klondike-Draw3-v0").reset(seed=s)[1]["deal"] for s in (3, 4)]
    envs.set_options([{"deal": 7}, {"deal": 8}])
    envs.reset()
    assert envs.envs.get_state()["deal"].tolist() == [7, 8]
    envs.reset()
    assert not {*first, 7, 8} & set(envs.envs.get_state()["deal"].tolist())
    envs.set_options([{"deal": 7}, {}])
    with pytest.raises(ValueError, match="every row needs the same options"):
        envs.reset()


def test_what_the_bridge_cannot_do_it_refuses() -> None:
    with pytest.raises(ValueError, match="autoreset_mode='SameStep', not 'NextStep'"):
        SB3VecEnv(gym.make_vec("Klondike-Draw3-v0", 2, "vector_entry_point"))
    envs = bridge(2)
    with pytest.raises(ValueError, match="spec cannot be set"):
        envs.set_attr("spec", None)
    with pytest.raises(ValueError, match="close does not answer with one entry for each row"):
        envs.env_method("close")
    with pytest.raises(AttributeError):
        envs.env_method("no_such_method")
    assert not envs.has_attr("no_such_method")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore::UserWarning:torch")
def test_maskable_ppo_trains_on_the_bridge() -> None:
    """R01: masks, losses and weights stay what they should be."""
    import torch

    torch.set_num_threads(1)
    envs = bridge(16, observation="dict", reward="progress", max_episode_steps=50)
    model = MaskablePPO("MultiInputPolicy", envs, n_steps=16, batch_size=64, n_epochs=1, seed=0)
    model.learn(1024)
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.policy.parameters())
    assert len(model.ep_info_buffer) > 10
    assert all(info["l"] <= 50 for info in model.ep_info_buffer)


@pytest.mark.filterwarnings("error")
def test_evaluation_counts_whole_games_without_a_warning() -> None:
    class Random:
        def predict(self, observations: Any, **_: Any) -> Any:
            rng = np.random.default_rng(0)
            return sample_actions(envs.env_method("action_masks").view(np.int8), rng), None

    envs = bridge(2, max_episode_steps=LIMIT)
    envs.seed(3)  # no game of these gets stuck before the limit
    _, lengths = evaluate_policy(Random(), envs, n_eval_episodes=4, return_episode_rewards=True)  # type: ignore[arg-type]
    assert lengths == [LIMIT] * 4


@pytest.mark.slow
def test_the_bridge_is_fast() -> None:
    """About 600,000 steps a second on a quiet core; the bound leaves room for a busy machine."""
    envs = bridge(256, "Klondike-Draw1-v0")
    envs.reset()
    rng = np.random.default_rng(0)
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(300):
            masks = envs.env_method("action_masks")
            envs.step(sample_actions(masks.view(np.int8), rng))
        best = max(best, 300 * 256 / (time.perf_counter() - began))
    assert best > 150_000
