"""Agents that the benchmark tests name as ``tests.benchmark_agents:Class``."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np


class FirstLegal:
    """Plays the lowest legal action; has the two methods an agent must have, and no more."""

    def reset(self, num_envs: int, seed: int) -> None:
        pass

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return action_masks.argmax(axis=1)


class LastLegal(FirstLegal):
    """Plays the highest legal action."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


class Interrupted(LastLegal):
    """Ends its process as a given signal would, after as many steps as the environment says."""

    steps = 0

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        self.steps += 1
        if self.steps == int(os.environ.get("STEPS_UNTIL_SIGNAL", "0")):
            os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
        return super().act(observations, action_masks)


class Raises(FirstLegal):
    """Breaks on its third decision."""

    steps = 0

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        self.steps += 1
        if self.steps == 3:
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
