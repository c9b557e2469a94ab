"""Deals: reported faults of seeds and shuffles, tried on every way of starting a game.

A letter and a number, such as D01, is the place of a public report in the list that these tests
retrace; the report follows. `test_deals.py` holds the golden decks.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import klondike_env
from klondike_env import ENV_IDS, deals
from tests.table import make_vec

ROOT = Path(__file__).parent.parent
WORD = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# The generator, written again from its description


def mix(value: int) -> int:
    """SplitMix64's output function."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & WORD
    return value ^ (value >> 31)


def plain_deck(number: int) -> list[int]:
    """Fisher-Yates from the top, bounded by Lemire's multiplication with rejection."""
    cards = list(range(52))
    state = mix(number ^ 0x4B6C6F6E64696B65)
    for i in range(51, 0, -1):
        while True:
            state = (state + GAMMA) & WORD
            product = (mix(state) >> 32) * (i + 1)
            if product % 2**32 >= 2**32 % (i + 1):
                break
        j = product >> 32
        cards[i], cards[j] = cards[j], cards[i]
    return cards


def test_decks_follow_their_documented_generator() -> None:
    rng = random.Random(1)
    numbers = [*range(300), *(2**k for k in range(8, 63)), *(2**k - 1 for k in range(8, 64))]
    numbers += [rng.randrange(2**63) for _ in range(1_500)]
    found = deals.decks(np.array(numbers))
    for number, deck in zip(numbers, found, strict=True):
        assert deck.tolist() == plain_deck(number), number


def test_all_ways_to_a_deck_agree() -> None:
    for number in (0, 5, 2**31, 2**32 + 1, 2**63 - 1):
        deck = plain_deck(number)
        for kind in (int, np.int64, np.uint64, np.array):
            assert deals.deck(kind(number)).tolist() == deck
        positions = []
        for start in ({"deal": number}, {"deck": deck}, {"deck": np.array(deck, dtype=np.uint8)}):
            env: Any = gym.make("Klondike-Draw3-v0").unwrapped
            env.reset(options=start)
            positions.append(env.position())
        assert positions[0] == positions[1] == positions[2]


# Fairness, for numbers of people, of a suite and of training streams


def stream_numbers(count: int) -> np.ndarray:
    streams = deals.streams_of_seed(3, count)
    return deals.next_numbers(streams)


@pytest.mark.parametrize("kind", ["people", "suite", "stream"])
def test_every_card_is_equally_often_everywhere(kind: str) -> None:
    """D05: TobiasBielefeld/Simple-Solitaire #86, johreh/gloomycompanion #39."""
    size = 20_000
    numbers = {
        "people": np.arange(size),
        "suite": np.array(deals.suite("test", size)),
        "stream": stream_numbers(size),
    }[kind]
    decks = deals.decks(numbers).astype(np.int64)
    assert (np.sort(decks, axis=1) == np.arange(52)).all()
    expected = size / 52
    places = np.bincount((decks + 52 * np.arange(52)).ravel(), minlength=52 * 52)
    assert abs(places - expected).max() < 5.5 * np.sqrt(expected)
    # Sums of permutation matrices: 51/52 of the statistic is chi-square with 51 * 51 degrees.
    statistic = ((places - expected) ** 2 / expected).sum() * 51 / 52
    assert abs(statistic - 51**2) < 5 * np.sqrt(2 * 51**2)
    # Neighbours in a deck: every ordered pair of different cards equally often.
    pairs = np.bincount((52 * decks[:, :-1] + decks[:, 1:]).ravel(), minlength=52 * 52)
    pairs = pairs[~np.eye(52, dtype=bool).ravel()]
    assert abs(pairs - expected).max() < 5.5 * np.sqrt(expected)
    # Fixed points, and cards that two neighbouring decks have in the same place: 1 each on average.
    for matches in (decks == np.arange(52), decks[1:] == decks[:-1]):
        per_deck = matches.sum(axis=1)
        assert abs(per_deck.mean() - 1) < 5 / np.sqrt(size)
        assert abs((per_deck == 0).mean() - np.exp(-1)) < 5 * 0.5 / np.sqrt(size)


def test_a_deck_has_both_parities_equally_often() -> None:
    """A shuffle with a swap range off by one makes permutations of one parity, or too few."""
    decks = deals.decks(np.arange(4_000)).astype(np.int64)
    inversions = (np.triu(decks[:, :, None] > decks[:, None, :], k=1)).sum(axis=(1, 2))
    assert abs((inversions % 2).mean() - 0.5) < 5 * 0.5 / np.sqrt(len(decks))
    assert abs(inversions.mean() - 52 * 51 / 4) < 5 * 127 / np.sqrt(len(decks))


# Seeds


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_seed_means_the_same_deals_in_every_id(env_id: str) -> None:
    """D01: Seed 0 is a seed, in all its types, and is not replaced by none."""
    # thecharlieblake/Solvitaire PR #46
    met = []
    for seed in (0, np.int64(0), np.uint8(0)):
        env = gym.make(env_id)
        _, info = env.reset(seed=seed)
        assert env.unwrapped.np_random_seed == 0
        met.append((info["deal"], env.reset()[1]["deal"]))
    assert len(set(met)) == 1
    expected = gym.make("Klondike-Draw3-v0")
    assert met[0][0] == expected.reset(seed=0)[1]["deal"]
    assert met[0][1] == expected.reset()[1]["deal"]
    assert gym.make(env_id).reset(seed=1)[1]["deal"] not in met[0]
    assert gym.make(env_id).reset()[1]["deal"] not in met[0]


@pytest.mark.parametrize("seed", [0, np.int64(0), np.uint8(0)])
def test_seed_0_is_a_seed_of_batches(seed: Any) -> None:
    """D01."""
    first = make_vec(num_envs=3)
    infos = first.reset(seed=seed)[1]
    assert first.np_random_seed == 0
    assert infos["deal"].tolist() == make_vec(num_envs=3).reset(seed=0)[1]["deal"].tolist()
    others = [make_vec(num_envs=3).reset(seed=s)[1]["deal"].tolist() for s in (1, None)]
    assert not set(infos["deal"].tolist()) & set(others[0] + others[1])
    listed = make_vec(num_envs=3).reset(seed=[seed, 1, None])[1]["deal"]
    assert listed[0] == gym.make("Klondike-Draw3-v0").reset(seed=0)[1]["deal"]


def test_seeds_of_any_size_start_different_streams() -> None:
    seeds = [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**128, 2**200, 10**100]
    env = gym.make("Klondike-Draw3-v0")
    envs = make_vec(num_envs=2)
    first = [env.reset(seed=seed)[1]["deal"] for seed in seeds]
    batch = [number for seed in seeds for number in envs.reset(seed=seed)[1]["deal"].tolist()]
    assert len(set(first + batch)) == 3 * len(seeds)
    assert [env.reset(seed=seed)[1]["deal"] for seed in seeds] == first


@pytest.mark.parametrize("seed", [-1, -(2**70), 1.0, "1", True, np.bool_(True), 1 + 0j, b"1"])
def test_what_is_no_seed_is_refused_and_changes_nothing(seed: Any) -> None:
    env: Any = gym.make("Klondike-Draw3-v0")
    envs = make_vec(num_envs=2)
    for some in (env.unwrapped, envs):
        some.reset(seed=1)
        before = some.get_state()
        with pytest.raises(ValueError, match="a seed is a whole number >= 0"):
            some.reset(seed=seed)
        assert (some.get_state() == before).all()
        assert some.np_random_seed == 1
    with pytest.raises(ValueError, match="a seed is a whole number >= 0"):
        envs.reset(seed=[3, seed])


def test_deals_never_repeat_without_a_seed_in_fresh_processes() -> None:
    """D03: girst/solvitaire-mirror #4."""
    code = """
import gymnasium as gym, klondike_env
env = gym.make("Klondike-Draw3-v0")
print(*[env.reset()[1]["deal"] for _ in range(5)])
envs = gym.make_vec("Klondike-Draw3-v0", num_envs=2, vectorization_mode="vector_entry_point")
print(*envs.reset()[1]["deal"], *envs.reset()[1]["deal"])
"""
    numbers = [int(number) for _ in range(2) for number in run_python(code).split()]
    assert len(set(numbers)) == len(numbers) == 18


# The same deal again


def test_a_restart_deals_the_same_again_and_again_also_elsewhere() -> None:
    """D02: shlomif/PySolFC #163, #209."""
    env: Any = gym.make("Klondike-Draw3-v0")
    observation, info = env.reset(seed=11)
    number, position = info["deal"], env.unwrapped.position()
    for _ in range(3):
        for _ in range(10):
            _, _, terminated, _, info = env.step(int(np.flatnonzero(info["action_mask"])[-1]))
            assert info["deal"] == number
            if terminated:
                break
        again, info = env.reset(options={"deal": info["deal"]})
        assert env.unwrapped.position() == position
        for key, array in observation.items():
            np.testing.assert_array_equal(again[key], array)
    code = f"""
import gymnasium as gym, json, klondike_env
env = gym.make("Klondike-Draw3-v0").unwrapped
shown = []
for start in (dict(options=dict(deal={number})), dict(seed=11), dict(options=dict(deal={number}))):
    env.reset(**start)
    shown.append(env.position())
    env.step(0)
print(json.dumps(shown))
"""
    assert json.loads(run_python(code)) == [position] * 3


def test_a_named_deal_does_not_move_the_stream_on() -> None:
    """What a player looks at between two training games changes no later game."""
    plain, other = gym.make("Klondike-Draw1-v0"), gym.make("Klondike-Draw1-v0")
    plain.reset(seed=3), other.reset(seed=3)
    position = other.unwrapped.position()  # type: ignore[attr-defined]
    for start in ({"deal": 5}, {"deck": range(52)}, {"position": position}):
        other.reset(options=start)
    assert plain.reset()[1]["deal"] == other.reset()[1]["deal"]
    plain_envs, other_envs = make_vec(num_envs=3), make_vec(num_envs=3)
    plain_envs.reset(seed=3), other_envs.reset(seed=3)
    for start in ({"deal": [5, 6, 7]}, {"deck": range(52)}, {"position": position}):
        other_envs.reset(options=start)
    np.testing.assert_array_equal(plain_envs.reset()[1]["deal"], other_envs.reset()[1]["deal"])


@pytest.mark.parametrize("given", [list, tuple, np.array, lambda d: np.array(d, dtype=np.uint64)])
def test_deals_of_a_batch_come_in_any_form(given: Any) -> None:
    numbers = [7, 0, 2**62, 7]
    envs = make_vec()
    _, infos = envs.reset(options={"deal": given(numbers)})
    assert infos["deal"].tolist() == numbers
    assert infos["deal"].dtype == np.int64
    for row, number in enumerate(numbers):
        single: Any = gym.make("Klondike-Draw3-v0").unwrapped
        single.reset(options={"deal": number})
        assert (single.get_state()["tableau"] == envs.get_state()["tableau"][row]).all()
    _, infos = envs.reset(options={"deal": given([9])[0]})
    assert infos["deal"].tolist() == [9] * 4


# Processes


def test_processes_deal_alike_whatever_their_surroundings() -> None:
    """D04: anntzer/redeal #22."""
    code = """
import random, sys
random.seed(int(sys.flags.hash_randomization) + 5); random.random()
import numpy as np
np.random.seed(3); np.random.random(100)
import gymnasium as gym, klondike_env
env = gym.make("Klondike-Draw3-v0")
envs = gym.make_vec("Klondike-Draw3-v0", num_envs=4, vectorization_mode="vector_entry_point")
print([klondike_env.deals.deck(n).tolist() for n in range(10)])
print([env.reset(seed=s)[1]["deal"] for s in range(5)], env.reset()[1]["deal"])
print(envs.reset(seed=1)[1]["deal"].tolist(), envs.reset()[1]["deal"].tolist())
"""
    printed = {
        run_python(code, PYTHONHASHSEED="0"),
        run_python(code, PYTHONHASHSEED="random", NUMBA_DISABLE_JIT="1"),
    }
    assert len(printed) == 1
    decks = json.loads(printed.pop().splitlines()[0])
    assert decks == [plain_deck(number) for number in range(10)]


# Training apart from evaluation


class Watcher:
    """Draws whenever it may, and keeps nothing."""

    def reset(self, num_envs: int, seed: int) -> None:
        pass

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return action_masks.argmax(axis=1)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_training_of_2000_games_meets_no_evaluation_deal(mode: AutoresetMode) -> None:
    """D09: Farama-Foundation/Gymnasium #422."""
    envs = make_vec(num_envs=8, autoreset_mode=mode, max_episode_steps=4)
    met: list[int] = []
    _, infos = envs.reset(seed=0)
    met += infos["deal"].tolist()
    ended = np.zeros(8, dtype=bool)
    while len(met) < 2_000:
        _, _, terminated, truncated, infos = envs.step(infos["action_mask"].argmax(axis=1))
        began = terminated | truncated if mode == AutoresetMode.SAME_STEP else ended
        ended = terminated | truncated
        met += infos["deal"][began].tolist()
    assert len(set(met)) == len(met)
    for name in deals.SUITES:
        result = klondike_env.evaluate(
            Watcher(), "Klondike-Draw3-v0", deals.suite(name, 500), max_episode_steps=5
        )
        evaluated = {record.deal for record in result.records}
        assert len(evaluated) == 500
        assert not evaluated & set(met)
