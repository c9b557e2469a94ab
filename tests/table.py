"""A real environment driven by move texts, for tests that start from a position or a deck."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from klondike_env import IllegalMoveError
from klondike_env.cards import CARDS
from klondike_env.games.klondike.moves import MOVES, parse_move

DEAD = {
    "tableau": [
        "6C",
        "(AC) 8C",
        "(AD)(5D) 8S",
        "(7D)(9D)(JD) TC",
        "(KD)(AH)(2H)(3H) TS",
        "(4H)(5H)(6H)(7H)(8H) QC",
        "(9H)(TH)(JH)(QH)(KH)(AS) QS",
    ],
    "stock": "2C 3C 4C 5C 7C 9C JC KC 2S 3S 4S 5S 6S 7S 9S JS KS 2D 3D 4D 6D 8D TD QD",
}
"""Nothing can ever be played here, whatever the draw count, passes and runs."""


def cards_shown(row: np.ndarray) -> str:
    """The cards of one row of an observation as text; `##` for a card that does not show."""
    return " ".join("##" if card == 53 else CARDS[card - 1] for card in row.tolist() if card)


def cards_of(position: dict[str, Any]) -> list[str]:
    """Every card of a position, foundations included."""
    text = " ".join([*position["tableau"], position["stock"], position["waste"]])
    cards = re.findall(r"[2-9TJQKA][CDHS]", text)
    for suit, up in position["foundations"].items():
        cards += [rank + suit for rank in "A23456789TJQK"[:up]]
    return cards


class Table:
    """One game through `gym.make`, wrappers included. The cards are counted after every step."""

    def __init__(
        self,
        position: dict[str, Any] | None = None,
        *,
        env_id: str = "Klondike-Draw3-v0",
        deck: Sequence[int] | None = None,
        deal: int | None = None,
        **options: Any,
    ) -> None:
        self.actions = options.get("actions", "turn")
        self.env = gym.make(env_id, **options)
        start = {"position": position, "deck": None if deck is None else list(deck), "deal": deal}
        self.observation, self.info = self.env.reset(
            options={name: value for name, value in start.items() if value is not None}
        )
        self.reward, self.terminated, self.truncated = 0.0, False, False

    @property
    def game(self) -> Any:
        return self.env.unwrapped

    @property
    def position(self) -> dict[str, Any]:
        position: dict[str, Any] = self.game.position()
        return position

    @property
    def tableau(self) -> list[str]:
        piles: list[str] = self.position["tableau"]
        return piles

    @property
    def waste(self) -> str:
        return cards_shown(self.observation["waste"])

    @property
    def stock(self) -> str:
        return cards_shown(self.observation["stock"])

    @property
    def score(self) -> int:
        score: int = self.info["score"]
        return score

    @property
    def legal(self) -> set[str]:
        """Texts of the legal moves; a play of the talon under `reach` as `5H>T1`."""
        assert not self.terminated
        mask = self.info["action_mask"]
        assert mask.tolist() == self.game.action_masks().tolist()
        if mask.all():
            return set()
        return {self._by_card(MOVES[self.actions][action]) for action in np.flatnonzero(mask)}

    def _by_card(self, text: str) -> str:
        if not text.startswith("#"):
            return text
        talon = f"{self.waste} {self.stock}".split()
        place, target = text[1:].split(">")
        return f"{talon[int(place) - 1]}>{target}"

    def action(self, text: str) -> int:
        """Id of a move text; under `reach` plays of the talon are named by their card."""
        if self.actions == "reach" and re.match(r"\w\w>", text) and text[0] != "T":
            talon = f"{self.waste} {self.stock}".split()
            card, target = text.split(">")
            text = f"#{talon.index(card) + 1}>{target}"
        return parse_move(text, self.actions)

    def play(self, *texts: str) -> Table:
        """Play legal moves, one after another."""
        for text in texts:
            assert text in self.legal, (text, self.position)
            self.step(self.action(text))
        return self

    def step(self, action: Any) -> Table:
        self.observation, self.reward, self.terminated, self.truncated, self.info = self.env.step(
            action
        )
        assert sorted(cards_of(self.position)) == sorted(CARDS)
        assert self.env.observation_space.contains(self.observation)
        return self

    def refuse(self, text: str) -> None:
        """The move is not legal, and forcing it raises and leaves all as it was."""
        assert text not in self.legal
        before = self.game.get_state()
        with pytest.raises(IllegalMoveError, match=r"is illegal: \w"):
            self.game.step(self.action(text))
        assert (self.game.get_state() == before).all()


def make_vec(env_id: str = "Klondike-Draw3-v0", num_envs: int = 4, **options: Any) -> Any:
    """The native vector environment."""
    return gym.make_vec(
        env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **options
    )
