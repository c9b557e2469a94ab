"""`random`: plays every legal action with the same chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.base import Agent, RandomStreams
from klondike_env.compiled import entry_point


@entry_point
def _pick(masks, words, actions):  # type: ignore[no-untyped-def]
    for b in range(masks.shape[0]):
        count = np.int64(0)
        for a in range(masks.shape[1]):
            count += np.int64(masks[b, a] != 0)
        # The bias of a 32-bit product over a few hundred actions is below 1e-7.
        left = np.int64(((words[b] >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
        actions[b] = 0
        for a in range(masks.shape[1]):
            if masks[b, a] != 0:
                if left == 0:
                    actions[b] = a
                    break
                left -= 1


class Random(Agent):
    """Uniformly random legal actions of the `turn` set, from each game's own seed."""

    def reset(self, num_envs: int, seed: int = 0) -> None:
        """Prepare for `num_envs` rows."""
        self._streams = RandomStreams(np.zeros(num_envs, dtype=np.uint64))
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Start the random numbers of these rows anew."""
        self._streams.restart(rows, seeds)

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        """One legal action a row."""
        actions = np.empty(len(action_masks), dtype=np.int64)
        _pick(action_masks, self._streams.next(), actions)
        return actions
