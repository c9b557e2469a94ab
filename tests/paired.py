"""A game that both engines play in lock-step, with the face of the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import pytest

from klondike_env import KlondikeRules
from tests.lockstep import compare
from tests.reference.klondike import Game as ReferenceGame
from tests.reference.klondike import Rules


class Game(ReferenceGame):
    """Like the reference's `Game`; whatever is started, played or refused must be so in both."""

    def __init__(
        self,
        rules: Any = None,
        deck: Sequence[int] | None = None,
        position: Mapping[str, Any] | None = None,
        actions: str = "turn",
        bank: int = 0,
    ) -> None:
        own = KlondikeRules(**dataclasses.asdict(Rules() if rules is None else rules))
        try:
            super().__init__(rules, deck, position, actions, bank)
        except ValueError:
            with pytest.raises(ValueError, match=r"\w"):
                self._start(own, deck, position, actions, bank)
            raise
        self.env = self._start(own, deck, position, actions, bank)
        compare(self.env, self, *self.env.observe())

    @staticmethod
    def _start(
        rules: KlondikeRules,
        deck: Sequence[int] | None,
        position: Mapping[str, Any] | None,
        actions: str,
        bank: int,
    ) -> Any:
        env = gym.make("Klondike-Draw3-v0", rules=rules, actions=actions, reward="score").unwrapped
        if bank:  # what an earlier game left
            env.reset()
            state = env.get_state()
            state["score"] = bank
            env.set_state(state)
        start = {"deck": None if deck is None else list(deck), "position": position}
        env.reset(options={name: value for name, value in start.items() if value is not None})
        return env

    def step(self, action: int) -> dict[str, Any]:
        try:
            result = super().step(action)
        except ValueError:
            if not self.terminated:
                with pytest.raises(ValueError, match=r"illegal|out of range"):
                    self.env.step(action)
            raise
        observation, reward, terminated, truncated, info = self.env.step(action)
        assert reward == result["score_change"]
        assert terminated == result["terminated"]
        assert info["outcome"] == result["outcome"]
        assert not truncated
        compare(self.env, self, observation, info)
        return result
