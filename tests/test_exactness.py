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
ALMOST_WON = {
    "tableau": [""] * 7, "foundations": {"C": 13, "D": 13, "H": 13, "S": 12}, "waste": "KS",
}
digest, endings = hashlib.sha256(), set()
def add(value):
    if isinstance(value, dict):
        for key in sorted(value):
            add([key, value[key]])
    elif isinstance(value, (list, tuple)):
        for part in value:
            add(part)
    elif isinstance(value, np.ndarray):
        digest.update(value.dtype.str.encode() if value.dtype != object else b"")
        digest.update(value.tobytes() if value.dtype != object else repr(value.tolist()).encode())
    else:
        digest.update(repr(value).encode())
def end(step):
    # Outcomes of the games that ended in this step.
    infos = step[4].get("final_info", step[4])
    return [infos["outcome"][row] or "truncated" for row in np.flatnonzero(step[2] | step[3])]
rng = np.random.default_rng(3)
for env_id in klondike_env.ENV_IDS:
    rules = klondike_env.games.klondike.rules.PRESETS[env_id]
    for actions in ("turn", "reach") if rules.allows_reach else ("turn",):
        for observation, mode in (("dict", "NextStep"), ("flat", "SameStep")):
            envs = gym.make_vec(
                env_id, num_envs=3, vectorization_mode="vector_entry_point", actions=actions,
                observation=observation, reward="progress", autoreset_mode=mode,
                max_episode_steps=int(sys.argv[2]),
            )
            for options in (None, {"position": ALMOST_WON}):
                obs, infos = envs.reset(seed=[1, 2, 3], options=options)
                add([obs, infos])
                for _ in range(int(sys.argv[1]) if options is None else 4):
                    step = envs.step(klondike_env.sample_actions(infos["action_mask"], rng))
                    infos = step[4]
                    add(step)
                    endings.update(end(step))
print(digest.hexdigest(), *sorted(endings))
"""


def hash_games(steps: int, limit: int, **environment: str) -> list[str]:
    """A hash of all that vector environments return, and the ways in which games ended."""
    done = subprocess.run(
        [sys.executable, "-c", HASH_GAMES, str(steps), str(limit)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_games_without_the_compiler_are_identical() -> None:
    """Every row goes through a reset of its own, and some games are won."""
    plain = hash_games(8, 5, NUMBA_DISABLE_JIT="1")
    assert plain == hash_games(8, 5)
    assert {"won", "truncated"} <= set(plain[1:])


@pytest.mark.slow
def test_no_index_leaves_its_array(tmp_path: Path) -> None:
    """Numba's bounds checks find nothing, and change nothing."""
    checked = hash_games(400, 150, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert checked == hash_games(400, 150)
    assert {"won", "stuck", "truncated"} <= set(checked[1:])


COUNT_SIGNATURES = """
import gymnasium as gym, klondike_env, numpy as np
from klondike_env import deals, sampling
from klondike_env.games.klondike import kernels, rules

rng = np.random.default_rng(1)
for env_id, preset in rules.PRESETS.items():
    for options in (
        {}, {"draw_count": 2, "passes": 2}, {"illegal": "ignore"}, {"reward": "cards"},
        {"observation": "flat"}, {"actions": "reach"} if preset.allows_reach else {},
    ):
        env = gym.make(env_id, **options)
        for start in ({}, {"deal": 5}, {"deck": list(range(52))}, {"deck": deals.deck(1)}):
            _, info = env.reset(seed=np.int64(1), options=start)
            env.step(np.int64(info["action_mask"].argmax()))
        env.reset(options={"position": env.unwrapped.position()})
        for mode, threads in (("NextStep", 1), ("SameStep", 2), ("Disabled", 1)):
            envs = gym.make_vec(
                env_id, num_envs=4, vectorization_mode="vector_entry_point", num_threads=threads,
                autoreset_mode=mode, max_episode_steps=3, **options,
            )
            _, infos = envs.reset(seed=1)
            for form in (list, np.int32, np.int64, np.uint8):
                masks = infos["action_mask"]
                drawn = klondike_env.sample_actions(masks, rng)
                infos = envs.step(form(drawn))[4]
            for form in (np.array, np.bool_, np.asfortranarray):
                klondike_env.sample_actions(form(masks), rng)
            envs.action_masks()
deals.next_numbers(np.zeros(1, dtype=np.uint64))
for module in (kernels, deals, sampling):
    for name, value in vars(module).items():
        if value.__class__.__name__ == "CPUDispatcher" and value.__module__ == module.__name__:
            if not value.targetoptions.get("forceinline"):
                print(name, len(value.signatures))
"""

# Observations come as dicts, with and without `face_down`, and as one row.
SIGNATURES = {
    "start": 1,
    "refresh": 1,
    "find_illegal": 1,
    "write_masks": 1,
    "observe": 3,
    "step": 3,
    "_shuffle_decks": 1,
    "_advance_streams": 1,
    "_sample": 1,
}


def test_each_kernel_compiles_once_for_each_form_of_observation() -> None:
    """A dtype that drifts would compile anew in every process, unnoticed."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT_SIGNATURES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert dict(zip(words[::2], map(int, words[1::2]), strict=True)) == SIGNATURES


def test_kernels_load_from_the_cache_without_the_compiler() -> None:
    """Readying the compiler takes as long as all else up to the first step."""
    code = (
        "import gymnasium as gym, klondike_env, sys; env = gym.make('Klondike-Draw3-v0');"
        "env.reset(seed=1); env.step(0); print('numba.np.linalg' in sys.modules)"
    )
    for _ in range(2):  # the first may have to compile
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
    assert done.stdout == "False\n"


def test_kernels_are_compiled_here() -> None:
    """Else this file would compare plain Python with plain Python."""
    assert hasattr(kernels.step, "signatures")
    assert klondike_env.deals.deck(1).dtype == np.uint8
