"""Cards as numbers and as text.

A card is ``suit * 13 + rank`` with suits C 0, D 1, H 2, S 3 and ranks A 0 ... K 12. Its text is
rank then suit (``AS``, ``TH``). Observations show a card as its number plus one.
"""

from __future__ import annotations

import numpy as np

RANKS = "A23456789TJQK"
SUITS = "CDHS"
CARDS = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""The text of every card, by its number."""

NUM_RANKS, NUM_CARDS = 13, 52
NOTHING = 0
"""What an observation shows where no card lies."""
FACE_DOWN = 53
"""What an observation shows for a card that the player has not seen."""

_NUMBERS = {text: number for number, text in enumerate(CARDS)}


def parse_card(text: str) -> int:
    """Number of a card text; ``10H`` and lower case are read too.

    Raises:
        ValueError: the text names no card.
    """
    name = text.strip().upper().replace("10", "T") if isinstance(text, str) else ""
    if name not in _NUMBERS:
        raise ValueError(
            f"{text!r} is no card: a rank of {RANKS} and a suit of {SUITS}, such as TH"
        )
    return _NUMBERS[name]


def card_text(card: int) -> str:
    """Text of a card number 0-51: ``card_text(51) == "KS"``."""
    return CARDS[card]


def check_deck(deck: object) -> np.ndarray:
    """A deck as uint8[52], each of the 52 cards once.

    Raises:
        ValueError: naming the count, the first number that is no card, or the cards missing and
            double.
    """
    try:
        cards = np.asarray(deck)
        if cards.dtype.kind not in "iu":
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError("a deck is 52 card numbers (0-51), each a whole number") from None
    if cards.shape != (NUM_CARDS,):
        raise ValueError(f"a deck is {NUM_CARDS} cards in one row, not of shape {cards.shape}")
    for card in cards.tolist():
        if not 0 <= card < NUM_CARDS:
            raise ValueError(f"{card} is no card number: 0-{NUM_CARDS - 1}")
    check_each_once(cards.tolist(), "the deck")
    return cards.astype(np.uint8)


def check_each_once(cards: list[int], where: str) -> None:
    """Refuse a list of cards that is not all 52, each once.

    Raises:
        ValueError: naming the cards that are double and those that are missing.
    """
    double = [CARDS[card] for card in range(NUM_CARDS) if cards.count(card) > 1]
    missing = [text for card, text in enumerate(CARDS) if card not in cards]
    problems = [f"has {' '.join(double)} more than once"] if double else []
    if missing:
        shown = " ".join(missing[:8]) + (
            f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        )
        problems.append(f"misses {shown}")
    if problems:
        raise ValueError(f"{where} {' and '.join(problems)} ({len(cards)} cards named, 52 needed)")
