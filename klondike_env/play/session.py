"""A game that a person plays: the environment with undo, without a screen."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from klondike_env import records
from klondike_env.envs.klondike import KlondikeEnv
from klondike_env.play.table import Move, Table, legal_moves

PEOPLES_DEALS = 1_000_000_000
"""Deal numbers below this one are for people (see `klondike_env.deals`)."""

PERSON = "person"
"""Who played, in records: a person, beside names of agents that played on."""


def random_deal() -> int:
    """A deal number for a person to play; it is shown and recorded, so the game can be repeated."""
    return secrets.randbelow(PEOPLES_DEALS)


class Session:
    """One game with its whole history.

    Args:
        env_id: whose rules hold.
        start: `deal`, `deck` or `position` and its value, as `reset(options=...)` takes it.
        options: fields of the rules that differ from the id's.

    Raises:
        ValueError: a bad id, start or option.

    Attributes:
        actions: what has been played.
        table, score, foundation_cards, outcome: of the present state, as its player knows it.
        moves: what is legal now; none once the game has ended.
    """

    def __init__(
        self, env_id: str, start: Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> None:
        self.env_id = env_id
        self.start = dict(start)
        self.env = KlondikeEnv(env_id, **(options or {}))
        self.actions: list[int] = []
        self._players: list[str] = []
        self._undone: list[tuple[int, str]] = []
        self._show(*self.env.reset(options=self.start))
        self._states = [self.env.get_state()]

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
    def redeals(self) -> int:
        """Redeals made since the start."""
        return self.actions.count(1)

    def play(self, action: int, player: str = PERSON) -> None:
        """Play an action; what was undone is forgotten unless it is the same one.

        Raises:
            IllegalMoveError: says why; nothing has changed.
            gymnasium.error.ResetNeeded: the game has ended.
        """
        observation, _, _, _, info = self.env.step(action)
        self.actions.append(action)
        self._players.append(player)
        self._states.append(self.env.get_state())
        if self._undone and self._undone.pop()[0] != action:
            self._undone.clear()
        self._show(observation, info)

    def undo(self) -> bool:
        """Take back the last action; False if there is none."""
        if not self.actions:
            return False
        self._undone.append((self.actions.pop(), self._players.pop()))
        self._states.pop()
        self._show(*self.env.set_state(self._states[-1]))
        return True

    def redo(self) -> bool:
        """Play what was undone last; False if there is nothing."""
        if not self._undone:
            return False
        self.play(*self._undone[-1])
        return True

    def explain(self, action: int) -> str:
        """Why an action is illegal now, in one line."""
        return self.env.game.explain_illegal(self._states[-1], action, "turn")

    def move_texts(self) -> list[str]:
        """What has been played, as in records."""
        return [
            self.env.game.move_text(state, action, "turn")
            for state, action in zip(self._states, self.actions, strict=False)
        ]

    def record(self) -> records.Record:
        """The game so far as a record."""
        return records.record_game(
            self.env_id,
            self.start,
            self.actions,
            rules=self.env.rules,
            step_limit=None,
            agent=", ".join(dict.fromkeys(self._players)) or PERSON,
        )

    def _show(self, observation: Any, info: Mapping[str, Any]) -> None:
        self.table = Table.of(observation)
        self.score: int = info["score"]
        self.foundation_cards: int = info["foundation_cards"]
        self.outcome: str = info["outcome"]
        legal = [] if self.outcome else np.flatnonzero(info["action_mask"]).tolist()
        self.moves: list[Move] = legal_moves(self.table, legal)
