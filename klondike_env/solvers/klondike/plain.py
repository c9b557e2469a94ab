"""Depth-first search for any rules, on the game's own records and kernels.

For rules under which it matters on which of two twins a card lies (whole or same-suit runs) or in
which order cards are drawn (forced aces). It makes no use of anything but exact repetition, so it
is slower than the search of compact states, and a check on that where both can play.
"""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import entry_point, inlined, lowest_bit
from klondike_env.deals import mix
from klondike_env.games.klondike.kernels import STUCK as GAME_STUCK
from klondike_env.games.klondike.kernels import WON as GAME_WON
from klondike_env.games.klondike.kernels import play
from klondike_env.games.klondike.layout import (
    MAX_HEIGHT,
    PILES,
    REACH_BOARD,
    SUITS,
    TURN_BOARD,
)
from klondike_env.solvers.klondike.compact import INDEX, ONE, ZERO, U
from klondike_env.solvers.klondike.search import FULL, LOST, PAUSED, WON

_RUNS = ((1 << (PILES * (PILES - 1))) - 1) << PILES
_UPS = (1 << PILES) - 1


@inlined
def _write_key(game, deal, rules, key):
    """The position as two words, exactly, spaces and twin piles being all one."""
    word, on_second = ZERO, ZERO
    for s in range(SUITS):
        word += U(game.foundations[s]) * deal.up_weight[s]
    for i in range(PILES):
        height, down = np.int64(game.height[i]), np.int64(game.face_down[i])
        at = MAX_HEIGHT * i
        if height > 0:
            below = INDEX[np.int64(game.tableau[U(at + down)]) - 1]
            is_dealt = deal.pile_cards[8 * i] == ONE << U(below)
            if down > 0 or is_dealt:
                word += U(down + 1) * deal.dealt_weight[i]
            for k in range(down + 1, height):
                card = INDEX[np.int64(game.tableau[U(at + k)]) - 1]
                on_second |= U(below & 1) << U(card)
                below = card
    talon = ZERO
    for k in range(np.int64(game.talon_size)):
        talon |= ONE << U(deal.place[INDEX[np.int64(game.talon[k]) - 1]])
    word += talon * deal.talon_weight
    waste = np.int64(game.waste_size)
    if deal.is_endless and not rules.forced_aces:
        if waste == np.int64(game.talon_size) or waste % rules.draw_count == 0:
            waste = 0
    word += U(waste) * deal.waste_weight
    if not deal.is_endless:
        word += U(game.redeals_left) * deal.redeal_weight
    key[0], key[1] = word + ONE, on_second


@inlined
def _skip_idle(game, todo, rules):
    """Leave out carrying a whole pile into a space."""
    board, word = (REACH_BOARD, 3) if rules.is_reach else (TURN_BOARD, 0)
    shift = U(board & 63)
    for i in range(PILES):
        if game.face_down[i] == 0 and game.height[i] > 0:
            for j in range(PILES):
                if game.height[j] == 0 and j != i:
                    move = PILES + (PILES - 1) * i + (j if j < i else j - 1)
                    todo[word] &= ~(ONE << (U(move) + shift))


@inlined
def _take(todo, word, moves):
    k = lowest_bit(moves)
    todo[word] ^= ONE << k
    return np.int64(k) + 64 * word


@inlined
def _choose(todo, rules):
    """Take the next action out of the words of actions still to be tried; -1 if there is none."""
    first, shift = (3, 0) if rules.is_reach else (0, TURN_BOARD)
    for moves in (U(_UPS << shift), U(_RUNS << shift)):
        if todo[first] & moves != ZERO:
            return _take(todo, first, todo[first] & moves)
    turns = ZERO if rules.is_reach else U(0b11)  # draw and redeal come last
    if todo[0] & ~turns != ZERO:
        return _take(todo, 0, todo[0] & ~turns)
    for word in range(1, 5):
        if todo[word] != ZERO:
            return _take(todo, word, todo[word])
    if todo[0] != ZERO:
        return _take(todo, 0, todo[0])
    return -1


@inlined
def _find_place(table, mask, shift, key):
    at = mix(key[0] ^ mix(key[1])) >> shift
    while table[at << ONE] != ZERO and (
        table[at << ONE] != key[0] or table[(at << ONE) + ONE] != key[1]
    ):
        at = (at + ONE) & mask
    return at << ONE


@entry_point
def begin(games, todo, rules):
    """Make ready to search from games[0]."""
    for word in range(5):
        todo[0, word] = games[0].legal[word]
    _skip_idle(games[0], todo[0], rules[0])


@entry_point
def search(games, todo, tried, deals, rules, table, counts, budget):
    """Search on until decided or `budget` more states have been visited.

    Args:
        games: `klondike.layout.STATE`[depth], games[0] the start.
        todo: uint64[depth, 5], made ready by `begin`.
        tried: int64[depth], the actions on the way.
        deals, rules, table, counts, budget: as for the search of compact states, but the table's
            entries are the two words of a key.

    Returns:
        WON, with the actions in tried[:depth]; LOST; PAUSED; FULL.
    """
    deal, terms = deals[0], rules[0]
    depth, visited, entries = counts[0], counts[1], counts[2]
    size = U(table.shape[0] >> 1)
    mask, shift = size - ONE, U(64) - lowest_bit(size)
    most_entries = np.int64(size) - np.int64(size) // 4
    stop = visited + budget
    deepest = games.shape[0] - 2
    status = PAUSED
    key = np.empty(2, dtype=np.uint64)
    while visited < stop:
        action = _choose(todo[depth], terms)
        if action < 0:
            depth -= 1
            if depth < 0:
                status = LOST
                break
            continue
        tried[depth] = action
        games[depth + 1] = games[depth]
        game = games[depth + 1]
        play(game, action, terms)
        visited += 1
        if game.outcome == GAME_WON:
            depth += 1
            status = WON
            break
        if game.outcome == GAME_STUCK:
            continue
        _write_key(game, deal, terms, key)
        at = _find_place(table, mask, shift, key)
        if table[at] != ZERO:
            continue
        table[at], table[at + ONE] = key[0], key[1]
        entries += 1
        if depth == deepest:
            counts[3] += 1
            continue
        depth += 1
        for word in range(5):
            todo[depth, word] = game.legal[word]
        _skip_idle(game, todo[depth], terms)
        if entries >= most_entries:
            status = FULL
            break
    counts[0], counts[1], counts[2] = depth, visited, entries
    return status


@entry_point
def move_entries(old, new):
    """Copy the entries of a table to a larger one."""
    size = U(new.shape[0] >> 1)
    mask, shift = size - ONE, U(64) - lowest_bit(size)
    for i in range(old.shape[0] >> 1):
        key = old[2 * i : 2 * i + 2]
        if key[0] != ZERO:
            at = _find_place(new, mask, shift, key)
            new[at], new[at + ONE] = key[0], key[1]
