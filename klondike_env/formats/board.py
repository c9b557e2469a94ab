"""Where the cards lie: what the text of a format and a game of ours have in between.

Games of ours are a *deck*, uint8[52] in deal order, or a *position*, the readable dict that
`env.reset(options={"position": ...})` takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from klondike_env.cards import (
    CARDS,
    NUM_RANKS,
    SUITS,
    check_deck,
    check_each_once,
)
from klondike_env.formats.texts import parse_cards

PILES = 7
DEALT = 28
"""Cards of the tableau at the start; the rest is the stock."""

Deck: TypeAlias = np.ndarray
Position: TypeAlias = dict[str, Any]
Game: TypeAlias = Deck | Position

PILE_ORDER = np.array(
    [
        row * PILES - row * (row - 1) // 2 + pile - row
        for pile in range(PILES)
        for row in range(pile + 1)
    ]
)
"""Places in a deck of the tableau's cards, pile by pile from the left, each bottom to top."""

_DOWN = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True)
class Board:
    """Every card's place, as card numbers.

    Attributes:
        down: the face-down cards of each pile, bottom to top.
        up: the face-up cards of each pile, bottom to top.
        foundations: cards on each foundation, by suit.
        stock: in draw order.
        waste: bottom to top.
    """

    down: Sequence[Sequence[int]]
    up: Sequence[Sequence[int]]
    foundations: Sequence[int]
    stock: Sequence[int]
    waste: Sequence[int]

    def cards(self) -> list[int]:
        """Every card named, foundations first."""
        return [
            *(
                suit * NUM_RANKS + rank
                for suit in range(4)
                for rank in range(self.foundations[suit])
            ),
            *(card for pile in range(PILES) for card in (*self.down[pile], *self.up[pile])),
            *self.stock,
            *self.waste,
        ]

    def deck(self) -> Deck | None:
        """The deck, if no card has been moved or drawn since the deal, else None."""
        is_undealt = (
            not any(self.foundations)
            and not self.waste
            and [len(pile) for pile in self.down] == list(range(PILES))
            and all(len(pile) == 1 for pile in self.up)
        )
        if not is_undealt:
            return None
        piles = [card for pile in range(PILES) for card in (*self.down[pile], *self.up[pile])]
        return deck_from_piles([*piles, *self.stock])

    def position(self) -> Position:
        """The position; what it leaves out (passes, score) is as in a fresh game."""
        return {
            "tableau": [
                " ".join(filter(None, ["".join(f"({CARDS[card]})" for card in down), _texts(up)]))
                for down, up in zip(self.down, self.up, strict=True)
            ],
            "foundations": dict(zip(SUITS, self.foundations, strict=True)),
            "stock": _texts(self.stock),
            "waste": _texts(self.waste),
        }

    def game(self) -> Game:
        """The deck of an undealt deal, else the position.

        Raises:
            ValueError: not all 52 cards, each once; names those missing and double.
        """
        check_each_once(self.cards(), "it")
        deck = self.deck()
        return self.position() if deck is None else deck


def deck_from_piles(cards: Sequence[int]) -> Deck:
    """Deck of 52 cards listed pile by pile from the left, bottom to top, then the stock."""
    deck = np.empty(len(cards), dtype=np.uint8)
    deck[PILE_ORDER] = cards[:DEALT]
    deck[DEALT:] = cards[DEALT:]
    return deck


def piles_from_deck(deck: Deck) -> list[int]:
    """The cards of a deck pile by pile from the left, bottom to top, then the stock."""
    return [*deck[PILE_ORDER].tolist(), *deck[DEALT:].tolist()]


def board_of(game: object) -> Board:
    """The board of a deck or a position.

    Raises:
        ValueError: not 52 cards each once, or not of the form of a deck or a position.
    """
    return _from_position(game) if isinstance(game, Mapping) else _from_deck(check_deck(game))


def deck_of(game: object) -> Deck:
    """The deck of a deck or of a position that nothing has been played in.

    Raises:
        ValueError: cards have been moved or drawn since the deal.
    """
    deck = board_of(game).deck()
    if deck is None:
        raise ValueError("only an undealt deal can be written, not a game in which cards moved")
    return deck


def _from_deck(deck: Deck) -> Board:
    cards = piles_from_deck(deck)
    starts = [pile * (pile + 1) // 2 for pile in range(PILES)]
    return Board(
        down=[cards[start : start + pile] for pile, start in enumerate(starts)],
        up=[[cards[start + pile]] for pile, start in enumerate(starts)],
        foundations=(0, 0, 0, 0),
        stock=cards[DEALT:],
        waste=[],
    )


def _from_position(position: Mapping[str, Any]) -> Board:
    tableau = position.get("tableau") or [""] * PILES
    if not isinstance(tableau, (list, tuple)) or len(tableau) != PILES:
        found = f"{len(tableau)} piles" if isinstance(tableau, (list, tuple)) else repr(tableau)
        raise ValueError(f"the tableau is a list of {PILES} piles, not {found}")
    piles = [_split_pile(text, f"pile {i}") for i, text in enumerate(tableau, start=1)]
    foundations = position.get("foundations", {})
    if not isinstance(foundations, Mapping) or not set(foundations) <= set(SUITS):
        raise ValueError(f"foundations are a dict with keys of {' '.join(SUITS)}")
    ups = [foundations.get(suit, 0) for suit in SUITS]
    are_whole = all(isinstance(up, (int, np.integer)) and type(up) is not bool for up in ups)
    if not are_whole or not all(0 <= up <= NUM_RANKS for up in ups):
        raise ValueError(f"a foundation has 0 to {NUM_RANKS} cards, in whole numbers")
    board = Board(
        down=[down for down, _ in piles],
        up=[up for _, up in piles],
        foundations=[int(up) for up in ups],
        stock=_parse(position.get("stock", ""), "stock"),
        waste=_parse(position.get("waste", ""), "waste"),
    )
    named = board.cards()
    if position.get("rest") == "stock":
        rest = [card for card in range(len(CARDS)) if card not in named]
        board = Board(board.down, board.up, board.foundations, [*board.stock, *rest], board.waste)
    check_each_once(board.cards(), "the position")
    return board


def _split_pile(text: object, where: str) -> tuple[list[int], list[int]]:
    if not isinstance(text, str):
        raise ValueError(f'{where} is a text such as "(8S)(AD) 8D 7S", not {text!r:.40}')
    last = text.rfind(")") + 1
    if _DOWN.sub(" ", text[:last]).strip():
        raise ValueError(f"{where} has a face-up card under a face-down one, or a stray bracket")
    return parse_cards(_DOWN.findall(text[:last]), where), _parse(text[last:], where)


def _parse(text: object, where: str) -> list[int]:
    if not isinstance(text, str):
        raise ValueError(f'{where} is a text such as "5C 6D", not {text!r:.40}')
    return parse_cards(text.split(), where)


def _texts(cards: Sequence[int]) -> str:
    return " ".join(CARDS[card] for card in cards)
