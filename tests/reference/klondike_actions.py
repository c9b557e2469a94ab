"""What the action ids of Klondike stand for, written out from their tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.reference.cards import SUITS

PILES = range(7)
STOCK_ROOM = 24


class Move(NamedTuple):
    """What an action id stands for: `kind` and, where it has them, source and target."""

    kind: str
    source: Any = None
    target: Any = None


def _turn_moves() -> dict[int, Move]:
    """The 87 actions of the `turn` set by id."""
    moves = {0: Move("draw"), 1: Move("redeal"), 2: Move("waste to foundation")}
    for j in PILES:
        moves[3 + j] = Move("waste to pile", target=j)
    for i in PILES:
        moves[10 + i] = Move("pile to foundation", source=i)
        for j in PILES:
            if j != i:
                moves[17 + 6 * i + (j if j < i else j - 1)] = Move("pile to pile", i, j)
    for s, suit in enumerate(SUITS):
        for j in PILES:
            moves[59 + 7 * s + j] = Move("foundation to pile", suit, j)
    return moves


TURN_MOVES = _turn_moves()
CARD_MOVES = tuple(move for move in TURN_MOVES.values() if move.kind not in ("draw", "redeal"))
WASTE_MOVES = tuple(move for move in CARD_MOVES if move.kind.startswith("waste"))
TABLEAU_MOVES = tuple(move for move in CARD_MOVES if move not in WASTE_MOVES)


def _reach_moves() -> dict[int, tuple[int | None, Move]]:
    """The 269 actions of the `reach` set by id: (place in waste + stock or None, the move made)."""
    moves: dict[int, tuple[int | None, Move]] = {}
    for k in range(STOCK_ROOM):
        moves[8 * k] = (k, Move("waste to foundation"))
        for j in PILES:
            moves[8 * k + 1 + j] = (k, Move("waste to pile", target=j))
    for i in PILES:
        moves[192 + i] = (None, Move("pile to foundation", source=i))
        for j in PILES:
            if j != i:
                moves[199 + 6 * i + (j if j < i else j - 1)] = (None, Move("pile to pile", i, j))
    for s, suit in enumerate(SUITS):
        for j in PILES:
            moves[241 + 7 * s + j] = (None, Move("foundation to pile", suit, j))
    return moves


REACH_MOVES = _reach_moves()
REACH_IDS = {place_and_move: action for action, place_and_move in REACH_MOVES.items()}
