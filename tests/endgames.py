"""Random Klondike endgames, small enough to try everything and as hard as that allows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from klondike_env.games.klondike.rules import KlondikeRules
from tests.brute_force import CAN_LIE_ON, DOWN, SUITS, State, can_win, moves, read, text_of, write

PILES = 7
MAX_DOWN = 6  # no deal has more cards face down in a pile


def decided_endgames(
    rules: KlondikeRules, count: int, seed: int = 0, most_states: int = 5_000
) -> Iterator[tuple[dict[str, Any], bool]]:
    """So many endgames, and whether each can be won: at least three in ten can, three cannot.

    Those that play themselves are mostly left out, as are those that take too long to decide.
    """
    kept = {True: 0, False: 0}
    for number in itertools.count():
        position = endgame(seed * 1_000_003 + number, rules)
        if number % 8 and plays_itself(position, rules):
            continue
        is_won = can_win(position, rules, most_states)
        if is_won is None or kept[is_won] >= 0.7 * count:
            continue
        kept[is_won] += 1
        yield position, is_won
        if kept[True] + kept[False] == count:
            return


def plays_itself(position: dict[str, Any], rules: KlondikeRules) -> bool:
    """Whether putting up whatever can go up, and drawing when nothing can, wins the game."""
    state = read(position, rules)
    idle = 0
    while idle <= len(state[2]) + len(state[3]) + 1:
        after = moves(state, rules)[-1:]
        if after and sum(after[0][0]) > sum(state[0]):
            state, idle = after[0], 0
        else:
            turned = [other for other in moves(state, rules)[:1] if other[1] == state[1]]
            if not turned:
                break
            state, idle = turned[0], idle + 1
        if sum(state[0]) == 52:
            return True
    return False


def endgame(seed: int, rules: KlondikeRules, most: int = 16) -> dict[str, Any]:
    """A position with at most `most` cards left to put up, the same for the same seed.

    How deep the low cards lie, which suits lag behind, how many cards lie face down or in the stock
    and how many redeals are left differs from one to the next.
    """
    rng = random.Random(seed)
    left_over = rng.randint(most // 2, most)
    up = _foundations(rng, left_over, 0.9 if rules.forced_aces else 0.1)
    left = [suit * 13 + rank for suit in range(4) for rank in range(up[suit], 13)]
    bury = rng.choice((-15, 0, 2, 6, 15))  # how strongly low cards come first, which is deepest
    left.sort(key=lambda c: (c % 13) * bury + 26 * rng.random())

    in_talon = rng.choice((0, 1, 1, 2, 2, len(left) // 4, len(left) // 2, len(left) - 2))
    talon = [left.pop(rng.randrange(len(left))) for _ in range(min(in_talon, 24))]
    piles = _long_runs(rng, left) if rng.random() < 0.3 else _tableau(rng, left)
    rng.shuffle(piles)
    waste = rng.choice((0, 0, len(talon), rng.randint(0, len(talon))))
    position: dict[str, Any] = {
        "tableau": [text_of(bytes(pile)) for pile in piles],
        "foundations": dict(zip(SUITS, up, strict=True)),
        "stock": text_of(bytes(talon[waste:])),
        "waste": text_of(bytes(talon[:waste])),
        "redeals_left": None,
    }
    if rules.passes is not None:
        position["redeals_left"] = min(rules.passes - 1, rng.choice((0, 1, 2, rules.passes)))
    return position


def _foundations(rng: random.Random, left: int, aces: float) -> list[int]:
    """Cards up by suit, so many being left, and now and then one suit not begun.

    Where suits of one colour lag behind, the other colour's cards must come back to hold them.
    """
    up = [13] * 4
    suits = rng.choice(("CS", "DH", "CS", "DH", "CSSS", "CD", "CHS", "CDHS"))
    lagging = [SUITS.index(suit) for suit in suits]
    if rng.random() < aces and left > 13:
        first = rng.randrange(4)
        up[first], left = 0, left - 13
        lagging = [suit for suit in range(4) if suit != first]
    for _ in range(left):
        suit = rng.choice([suit for suit in lagging if up[suit]] or [s for s in range(4) if up[s]])
        up[suit] -= 1
    return up


def _tableau(rng: random.Random, cards: list[int]) -> list[list[int]]:
    """Piles of these cards, the first of them deepest."""
    wanted = min(rng.choice((1, 2, 4, 6, 7, 7, 7)), len(cards))
    in_runs = rng.choice((0.0, 0.3, 0.8, 0.9))  # cards put into face-up runs where they fit
    runs = [[c] for c in cards[len(cards) - wanted :]]
    downs: list[list[int]] = [[] for _ in runs]
    for c in reversed(cards[: len(cards) - wanted]):
        ends = [run for run in runs if run[-1] in CAN_LIE_ON[c]]
        heads = [
            run
            for run, down in zip(runs, downs, strict=True)
            if not down and c in CAN_LIE_ON[run[0]]
        ]
        room = [i for i, down in enumerate(downs) if len(down) < MAX_DOWN]
        if (ends or heads) and rng.random() < in_runs:
            if ends:
                rng.choice(ends).append(c)
            else:
                rng.choice(heads).insert(0, c)
        elif room:
            downs[rng.choice(room)].insert(0, c)
        else:
            runs.append([c])
            downs.append([])
    piles = [[c + DOWN for c in down] + run for down, run in zip(downs, runs, strict=True)]
    return piles + [[] for _ in range(PILES - len(piles))]


def _long_runs(rng: random.Random, cards: list[int]) -> list[list[int]]:
    """Piles of these cards in long face-up runs, some low cards face down under them."""
    cards = sorted(cards, key=lambda c: (c % 13, rng.random()))
    number = min(rng.randint(1, 5), len(cards) - 1)
    hidden = [cards.pop(min(rng.randrange(6), len(cards) - 1)) for _ in range(number)]
    runs: list[list[int]] = []
    for c in reversed(cards):
        ends = [run for run in runs if run[-1] in CAN_LIE_ON[c]]
        if ends and rng.random() < 0.9:
            rng.choice(ends).append(c)
        elif len(runs) < PILES:
            runs.append([c])
        else:
            hidden.append(c)
    downs: list[list[int]] = [[] for _ in runs]
    for c in hidden:
        room = [down for down in downs if len(down) < MAX_DOWN]
        if room:
            rng.choice(room).append(c)
        else:
            runs.append([c])
            downs.append([])
    piles = [[c + DOWN for c in down] + run for down, run in zip(downs, runs, strict=True)]
    return piles + [[] for _ in range(PILES - len(piles))]


def walk_back(seed: int, rules: KlondikeRules, steps: int) -> dict[str, Any]:
    """A position that can be won: reached backwards from a win by so many moves taken back."""
    rng = random.Random(seed)
    redeals = -1 if rules.passes is None else 0
    state: State = ((13,) * 4, (b"",) * PILES, b"", b"", redeals)
    for _ in range(steps):
        earlier = list(_maybe_before(state, rules))
        rng.shuffle(earlier)
        if rng.random() < 0.7:  # rather further from the win
            earlier.sort(key=lambda other: sum(other[0]))
        for before in earlier:
            if state in moves(before, rules):
                state = before
                break
        else:
            break
    return write(state)


def _maybe_before(state: State, rules: KlondikeRules) -> Iterator[State]:
    """States that a move may lead from to this one, and others."""
    up, piles, stock, waste, redeals = state
    talon = len(stock) + len(waste)

    def placed(cards: bytes, piles: tuple[bytes, ...], source: int) -> Iterator[tuple[bytes, ...]]:
        for j, pile in enumerate(piles):
            if j == source:
                continue
            unders = [pile] if not pile or pile[-1] in CAN_LIE_ON[cards[0]] else []
            if pile and (len(pile) == 1 or pile[-2] >= DOWN) and len(pile) <= MAX_DOWN:
                unders.append(pile[:-1] + bytes((pile[-1] + DOWN,)))  # it was turned up just now
            for under in unders:
                yield tuple(sorted((*piles[:j], under + cards, *piles[j + 1 :])))

    def to_foundation(suit: int, by: int) -> tuple[int, ...]:
        return (*up[:suit], up[suit] + by, *up[suit + 1 :])

    for suit in range(4):
        if up[suit]:
            c = bytes((suit * 13 + up[suit] - 1,))
            for before in placed(c, piles, -1):
                yield to_foundation(suit, -1), before, stock, waste, redeals
            if talon < 24:
                yield to_foundation(suit, -1), piles, stock, waste + c, redeals
    for i, pile in enumerate(piles):
        for start in range(len(pile)):
            if pile[start] >= DOWN or (start and pile[start - 1] >= DOWN):
                continue
            left = (*piles[:i], pile[:start], *piles[i + 1 :])
            for before in placed(pile[start:], left, i):
                yield up, before, stock, waste, redeals
        if pile and (len(pile) == 1 or pile[-2] < DOWN):
            c, suit = pile[-1], pile[-1] // 13
            left = tuple(sorted((*piles[:i], pile[:-1], *piles[i + 1 :])))
            yield to_foundation(suit, 1), left, stock, waste, redeals
            if talon < 24:
                yield up, left, stock, waste + bytes((c,)), redeals
    for count in range(1, rules.draw_count + 1):
        if count <= len(waste):
            yield up, piles, waste[len(waste) - count :] + stock, waste[:-count], redeals
    if stock and not waste and (rules.passes is None or redeals < rules.passes - 1):
        yield up, piles, b"", stock, redeals if redeals < 0 else redeals + 1
