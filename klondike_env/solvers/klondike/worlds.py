"""Worlds: guesses of where the cards lie that a player has not seen, as compact states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from klondike_env.cards import FACE_DOWN, NUM_CARDS
from klondike_env.compiled import entry_point, inlined
from klondike_env.deals import mix
from klondike_env.games.klondike.kernels import start
from klondike_env.games.klondike.layout import MAX_HEIGHT, MAX_HIDDEN, PILES, SUITS, encode_rules
from klondike_env.games.klondike.layout import STATE as GAME
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.compact import DEAL, ONE, STATE, ZERO, U, read_game

GAMMA = np.uint64(0x9E3779B97F4A7C15)


def room_for_worlds(count: int) -> tuple[Any, ...]:
    """What `draw_worlds` works in and writes: a game, `STATE`[count + 1], `DEAL`[count + 1]."""
    return (
        np.zeros(1, dtype=GAME),
        np.zeros(count + 1, dtype=STATE),
        np.zeros(count + 1, dtype=DEAL),
    )


@inlined
def seen_cards(game):
    """The cards that a record of what a player sees shows, as bits by card + 1."""
    seen = ZERO
    for i in range(PILES):
        for k in range(np.int64(game.face_down[i]), np.int64(game.height[i])):
            seen |= ONE << U(game.tableau[U(MAX_HEIGHT * i + k)])
    for k in range(np.int64(game.talon_size)):
        seen |= ONE << U(game.talon[k])
    for s in range(SUITS):
        for rank in range(np.int64(game.foundations[s])):
            seen |= ONE << U(13 * s + rank + 1)
    return seen


@inlined
def _shuffle(numbers, size, seed):
    """Put the first numbers in a random order. Returns the seed to go on with."""
    for k in range(size - 1, 0, -1):
        seed += GAMMA
        # The product of 32 random bits and a size below 2**6 has a bias below 2**-26.
        at = np.int64(((mix(seed) >> U(32)) * U(k + 1)) >> U(32))
        numbers[k], numbers[at] = numbers[at], numbers[k]
    return seed


@entry_point
def draw_worlds(games, terms, seed, scratch, states, deals):
    """Fill worlds with the unseen cards, every order of them as likely as any other.

    Worlds come in groups, in each of which every unseen card lies once in every unseen place: the
    means over worlds of a group vary less than those over independent worlds.

    Args:
        games: the record of what the player sees, unseen stock cards as FACE_DOWN.
        terms: the rules record.
        seed: uint64.
        scratch: a record of a game.
        states: `STATE`[K + 1], written but for the last, which is zeros.
        deals: `DEAL`[K + 1], the same.

    Returns:
        Whether some card of the stock is unseen.
    """
    blank = states.shape[0] - 1
    cards, order = np.empty(64, dtype=np.int64), np.arange(64)
    seen, size = seen_cards(games[0]), 0
    for card in range(1, NUM_CARDS + 1):
        if (seen >> U(card)) & ONE == ZERO:
            cards[size] = card
            size += 1
    is_first = False
    for w in range(blank):
        turn = w % max(size, 1)
        if turn == 0:
            seed = _shuffle(cards, size, seed)
            seed = _shuffle(order, size, seed)
        scratch[0] = games[0]
        game, place = scratch[0], 0
        for i in range(PILES):
            for k in range(np.int64(game.face_down[i])):
                game.hidden[U(MAX_HIDDEN * i + k)] = cards[(order[place] + turn) % size]
                place += 1
        for k in range(np.int64(game.talon_size)):
            if np.int64(game.talon[k]) == FACE_DOWN:
                is_first = True
                game.talon[k] = cards[(order[place] + turn) % size]
                place += 1
        states[w], deals[w] = states[blank], deals[blank]
        read_game(game, terms[0], states[w], deals[w])
    return is_first


def room_to_deal(rules: KlondikeRules) -> tuple[Any, ...]:
    """What `deal_state` works in: a game and what starts it, a state and a deal of zeros."""
    return (
        np.zeros(1, dtype=GAME),
        np.zeros(1, dtype=np.int64),
        np.zeros((1, NUM_CARDS), dtype=np.uint8),
        np.zeros(1, dtype=STATE),
        np.zeros(1, dtype=DEAL),
        encode_rules(rules, "turn"),
    )


@entry_point
def deal_state(numbers, scratch, states, deals):
    """Write the compact state and the deal of a deal number, all cards known; arrays of one."""
    games, rows, no_deck, no_state, no_deal, terms = scratch
    start(games, rows, numbers, no_deck, terms)
    states[0], deals[0] = no_state[0], no_deal[0]
    read_game(games[0], terms[0], states[0], deals[0])


def deal_states(numbers: Iterable[int], rules: KlondikeRules) -> tuple[np.ndarray, np.ndarray]:
    """The compact states (`STATE`[M]) and deals (`DEAL`[M]) of deal numbers, all cards known."""
    given, scratch = np.array(list(numbers), dtype=np.int64), room_to_deal(rules)
    states, deals = np.zeros(len(given), dtype=STATE), np.zeros(len(given), dtype=DEAL)
    for k in range(len(given)):
        row = slice(k, k + 1)
        deal_state(given[row], scratch, states[row], deals[row])
    return states, deals
