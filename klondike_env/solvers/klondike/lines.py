"""Compact moves made on the board: which actions of the environment they are.

A compact move says which card goes up or over, not where things lie. Here it is played on a game's
record by the game's own kernels, with the draws and redeals that bring a stock card to the top, and
with what lies on a card moved over to the card's twin first where the move takes that for granted.
"""

from __future__ import annotations

import numpy as np

from klondike_env.cards import NUM_CARDS, NUM_RANKS
from klondike_env.compiled import entry_point, inlined, lowest_bit
from klondike_env.games.klondike.kernels import RUNNING, WON, play
from klondike_env.games.klondike.layout import (
    MAX_HEIGHT,
    PILES,
    REACH_BOARD,
    SUITS,
    TURN_BOARD,
    TURN_WASTE,
)
from klondike_env.solvers.klondike.compact import BACK, CARD, DRAW, DRAW_UP, INDEX, UP, U

FAILED = -1


@inlined
def _act(game, rules, action, actions, count):
    """Play an action and write it down. Returns how many there are."""
    word = game.legal[U(action >> 6)]
    if count >= actions.shape[0] or (word >> U(action & 63)) & U(1) == U(0):
        return FAILED
    actions[count] = action
    play(game, action, rules)
    return count + 1


@inlined
def _card_at(game, i, k):
    return np.int64(game.tableau[U(MAX_HEIGHT * i + k)]) - 1


@inlined
def _find(game, card):
    """Pile and height of a face-up card; pile -1 if it is not on the tableau."""
    for i in range(PILES):
        for k in range(np.int64(game.face_down[i]), np.int64(game.height[i])):
            if _card_at(game, i, k) == card:
                return i, k
    return -1, 0


@inlined
def _find_host(game, card, leaving):
    """A pile other than `leaving` that takes a card, -1 if none."""
    index = INDEX[card]
    for j in range(PILES):
        height = np.int64(game.height[j])
        if j == leaving:
            continue
        if height == 0:
            if card % NUM_RANKS == NUM_RANKS - 1:
                return j
        elif (INDEX[_card_at(game, j, height - 1)] >> 1) == ((index + 4) >> 1):
            return j
    return -1


@inlined
def _pile_to_pile(i, j):
    return PILES + (PILES - 1) * i + (j if j < i else j - 1)


@inlined
def _put_up(game, rules, board, card, actions, count):
    i, k = _find(game, card)
    if i < 0:
        return FAILED
    if k < np.int64(game.height[i]) - 1:
        j = _find_host(game, _card_at(game, i, k + 1), i)
        if j < 0:
            return FAILED
        count = _act(game, rules, board + _pile_to_pile(i, j), actions, count)
        if count < 0:
            return FAILED
    return _act(game, rules, board + i, actions, count)


@inlined
def _play_stock(game, rules, card, target, actions, count):
    """Play a stock card to the foundation (target 0) or pile target - 1."""
    if rules.is_reach:
        for k in range(np.int64(game.talon_size)):
            if np.int64(game.talon[k]) - 1 == card:
                return _act(game, rules, 8 * k + target, actions, count)
        return FAILED
    for _ in range(3 * NUM_CARDS):
        waste = np.int64(game.waste_size)
        if waste > 0 and np.int64(game.talon[U(waste - 1)]) - 1 == card:
            return _act(game, rules, TURN_WASTE + target, actions, count)
        turn = 0 if waste < np.int64(game.talon_size) else 1
        count = _act(game, rules, turn, actions, count)
        if count < 0:
            break
    return FAILED


@inlined
def make_move(game, rules, kind, card, actions, count):
    """Play one compact move on a game's record.

    Args:
        game: the record of `klondike.layout.STATE`, changed in place.
        rules: the rules record, of either action set.
        kind: the kind of move.
        card: the card's number, 0-51.
        actions: int64[room], the actions so far.
        count: how many there are.

    Returns:
        How many there are then, or FAILED: the move cannot be made or there is no room.
    """
    board = REACH_BOARD if rules.is_reach else TURN_BOARD
    if kind == UP:
        return _put_up(game, rules, board, card, actions, count)
    if kind == DRAW_UP:
        return _play_stock(game, rules, card, 0, actions, count)
    if kind == DRAW:
        j = _find_host(game, card, -1)
        return _play_stock(game, rules, card, 1 + j, actions, count) if j >= 0 else FAILED
    if kind == BACK:
        j = _find_host(game, card, -1)
        move = PILES * PILES + PILES * (card // NUM_RANKS) + j
        return _act(game, rules, board + move, actions, count) if j >= 0 else FAILED
    i, _ = _find(game, card)
    j = _find_host(game, card, i)
    if i < 0 or j < 0:
        return FAILED
    return _act(game, rules, board + _pile_to_pile(i, j), actions, count)


@inlined
def _finish(game, rules, actions, count):
    """Play a surely won game to its end: the lowest card that is not up can always be had."""
    board = REACH_BOARD if rules.is_reach else TURN_BOARD
    while game.foundation_cards < NUM_CARDS:
        s = 0
        for other in range(1, SUITS):
            if game.foundations[other] < game.foundations[s]:
                s = other
        card = NUM_RANKS * s + np.int64(game.foundations[s])
        i, _ = _find(game, card)
        if i >= 0:
            count = _put_up(game, rules, board, card, actions, count)
        else:
            count = _play_stock(game, rules, card, 0, actions, count)
        if count < 0:
            break
    return count


@entry_point
def write_line(games, rules, nodes, length, actions):
    """Play the moves of nodes[:length] and then to the end on games[0].

    Returns:
        How many actions it took, written to `actions`, or FAILED.
    """
    count = 0
    for k in range(length):
        card = CARD[lowest_bit(nodes[k].card)]
        count = make_move(games[0], rules[0], np.int64(nodes[k].kind), card, actions, count)
        if count < 0:
            return FAILED
    return _finish(games[0], rules[0], actions, count)


@entry_point
def write_turns(games, rules, line, actions):
    """Play actions of the `reach` set on games[0] of the `turn` set.

    Returns:
        How many actions it took, written to `actions`, or FAILED.
    """
    count = 0
    for k in range(line.shape[0]):
        if line[k] < REACH_BOARD:
            card = np.int64(games[0].talon[U(line[k] >> 3)]) - 1
            count = _play_stock(games[0], rules[0], card, line[k] & 7, actions, count)
        else:
            action = line[k] - REACH_BOARD + TURN_BOARD
            count = _act(games[0], rules[0], action, actions, count)
        if count < 0:
            return FAILED
    return count


@entry_point
def wins(games, rules, line):
    """Whether the actions of a line are legal one after the other on games[0] and win."""
    for k in range(line.shape[0]):
        word = games[0].legal[U(line[k] >> 6)]
        if games[0].outcome != RUNNING or (word >> U(line[k] & 63)) & U(1) == U(0):
            return False
        play(games[0], line[k], rules[0])
    return games[0].outcome == WON
