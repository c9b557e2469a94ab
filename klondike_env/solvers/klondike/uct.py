"""Ensemble UCT over single moves, after Bjarnason, Fern and Tadepalli (ICAPS 2009).

Each tree is grown by trajectories, each in a world of its own, so a move that turns a card up leads
to as many positions as there are cards that it may turn up. A move that has not been tried from a
position yet is tried first; from there the trajectory is played to its end by the authors' greedy
order of moves, but for taking back, which could go on for ever. A trajectory is won when every card
has turned up. Trees vote by the mean return of each move.
"""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import entry_point, inlined
from klondike_env.deals import mix
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.compact import (
    DRAW,
    DRAW_UP,
    ONE,
    REVEAL,
    STATE,
    UP,
    VACATE,
    ZERO,
    U,
    every_table,
    lowest,
    play,
)
from klondike_env.solvers.klondike.planning import HOPELESS, PLAYING, THINKING
from klondike_env.solvers.klondike.search import NODE, find_moves, moves_of
from klondike_env.solvers.klondike.worlds import GAMMA, draw_worlds, room_for_worlds

MAX_DEPTH = 128
MAX_MOVES = 64
ACTION = np.dtype([("key", "u8"), ("visits", "f8"), ("value", "f8")])
"""A move from a position, and what trajectories through it returned."""
MOVE = np.dtype([("kind", "i8"), ("card", "u8"), ("after", "u8")])


@inlined
def _identity(state):
    """A number for what a player sees of a state."""
    return mix(state.key ^ mix(state.face_up))


@entry_point
def list_moves(state, deals, every, node, scratch, path, depth, moves):
    """The moves of state[0] that repeat no position of the path. Returns how many."""
    find_moves(state[0], deals[0], every, node[0])
    count = 0
    for kind in range(6):
        cards = moves_of(node[0], kind)
        while cards != ZERO:
            card = lowest(cards)
            cards ^= card
            scratch[0] = state[0]
            play(scratch[0], deals[0], every, kind, card)
            after = _identity(scratch[0])
            is_new = True
            for k in range(depth):
                if path[k] == after:
                    is_new = False
            if is_new and count < moves.shape[0]:
                moves[count].kind, moves[count].card, moves[count].after = kind, card, after
                count += 1
    return count


@entry_point
def roll_out_greedily(state, deals, every, node):
    """Play a world on by the greedy order. Returns 1 if every card turns up, else 0."""
    while state[0].face_down != ZERO:
        find_moves(state[0], deals[0], every, node[0])
        here = node[0]
        turning = here.ups & state[0].in_place & ~state[0].first
        if turning != ZERO:
            play(state[0], deals[0], every, UP, lowest(turning))
        elif here.ups != ZERO:
            play(state[0], deals[0], every, UP, lowest(here.ups))
        elif here.draw_ups != ZERO:
            play(state[0], deals[0], every, DRAW_UP, lowest(here.draw_ups))
        elif here.reveals != ZERO:
            play(state[0], deals[0], every, REVEAL, lowest(here.reveals))
        elif here.draws != ZERO:
            play(state[0], deals[0], every, DRAW, lowest(here.draws))
        elif here.vacates != ZERO:
            play(state[0], deals[0], every, VACATE, lowest(here.vacates))
        else:
            return 0.0
    return 1.0


@inlined
def _find_action(table, identity, move):
    """The place of a move from a position in the table."""
    key = mix(identity ^ mix(move.card + U(move.kind))) | ONE
    mask = U(table.shape[0] - 1)
    at = key & mask
    while table[at].key != ZERO and table[at].key != key:
        at = (at + ONE) & mask
    table[at].key = key
    return at


@entry_point
def choose_move(
    games,
    terms,
    every,
    seed,
    trees,
    trajectories,
    exploration,
    table,
    worlds,
    now,
    scratch,
    node,
    path,
    past,
    num_past,
    moves,
    first,
    places,
    votes,
):
    """Choose a move. Returns its place in `first`, -1 if there is none."""
    game, start, deals = worlds
    world = deals[:1]
    seed = mix(seed)
    draw_worlds(games, terms, seed, game, start, deals)
    for k in range(num_past):
        path[k] = past[k]
    path[num_past] = _identity(start[0])
    count = list_moves(start, world, every, node, scratch, path, num_past + 1, first)
    if count < 2:
        return count - 1
    for k in range(count):
        votes[k] = 0.0
    for _ in range(trees):
        for k in range(table.shape[0]):
            table[k].key = ZERO
            table[k].visits = 0.0
            table[k].value = 0.0
        for _ in range(trajectories):
            seed += GAMMA
            draw_worlds(games, terms, mix(seed), game, start, deals)
            now[0] = start[0]
            depth, base = 0, num_past + 1
            value = -1.0
            while value < 0.0:
                identity = _identity(now[0])
                size = count
                if depth == 0:
                    for k in range(count):
                        moves[k] = first[k]
                else:
                    size = list_moves(now, world, every, node, scratch, path, base + depth, moves)
                if now[0].face_down == ZERO or size == 0 or depth == MAX_DEPTH - 1:
                    value = 1.0 if now[0].face_down == ZERO else 0.0
                    break
                total = 0.0
                untried, best, highest = 0, 0, -1.0
                for k in range(size):
                    # A move that turns a card up is one move, whichever card it turns up.
                    at = _find_action(table, identity, moves[k])
                    visits = table[at].visits
                    total += visits
                    if visits == 0.0:
                        untried += 1
                        seed += GAMMA
                        if np.int64((mix(seed) >> U(32)) % U(untried)) == 0:
                            best = k
                if untried == 0:
                    for k in range(size):
                        at = _find_action(table, identity, moves[k])
                        visits = table[at].visits
                        bound = table[at].value / visits
                        bound += exploration * np.sqrt(np.log(total) / visits)
                        if bound > highest:
                            best, highest = k, bound
                places[depth] = np.int64(_find_action(table, identity, moves[best]))
                play(now[0], world[0], every, moves[best].kind, moves[best].card)
                path[base + depth] = _identity(now[0])
                depth += 1
                if untried:
                    value = roll_out_greedily(now, world, every, node)
            for k in range(depth):
                table[places[k]].visits += 1.0
                table[places[k]].value += value
        identity = _identity(start[0])
        for k in range(count):
            at = _find_action(table, identity, first[k])
            if table[at].visits > 0.0:
                votes[k] += table[at].value / table[at].visits
    best = 0
    for k in range(count):
        if votes[k] > votes[best]:
            best = k
    return best


class ByTrees:
    """Chooses single moves by ensemble UCT.

    Args:
        rules: of the game.
        trees: that vote on a move.
        trajectories: of each tree.
        exploration: constant of the upper confidence bound.
    """

    PAST = 64

    def __init__(
        self, rules: KlondikeRules, trees: int, trajectories: int, exploration: float
    ) -> None:
        self._settings = trees, trajectories, exploration
        self._every = every_table(rules.draw_count)
        entries = 1 << (MAX_MOVES * trajectories).bit_length()
        self._tools = (
            np.zeros(entries, dtype=ACTION),
            room_for_worlds(1),
            np.zeros(1, dtype=STATE),
            np.zeros(1, dtype=STATE),
            np.zeros(1, dtype=NODE),
            np.zeros(self.PAST + MAX_DEPTH + 1, dtype=np.uint64),
        )
        self._moves = (
            np.zeros(MAX_MOVES, dtype=MOVE),
            np.zeros(MAX_MOVES, dtype=MOVE),
            np.zeros(MAX_DEPTH, dtype=np.int64),
            np.zeros(MAX_MOVES),
        )
        self._streams: dict[int, int] = {}
        self._past: dict[int, list[int]] = {}
        self._face_down: dict[int, int] = {}

    def choose(self, memory: np.ndarray, games: np.ndarray, terms: np.ndarray) -> None:
        for row in np.flatnonzero(memory["stage"] == THINKING).tolist():
            self._streams[row] = (self._streams[row] + 1) % 2**64
            game, past = games[row : row + 1], self._past[row]
            face_down = int(game["face_down"].sum())
            if face_down != self._face_down.get(row):
                past.clear()  # a card has turned up: no position comes back
                self._face_down[row] = face_down
            seen = np.array(past[-self.PAST :], dtype=np.uint64)
            chosen = choose_move(
                game,
                terms,
                self._every,
                np.uint64(self._streams[row]),
                *self._settings,
                *self._tools,
                seen,
                len(seen),
                *self._moves,
            )
            if chosen < 0:
                memory["stage"][row] = HOPELESS
                continue
            move = self._moves[1][chosen]
            memory["kinds"][row, 0], memory["cards"][row, 0] = move["kind"], move["card"]
            memory["length"][row], memory["played"][row] = 1, 0
            memory["stage"][row] = PLAYING
            path = self._tools[-1]
            past.append(int(path[len(seen)]))

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        for row, seed in zip(rows.tolist(), seeds.tolist(), strict=True):
            self._streams[row], self._past[row] = seed, []
            self._face_down.pop(row, None)
