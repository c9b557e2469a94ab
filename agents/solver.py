"""`solver`: plays the winning line that the solver finds, where all cards are known.

Its win rate is the ceiling of every other agent's. Where the solver shows that there is no win, or
finds none within its limit, it plays the first legal action, only to get to the end.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from agents.base import Agent, best_actions
from klondike_env import determinize
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import solve


class Solver(Agent):
    """Solves each game at its start and then plays the line.

    Args:
        rules: the rules; all cards must be known.
        max_states: of the search for a win; a number of states, unlike a time, makes every game the
            same on every machine.
    """

    needs_all_cards: ClassVar[bool] = True

    def __init__(self, rules: KlondikeRules | None = None, max_states: int = 5_000_000) -> None:
        super().__init__(KlondikeRules(cards_known=True) if rules is None else rules)
        self.actions = best_actions(self.rules)
        self.max_states = max_states

    def reset(self, num_envs: int, seed: int = 0) -> None:
        self._lines: list[list[int] | None] = [None] * num_envs
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        for row in rows:
            self._lines[row] = None

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        chosen: np.ndarray = np.argmax(action_masks, axis=1)
        for row, line in enumerate(self._lines):
            if line is None:
                line = self._lines[row] = self._solve(observations, row)
            if line:
                chosen[row] = line.pop()
        return chosen

    def _solve(self, observations: Any, row: int) -> list[int]:
        """The actions of a winning line, last one first; none if no win was found."""
        seen = {key: array[row] for key, array in observations.items()}
        # With all cards known there is one world only.
        world = determinize(seen, self.rules, np.random.default_rng(0))
        verdict = solve(world, self.rules, max_states=self.max_states)
        line = verdict.turn if self.actions == "turn" else verdict.reach
        return list(line or ())[::-1]
