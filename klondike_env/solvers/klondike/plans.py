"""Plans: all that can be done without turning a card up, and then the move that turns one up.

Nothing in a plan depends on a card that the player has not seen, so it commits to nothing before it
pays. Plans are found in order of cost, cheapest first, by Dijkstra's algorithm over compact states
with a queue of one list for each cost; every position that the known cards can reach is met once.
"""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import inlined, lowest_bit
from klondike_env.deals import mix
from klondike_env.games.klondike.layout import PILES
from klondike_env.solvers.klondike.compact import (
    BACK,
    DRAW,
    DRAW_UP,
    FOUR,
    NIBBLE,
    ONE,
    REVEAL,
    STATE,
    UP,
    VACATE,
    ZERO,
    U,
    lowest,
    play,
)
from klondike_env.solvers.klondike.search import NODE, find_moves

COSTS = np.zeros(6, dtype=np.int64)
COSTS[[UP, REVEAL, VACATE, DRAW_UP, DRAW, BACK]] = (1, 1, 1, 2, 11, 6)
"""What a move of each kind costs."""
EARNINGS = np.array([0, 10, 15, 20, 25, 30, 35, 35], dtype=np.int64)
"""What turning a card up earns, by the cards face down in its pile."""

NO_PLAN = -(1 << 30)
MAX_COST = 511
NO_NODE = -1
STALE = -1


def workspace(max_nodes: int) -> tuple[np.ndarray, ...]:
    """What `find_plans` works in, for so many positions (a power of 2)."""
    link = np.dtype(
        [
            ("parent", "i4"),  # node it was reached from
            ("next", "i4"),  # next node of the same cost
            ("cost", "i4"),
            ("kind", "i4"),  # the move that reached it
            ("card", "u8"),
        ]
    )
    return (
        np.zeros(max_nodes, dtype=STATE),
        np.zeros(max_nodes, dtype=link),
        np.zeros(2 * max_nodes, dtype=np.dtype([("key", "u8"), ("node", "i4"), ("stamp", "u4")])),
        np.zeros(MAX_COST + 1, dtype=np.int32),
        np.zeros(1, dtype=NODE),
        np.zeros(
            PILES,
            dtype=np.dtype([("value", "i4"), ("node", "i4"), ("kind", "i4"), ("card", "u8")]),
        ),
    )


@inlined
def _reach(states, links, table, queue, stamp, size, parent, cost, kind, card):
    """Note the position just written at states[size]. Returns the new number of positions."""
    key = states[size].key
    mask = U(table.shape[0] - 1)
    at = mix(key) & mask
    while table[at].stamp == stamp and table[at].key != key:
        at = (at + ONE) & mask
    if table[at].stamp == stamp:
        known = np.int64(table[at].node)
        if links[known].cost <= cost:
            return size
        links[known].cost = STALE  # it stays in the list of its cost
    table[at].stamp, table[at].key, table[at].node = stamp, key, size
    link = links[size]
    link.parent, link.cost, link.kind, link.card = parent, cost, kind, card
    link.next = queue[U(cost)]
    queue[U(cost)] = size
    return size + 1


@inlined
def find_plans(start, deal, every, work, stamp):
    """Find the plan that earns most for what it costs.

    Args:
        start: compact state; the deal's tables need not know the cards that lie face down.
        deal: the deal's tables.
        every: `every_table` of the draw count.
        work: a `workspace`; the best plans met are then in work[5], one a pile, with value NO_PLAN
            where none was met; a plan is the way to its node and then its own move.
        stamp: a number that no earlier call with this workspace has had, above 0.

    Returns:
        Whether all positions were met that could hold a better plan than the best one; if not,
        that there is no plan says nothing.
    """
    states, links, table, queue, scratch, plans = work
    node = scratch[0]
    queue[:] = NO_NODE
    for i in range(PILES):
        plans[i].value = NO_PLAN
    states[0] = start
    size = _reach(states, links, table, queue, stamp, 0, NO_NODE, 0, 0, ZERO)
    waiting = 1
    for cost in range(MAX_COST - 16):
        if waiting == 0 or not _can_improve(start, plans, cost):
            return True
        here = np.int64(queue[U(cost)])
        while here != NO_NODE:
            # Nodes pushed from here on go in front of the list, and cost more anyhow.
            following = np.int64(links[here].next)
            waiting -= 1
            if np.int64(links[here].cost) == cost:
                if size + 64 > states.shape[0]:
                    return False
                find_moves(states[here], deal, every, node)
                for kind in range(6):
                    cards = node.ups
                    if kind == REVEAL:
                        cards = node.reveals
                    elif kind == VACATE:
                        cards = node.vacates
                    elif kind == DRAW_UP:
                        cards = node.draw_ups
                    elif kind == DRAW:
                        cards = node.draws
                    elif kind == BACK:
                        cards = node.backs
                    total = cost + COSTS[kind]
                    while cards != ZERO:
                        card = lowest(cards)
                        cards ^= card
                        if kind <= REVEAL and card & states[here].in_place & ~states[here].first:
                            _offer(states[here], deal, plans, here, total, kind, card)
                        else:
                            states[size] = states[here]
                            play(states[size], deal, every, kind, card)
                            before = size
                            size = _reach(
                                states, links, table, queue, stamp, size, here, total, kind, card
                            )
                            waiting += size - before
            here = following
    return waiting == 0


@inlined
def _offer(state, deal, plans, node, cost, kind, card):
    """A plan that turns up a card is at hand: keep it if it is the pile's best."""
    i = U(deal.pile_of[lowest_bit(card)])
    down = ((state.dealt >> (FOUR * i)) & NIBBLE) - ONE
    value = EARNINGS[down] - cost
    if value > plans[i].value:
        plans[i].value, plans[i].node = value, node
        plans[i].kind, plans[i].card = kind, card


@inlined
def _can_improve(start, plans, cost):
    """Whether a plan found from this cost on could be better than the best one."""
    best, most = NO_PLAN, 0
    for i in range(PILES):
        best = max(best, np.int64(plans[i].value))
        count = np.int64((start.dealt >> U(4 * i)) & NIBBLE)
        if count > 1:
            most = max(most, EARNINGS[count - 1])
    return most - cost - 1 > best


@inlined
def best_pile(plans):
    """The pile whose plan has the highest value, -1 if there is no plan."""
    best = -1
    for i in range(PILES):
        if plans[i].value != NO_PLAN and (best < 0 or plans[i].value > plans[best].value):
            best = i
    return best


@inlined
def write_plan(links, plan, kinds, cards):
    """Write a plan's moves in order. Returns how many they are, -1 if there is no room."""
    count = 1
    node = np.int64(plan.node)
    while links[node].parent != NO_NODE:
        count += 1
        node = np.int64(links[node].parent)
    if count > kinds.shape[0]:
        return -1
    kinds[count - 1], cards[count - 1] = plan.kind, plan.card
    node = np.int64(plan.node)
    for k in range(count - 2, -1, -1):
        kinds[k], cards[k] = links[node].kind, links[node].card
        node = np.int64(links[node].parent)
    return count
