"""Small Klondike endgames decided by trying everything, in plain Python.

Written from the rules alone, without a look at the compiled games and solvers it is to check. A
state is an exact position; the order of the piles does not matter, nothing else is clever.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from klondike_env.games.klondike.rules import KlondikeRules

RANKS, SUITS = "A23456789TJQK", "CDHS"
KING = 12
DOWN = 64  # added to a card that lies face down

State = tuple[tuple[int, ...], tuple[bytes, ...], bytes, bytes, int]
"""Cards up by suit; piles bottom to top, sorted; stock, first drawn first; waste, bottom to top;
redeals left, -1 for unlimited."""

CAN_LIE_ON = [
    [
        below
        for below in range(52)
        if above % 13 + 1 == below % 13 and (above // 13 in (1, 2)) != (below // 13 in (1, 2))
    ]
    for above in range(52)
]
"""The cards that each card can lie on: one rank higher, of the other colour."""


def card(text: str) -> int:
    return SUITS.index(text[1]) * 13 + RANKS.index(text[0])


def text_of(cards: bytes) -> str:
    """A pile, the stock or the waste as positions write it."""
    return " ".join(
        f"({RANKS[c % DOWN % 13]}{SUITS[c % DOWN // 13]})"
        if c >= DOWN
        else f"{RANKS[c % 13]}{SUITS[c // 13]}"
        for c in cards
    )


def read(position: Mapping[str, Any], rules: KlondikeRules) -> State:
    """The state of a position; one without `redeals_left` has all the redeals of the rules."""
    piles = []
    for pile in position.get("tableau", [""] * 7):
        found = re.findall(r"(\(?)([2-9TJQKA][CDHS])", pile)
        piles.append(bytes(card(name) + (DOWN if down else 0) for down, name in found))
    up = tuple(position.get("foundations", {}).get(suit, 0) for suit in SUITS)
    stock, waste = (
        bytes(card(name) for name in position.get(key, "").split()) for key in ("stock", "waste")
    )
    redeals = -1
    if rules.passes is not None:
        redeals = position.get("redeals_left", rules.passes - 1)
    return up, tuple(sorted(piles)), stock, waste, redeals


def write(state: State) -> dict[str, Any]:
    """The position of a state."""
    up, piles, stock, waste, redeals = state
    return {
        "tableau": [text_of(pile) for pile in piles],
        "foundations": dict(zip(SUITS, up, strict=True)),
        "stock": text_of(stock),
        "waste": text_of(waste),
        "redeals_left": None if redeals < 0 else redeals,
    }


@functools.cache
def _moving_tails(pile: bytes, run_moves: str) -> tuple[int, ...]:
    """Where the cards begin that may leave a pile for another pile together."""
    first = len(pile) - 1
    while first > 0 and pile[first - 1] < DOWN:
        first -= 1
    if run_moves == "whole":
        return (first,)
    return tuple(
        start
        for start in range(first, len(pile))
        if run_moves == "partial" or len({c // 13 for c in pile[start:]}) == 1
    )


@functools.cache
def _without(pile: bytes, start: int) -> bytes:
    """What stays when the cards from `start` on leave: its top card lies face up."""
    rest = pile[:start]
    if rest and rest[-1] >= DOWN:
        return rest[:-1] + bytes((rest[-1] - DOWN,))
    return rest


def moves(state: State, rules: KlondikeRules) -> list[State]:
    """Every state that one legal move leads to: a draw or redeal first, plays to foundations last.

    Spaces being alike, a king goes to one of them only.
    """
    up, piles, stock, waste, redeals = state
    tops = {pile[-1]: i for i, pile in enumerate(piles) if pile}
    space = None if piles[0] else 0  # the piles are sorted
    ups: list[State] = []
    aces: list[State] = []
    others: list[State] = []

    def hosts(c: int) -> list[int]:
        found = [tops[below] for below in CAN_LIE_ON[c] if below in tops]
        if c % 13 == KING and space is not None:
            found.append(space)
        return found

    def changed(i: int, pile: bytes, j: int = 0, other: bytes | None = None) -> tuple[bytes, ...]:
        after = list(piles)
        after[i] = pile
        if other is not None:
            after[j] = other
        after.sort()
        return tuple(after)

    for c, i in [*tops.items(), *([(waste[-1], -1)] if waste else [])]:
        suit, rank = divmod(c, 13)
        if up[suit] == rank:
            higher = (*up[:suit], rank + 1, *up[suit + 1 :])
            if i >= 0:
                pile = piles[i]
                after = changed(i, _without(pile, len(pile) - 1))
                found = (higher, after, stock, waste, redeals)
            else:
                found = (higher, piles, stock, waste[:-1], redeals)
            (aces if rank == 0 else ups).append(found)
    if aces and rules.forced_aces:
        return aces

    if stock:
        turned = stock[: rules.draw_count]
        others.append((up, piles, stock[rules.draw_count :], waste + turned, redeals))
    elif waste and redeals != 0:
        others.append((up, piles, waste, b"", max(redeals - 1, -1)))
    if rules.foundation_to_tableau:
        for suit in range(4):
            if up[suit]:
                c = suit * 13 + up[suit] - 1
                lower = (*up[:suit], up[suit] - 1, *up[suit + 1 :])
                for j in hosts(c):
                    after = changed(j, piles[j] + bytes((c,)))
                    others.append((lower, after, stock, waste, redeals))
    for i in tops.values():
        pile = piles[i]
        for start in _moving_tails(pile, rules.run_moves):
            for j in hosts(pile[start]):
                after = changed(i, _without(pile, start), j, piles[j] + pile[start:])
                others.append((up, after, stock, waste, redeals))
    if waste:
        for j in hosts(waste[-1]):
            after = changed(j, piles[j] + waste[-1:])
            others.append((up, after, stock, waste[:-1], redeals))
    return others + ups + aces


def can_win(
    position: Mapping[str, Any], rules: KlondikeRules, most_states: int = 100_000
) -> bool | None:
    """Whether a position can be won; None if that takes more than `most_states` states."""
    start = read(position, rules)
    seen = {start}
    todo = [start]
    while todo:
        for state in moves(todo.pop(), rules):
            if state not in seen:
                if sum(state[0]) == 52:
                    return True
                seen.add(state)
                todo.append(state)
        if len(seen) > most_states:
            return None
    return False


def winning_line(position: Mapping[str, Any], rules: KlondikeRules) -> list[dict[str, Any]] | None:
    """The positions on a shortest way to a win; None if there is none."""
    start = read(position, rules)
    before: dict[State, State | None] = {start: None}
    todo = [start]
    for state in todo:
        for after in moves(state, rules):
            if after in before:
                continue
            before[after] = state
            if sum(after[0]) == 52:
                line: list[dict[str, Any]] = []
                step: State | None = after
                while step is not None:
                    line.append(write(step))
                    step = before[step]
                return line[::-1]
            todo.append(after)
    return None
