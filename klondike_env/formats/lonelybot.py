"""lonelybot's exact deals: one integer below 52! for each order of the cards.

A card is 4 * rank + suit with hearts 0, diamonds 1, clubs 2, spades 3. The order is the tableau
pile by pile from the left, bottom to top, then the stock in draw order; the integer holds the swaps
that shuffle the sorted cards into it (`exact_shuffle` in lonelybot's source).

Undealt deals only.
"""

from __future__ import annotations

import math
import re

from klondike_env.cards import NUM_CARDS, NUM_RANKS, SUITS
from klondike_env.formats.board import Deck, Game, deck_from_piles, deck_of, piles_from_deck
from klondike_env.formats.texts import content, naming

NAME = "lonelybot"
FORM = "an integer below 52! (68 digits)"

_SUITS = [SUITS.index(suit) for suit in "HDCS"]
# Fewer digits are some program's deal number, and next to no deal of lonelybot: such a number is
# not to be taken for one unless it is said to be.
_SHORTEST = 21


def recognises(text: str) -> bool:
    """Whether the text is one long integer."""
    lines = content(text)
    return len(lines) == 1 and re.fullmatch(f"[0-9]{{{_SHORTEST},}}", lines[0]) is not None


@naming(NAME)
def read(text: str) -> Deck:
    """The deck of an integer.

    Raises:
        ValueError: no integer from 0 to 52! - 1.
    """
    digits = "".join(content(text))
    if not re.fullmatch("[0-9]+", digits):
        raise ValueError(f"{digits[:40]!r} is no integer from 0 to 52! - 1")
    limit = math.factorial(NUM_CARDS)
    # Python converts no more than a few thousand digits.
    number = int(digits) if len(digits) <= len(str(limit)) else limit
    if number >= limit:
        raise ValueError(
            f"the integer of {len(digits)} digits is not below 52!, {limit}"
            " (Klondike-Solver's 52 cards are 156 digits)"
        )
    cards = list(range(NUM_CARDS))
    for i in range(1, NUM_CARDS):
        number, j = divmod(number, i + 1)
        cards[i], cards[j] = cards[j], cards[i]
    return deck_from_piles([_SUITS[card % 4] * NUM_RANKS + card // 4 for card in cards])


@naming(NAME)
def write(game: Game) -> str:
    """The integer of a deck or an undealt position.

    Raises:
        ValueError: cards have been moved or drawn since the deal.
    """
    cards = [
        4 * (card % NUM_RANKS) + _SUITS.index(card // NUM_RANKS)
        for card in piles_from_deck(deck_of(game))
    ]
    number = 0
    for i in range(NUM_CARDS - 1, 0, -1):
        j = cards.index(i)
        cards[i], cards[j] = cards[j], cards[i]
        number = number * (i + 1) + j
    return str(number)
