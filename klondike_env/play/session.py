"""A game that a person plays: the environment with undo, without a screen."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from klondike_env.envs.klondike import KlondikeEnv
from klondike_env.play.table import Move, Table, legal_moves

PEOPLES_DEALS = 1_000_000_000
"""Deal numbers below this one are for people (see `klondike_env.deals`)."""


def random_deal() -> int:
    """A deal number for a person to play; it is shown and recorded, so the game can be repeated."""
    return secrets.randbelow(PEOPLES_DEALS)


class Session:
    """One game with its whole history.

    Args:
        env_id: whose rules hold.
        start: `deal`, `deck` or `position` and its value, as `reset(options=...)` takes it.
        moves: actions that have been played already.
        options: fields of the rules that differ from the id's.

    Raises:
        ValueError: a bad start or an illegal move.

    Attributes:
        actions: what has been played.
        undone: what can be played again, the next one last.
    """

    def __init__(
        self,
        env_id: str,
        start: Mapping[str, Any],
        moves: Iterable[int] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.env_id = env_id
        self.start = dict(start)
        self.env = KlondikeEnv(env_id, **(options or {}))
        self.actions: list[int] = []
        self.undone: list[int] = []
        self._show(*self.env.reset(options=self.start))
        self._states = [self.env.get_state()]
        for action in moves:
            self.play(action)

    @property
    def deal(self) -> int | None:
        """The deal number, None for a deck or position."""
        number: int | None = self.start.get("deal")
        return number

    @property
    def name(self) -> str:
        """What to call the game."""
        kind = next(iter(self.start))
        return f"deal {self.deal}" if kind == "deal" else f"a {kind}"

    @property
    def has_ended(self) -> bool:
        return bool(self.outcome)

    @property
    def redeals(self) -> int:
        """Redeals made since the start."""
        return self.actions.count(1)

    def play(self, action: int) -> None:
        """Play an action; what was undone is forgotten unless it is the same one.

        Raises:
            IllegalMoveError: says why; nothing has changed.
            gymnasium.error.ResetNeeded: the game has ended.
        """
        observation, _, _, _, info = self.env.step(action)
        self.actions.append(action)
        self._states.append(self.env.get_state())
        if self.undone and self.undone.pop() != action:
            self.undone.clear()
        self._show(observation, info)

    def undo(self) -> bool:
        """Take back the last action; False if there is none."""
        if not self.actions:
            return False
        self.undone.append(self.actions.pop())
        self._states.pop()
        self._show(*self.env.set_state(self._states[-1]))
        return True

    def redo(self) -> bool:
        """Play what was undone last; False if there is nothing."""
        if not self.undone:
            return False
        self.play(self.undone[-1])
        return True

    def explain(self, action: int) -> str:
        """Why an action is illegal now, in one line."""
        return self.env.game.explain_illegal(self.env.get_state(), action, "turn")

    def _show(self, observation: Any, info: Mapping[str, Any]) -> None:
        self.table = Table.of(observation)
        self.score: int = info["score"]
        self.foundation_cards: int = info["foundation_cards"]
        self.outcome: str = info["outcome"]
        legal = [] if self.outcome else np.flatnonzero(info["action_mask"]).tolist()
        self.moves: list[Move] = legal_moves(self.table, legal)
