"""Klondike-Solver and MinimalKlondike: 52 cards in deal order, as digits or as card texts.

    072103023042... -> 7D TH 2H 4D ...

Each card is two digits of rank, 01-13, and one of suit: 1 clubs, 2 diamonds, 3 hearts, 4 spades.
The tableau stands row by row, then the stock, the card drawn first at the front: our deal order.

Card texts are read in the same order: ``7D TH 2H ...``, in one line or one a line, since several
lines of cards are more likely another game's columns. MinimalKlondike takes card texts too, but in
another order, which the cards do not show: pile by pile, bottom to top, then the stock with the
card drawn first at the end (`Board.SetDeal` in its source). `by_piles` reads those.

Undealt deals only.
"""

from __future__ import annotations

import re

import numpy as np

from klondike_env.cards import CARDS, NUM_CARDS, NUM_RANKS, check_deck, check_each_once
from klondike_env.formats.board import DEALT, Deck, Game, deck_from_piles, deck_of
from klondike_env.formats.texts import content, is_card, naming, parse_cards

NAME = "Klondike-Solver"
FORM = "52 x three digits such as 072 or 52 cards such as 7D in deal order"


def recognises(text: str) -> bool:
    """Whether most of the text is cards, as digits or as texts."""
    tokens = _tokens(text)
    if _is_digits(tokens):
        digits = "".join(tokens)
        groups = [digits[i : i + 3] for i in range(0, len(digits) - 2, 3)]
        cards = sum(_card_of(group) is not None for group in groups)
        return bool(groups) and 2 * cards >= len(groups)
    return bool(tokens) and 2 * sum(map(is_card, tokens)) >= len(tokens)


@naming(NAME)
def read(text: str, *, by_piles: bool = False) -> Deck:
    """The deck of a text.

    Args:
        text: digits or card texts.
        by_piles: card texts stand in MinimalKlondike's order, see the module's head.

    Raises:
        ValueError: not 52 cards each once; says how many there are, which are missing or double.
    """
    tokens = _tokens(text)
    if _is_digits(tokens):
        if by_piles:
            raise ValueError("digits stand in deal order always: by_piles is for card texts")
        cards = _read_digits(tokens)
    else:
        lines = content(text)
        if len(lines) not in (1, len(tokens)):
            raise ValueError(
                f"the cards stand in {len(lines)} lines, as the columns of a board do:"
                f" {NUM_CARDS} in one line or one a line needed"
            )
        cards = parse_cards(tokens, "the deal")
    check_each_once(cards, "the deal")
    if by_piles:
        return deck_from_piles([*cards[:DEALT], *reversed(cards[DEALT:])])
    return check_deck(np.array(cards))


@naming(NAME)
def write(game: Game, *, as_cards: bool = False) -> str:
    """The digits, or the card texts, of a deck or an undealt position.

    Raises:
        ValueError: cards have been moved or drawn since the deal.
    """
    deck = deck_of(game).tolist()
    if as_cards:
        return " ".join(CARDS[card] for card in deck)
    return "".join(f"{card % NUM_RANKS + 1:02}{card // NUM_RANKS + 1}" for card in deck)


def _tokens(text: str) -> list[str]:
    return [token for line in content(text) for token in re.split(r"[\s,]+", line) if token]


def _is_digits(tokens: list[str]) -> bool:
    return bool(tokens) and all(re.fullmatch("[0-9]+", token) for token in tokens)


def _card_of(group: str) -> int | None:
    rank, suit = int(group[:2]), int(group[2])
    is_one = 1 <= rank <= NUM_RANKS and 1 <= suit <= 4
    return (suit - 1) * NUM_RANKS + rank - 1 if is_one else None


def _read_digits(tokens: list[str]) -> list[int]:
    cards: list[int] = []
    for token in tokens:
        for i in range(0, len(token), 3):
            group = token[i : i + 3]
            card = _card_of(group) if len(group) == 3 else None
            if card is None:
                digits = sum(map(len, tokens))
                raise ValueError(
                    f"card {len(cards) + 1} of {digits} digits is {group!r}: {NUM_CARDS} cards of"
                    " three digits needed, rank 01-13 and suit 1-4"
                )
            cards.append(card)
    return cards
