"""Klondike's actions: id <-> text, and why an action is illegal.

======================  =====================================  ===========================
turn                    reach                                  text
======================  =====================================  ===========================
0                       (implied)                              draw
1                       (implied)                              redeal
2                       8 k for the k-th talon card            W>F, or #1>F ... #24>F
3 + j                   8 k + 1 + j                            W>T1 ..., or #1>T1 ...
10 + i                  192 + i                                T1>F ...
17 + 6 i + j'           199 + 6 i + j'                         T1>T2 ...
59 + 7 s + j            241 + 7 s + j                          C>T1 ... (suits C D H S)
======================  =====================================  ===========================

Piles i, j count from 0 here and from 1 in the text, talon cards k likewise; j' is j if j < i, else
j - 1. The talon is the waste bottom to top, then the stock in draw order. How many cards a move
from pile to pile takes follows from the ranks; a record may add it, as in ``T3>T5 x2``.
"""

from __future__ import annotations

import re

import numpy as np

from klondike_env.cards import NUM_RANKS, card_text
from klondike_env.cards import SUITS as SUIT_LETTERS
from klondike_env.checks import check_choice, whole
from klondike_env.games.klondike.layout import (
    ACTION_SETS,
    MAX_HEIGHT,
    PILES,
    REACH_BOARD,
    TALON,
    TURN_BOARD,
)

_TARGETS = ("F", *(f"T{j + 1}" for j in range(PILES)))
_BOARD = (
    *(f"T{i + 1}>F" for i in range(PILES)),
    *(f"T{i + 1}>T{j + 1}" for i in range(PILES) for j in range(PILES) if i != j),
    *(f"{suit}>T{j + 1}" for suit in SUIT_LETTERS for j in range(PILES)),
)
MOVES = {
    "turn": ("draw", "redeal", *(f"W>{target}" for target in _TARGETS), *_BOARD),
    "reach": (*(f"#{k + 1}>{target}" for k in range(TALON) for target in _TARGETS), *_BOARD),
}
"""The text of every action of each action set, by id."""

_IDS = {
    name: {text.upper(): action for action, text in enumerate(texts)}
    for name, texts in MOVES.items()
}


def move_text(action: int, actions: str = "turn") -> str:
    """Text of an action id: ``move_text(17) == "T1>T2"``.

    Raises:
        ValueError: no such action or action set.
    """
    check_choice("actions", actions, tuple(ACTION_SETS))
    number, size = whole(action), ACTION_SETS[actions]
    if number is None or not 0 <= number < size:
        raise ValueError(f"action {action!r} is not one of 0-{size - 1} ({actions!r})")
    return MOVES[actions][number]


def parse_move(text: str, actions: str = "turn") -> int:
    """Action id of a move text; case and a count such as `` x2`` do not matter.

    Raises:
        ValueError: the text names no move of this action set, or there is no such set.
    """
    check_choice("actions", actions, tuple(ACTION_SETS))
    if not isinstance(text, str):
        raise ValueError(f"a move is a text such as T1>F, not {text!r}")
    name = re.sub(r"\s*X\d+$", "", text.strip().upper())
    if name not in _IDS[actions]:
        example = "draw, redeal, W>T1" if actions == "turn" else "#1>T1"
        raise ValueError(f"{text!r} is no move: moves are such as {example}, T1>F, T1>T2, H>T2")
    return _IDS[actions][name]


def counted_text(states: np.ndarray, action: int, actions: str = "turn") -> str:
    """Text of an action that is legal in a state (states[1]), with the cards it takes if several.

    ``T1>T2 x3`` moves three cards.
    """
    text = move_text(action, actions)
    move = action - (TURN_BOARD if actions == "turn" else REACH_BOARD)
    if not PILES <= move < PILES * PILES:
        return text
    source, place = divmod(move - PILES, PILES - 1)
    target = place if place < source else place + 1
    state = states[0]
    if not state["height"][source]:
        return text  # where nothing can be played at all, any action may be the last one
    lowest = _run(state, source)[-1] % NUM_RANKS
    # The run's head is one rank below what it lands on, a king in a space.
    landing = _run(state, target)[-1] % NUM_RANKS if state["height"][target] else NUM_RANKS
    cards = landing - lowest
    return text if cards == 1 else f"{text} x{cards}"


def explain_illegal(states: np.ndarray, action: int, actions: str) -> str:
    """Why an action is illegal in a state (states[1]), naming the move, in one line."""
    size = ACTION_SETS[actions]
    if not 0 <= action < size:
        return f"action {action} is out of range: this action set has 0-{size - 1}"
    return f"{MOVES[actions][action]} is illegal: {_reason(states[0], action, actions)}"


def _reason(state: np.void, action: int, actions: str) -> str:
    waste, size = int(state["waste_size"]), int(state["talon_size"])
    board = TURN_BOARD if actions == "turn" else REACH_BOARD
    if action >= board:
        move = action - board
        if move < PILES * PILES:
            i = move if move < PILES else (move - PILES) // (PILES - 1)
            if not state["height"][i]:
                return f"pile {i + 1} is empty"
            if move < PILES:
                return _not_up(state, _run(state, i)[-1])
            to = (move - PILES) % (PILES - 1)
            return _not_on(state, _run(state, i), to if to < i else to + 1)
        suit, j = divmod(move - PILES * PILES, PILES)
        up = int(state["foundations"][suit])
        if not up:
            return f"the foundation of {SUIT_LETTERS[suit]} is empty"
        card = suit * NUM_RANKS + up - 1
        return _not_on(state, [card], j, "these rules take no card back from a foundation")
    if actions == "turn" and action < 2:
        if action == 0:
            return "the stock is empty" if waste == size else _FORCED_ACE
        if waste < size:
            return "the stock is not empty"
        return "the waste is empty" if not waste else "no redeal is left"
    k = waste - 1 if actions == "turn" else action >> 3
    if k < 0:
        return "the waste is empty"
    if k >= size:
        return f"waste and stock hold {size} cards"
    card = int(state["talon"][k]) - 1
    target = action - 2 if actions == "turn" else action & 7
    unreachable = (
        _FORCED_ACE if actions == "turn" else f"no draw brings {card_text(card)} to the top"
    )
    if target == 0:
        return _not_up(state, card, unreachable)
    return _not_on(state, [card], target - 1, unreachable)


_FORCED_ACE = "an ace must go to its foundation first"


def _run(state: np.void, pile: int) -> list[int]:
    """Face-up cards of a pile, bottom to top."""
    start = pile * MAX_HEIGHT
    first, last = start + int(state["face_down"][pile]), start + int(state["height"][pile])
    return [int(card) - 1 for card in state["tableau"][first:last]]


def _not_up(state: np.void, card: int, otherwise: str = _FORCED_ACE) -> str:
    suit, rank = divmod(card, NUM_RANKS)
    up = int(state["foundations"][suit])
    if rank != up:
        next_up = card_text(suit * NUM_RANKS + up)
        return f"{card_text(card)} is not next on its foundation, {next_up} is"
    return otherwise


def _not_on(state: np.void, run: list[int], pile: int, otherwise: str = _FORCED_ACE) -> str:
    """Why no card of `run` (bottom to top) goes on a pile."""
    cards = " ".join(map(card_text, run))
    if state["height"][pile]:
        top = _run(state, pile)[-1]
        fits = any(c % NUM_RANKS + 1 == top % NUM_RANKS and _is_red(c) != _is_red(top) for c in run)
        refusal = f"nothing of {cards} fits on {card_text(top)}"
    else:
        fits = any(c % NUM_RANKS == NUM_RANKS - 1 for c in run)
        refusal = f"only a king may fill the space, not {cards}"
    if not fits:
        return refusal
    if len(run) > 1 and otherwise == _FORCED_ACE:
        return f"these rules do not split {cards} there"
    return otherwise


def _is_red(card: int) -> bool:
    return card // NUM_RANKS in (1, 2)


_MEANINGS = {
    "draw": "turn cards from stock to waste",
    "redeal": "turn the waste over to make a new stock",
    "W>F": "waste to foundation",
    "W>T#": "waste to pile",
    "##>F": "8 k + d: k-th talon card to foundation (d 0) or pile d",
    "T#>F": "pile to foundation",
    "T#>T#": "pile to pile",
    "S>T#": "foundation to pile",
}


def action_table(actions: str) -> list[str]:
    """The actions of a set, a line for each kind: ids, first and last move, meaning."""
    kinds: dict[str, list[int]] = {}
    for action, text in enumerate(MOVES[actions]):
        kind = re.sub(rf"^[{SUIT_LETTERS}]>", "S>", re.sub(r"\d+", "#", text))
        kind = "##>F" if text.startswith("#") else kind
        kinds.setdefault(kind, []).append(action)
    lines = []
    for kind, ids in kinds.items():
        first, last = MOVES[actions][ids[0]], MOVES[actions][ids[-1]]
        span = str(ids[0]) if len(ids) == 1 else f"{ids[0]}-{ids[-1]}"
        moves = first if len(ids) == 1 else f"{first} ... {last}"
        lines.append(f"{span:<9}{moves:<20}{_MEANINGS[kind]}")
    return lines
