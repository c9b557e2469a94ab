"""Plays hidden-card Klondike by plans, a batch of games at a time, from observations alone.

A row thinks when it has no plan: a `Chooser` picks one and the row plays it to its end, one action
a call. With at most one card face down all cards are known, the last one by elimination, and a
search of the rest finds the win if there is one. A row for which there is no plan plays up what
goes up, since no card will turn up any more, and gives up.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from klondike_env.cards import FACE_DOWN
from klondike_env.compiled import entry_point, inlined, load_word, lowest_bit
from klondike_env.games.klondike.kernels import RUNNING
from klondike_env.games.klondike.layout import (
    MAX_HEIGHT,
    MAX_HIDDEN,
    PILES,
    SUITS,
    TALON,
    encode_rules,
)
from klondike_env.games.klondike.layout import STATE as GAME
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import search
from klondike_env.solvers.klondike.compact import (
    CARD,
    DEAL,
    DRAW_UP,
    ONE,
    STATE,
    UP,
    ZERO,
    U,
    every_table,
    is_surely_won,
    lowest,
    read_game,
)
from klondike_env.solvers.klondike.lines import find_card, lowest_left, next_action
from klondike_env.solvers.klondike.plans import best_plan, find_plans, workspace, write_plan
from klondike_env.solvers.klondike.search import find_moves

MAX_NODES = 1 << 15
MAX_MOVES = 256
EXACT_STATES = 200_000

LOOK = 6
"""Kind of the move that draws the next packet to look at it; the others are those of `compact`."""

PLANNING, THINKING, PLAYING, FINISHING, HOPELESS, GIVEN_UP = range(6)
MEMORY = np.dtype(
    [
        ("stage", "i4"),
        ("length", "i4"),  # moves of the plan being played
        ("played", "i4"),
        ("kinds", "i4", (MAX_MOVES,)),
        ("cards", "u8", (MAX_MOVES,)),
    ]
)
"""What a row remembers between its moves: the plan that it is playing."""


@inlined
def read_observation(tableau, foundations, waste, stock, redeals_left, game):
    """Fill a game's record with what an observation shows; the rest is zeros."""
    for i in range(PILES):
        height, down = 0, 0
        for k in range(MAX_HEIGHT):
            card = tableau[i, k]
            game.tableau[U(MAX_HEIGHT * i + k)] = card
            height += card != 0
            down += card == FACE_DOWN
        for k in range(MAX_HIDDEN):
            game.hidden[U(MAX_HIDDEN * i + k)] = 0
        game.height[i], game.face_down[i] = height, down
    for s in range(SUITS):
        game.foundations[s] = foundations[s]
    size = 0
    for k in range(TALON):
        if waste[k]:
            game.talon[U(size)] = waste[k]
            size += 1
    game.waste_size = size
    for k in range(TALON):
        if stock[k]:
            game.talon[U(size)] = stock[k]
            size += 1
    game.talon_size = size
    game.redeals_left = redeals_left
    game.outcome = RUNNING


@inlined
def _name_the_last_card(game):
    """Write the one card that lies face down where it lies: it is the one not seen."""
    seen = U(0)
    for k in range(PILES * MAX_HEIGHT):
        if 0 < game.tableau[k] < FACE_DOWN:
            seen |= U(1) << U(game.tableau[k])
    for k in range(np.int64(game.talon_size)):
        seen |= U(1) << U(game.talon[k])
    for s in range(SUITS):
        for rank in range(np.int64(game.foundations[s])):
            seen |= U(1) << U(13 * s + rank + 1)
    for i in range(PILES):
        if game.face_down[i] == 1:
            for card in range(1, 53):
                if (seen >> U(card)) & U(1) == U(0):
                    game.hidden[U(MAX_HIDDEN * i)] = card


@inlined
def _search_exactly(state, deals, every, exact, row):
    """Look for a win with all cards known. Returns whether one was found, written to the row."""
    states, nodes, table, counts = exact
    states[0] = state
    table[:] = U(0)
    counts[:] = 0
    if search.begin(states, nodes, deals, every):
        return False
    status = search.search(states, nodes, deals, every, table, counts, EXACT_STATES, 0)
    if status != search.WON or counts[0] > MAX_MOVES:
        return False
    for k in range(counts[0]):
        row.kinds[k], row.cards[k] = np.int64(nodes[k].kind), nodes[k].card
    row.length, row.played = counts[0], 0
    return True


@inlined
def has_unseen_stock(game):
    """Whether some card of the stock has not come up yet."""
    unseen = 0
    for k in range(np.int64(game.talon_size)):
        unseen += np.int64(game.talon[k]) == FACE_DOWN
    return unseen > 0


@entry_point
def prepare(
    tableau,
    foundations,
    waste,
    stock,
    redeals_left,
    rules,
    looks_first,
    every,
    exact,
    states,
    deals,
    games,
    memory,
):
    """Rows without a plan: finish or give up what is decided, and have the rest THINKING.

    Args:
        tableau: and so on, the observations.
        rules: the rules record.
        looks_first: whether to draw all of the stock before anything else, since that is free.
        every: `every_table` of the draw count.
        exact: tables of a search.
        states: `STATE`[2], zeros.
        deals: `DEAL`[2], zeros.
        games: a record for each row, written.
        memory: `MEMORY`[B].

    Returns:
        How many rows are to think.
    """
    terms, thinking = rules[0], 0
    for b in range(memory.shape[0]):
        row, game = memory[b], games[b]
        if row.stage != PLANNING and row.stage != HOPELESS:
            continue
        read_observation(tableau[b], foundations[b], waste[b], stock[b], redeals_left[b, 0], game)
        if row.stage == HOPELESS:
            states[0], deals[0] = states[1], deals[1]
            read_game(game, terms, states[0], deals[0])
            find_moves(states[0], deals[0], every, exact[1][0])
            ups = exact[1][0].ups
            row.kinds[0], row.cards[0], row.length, row.played = UP, lowest(ups), 1, 0
            if ups == ZERO:
                row.stage = GIVEN_UP
            continue
        if has_unseen_stock(game):
            row.stage = THINKING
            if looks_first:
                row.kinds[0], row.length, row.played = LOOK, 1, 0
                row.stage = PLAYING
            else:
                thinking += 1
            continue
        states[0], deals[0] = states[1], deals[1]
        read_game(game, terms, states[0], deals[0])
        if is_surely_won(states[0], deals[0]):
            row.stage = FINISHING
            continue
        if states[0].face_down <= ONE:
            _name_the_last_card(game)
            states[0], deals[0] = states[1], deals[1]
            read_game(game, terms, states[0], deals[0])
            if _search_exactly(states[0], deals[:1], every, exact, row):
                row.stage = PLAYING
                continue
        row.stage = THINKING
        thinking += 1
    return thinking


@inlined
def take_plan(row, work, chosen):
    """Write the plan in place `chosen` of the workspace to a row that thinks; -1: there is none."""
    length = -1
    if chosen >= 0:
        length = write_plan(work[1], work[5][chosen], row.kinds, row.cards)
    row.length, row.played = length, 0
    row.stage = PLAYING if length > 0 else HOPELESS


@entry_point
def follow(tableau, foundations, waste, stock, redeals_left, masks, rules, games, memory, actions):
    """The next action of every row's plan, or, in a game given up, the first legal one."""
    terms, game = rules[0], games[0]
    for b in range(actions.shape[0]):
        row = memory[b]
        action = -1
        if row.stage != GIVEN_UP:
            read_observation(
                tableau[b], foundations[b], waste[b], stock[b], redeals_left[b, 0], game
            )
            if row.stage == PLAYING and row.kinds[U(row.played)] == LOOK:
                action = 0
                row.stage = PLANNING
            elif row.stage == PLAYING or row.stage == HOPELESS:
                card = CARD[lowest_bit(row.cards[U(row.played)])]
                action, is_last = next_action(game, terms, np.int64(row.kinds[U(row.played)]), card)
                row.played += is_last
                if row.played == row.length and row.stage == PLAYING:
                    row.stage = PLANNING
            elif row.stage == FINISHING:
                card = lowest_left(game)
                kind = UP if find_card(game, card)[0] >= 0 else DRAW_UP
                action, _ = next_action(game, terms, kind, card)
        if action < 0 or masks[b, U(action)] == 0:
            action = 0
            while action + 8 <= masks.shape[1] and load_word(masks[b], action) == U(0):
                action += 8
            while masks[b, U(action)] == 0:
                action += 1
        actions[b] = action


class Chooser(Protocol):
    """Picks plans: calls `take_plan` for every row that is THINKING."""

    def choose(self, memory: np.ndarray, games: np.ndarray, terms: np.ndarray) -> None:
        """`MEMORY`[B], a record for each row of what its player sees, and the rules record."""

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """New games begin in these rows (int64[R]), with their own seeds (uint64[R])."""


@entry_point
def choose_by_value(memory, games, terms, every, states, deals, work):
    """The plan that earns most for what it costs, for every row that thinks."""
    for b in range(memory.shape[0]):
        if memory[b].stage == THINKING:
            states[0], deals[0] = states[1], deals[1]
            read_game(games[b], terms[0], states[0], deals[0])
            count, _ = find_plans(states[:1], deals[:1], every, work, 1, 0, False)
            take_plan(memory[b], work, best_plan(work[5], count))


class ByValue:
    """Chooses the plan that earns most for what it costs, where the stock is free to look through.

    Args:
        rules: of the game.
    """

    def __init__(self, rules: KlondikeRules) -> None:
        self._every, self._work = every_table(rules.draw_count), workspace(MAX_NODES)
        self._states, self._deals = np.zeros(2, dtype=STATE), np.zeros(2, dtype=DEAL)

    def choose(self, memory: np.ndarray, games: np.ndarray, terms: np.ndarray) -> None:
        choose_by_value(memory, games, terms, self._every, self._states, self._deals, self._work)

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        pass


def room_to_search(entries: int) -> tuple[Any, ...]:
    """What a search with all cards known works in: a table for so many entries, a power of 2."""
    return (
        np.zeros(512, dtype=STATE),
        np.zeros(512, dtype=search.NODE),
        np.zeros(2 * entries, dtype=np.uint64),
        np.zeros(4, dtype=np.int64),
    )


def reach_terms(rules: KlondikeRules) -> np.ndarray:
    """The rules record of the `reach` actions, as `next_action` takes it."""
    return encode_rules(rules, "reach")


_SEEN = ("tableau", "foundations", "waste", "stock", "redeals_left")


class PlanPlayer:
    """Plays the plans that a chooser picks, in many games side by side.

    Args:
        rules: see `PlanPlayer.check`.
        chooser: picks the plans.
    """

    def __init__(self, rules: KlondikeRules, chooser: Chooser) -> None:
        self.actions = "reach" if rules.allows_reach else "turn"
        self._rules = encode_rules(rules, self.actions)
        self._chooser = chooser
        self._tools = (
            rules.passes is None,
            every_table(rules.draw_count),
            room_to_search(1 << 15),
            np.zeros(2, dtype=STATE),
            np.zeros(2, dtype=DEAL),
        )
        self._game = np.zeros(1, dtype=GAME)

    @staticmethod
    def check(rules: KlondikeRules) -> None:
        """Refuse rules that plans do not fit.

        Raises:
            ValueError: says which rules they do fit.
        """
        if rules.run_moves != "partial" or rules.forced_aces:
            raise ValueError(
                "plans need rules under which any part of a run moves, aces not forced"
            )
        if rules.cards_known:
            raise ValueError("plans are for hidden cards; with all cards known use the solver")

    def reset(self, num_games: int) -> None:
        """So many games are to be played, all of them from their start."""
        self._memory = np.zeros(num_games, dtype=MEMORY)
        self._games = np.zeros(num_games, dtype=GAME)

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """New games begin in these rows (int64[R]), with their own seeds (uint64[R])."""
        self._memory[rows] = np.zeros(1, dtype=MEMORY)
        self._chooser.restart(rows, seeds)

    def given_up(self) -> np.ndarray:
        """The rows whose game was given up, since no plan was found for it: bool[B]."""
        is_given_up: np.ndarray = self._memory["stage"] == GIVEN_UP
        return is_given_up

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        """One action a row: int64[B]."""
        actions = np.empty(len(action_masks), dtype=np.int64)
        memory, games, rules = self._memory, self._games, self._rules
        seen = tuple(observations[key] for key in _SEEN)
        of_prepare: tuple[Any, ...] = (*seen, rules, *self._tools, games, memory)
        if prepare(*of_prepare):
            self._chooser.choose(memory, games, rules)
            if (memory["stage"] == HOPELESS).any():
                prepare(*of_prepare)
        of_follow: tuple[Any, ...] = (*seen, action_masks, rules, self._game, memory, actions)
        follow(*of_follow)
        return actions
