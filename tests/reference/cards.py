"""Cards and piles as the reference games see them, and their readable text."""

from __future__ import annotations

import re
from typing import NamedTuple

SUITS = "CDHS"
RANKS = "A23456789TJQK"
ACE, KING = 1, 13


class Card(NamedTuple):
    """One playing card; rank 1 is the ace, 13 the king."""

    rank: int
    suit: str

    @property
    def is_red(self) -> bool:
        return self.suit in "DH"

    @property
    def code(self) -> int:
        """Number 0-51, suit by suit in the order C D H S."""
        return SUITS.index(self.suit) * 13 + self.rank - 1

    @property
    def text(self) -> str:
        return RANKS[self.rank - 1] + self.suit


CARDS = tuple(Card(rank, suit) for suit in SUITS for rank in range(ACE, KING + 1))

Pile = list[tuple[Card, bool]]


def follows(card: Card, on: Card) -> bool:
    """Whether `card` may lie on the face-up card `on`; no rank is low enough for an ace."""
    return card.rank == on.rank - 1 and card.is_red != on.is_red


def face_up_cards(pile: Pile) -> list[Card]:
    """The face-up cards of a pile, bottom to top."""
    return [card for card, face_up in pile if face_up]


def turn_up_top(pile: Pile) -> bool:
    """Turn up the top card if it lies face down; whether one was turned."""
    if pile and not pile[-1][1]:
        pile[-1] = (pile[-1][0], True)
        return True
    return False


def pile_text(pile: Pile) -> str:
    """A pile in the readable form, `(8S)(AD)(5H) 8D 7S`."""
    down = "".join(f"({card.text})" for card, face_up in pile if not face_up)
    return " ".join([*([down] if down else []), *(card.text for card in face_up_cards(pile))])


def parse_cards(text: str) -> Pile:
    """Read `(8S)(AD)(5H) 8D 7S`; ten is T or 10, either case. Raises ValueError."""
    token = r"(?:10|[2-9TJQKA])[CDHS]"
    if not re.fullmatch(rf"(\s*(\({token}\)|{token}(?![^\s(])))*\s*", text, re.IGNORECASE):
        raise ValueError(f"can't read the cards {text!r}")
    pile = []
    for opening, name in re.findall(rf"(\(?)({token})", text.upper()):
        name = name.replace("10", "T")
        pile.append((Card(RANKS.index(name[0]) + 1, name[1]), not opening))
    return pile
