"""Plans compared by playing them out in many worlds.

A world is a guess of where the unseen cards lie. Every plan is tried in the same worlds: what
follows it is played by a quick choice among plans, which sees what a player would see there. The
plans that do worst drop out after some worlds, so the rest are tried in more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from klondike_env.cards import NUM_CARDS
from klondike_env.compiled import entry_point, inlined
from klondike_env.deals import mix
from klondike_env.games.klondike.layout import SUITS
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import search
from klondike_env.solvers.klondike.choice import (
    NUM_FREE,
    NUM_SHALLOW,
    SECOND_NODES,
    best_by_weights,
    list_choices,
    room,
    take_choice,
    unseen_places,
)
from klondike_env.solvers.klondike.compact import (
    DRAW_UP,
    NIBBLE,
    ONE,
    STATE,
    UP,
    ZERO,
    U,
    every_table,
    is_surely_won,
    lowest,
    play,
)
from klondike_env.solvers.klondike.planning import (
    MAX_NODES,
    THINKING,
    room_to_search,
    take_plan,
)
from klondike_env.solvers.klondike.plans import MAX_PLANS
from klondike_env.solvers.klondike.search import NODE, find_moves
from klondike_env.solvers.klondike.worlds import GAMMA, draw_worlds, room_for_worlds

ROLL_NODES = 1 << 13
"""Positions on the ways of the plans in a world: fewer than at the table, since small tables are
quick; without room for more there is no plan."""
ROLL_ENTRIES = 1 << 12
MAX_PLANS_PLAYED = 64
"""Of a game within a world, to be kept in the table of what its positions are worth."""

UNUSED = -1
KNOWN = np.dtype([("key", "u8"), ("world", "i4"), ("worth", "f4")])
"""What a position of a world is worth; the world is UNUSED in an entry without one."""


class Aim(NamedTuple):
    """What the rules say of a search.

    Attributes:
        is_free: whether the stock is free to look through.
        for_money: whether cards on the foundations count, and not wins.
    """

    is_free: bool
    for_money: bool


class Effort(NamedTuple):
    """How much is looked at.

    Attributes:
        worlds: of a decision.
        plans: compared at first.
        quota: plans a pile.
        more: positions looked at after the first plan is found.
        roll_quota: the same within a world.
        roll_more: the same within a world.
        exact_down: with so many cards face down or fewer, the solver says how a world ends.
        exact_states: states that it looks at; if they do not decide it, play goes on.
        verdict_states: of the solver's look at the position after the plan; 0: none.
        verdict_share: of the value of a world that the solver wins.
        prior: worth of a point of the prior's score.
    """

    worlds: int
    plans: int
    quota: int
    more: int
    roll_quota: int
    roll_more: int
    exact_down: int
    exact_states: int
    verdict_states: int
    verdict_share: float
    prior: float


@entry_point
def verdict(start, deals, every, exact, max_states):
    """WON, LOST or else, with all cards known.

    Of the table it takes no more than so many states can fill, since emptying it takes time.
    """
    states, nodes, whole_table, counts = exact
    entries = 64
    while 3 * entries < 4 * max_states + 4:
        entries *= 2
    table = whole_table[: 2 * entries]
    table[:] = ZERO
    states[0] = start[0]
    counts[:] = 0
    if search.begin(states, nodes, deals, every):
        return search.LOST
    return search.search(states, nodes, deals, every, table, counts, max_states, 0)


@inlined
def play_all_up(state, deal, every, node):
    """Play up whatever goes up, to the end. Returns how many cards are up then."""
    while True:
        find_moves(state, deal, every, node)
        if node.ups != ZERO:
            play(state, deal, every, UP, lowest(node.ups))
        elif node.draw_ups != ZERO:
            play(state, deal, every, DRAW_UP, lowest(node.draw_ups))
        else:
            break
    total = ZERO
    for s in range(SUITS):
        total += (state.up >> U(4 * s)) & NIBBLE
    return np.int64(total)


@inlined
def _recall(known, key, world):
    """Where a position of a world is kept in the table, or where there is room for it."""
    mask = U(known.shape[0] - 1)
    at = mix(key + U(world)) & mask
    while known[at].world != UNUSED and (known[at].world != world or known[at].key != key):
        at = (at + ONE) & mask
    return np.int64(at)


@inlined
def roll_out(start, deals, every, is_first, weights, rooms, aim, effort, world):
    """Play a world on from a position, which is changed, by a choice among plans.

    A position that some way through the same world has come to before is worth what it was then.

    Returns:
        What the game is worth: 1 if won and else 0, or where money is played for the share of the
        cards that come to the foundations. A half is for a search that did not end.
    """
    _, tools, small, _, _, node, _, (known, path, used) = rooms
    worth, length = 0.0, 0
    while True:
        if is_surely_won(start[0], deals[0]):
            worth = 1.0
            break
        is_first = is_first and unseen_places(start[0], True) != ZERO
        at = _recall(known, start[0].key, world)
        if known[at].world != UNUSED:
            worth = np.float64(known[at].worth)
            break
        if 4 * used[0] < 3 * known.shape[0] and length < path.shape[0]:
            known[at].key, known[at].world = start[0].key, world
            path[length] = at
            length += 1
            used[0] += 1
        if start[0].face_down <= U(effort.exact_down) and not is_first:
            decided = verdict(start, deals, every, small, effort.exact_states)
            if decided == search.WON:
                worth = 1.0
                break
            if not aim.for_money and (decided == search.LOST or start[0].face_down <= ONE):
                worth = 0.0 if decided == search.LOST else 0.5
                break
        count = list_choices(
            start,
            deals,
            every,
            aim.is_free,
            is_first,
            tools,
            effort.roll_quota,
            effort.roll_more,
        )
        if count == 0:
            if aim.for_money:
                worth = play_all_up(start[0], deals[0], every, node[0]) / NUM_CARDS
            break
        best = best_by_weights(tools[3], count, weights)
        take_choice(start[0], deals[0], every, tools, best)
    for k in range(length):
        known[path[k]].worth = worth
    return worth


@inlined
def _value(now, deal, every, is_first, weights, rooms, aim, effort, world):
    """What a world is worth after a choice."""
    share, voted = 0.0, 0.5
    if effort.verdict_states > 0:
        share = effort.verdict_share
        decided = verdict(now, deal, every, rooms[2], effort.verdict_states)
        if decided == search.LOST:
            return 0.0
        if decided == search.WON:
            voted = 1.0
        if share >= 1.0:
            return voted
    rolled = roll_out(now, deal, every, is_first, weights, rooms, aim, effort, world)
    return share * voted + (1.0 - share) * rolled


@inlined
def compare_choices(games, terms, every, seed, weights, roll_weights, rooms, aim, effort):
    """Choose a plan. Returns its place among the plans of rooms[0], -1 if there is none.

    Args:
        games: the record of what the player sees.
        terms: the rules record.
        every: `every_table` of the draw count.
        seed: uint64, of the worlds.
        weights: of the prior.
        roll_weights: of the choice within a world.
        rooms: as `ByWorlds` makes them.
        aim: an `Aim`.
        effort: an `Effort`.
    """
    top, _, _, (scratch, states, deals), now, _, scores, (known, _, used) = rooms
    is_first = draw_worlds(games, terms, seed, scratch, states, deals)
    features = top[3]
    count = list_choices(
        states[:1], deals[:1], every, aim.is_free, is_first, top, effort.quota, effort.more
    )
    if count <= 1:
        return count - 1
    for k in range(known.shape[0]):
        known[k].world = UNUSED
    used[0] = 0
    priors, sums = scores[0], scores[1]
    for k in range(count):
        prior = 0.0
        for f in range(weights.shape[0]):
            prior += weights[f] * features[k, f]
        priors[k] = prior
        sums[k] = 0.0
    order = np.argsort(-priors[:count])
    alive = min(count, effort.plans)
    best_prior = priors[order[0]]
    # Each round halves the plans and doubles the worlds, up to all of them.
    rounds = 1
    while (alive >> rounds) > 1:
        rounds += 1
    done = 0
    for r in range(rounds):
        until = max(effort.worlds >> (rounds - 1 - r), 1)
        for a in range(alive):
            k = order[a]
            for w in range(done, until):
                now[0] = states[w]
                take_choice(now[0], deals[w], every, top, k)
                sums[k] += _value(
                    now,
                    deals[w : w + 1],
                    every,
                    is_first,
                    roll_weights,
                    rooms,
                    aim,
                    effort,
                    w,
                )
        done = until
        for a in range(1, alive):  # insertion sort by mean and prior
            k = order[a]
            score = sums[k] / done + effort.prior * (priors[k] - best_prior)
            b = a - 1
            while b >= 0:
                other = order[b]
                if sums[other] / done + effort.prior * (priors[other] - best_prior) >= score:
                    break
                order[b + 1] = other
                b -= 1
            order[b + 1] = k
        alive = max(alive // 2, 2)
    return order[0]


@entry_point
def choose_by_worlds(
    memory, games, terms, every, streams, weights, roll_weights, rooms, aim, effort
):
    """The choice that does best in the worlds, for every row that thinks."""
    for b in range(memory.shape[0]):
        if memory[b].stage == THINKING:
            streams[b] += GAMMA
            game, seed = games[b : b + 1], mix(streams[b])
            chosen = compare_choices(
                game, terms, every, seed, weights, roll_weights, rooms, aim, effort
            )
            take_plan(memory[b], rooms[0][0], chosen)


class ByWorlds:
    """Chooses the plan that does best in worlds drawn at random.

    Args:
        rules: of the game.
        weights: float64[NUM_FEATURES], of the choice among plans that comes before.
        roll_weights: float64[NUM_FEATURES], of the choice within a world.
        effort: how much is looked at.
    """

    def __init__(
        self, rules: KlondikeRules, weights: np.ndarray, roll_weights: np.ndarray, effort: Effort
    ) -> None:
        self._weights, self._roll_weights = weights, roll_weights
        self._aim = Aim(is_free=rules.passes is None, for_money=rules.scoring == "vegas")
        self._effort = effort
        self._every = every_table(rules.draw_count)
        looks_further = bool(roll_weights[NUM_SHALLOW:NUM_FREE].any())
        self._rooms = (
            room(MAX_NODES, SECOND_NODES),  # for the plans compared
            room(ROLL_NODES, SECOND_NODES if looks_further else 1),  # for the play within worlds
            room_to_search(ROLL_ENTRIES),
            room_for_worlds(effort.worlds),
            np.zeros(1, dtype=STATE),
            np.zeros(1, dtype=NODE),
            np.zeros((2, MAX_PLANS)),  # scores
            (  # what positions of the worlds are worth
                np.zeros(1 << (16 * effort.worlds * effort.plans).bit_length(), dtype=KNOWN),
                np.zeros(MAX_PLANS_PLAYED, dtype=np.int64),
                np.zeros(1, dtype=np.int64),  # how many are used
            ),
        )
        self._streams = np.zeros(0, dtype=np.uint64)

    def choose(self, memory: np.ndarray, games: np.ndarray, terms: np.ndarray) -> None:
        choose_by_worlds(
            memory,
            games,
            terms,
            self._every,
            self._streams,
            self._weights,
            self._roll_weights,
            self._rooms,
            self._aim,
            self._effort,
        )

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        if len(rows) and rows.max() >= len(self._streams):
            self._streams = np.resize(self._streams, rows.max() + 1)
        self._streams[rows] = seeds
