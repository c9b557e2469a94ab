"""Plays the compiled engine and the plain-Python reference side by side and compares everything."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import klondike_env
from klondike_env import KlondikeRules
from klondike_env.games.base import REWARDS
from tests.reference.klondike import Game

Choose = Callable[[Any, Any, list[int]], int]
"""(observation, mask, legal actions) -> action"""


def random_rules(rng: random.Random) -> KlondikeRules:
    """A random mix of all options."""
    scoring = rng.choice(["win", "standard", "vegas"])
    options: dict[str, Any] = {
        "draw_count": rng.choice([1, 2, 3, 3, 4, 5, 7, 12, 23, 24]),
        "passes": rng.choice([None, None, 1, 2, 3, 5]),
        "run_moves": rng.choice(["partial", "whole", "same_suit"]),
        "foundation_to_tableau": rng.random() < 0.5,
        "forced_aces": rng.random() < 0.4,
        "cards_known": rng.random() < 0.25,
        "scoring": scoring,
    }
    if scoring == "vegas":
        options |= {"stake": rng.choice([0, 50, 52]), "cumulative": rng.random() < 0.5}
    if scoring == "standard":
        options |= {
            "free_redeals": rng.choice([None, 0, 1, 4]),
            "redeal_penalty": rng.choice([None, 0, 20, 100]),
            "seconds_per_move": rng.choice([0, 0, 1, 3, 12, 40]),
        }
    return KlondikeRules(**options)


def eager(rng: random.Random, actions: str) -> Choose:
    """Mostly plays up or turns up, seldom draws back: wins far more often than chance."""

    def choose(observation: Any, mask: Any, legal: list[int]) -> int:
        if rng.random() < 0.15:
            return rng.choice(legal)
        return max(
            legal, key=lambda action: (_eagerness(action, observation, actions), rng.random())
        )

    return choose


def _eagerness(action: int, observation: Any, actions: str) -> float:
    board = 10 if actions == "turn" else 192
    if action >= board + 49:
        return -2.0
    if action >= board + 7:
        pile = observation["tableau"][(action - board - 7) // 6]
        turns_up = (pile == 53).any()
        return 3.0 if turns_up else -1.0
    if action >= board:
        return 4.0
    if actions == "reach":
        return 2.0 if action % 8 == 0 else 0.5
    return {0: 0.0, 1: -0.5, 2: 2.5}.get(action, 1.0)


def play_both(
    rules: KlondikeRules,
    actions: str,
    number: int,
    choose: Choose,
    max_steps: int,
    reward: str = "progress",
) -> str:
    """Play one deal in lock-step to its end; returns the outcome, or "" at the step limit.

    Everything a caller can see is compared after every step: observation, mask, reward, flags,
    info, and the readable position.
    """
    env = gym.make(
        "Klondike-Draw3-v0",
        rules=rules,
        actions=actions,
        reward=reward,
        max_episode_steps=max_steps,
    )
    deck = klondike_env.deals.deck(number)
    game = Game(rules, deck=deck.tolist(), actions=actions)
    observation, info = env.reset(options={"deal": number})
    assert info["deal"] == number
    compare(env, game, observation, info)
    terminated = truncated = False
    while not (terminated or truncated):
        mask = info["action_mask"]
        action = choose(observation, mask, np.flatnonzero(mask).tolist())
        expected = game.step(action)
        observation, paid, terminated, truncated, info = env.step(action)
        assert terminated == expected["terminated"]
        assert info["outcome"] == expected["outcome"]
        assert paid == _expected_reward(expected, reward)
        compare(env, game, observation, info)
    return str(info["outcome"])


def _expected_reward(expected: dict[str, Any], reward: str) -> float:
    return {
        "win": float(expected["outcome"] == "won"),
        "score": float(expected["score_change"]),
        "cards": float(expected["foundation_change"]),
        "progress": float(expected["progress_change"]),
    }[reward]


def compare(env: Any, game: Game, observation: Any, info: Any) -> None:
    expected = game.observation()
    assert observation.keys() == expected.keys()
    for key, values in expected.items():
        assert observation[key].tolist() == values, key
    assert info["action_mask"].tolist() == game.mask()
    assert info["score"] == game.score
    assert info["foundation_cards"] == game.foundation_cards
    position = env.unwrapped.position()
    for key, value in game.position().items():
        assert position[key] == value, key


def play_random_mix(seed: int) -> tuple[str, str]:
    """One lock-step game whose rules, actions, deal, reward and player all follow from `seed`."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        rules = klondike_env.games.klondike.rules.PRESETS[rng.choice(klondike_env.ENV_IDS)]
    else:
        rules = random_rules(rng)
    actions = rng.choice(["turn", "reach"]) if rules.allows_reach else "turn"
    if rng.random() < 0.6:
        choose = eager(rng, actions)
    else:

        def choose(observation: Any, mask: Any, legal: list[int]) -> int:
            return rng.choice(legal)

    number = rng.randrange(10**9)
    outcome = play_both(rules, actions, number, choose, 250, rng.choice(list(REWARDS)))
    return actions, outcome


def main() -> None:
    """Play many games: python -m tests.lockstep FIRST_SEED GAMES."""
    import collections
    import sys

    first, games = map(int, sys.argv[1:])
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for seed in range(first, first + games):
        try:
            counts[play_random_mix(seed)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    print(dict(counts))


if __name__ == "__main__":
    main()
