"""Agents that the benchmark tests name as ``tests.benchmark_agents:Class``."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np

from agents.base import Agent, RandomStreams


class FirstLegal:
    """Plays the lowest legal action; has the two methods an agent must have, and no more."""

    def reset(self, num_envs: int, seed: int) -> None:
        pass

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return action_masks.argmax(axis=1)


class Thrifty(Agent):
    """Plays to a foundation when it can, never takes back, and else plays at random."""

    def reset(self, num_envs: int, seed: int = 0) -> None:
        self._streams = RandomStreams(np.zeros(num_envs, dtype=np.uint64))
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self._streams.restart(rows, seeds)

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        masks = action_masks[:, :59] != 0
        counts = np.maximum(masks.sum(axis=1), 1).astype(np.uint64)
        places = (self._streams.next() % counts).astype(np.int64)
        chosen = (masks.cumsum(axis=1) == places[:, None] + 1).argmax(axis=1)
        foundation = np.r_[2, 10:17]
        can = masks[:, foundation]
        return np.where(can.any(axis=1), foundation[can.argmax(axis=1)], chosen)


class Interrupted(Thrifty):
    """Ends its process as a given signal would, after as many steps as the environment says."""

    steps = 0

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        self.steps += 1
        if self.steps == int(os.environ.get("STEPS_UNTIL_SIGNAL", "0")):
            os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
        return super().act(observations, action_masks)


class Raises(FirstLegal):
    """Breaks from its third decision on."""

    steps = 0

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        self.steps += 1
        if self.steps >= 3:
            raise RuntimeError("out of ideas")
        return super().act(observations, action_masks)


class Illegal(FirstLegal):
    """Plays the lowest illegal action."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return (action_masks == 0).argmax(axis=1)


class WrongShape(FirstLegal):
    """Answers with a single action for the whole batch."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)


class NeedsAllCards(FirstLegal):
    """Plays only where every card is known."""

    needs_all_cards = True
