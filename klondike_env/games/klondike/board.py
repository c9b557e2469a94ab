"""The Klondike board as text, as its player sees it."""

from __future__ import annotations

import numpy as np

from klondike_env.cards import CARDS, FACE_DOWN, NUM_RANKS
from klondike_env.cards import SUITS as SUIT_LETTERS
from klondike_env.games.klondike.layout import MAX_HEIGHT, PILES, SUITS


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
