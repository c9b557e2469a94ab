"""What the agents that play by plans have in common.

A plan is all moves up to and including the next card turned up, such as playing a stock card on
which the turning pile's run can then go; see `klondike_env.solvers.klondike.plans`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents.base import Agent
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.choice import FEATURES
from klondike_env.solvers.klondike.planning import Chooser, PlanPlayer

WEIGHTS = Path(__file__).parent / "weights"


class PlanAgent(Agent):
    """Plays plans to their ends; `make_chooser` says how it picks them."""

    name: ClassVar[str]

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        super().__init__(rules)
        try:
            self.check(self.rules)
        except ValueError as error:
            raise ValueError(f"agent {self.name!r} cannot play these rules: {error}") from None
        self._player = PlanPlayer(self.rules, self.make_chooser())
        self.actions = self._player.actions

    @staticmethod
    def check(rules: KlondikeRules) -> None:
        """Refuse rules that the agent does not play, with a ValueError that says which it does."""
        PlanPlayer.check(rules)

    def make_chooser(self) -> Chooser:
        """How plans are picked."""
        raise NotImplementedError

    def reset(self, num_envs: int, seed: int = 0) -> None:
        self._player.reset(num_envs)
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self._player.restart(rows, seeds)

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        return self._player.act(observations, action_masks)

    def given_up(self) -> np.ndarray:
        return self._player.given_up()


def check_free(rules: KlondikeRules) -> None:
    """Refuse rules under which the stock is not free to look through."""
    PlanPlayer.check(rules)
    if rules.passes is not None:
        raise ValueError("it needs unlimited passes, under which the stock is free to look through")


def weights_name(kind: str, rules: KlondikeRules) -> str:
    """Which weights play these rules, such as ``planner-draw1`` or ``limited-draw3-vegas``.

    Where passes are limited one kind does for all.
    """
    draw = 1 if rules.draw_count == 1 else 3
    if rules.passes is None:
        return f"{kind}-draw{draw}"
    return f"limited-draw{draw}" + ("-vegas" if rules.scoring == "vegas" else "")


def load_weights(kind: str, rules: KlondikeRules) -> np.ndarray:
    """Trained weights, float64[F]; a feature that is younger than the training weighs nothing.

    Args:
        kind: `planner` or `rollout`.
        rules: of the game.

    Raises:
        ValueError: the file names a feature that there is not.
    """
    path = WEIGHTS / f"{weights_name(kind, rules)}.json"
    weights = json.loads(path.read_text(encoding="utf-8"))["weights"]
    unknown = [name for name in weights if name not in FEATURES]
    if unknown:
        raise ValueError(
            f"{path.name} was trained on other features ({', '.join(unknown)}): train it again"
        )
    return np.array([weights.get(name, 0.0) for name in FEATURES])
