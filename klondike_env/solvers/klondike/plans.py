"""Plans: all that can be done without turning a card up, and then the move that turns one up.

Nothing in a plan depends on a card that the player has not seen, so it commits to nothing before it
pays. Plans are found in order of cost, cheapest first, by Dijkstra's algorithm over compact states
with a queue of one list for each cost; every position that the known cards can reach is met once,
but for those that a safe play up comes before (see `search`): where one turns a card up, it is the
only plan.
"""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import entry_point, inlined, lowest_bit
from klondike_env.deals import mix
from klondike_env.games.klondike.layout import PILES, SUITS
from klondike_env.solvers.klondike.compact import (
    BACK,
    BELOW,
    DRAW,
    DRAW_UP,
    FOUR,
    KINGS,
    NIBBLE,
    ONE,
    REVEAL,
    ROW,
    STATE,
    SUIT,
    UP,
    VACATE,
    ZERO,
    U,
    lowest,
    play,
    spaces,
    this_pass,
    twins,
    waste_end_after,
)
from klondike_env.solvers.klondike.search import NODE, find_moves, moves_of

COSTS = np.zeros(6, dtype=np.int64)
COSTS[[UP, REVEAL, VACATE, DRAW_UP, DRAW, BACK]] = (1, 1, 1, 2, 11, 6)
"""What a move of each kind costs."""
EARNINGS = np.array([0, 10, 15, 20, 25, 30, 35, 35], dtype=np.int64)
"""What turning a card up earns, by the cards face down in its pile."""
STOCK = PILES
"""In the place of a pile: a plan that ends with a stock card played, and turns none up."""

NO_NODE = -1
STALE = -1
MAX_COST = 511
MAX_PLANS = 48

PLAN = np.dtype(
    [
        ("card", "u8"),  # its last move, which turns a card up
        ("kind", "i4"),
        ("node", "i4"),  # the position before that move
        ("pile", "i4"),  # whose card it turns up, or STOCK
        ("down", "i4"),  # cards that lie face down in the pile before it
        ("cost", "i4"),
        ("value", "i4"),  # what it earns less what it costs
        ("moves", "u8"),  # its moves by kind, 8 bits a kind
    ]
)
"""A plan, as found from one position."""


def workspace(max_nodes: int) -> tuple[np.ndarray, ...]:
    """What `find_plans` works in, for so many positions (a power of 2)."""
    link = np.dtype(
        [
            ("parent", "i4"),  # node it was reached from
            ("next", "i4"),  # next node of the same cost
            ("cost", "i4"),
            ("kind", "i4"),  # the move that reached it
            ("card", "u8"),
            ("moves", "u8"),  # all moves that led to it by kind, 8 bits a kind
        ]
    )
    return (
        np.zeros(max_nodes, dtype=STATE),
        np.zeros(max_nodes, dtype=link),
        np.zeros(2 * max_nodes, dtype=np.dtype([("key", "u8"), ("node", "i4"), ("stamp", "u4")])),
        np.zeros(MAX_COST + 1, dtype=np.int32),
        np.zeros(1, dtype=NODE),
        np.zeros(MAX_PLANS, dtype=PLAN),
        np.zeros(1, dtype=np.uint32),
    )


@inlined
def _reach(links, table, queue, stamp, size, parent, cost, kind, card, key):
    """Note a position, whose node would be `size`. Returns the new number of positions."""
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
    link.moves = ZERO
    if parent != NO_NODE:
        link.moves = links[parent].moves + (ONE << U(8 * kind))
    link.next = queue[U(cost)]
    queue[U(cost)] = size
    return size + 1


@inlined
def _key_after(state, deal, near, kind, card):
    """The key of the position that a move leads to; `near`: talon places that need no redeal."""
    key, k = state.key, lowest_bit(card)
    if kind == UP:
        key += deal.up_weight[SUIT[k]]
        if card & state.in_place != ZERO:
            key -= deal.dealt_weight[deal.pile_of[k]]
    elif kind == BACK:
        key -= deal.up_weight[SUIT[k]]
    elif kind == DRAW or kind == DRAW_UP:
        place = ONE << U(deal.place[k])
        key -= place * deal.talon_weight
        if kind == DRAW_UP:
            key += deal.up_weight[SUIT[k]]
        if near & place == ZERO:
            key -= deal.redeal_weight
        if not deal.is_open_stock:
            end = waste_end_after(deal, state.talon ^ place, place)
            key += (end - state.waste_end) * deal.waste_weight
    else:
        key -= deal.dealt_weight[deal.pile_of[k]]
    return key


@inlined
def may_turn(state, deal):
    """The last dealt cards in place over face-down cards that some play might move away.

    Looks at a game in which all that is known stays available: a card can be a host for ever, all
    stock cards are at hand, and a card may go up when all lower ones of its suit are known. What
    cannot be moved there is in no plan.
    """
    found = ZERO
    for s in range(SUITS):
        found |= BELOW[U(ROW * s) + ((state.up >> U(4 * s)) & NIBBLE)]
    known = state.face_up | state.stock | found
    ups = ZERO
    for s in range(SUITS):
        suit = BELOW[U(ROW * s + 13)]
        missing = lowest(suit & ~known)
        ups |= suit & ((missing << ONE) - ONE)
    on_tableau, off_tableau = state.face_up, state.stock
    if deal.takes_back:
        off_tableau |= found
    kings_up = state.face_up & ~state.in_place & KINGS & ups
    kings = KINGS if spaces(state) != ZERO or state.first | kings_up != ZERO else ZERO
    while True:
        land = ((on_tableau | twins(on_tableau)) >> FOUR) | kings
        new = off_tableau & land
        if new == ZERO:
            break
        on_tableau |= new
        off_tableau ^= new
    return state.in_place & ~state.first & (ups | land)


@entry_point
def find_plans(start, deals, every, work, quota, more, ends_with_stock):
    """Find plans, those of lower cost first.

    Args:
        start: `STATE`[1]; the deal's tables need not know the cards that lie face down.
        deals: `DEAL`[1], the deal's tables.
        every: `every_table` of the draw count.
        work: a `workspace`. The plans are then in work[5], and work[0] and work[1] hold the
            positions on their ways: a plan is the way to its node and then its own move.
        quota: plans a pile at most, the cheapest ones.
        more: positions to look at after the first plan has been found. With 0 the search ends when
            no plan can be worth more than the best one.
        ends_with_stock: whether playing a stock card makes a plan too, though it turns none up.

    Returns:
        How many plans there are, and whether all positions that could add one (with `more` 0: a
        better one) were met; if not, that there is no plan says nothing.
    """
    states, links, table, queue, scratch, plans, stamp = work
    deal, node = deals[0], scratch[0]
    stamp[0] += np.uint32(1)
    if stamp[0] == np.uint32(0):
        for k in range(table.shape[0]):
            table[k].stamp = 0
        stamp[0] = 1
    now = stamp[0]
    per_pile = U(0)
    count, best, most, looked = 0, 0, 0, 0
    for i in range(PILES):
        dealt = np.int64((start[0].dealt >> U(4 * i)) & NIBBLE)
        if dealt > 1:
            most = max(most, EARNINGS[dealt - 1])
    states[0] = start[0]
    if not ends_with_stock and may_turn(states[0], deal) == ZERO:
        return 0, True
    queue[0] = NO_NODE
    size = _reach(links, table, queue, now, 0, NO_NODE, 0, 0, ZERO, states[0].key)
    waiting, last_cost = 1, 1
    is_complete = True
    for cost in range(MAX_COST - 16):
        if waiting == 0:
            break
        if more == 0 and count and most - cost - 1 <= best:
            break
        while last_cost < cost + 16:
            queue[last_cost] = NO_NODE
            last_cost += 1
        here = np.int64(queue[U(cost)])
        while here != NO_NODE:
            # Nodes pushed from here on go in front of the list, and cost more anyhow.
            following = np.int64(links[here].next)
            waiting -= 1
            if np.int64(links[here].cost) == cost:
                if count:
                    looked += 1
                if size + 64 > states.shape[0] or (more > 0 and looked > more):
                    is_complete = False
                    break
                # Most positions are met again or never looked at: only here one is made.
                if here:
                    link = links[here]
                    states[here] = states[np.int64(link.parent)]
                    play(states[here], deal, every, np.int64(link.kind), link.card)
                find_moves(states[here], deal, every, node)
                near = states[here].talon
                if not deal.is_endless and near != ZERO:
                    near = this_pass(states[here], deal, every)
                for kind in range(6):
                    cards = moves_of(node, kind)
                    total = cost + COSTS[kind]
                    while cards != ZERO:
                        card = lowest(cards)
                        cards ^= card
                        turns = kind <= REVEAL and (
                            card & states[here].in_place & ~states[here].first != ZERO
                        )
                        if turns or (ends_with_stock and (kind == DRAW or kind == DRAW_UP)):
                            pile, down = STOCK, 0
                            if turns:
                                pile = np.int64(deal.pile_of[lowest_bit(card)])
                                down = np.int64((states[here].dealt >> U(4 * pile)) & NIBBLE) - 1
                            taken = np.int64((per_pile >> U(8 * pile)) & U(255))
                            if taken < quota and count < plans.shape[0]:
                                plan = plans[count]
                                plan.node, plan.kind, plan.card = here, kind, card
                                plan.pile, plan.down, plan.cost = pile, down, total
                                plan.value = EARNINGS[down] - total
                                plan.moves = links[here].moves + (ONE << U(8 * kind))
                                if count == 0 or plan.value > best:
                                    best = np.int64(plan.value)
                                per_pile += ONE << U(8 * pile)
                                count += 1
                        if not turns:
                            key = _key_after(states[here], deal, near, kind, card)
                            before = size
                            size = _reach(
                                links, table, queue, now, size, here, total, kind, card, key
                            )
                            waiting += size - before
            here = following
        if not is_complete:
            break
    return count, is_complete


@inlined
def best_plan(plans, count):
    """The plan that is worth most, the first of equals; -1 if there is none."""
    best = -1
    for k in range(count):
        if best < 0 or plans[k].value > plans[best].value:
            best = k
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
