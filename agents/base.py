"""What every agent is, and random numbers that belong to a game rather than to a row or a batch.

An agent plays a batch of games, one a row. Whatever it draws at random comes from the seed of the
row's game and a count of its decisions, so a game goes the same way alone, among thousands, or in
another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from klondike_env.games.klondike.rules import KlondikeRules

Observations = Mapping[str, np.ndarray]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def mix(values: np.ndarray) -> np.ndarray:
    """uint64[...] -> uint64[...], each output bit depending on every input bit (SplitMix64's)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed


class RandomStreams:
    """One stream of random 64-bit words for each row."""

    def __init__(self, seeds: np.ndarray) -> None:
        self._states = mix(seeds.astype(np.uint64) + _GAMMA)

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Start the streams of `rows` anew from their seeds (uint64)."""
        self._states[rows] = mix(seeds.astype(np.uint64) + _GAMMA)

    def next(self) -> np.ndarray:
        """The next word of every row: uint64[B]."""
        self._states += _GAMMA
        return mix(self._states)


class Agent:
    """Plays a batch of games from observations and legal masks alone.

    Life: `reset` once; `start_games` whenever new games begin in some rows; `act` for every step.
    Rows may wait for their reset, their mask all ones; whatever they answer is ignored.

    Attributes:
        actions: the action set that the agent plays with, ``turn`` or ``reach``.
        rules: the rules that it plays under.
        needs_all_cards: whether it plays only where every card is known.
        plays_alone: whether it thinks so long about a move that batches gain nothing; comparisons
            then play its games one at a time.
    """

    actions: str = "turn"
    needs_all_cards: ClassVar[bool] = False
    plays_alone: ClassVar[bool] = False

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        self.rules = KlondikeRules() if rules is None else rules

    def reset(self, num_envs: int, seed: int = 0) -> None:
        """Prepare for `num_envs` rows, each with a new game whose seed comes from (seed, row)."""
        self.num_envs = num_envs
        rows = np.arange(num_envs)
        base = mix(np.array([seed % 2**64], dtype=np.uint64) + _GAMMA)
        self.start_games(rows, mix(base ^ mix(rows.astype(np.uint64) + _GAMMA)))

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """A new game begins in each of `rows` (int[B]), with its own seed (uint64[B])."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        """One action a row (int64[B]) for a batch of observations and masks (int8[B, A])."""
        raise NotImplementedError


def best_actions(rules: KlondikeRules) -> str:
    """The action set with the most to say: ``reach`` where going through the stock is free."""
    return "reach" if rules.allows_reach else "turn"
