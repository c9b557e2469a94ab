"""Masks, limits and seeds as training libraries meet them: wrappers, workers, MaskablePPO."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import klondike_env
from klondike_env import IllegalMoveError, evaluate

ROOT = Path(__file__).parent.parent


def make_env() -> gym.Env[Any, Any]:
    return gym.make("Klondike-Draw3-v0", max_episode_steps=12)


@pytest.mark.parametrize("context", ["sync", "fork", "spawn"])
def test_sub_environments_play_different_deals_everywhere_alike(context: str) -> None:
    """R11: Farama-Foundation/Minigrid #173: all parallel environments played the same game."""

    def deals(envs: Any) -> list[list[int]]:
        met = [envs.reset(seed=7)[1]["deal"].tolist()]
        met += [envs.reset()[1]["deal"].tolist() for _ in range(2)]
        envs.close()
        return met

    expected = deals(SyncVectorEnv([make_env] * 8))
    assert len({deal for row in expected for deal in row}) == 24
    if context != "sync":
        assert deals(AsyncVectorEnv([make_env] * 8, context=context)) == expected


def test_the_id_may_name_the_package_for_processes_that_have_not_imported_it(
    tmp_path: Path,
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        """
import gymnasium as gym

if __name__ == "__main__":
    envs = gym.make_vec(
        "klondike_env:Klondike-Draw3-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
    )
    print(*envs.reset(seed=7)[1]["deal"])
    envs.close()
"""
    )
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = [gym.make("Klondike-Draw3-v0").reset(seed=seed)[1]["deal"] for seed in (7, 8)]
    assert list(map(int, done.stdout.split())) == expected


# Stable-Baselines3


@pytest.fixture(scope="module")
def sb3() -> Any:
    """sb3-contrib, whose imports may warn of what is none of our making."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("stable_baselines3")
        return pytest.importorskip("sb3_contrib")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore::UserWarning:torch")
def test_masked_ppo_trains_saves_and_plays_legally(sb3: Any, tmp_path: Any) -> None:
    """R01, R04, R18: sb3-contrib #212, #178, #226, #142."""
    import torch
    from sb3_contrib.common.maskable.evaluation import evaluate_policy
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    options = {"observation": "flat", "max_episode_steps": 60, "reward": "progress"}
    envs = make_vec_env(
        "Klondike-Draw1-v0", n_envs=2, seed=0, env_kwargs={**options, "render_mode": None}
    )
    model = sb3.MaskablePPO("MlpPolicy", envs, n_steps=64, batch_size=64, n_epochs=2, seed=0)
    model.learn(256)
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.policy.parameters())
    model.save(tmp_path / "model")
    model = sb3.MaskablePPO.load(tmp_path / "model")

    class Trained:
        def reset(self, num_envs: int, seed: int) -> None:
            pass

        def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
            actions, _ = model.predict(observations, action_masks=action_masks, deterministic=True)
            return np.asarray(actions)

    plain_options = {key: options[key] for key in ("observation", "max_episode_steps")}
    runs = [
        evaluate(Trained(), "Klondike-Draw1-v0", range(200), num_envs=n, **plain_options)
        for n in (200, 50)
    ]  # an illegal action would raise
    assert len(runs[0].records) == 200
    untimed = [[replace(record, seconds=0) for record in run.records] for run in runs]
    assert untimed[0] == untimed[1]
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=4, deterministic=True)
    assert np.isfinite(mean)

    plain = PPO("MlpPolicy", gym.make("Klondike-Draw1-v0", illegal="ignore", **options), n_steps=64)

    class Plain:
        def reset(self, num_envs: int, seed: int) -> None:
            pass

        def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
            return np.asarray(plain.predict(observations, deterministic=True)[0])

    with pytest.raises(IllegalMoveError, match=r"^deal \d"):
        evaluate(Plain(), "Klondike-Draw1-v0", range(20), **plain_options)
    lenient = evaluate(Plain(), "Klondike-Draw1-v0", range(20), illegal="ignore", **plain_options)
    assert len(lenient.records) == 20


def test_stable_baselines_makes_environments_by_id(sb3: Any) -> None:
    """`make_vec_env` asks for pictures, which needs nothing as long as none is drawn."""
    from stable_baselines3.common.env_util import make_vec_env

    assert make_vec_env("Klondike-Draw3-v0", n_envs=2).reset()["tableau"].shape == (2, 7, 19)


@pytest.mark.parametrize("start", ["none", "fork", pytest.param("spawn", marks=pytest.mark.slow)])
@pytest.mark.parametrize("actions", ["turn", "reach"])
def test_masks_are_found_through_wrappers(sb3: Any, start: str, actions: str) -> None:
    """R20: sb3-contrib PR #25, #279, #68."""
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    def make() -> Any:
        return Monitor(
            gym.make("klondike_env:Klondike-Draw3-v0", actions=actions, max_episode_steps=50)
        )

    size = {"turn": 87, "reach": 269}[actions]
    single = make()
    single.reset(seed=1)
    for name in ("action_masks", "get_state", "rules"):
        assert single.has_wrapper_attr(name)
    mask = single.get_wrapper_attr("action_masks")()
    assert (mask.dtype, mask.shape) == (np.bool_, (size,))
    envs: Any = (
        DummyVecEnv([make, make])
        if start == "none"
        else SubprocVecEnv([make, make], start_method=start)
    )
    try:
        assert is_masking_supported(envs)
        envs.seed(1)
        envs.reset()
        rng = np.random.default_rng(0)
        for _ in range(70):  # over automatic resets
            masks = np.stack(envs.env_method("action_masks"))
            np.testing.assert_array_equal(masks, get_action_masks(envs))
            assert (masks.dtype, masks.shape) == (np.bool_, (2, size))
            assert not masks.all(axis=1).any()
            envs.step(klondike_env.sample_actions(masks, rng))
    finally:
        envs.close()


def test_masked_out_actions_are_never_drawn(sb3: Any) -> None:
    """R22: ray-project/ray #24055: masked logits of 0 instead of minus infinity are still drawn."""
    import torch
    from sb3_contrib.common.maskable.distributions import MaskableCategorical

    rng = np.random.default_rng(0)
    for size in (87, 269):
        legal = rng.integers(size, size=100_000)
        masks = np.zeros((len(legal), size), dtype=np.int8)
        masks[np.arange(len(legal)), legal] = 1
        np.testing.assert_array_equal(klondike_env.sample_actions(masks, rng), legal)
    masks = gym.make("Klondike-Draw3-v0").reset(seed=1)[1]["action_mask"]
    for logit in (-1e6, -1e3, 0.0, 1e6):
        chances = MaskableCategorical(logits=torch.full((87,), logit), masks=masks).probs
        assert chances[masks == 0].sum() == 0
        assert chances.sum() == pytest.approx(1)
