"""The Klondike board as its player sees it: as text, and as piles to draw."""

from __future__ import annotations

import numpy as np

from klondike_env.cards import CARDS, FACE_DOWN, NUM_RANKS
from klondike_env.cards import SUITS as SUIT_LETTERS
from klondike_env.games.base import UNSEEN, Board, Pile
from klondike_env.games.klondike.layout import MAX_HEIGHT, MAX_HIDDEN, PILES, SUITS

COLUMN = 1.16
"""From one pile to the next, in card widths."""
TABLEAU_Y = 1.17
WIDTH = (PILES - 1) * COLUMN + 1
HEIGHT = 4.3
WASTE_FAN = 3

_SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")
_FACE_UP = ("", *CARDS)  # texts by card + 1, as states have them
_FACE_DOWN = ("", *(card.lower() for card in CARDS))


def board(states: np.ndarray, all_cards: bool = False) -> Board:
    """The piles of a state (states[1]) to draw.

    Args:
        all_cards: whether cards that the player has never seen show, face down.
    """
    state = states[0]
    waste_size, size = int(state["waste_size"]), int(state["talon_size"])
    seen = size if all_cards else size - int(state["unseen"])
    talon = state["talon"].tolist()
    redeals_left = int(state["redeals_left"])
    stock = [_FACE_DOWN[card] for card in talon[waste_size:seen]] + [UNSEEN] * (size - seen)
    piles = [
        Pile(
            "stock",
            "stock",
            0,
            0,
            tuple(reversed(stock)),  # the next card to be drawn on top
            sign="redeal" if waste_size and redeals_left else "none",
            has_count=True,
        ),
        Pile(
            "waste",
            "waste",
            COLUMN,
            0,
            tuple([_FACE_UP[card] for card in talon[:waste_size]]),
            fan="right",
            fanned=WASTE_FAN,
            has_count=True,
        ),
    ]
    for suit, up in enumerate(state["foundations"].tolist()):
        cards = _FACE_UP[suit * NUM_RANKS + 1 : suit * NUM_RANKS + 1 + up]
        x = (PILES - SUITS + suit) * COLUMN
        label = f"foundation of {_SUIT_NAMES[suit]}"
        piles.append(Pile(SUIT_LETTERS[suit], label, x, 0, cards, sign=SUIT_LETTERS[suit]))
    for i in range(PILES):
        cards = _pile_cards(state, i, all_cards)
        x, label = i * COLUMN, f"pile {i + 1}"
        piles.append(Pile(f"T{i + 1}", label, x, TABLEAU_Y, cards, fan="down", sign="K"))
    counters = (
        ("score", str(int(state["score"]))),
        ("up", f"{state['foundation_cards']}/52"),
        ("face down", str(int(state["face_down_cards"]))),
        ("redeals left", "unlimited" if redeals_left < 0 else str(redeals_left)),
        ("step", str(int(state["steps"]))),
    )
    return Board(WIDTH, HEIGHT, tuple(piles), counters)


def _pile_cards(state: np.void, i: int, all_cards: bool) -> tuple[str, ...]:
    start, down = i * MAX_HEIGHT, int(state["face_down"][i])
    cards = state["tableau"][start : start + int(state["height"][i])].tolist()
    hidden = state["hidden"][i * MAX_HIDDEN : i * MAX_HIDDEN + down].tolist()
    below = [
        UNSEEN if shown == FACE_DOWN and not all_cards else _FACE_DOWN[card]
        for shown, card in zip(cards, hidden, strict=False)
    ]
    return (*below, *(_FACE_UP[card] for card in cards[down:]))


def board_text(states: np.ndarray) -> str:
    """The board of a state (states[1]) in ASCII.

    ``##`` is a card never seen, ``--`` an empty place; where a face-down card is known (thoughtful
    play) it stands in brackets. The waste shows all its cards, the top one last.
    """
    state = states[0]
    waste_size, size = int(state["waste_size"]), int(state["talon_size"])
    unseen = int(state["unseen"])
    ups = [int(up) for up in state["foundations"]]
    foundations = [
        f"{CARDS[s * NUM_RANKS + ups[s] - 1] if ups[s] else '-' + SUIT_LETTERS[s]:>3}"
        for s in range(SUITS)
    ]
    redeals = "unlimited" if state["redeals_left"] < 0 else str(int(state["redeals_left"]))
    stock = [CARDS[card - 1] for card in state["talon"][waste_size : size - unseen]]
    stock += ["##"] * unseen
    waste = [CARDS[card - 1] for card in state["talon"][:waste_size]]
    lines = [
        f"foundations {' '.join(foundations)}   score {state['score']}   redeals left {redeals}",
        f"stock ({size - waste_size}) {' '.join(stock) or '--'}",
        f"waste ({waste_size}) {' '.join(waste) or '--'}",
        "".join(f"{i + 1:>5}" for i in range(PILES)),
    ]
    rows = max(1, max(int(height) for height in state["height"]))
    lines += [
        "".join(f"{_cell(state, i, r):>5}" for i in range(PILES)).rstrip() for r in range(rows)
    ]
    return "\n".join(lines) + "\n"


def _cell(state: np.void, pile: int, row: int) -> str:
    if row >= state["height"][pile]:
        return "--" if row == 0 else ""
    shown = int(state["tableau"][pile * MAX_HEIGHT + row])
    if shown == FACE_DOWN:
        return "##"
    text = CARDS[shown - 1]
    return f"({text})" if row < state["face_down"][pile] else text
