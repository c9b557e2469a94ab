"""The compiled engine equals the plain-Python reference, and itself without the compiler."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import klondike_env
from agents import make_agent
from klondike_env.games.klondike import kernels
from klondike_env.games.klondike.rules import PRESETS
from tests.lockstep import eager, play_both, play_random_mix

ROOT = Path(__file__).parent.parent

ID_AND_ACTIONS = [
    (env_id, actions)
    for env_id, rules in PRESETS.items()
    for actions in (("turn", "reach") if rules.allows_reach else ("turn",))
]


@pytest.mark.parametrize(("env_id", "actions"), ID_AND_ACTIONS)
def test_every_id_equals_the_reference(env_id: str, actions: str) -> None:
    rng = random.Random(env_id)
    for number in range(3):
        play_both(PRESETS[env_id], actions, number, eager(rng, actions), 200, "score")


@pytest.mark.parametrize("part", range(8))
def test_random_rules_equal_the_reference(part: int) -> None:
    for seed in range(30 * part, 30 * part + 30):
        play_random_mix(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_more_random_rules_equal_the_reference(part: int) -> None:
    for seed in range(1_000 + 100 * part, 1_100 + 100 * part):
        play_random_mix(seed)


@pytest.mark.parametrize(
    "env_id", ["Klondike-Draw1-v0", "Klondike-Thoughtful-Draw3-v0", "Klondike-Bicycle-v0"]
)
def test_games_that_guide_plays_equal_the_reference(env_id: str) -> None:
    """Long games, most of them won where draw 1 is played."""
    guide = make_agent("guide", PRESETS[env_id])
    outcomes = []
    for number in range(8):
        guide.reset(1, number)

        def choose(observation: Any, mask: Any, legal: list[int]) -> int:
            batch = {name: array[None] for name, array in observation.items()}
            return int(guide.act(batch, mask[None])[0])

        outcomes.append(play_both(PRESETS[env_id], guide.actions, number, choose, 300, "cards"))
    if env_id == "Klondike-Draw1-v0":
        assert outcomes.count("won") >= 3


HASH_GAMES = """
import hashlib, sys
import gymnasium as gym
import numpy as np
import klondike_env
digest = hashlib.sha256()
def add(value):
    if isinstance(value, dict):
        for key in sorted(value):
            add(value[key])
    elif isinstance(value, np.ndarray):
        digest.update(value.dtype.str.encode() if value.dtype != object else b"")
        digest.update(value.tobytes() if value.dtype != object else repr(value.tolist()).encode())
    else:
        digest.update(repr(value).encode())
rng = np.random.default_rng(3)
for env_id in klondike_env.ENV_IDS:
    rules = klondike_env.games.klondike.rules.PRESETS[env_id]
    for actions in ("turn", "reach") if rules.allows_reach else ("turn",):
        for observation in ("dict", "flat"):
            envs = gym.make_vec(
                env_id, num_envs=3, vectorization_mode="vector_entry_point", actions=actions,
                observation=observation, reward="progress", max_episode_steps=30,
            )
            obs, infos = envs.reset(seed=[1, 2, 3])
            add(obs)
            for _ in range(int(sys.argv[1])):
                step = envs.step(klondike_env.sample_actions(infos["action_mask"], rng))
                infos = step[4]
                for part in step:
                    add(part)
print(digest.hexdigest())
"""


def hash_games(steps: int, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", HASH_GAMES, str(steps)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_games_without_the_compiler_are_identical() -> None:
    assert hash_games(12, NUMBA_DISABLE_JIT="1") == hash_games(12)


@pytest.mark.slow
def test_no_index_leaves_its_array(tmp_path: Path) -> None:
    """Numba's bounds checks find nothing, and change nothing."""
    checked = hash_games(400, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert checked == hash_games(400)


def test_each_kernel_compiles_once_for_each_form_of_observation() -> None:
    """A dtype that drifts would compile anew in every process, unnoticed."""
    code = """
import gymnasium as gym, klondike_env, numpy as np
from klondike_env.games.klondike import kernels
for env_id in klondike_env.ENV_IDS:
    for options in ({}, {"draw_count": 2, "passes": 2}, {"illegal": "ignore"}, {"reward": "cards"}):
        env = gym.make(env_id, **options)
        env.reset(seed=np.int64(1))
        env.step(np.int64(0)) if env.unwrapped.action_masks()[0] else None
        env.reset(options={"deal": 5})
        envs = gym.make_vec(env_id, num_envs=2, vectorization_mode="vector_entry_point", **options)
        _, infos = envs.reset(seed=1)
        envs.step(infos["action_mask"].argmax(axis=1).astype(np.int32))
        envs.action_masks()
for name in ("start", "step", "observe", "write_masks"):
    print(name, len(getattr(kernels, name).signatures))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # With and without `face_down`.
    assert done.stdout.split() == ["start", "1", "step", "2", "observe", "2", "write_masks", "1"]


def test_kernels_are_compiled_here() -> None:
    """Else this file would compare plain Python with plain Python."""
    assert hasattr(kernels.step, "signatures")
    assert klondike_env.deals.deck(1).dtype == np.uint8
