"""`plan`: turns up the card whose turning earns most for what it costs.

A plan is all moves up to and including the next card turned up, such as playing a stock card on
which the turning pile's run can then go; `klondike_env.solvers.klondike.plans` has the costs and
earnings. The plan with the highest earning minus cost is played to its end; then the next one is
sought. When at most one card is face down, all are known, and the game is finished by search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.base import Agent
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.planning import PlanPlayer


class Plan(Agent):
    """Plays the plan that earns most for what it costs."""

    actions = "reach"

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        super().__init__(rules)
        try:
            self._player = PlanPlayer(self.rules)
        except ValueError as error:
            raise ValueError(f"agent 'plan' cannot play these rules: {error}") from None

    def reset(self, num_envs: int, seed: int = 0) -> None:
        self._player.reset(num_envs)
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self._player.restart(rows)

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return self._player.act(observations, action_masks)
