"""Compact moves made on the board: which actions of the environment they are.

A compact move says which card goes up or over, not where things lie. Here it is played on a game's
record by the game's own kernels, with the draws and redeals that bring a stock card to the top, and
with what lies on a card moved over to the card's twin first where the move takes that for granted.
Each loop below plays in one place only, since the kernels take long to compile.
"""

from __future__ import annotations

import numpy as np

from klondike_env.cards import NUM_RANKS
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
_NO_ACTION = -1


@inlined
def _is_legal(game, action):
    if action < 0 or game.outcome != RUNNING:
        return False
    return (game.legal[U(action >> 6)] >> U(action & 63)) & U(1) != U(0)


@inlined
def _act(game, rules, action, actions, count):
    """Play an action and write it down. Returns how many there are then, or FAILED."""
    if not _is_legal(game, action) or count == actions.shape[0]:
        return FAILED
    actions[count] = action
    play(game, action, rules)
    return count + 1


@inlined
def _card_at(game, i, k):
    return np.int64(game.tableau[U(MAX_HEIGHT * i + k)]) - 1


@inlined
def find_card(game, card):
    """Pile and height of a face-up card; pile -1 if it is not on the tableau."""
    for i in range(PILES):
        for k in range(np.int64(game.face_down[i]), np.int64(game.height[i])):
            if _card_at(game, i, k) == card:
                return i, k
    return -1, 0


@inlined
def _find_host(game, card, leaving):
    """A pile other than `leaving` that takes a card, -1 if none."""
    pair = (INDEX[card] + 4) >> 1
    for j in range(PILES):
        height = np.int64(game.height[j])
        if j == leaving:
            continue
        if height == 0:
            if card % NUM_RANKS == NUM_RANKS - 1:
                return j
        elif INDEX[_card_at(game, j, height - 1)] >> 1 == pair:
            return j
    return -1


@inlined
def _next_of_stock(game, rules, card, target):
    """The next action that plays a stock card to its foundation (target 0) or pile target - 1."""
    if rules.is_reach:
        for k in range(np.int64(game.talon_size)):
            if np.int64(game.talon[k]) - 1 == card:
                return 8 * k + target, True
        return _NO_ACTION, True
    waste = np.int64(game.waste_size)
    if waste > 0 and np.int64(game.talon[U(waste - 1)]) - 1 == card:
        return TURN_WASTE + target, True
    return (0 if waste < np.int64(game.talon_size) else 1), False


@inlined
def next_action(game, rules, kind, card):
    """The next action of a compact move on a game's record.

    Args:
        game: the record of `klondike.layout.STATE`.
        rules: the rules record, of either action set.
        kind: the kind of move.
        card: the card's number, 0-51.

    Returns:
        The action, -1 if there is none, and whether it completes the move.
    """
    board = REACH_BOARD if rules.is_reach else TURN_BOARD
    i, k = find_card(game, card)
    if kind == UP:
        if i < 0:
            return _NO_ACTION, True
        if k == np.int64(game.height[U(i)]) - 1:
            return board + i, True
        card = _card_at(game, i, k + 1)
    j = _find_host(game, card, i) if kind != DRAW_UP else 0
    if j < 0:
        return _NO_ACTION, True
    if kind == DRAW_UP:
        return _next_of_stock(game, rules, card, 0)
    if kind == DRAW:
        return _next_of_stock(game, rules, card, 1 + j)
    if kind == BACK:
        return board + PILES * PILES + PILES * (card // NUM_RANKS) + j, True
    if i < 0:
        return _NO_ACTION, True
    return board + PILES + (PILES - 1) * i + (j if j < i else j - 1), kind != UP


@inlined
def lowest_left(game):
    """The lowest card that is not up."""
    s = 0
    for other in range(1, SUITS):
        if game.foundations[other] < game.foundations[s]:
            s = other
    return NUM_RANKS * s + np.int64(game.foundations[U(s)])


@entry_point
def write_line(games, rules, nodes, length, actions):
    """Play the moves of nodes[:length] on games[0], and from there a surely won game to its end.

    Returns:
        How many actions it took, written to `actions`, or FAILED: a move cannot be made or there
        are more than fit.
    """
    game, terms = games[0], rules[0]
    move, count = 0, 0
    while game.outcome == RUNNING and count >= 0:
        if move < length:
            kind, card = np.int64(nodes[move].kind), CARD[lowest_bit(nodes[move].card)]
        else:
            card = lowest_left(game)
            kind = UP if find_card(game, card)[0] >= 0 else DRAW_UP
        action, is_last = next_action(game, terms, kind, card)
        count = _act(game, terms, action, actions, count)
        move += is_last
    return count


@entry_point
def write_turns(games, rules, line, actions):
    """Play actions of the `reach` set on games[0] of the `turn` set.

    Returns:
        As `write_line`.
    """
    game, terms = games[0], rules[0]
    move, count = 0, 0
    while move < line.shape[0] and count >= 0:
        action, is_last = line[move] - REACH_BOARD + TURN_BOARD, True
        if line[move] < REACH_BOARD:
            # The talon's cards keep their places until one of them is played.
            card = np.int64(game.talon[U(line[move] >> 3)]) - 1
            action, is_last = _next_of_stock(game, terms, card, line[move] & 7)
        count = _act(game, terms, action, actions, count)
        move += is_last
    return count


@entry_point
def wins(games, rules, line):
    """Whether the actions of a line are legal one after the other on games[0] and win."""
    for k in range(line.shape[0]):
        if not _is_legal(games[0], line[k]):
            return False
        play(games[0], line[k], rules[0])
    return games[0].outcome == WON
