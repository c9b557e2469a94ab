"""Plans compared by playing them out in many worlds.

A world is a guess of where the unseen cards lie. Every plan is tried in the same worlds: what
follows it is played by a quick choice among plans, which sees what a player would see there. The
plans that do worst drop out after some worlds, so the rest are tried in more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from klondike_env.compiled import entry_point, inlined, lowest_bit
from klondike_env.deals import mix
from klondike_env.games.klondike.layout import PILES, SUITS
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import search
from klondike_env.solvers.klondike.choice import (
    NUM_SHALLOW,
    SECOND_NODES,
    best_by_weights,
    describe_plans,
    room,
)
from klondike_env.solvers.klondike.compact import (
    ALL,
    BELOW,
    DEAL,
    NIBBLE,
    ONE,
    ROW,
    STATE,
    ZERO,
    U,
    every_table,
    is_surely_won,
    lowest,
    play,
)
from klondike_env.solvers.klondike.planning import MAX_NODES, THINKING, take_plan
from klondike_env.solvers.klondike.plans import MAX_PLANS, find_plans

GAMMA = np.uint64(0x9E3779B97F4A7C15)


class Effort(NamedTuple):
    """How much is looked at.

    Attributes:
        worlds: of a decision.
        plans: compared at first.
        quota: plans a pile.
        more: positions looked at after the first plan is found.
        roll_quota: the same within a world.
        roll_more: the same within a world.
        exact_states: of the search of a world with at most one card face down.
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
    exact_states: int
    verdict_states: int
    verdict_share: float
    prior: float


@inlined
def unseen_cards(state):
    """The cards that are in none of the places that a player sees."""
    seen = state.face_up | state.stock
    for s in range(SUITS):
        seen |= BELOW[U(ROW * s) + ((state.up >> U(4 * s)) & NIBBLE)]
    return ALL & ~seen


@entry_point
def draw_worlds(start, deals, seed, worlds):
    """Fill worlds with the unseen cards, every order of them as likely as any other.

    Args:
        start: `STATE`[1].
        deals: `DEAL`[1], without the cards that lie face down.
        seed: uint64.
        worlds: `DEAL`[K], written.
    """
    state = start[0]
    cards = np.empty(64, dtype=np.uint64)
    for w in range(worlds.shape[0]):
        worlds[w] = deals[0]
        world = worlds[w]
        left, size = unseen_cards(state), 0
        while left != ZERO:
            cards[size] = lowest(left)
            left ^= cards[size]
            size += 1
        for i in range(PILES):
            for k in range(np.int64((state.dealt >> U(4 * i)) & NIBBLE) - 1):
                seed += GAMMA
                # A product of 32 bits and a size below 2**6: its bias is below 2**-26.
                at = np.int64(((mix(seed) >> U(32)) * U(size)) >> U(32))
                card = cards[at]
                size -= 1
                cards[at] = cards[size]
                world.pile_cards[U(8 * i + k)] = card
                world.pile_of[lowest_bit(card)] = i


@entry_point
def verdict(start, deals, every, exact, max_states):
    """WON, LOST or else, with all cards known."""
    states, nodes, table, counts = exact
    states[0] = start[0]
    table[:] = ZERO
    counts[:] = 0
    if search.begin(states, nodes, deals, every):
        return search.LOST
    return search.search(states, nodes, deals, every, table, counts, max_states, 0)


@entry_point
def roll_out(start, deals, every, weights, tools, small, effort):
    """Play a world on from a position, which is changed. Returns 1 for a win, 0 for a loss.

    A half is for a search that did not end.
    """
    work, second, after, features = tools
    while True:
        if is_surely_won(start[0], deals[0]):
            return 1.0
        if start[0].face_down <= ONE:
            decided = verdict(start, deals, every, small, effort.exact_states)
            if decided == search.WON:
                return 1.0
            return 0.0 if decided == search.LOST else 0.5
        count, _ = find_plans(start, deals, every, work, effort.roll_quota, effort.roll_more)
        if count == 0:
            return 0.0
        best = 0
        if count > 1:
            describe_plans(count, deals, every, work, after, second, features)
            best = best_by_weights(features, count, weights)
        plan = work[5][best]
        start[0] = work[0][np.int64(plan.node)]
        play(start[0], deals[0], every, np.int64(plan.kind), plan.card)


@entry_point
def compare_plans(
    start, deals, every, seed, weights, roll_weights, top, tools, small, worlds, now, scores, effort
):
    """Choose a plan. Returns its place in top[0][5], -1 if there is none.

    Args:
        start: `STATE`[1].
        deals: `DEAL`[1], without the cards that lie face down.
        every: `every_table` of the draw count.
        seed: uint64, of the worlds.
        weights: of the prior.
        roll_weights: of the choice within a world.
        top: a `room` for the plans compared.
        tools: a `room` for the play within a world.
        small: a table and so on for short searches.
        worlds: `DEAL`[K].
        now: `STATE`[1].
        scores: float64[2, MAX_PLANS], scratch.
        effort: an `Effort`.
    """
    work, second, after, features = top
    count, _ = find_plans(start, deals, every, work, effort.quota, effort.more)
    if count <= 1:
        return count - 1
    describe_plans(count, deals, every, work, after, second, features)
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
    draw_worlds(start, deals, seed, worlds[: effort.worlds])
    done = 0
    # Rounds halve the plans; each doubles the worlds, the last takes all that are left.
    rounds = 0
    while (alive >> rounds) > 1:
        rounds += 1
    rounds = max(rounds, 1)
    for r in range(rounds):
        until = max(effort.worlds >> (rounds - 1 - r), 1)
        for a in range(alive):
            k = order[a]
            plan = work[5][k]
            for w in range(done, until):
                world = worlds[w : w + 1]
                now[0] = work[0][np.int64(plan.node)]
                play(now[0], world[0], every, np.int64(plan.kind), plan.card)
                if effort.verdict_states > 0:
                    decided = verdict(now, world, every, small, effort.verdict_states)
                    if decided == search.LOST:
                        continue
                    value = effort.verdict_share * (1.0 if decided == search.WON else 0.5)
                    if effort.verdict_share < 1.0:
                        rolled = roll_out(now, world, every, roll_weights, tools, small, effort)
                        value += (1.0 - effort.verdict_share) * rolled
                else:
                    value = roll_out(now, world, every, roll_weights, tools, small, effort)
                sums[k] += value
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
    memory,
    states,
    deals,
    every,
    streams,
    weights,
    roll_weights,
    tools,
    roll_tools,
    small,
    worlds,
    now,
    scores,
    effort,
):
    """The plan that does best in the worlds, for every row that thinks."""
    for b in range(memory.shape[0]):
        if memory[b].stage == THINKING:
            streams[b] += GAMMA
            chosen = compare_plans(
                states[b : b + 1],
                deals[b : b + 1],
                every,
                mix(streams[b]),
                weights,
                roll_weights,
                tools,
                roll_tools,
                small,
                worlds,
                now,
                scores,
                effort,
            )
            take_plan(memory[b], tools[0], chosen)


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
        self._effort = effort
        self._every = every_table(rules.draw_count)
        self._tools = room(MAX_NODES, SECOND_NODES)
        looks_further = bool(roll_weights[NUM_SHALLOW:].any())
        self._roll_tools = room(MAX_NODES, SECOND_NODES if looks_further else 1)
        self._small = (
            np.zeros(512, dtype=STATE),
            np.zeros(512, dtype=search.NODE),
            np.zeros(1 << 13, dtype=np.uint64),
            np.zeros(4, dtype=np.int64),
        )
        self._worlds = np.zeros(effort.worlds, dtype=DEAL)
        self._now, self._scores = np.zeros(1, dtype=STATE), np.zeros((2, MAX_PLANS))
        self._streams = np.zeros(0, dtype=np.uint64)

    def choose(self, memory: np.ndarray, states: np.ndarray, deals: np.ndarray) -> None:
        choose_by_worlds(
            memory,
            states,
            deals,
            self._every,
            self._streams,
            self._weights,
            self._roll_weights,
            self._tools,
            self._roll_tools,
            self._small,
            self._worlds,
            self._now,
            self._scores,
            self._effort,
        )

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        if len(rows) and rows.max() >= len(self._streams):
            self._streams = np.resize(self._streams, rows.max() + 1)
        self._streams[rows] = seeds
