"""What a player sees of a game of Klondike: cards by place, and the moves between places.

Made from observations and move texts alone, so nothing here can show a card that the player has not
seen. Places are named as in move texts: ``W`` the waste, ``T1`` ... ``T7`` the piles, ``C`` ...
``S`` the foundations, and ``stock``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from klondike_env.cards import FACE_DOWN, NUM_RANKS, SUITS
from klondike_env.games.klondike.moves import move_text

STOCK, WASTE = "stock", "W"
PILES = tuple(f"T{i}" for i in range(1, 8))
FOUNDATIONS = tuple(SUITS)

Cards = tuple[int | None, ...]
"""Card numbers bottom to top; None for a card that the player has not seen."""


@dataclass(frozen=True)
class Table:
    """The cards of each place.

    Attributes:
        cards: bottom to top; of the stock in draw order.
        face_down: how many of a pile's cards lie face down, known or not.
        redeals_left: None for unlimited.
    """

    cards: Mapping[str, Cards]
    face_down: Mapping[str, int]
    redeals_left: int | None

    @classmethod
    def of(cls, observation: Mapping[str, np.ndarray]) -> Table:
        """The table of an observation, in the form of a dict."""
        tableau = [_cards(pile) for pile in observation["tableau"]]
        down = observation.get("face_down", [pile.count(None) for pile in tableau])
        cards: dict[str, Cards] = dict(zip(PILES, tableau, strict=True))
        cards[WASTE] = _cards(observation["waste"])
        cards[STOCK] = _cards(observation["stock"])
        for suit, up in enumerate(observation["foundations"].tolist()):
            cards[FOUNDATIONS[suit]] = tuple(range(suit * NUM_RANKS, suit * NUM_RANKS + up))
        redeals_left = int(observation["redeals_left"][0])
        return cls(
            cards,
            {place: int(count) for place, count in zip(PILES, down, strict=True)},
            None if redeals_left < 0 else redeals_left,
        )

    def run(self, place: str) -> tuple[int, ...]:
        """Face-up cards of a pile, or all cards of another place."""
        up = self.cards[place][self.face_down.get(place, 0) :]
        return tuple(card for card in up if card is not None)


@dataclass(frozen=True)
class Move:
    """A legal action as a move between places.

    Attributes:
        action: its id in the action set `turn`.
        text: as in records, ``T3>T5 x2``.
        source, target: places; a draw goes from the stock to the waste, a redeal back.
        cards: what moves, bottom to top; empty for a draw or redeal.
    """

    action: int
    text: str
    source: str
    target: str
    cards: tuple[int, ...] = ()


def legal_moves(table: Table, actions: Iterable[int]) -> list[Move]:
    """The moves of legal actions, leaving out those that have nothing to move.

    There are such only in a game that has nothing to play at all, where any action ends it.
    """
    moves = []
    for action in actions:
        text = move_text(action)
        if text == "draw":
            moves.append(Move(action, text, STOCK, WASTE))
        elif text == "redeal":
            moves.append(Move(action, text, WASTE, STOCK))
        else:
            source, _, target = text.partition(">")
            cards = _moved(table, source, target)
            if cards:
                target = SUITS[cards[-1] // NUM_RANKS] if target == "F" else target
                count = f" x{len(cards)}" if len(cards) > 1 else ""
                moves.append(Move(action, text + count, source, target, cards))
    return moves


def _moved(table: Table, source: str, target: str) -> tuple[int, ...]:
    run = table.run(source)
    if source not in PILES or target not in PILES:
        return run[-1:]
    top = table.run(target)
    rank = top[-1] % NUM_RANKS - 1 if top else NUM_RANKS - 1
    first = next((k for k, card in enumerate(run) if card % NUM_RANKS == rank), len(run))
    return run[first:]


def _cards(shown: np.ndarray) -> Cards:
    return tuple(None if card == FACE_DOWN else card - 1 for card in shown.tolist() if card)
