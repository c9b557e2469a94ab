"""A choice among plans by a weighted sum of what a player can say about each.

All that a feature says is known to the player: the card that a plan turns up counts as unseen, so
the position after a plan is looked at with the pile that it turns blocked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from klondike_env.compiled import entry_point, inlined, lowest_bit, popcount
from klondike_env.games.klondike.layout import SUITS
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.compact import (
    ALL,
    BACK,
    BELOW,
    DRAW,
    DRAW_UP,
    EVEN,
    FOUR,
    KINGS,
    NIBBLE,
    ONE,
    ROW,
    STATE,
    UP,
    VACATE,
    ZERO,
    U,
    at_places,
    every_table,
    lowest,
    open_cards,
    play,
    put_up,
    reachable,
    spaces,
    twins,
)
from klondike_env.solvers.klondike.planning import LOOK, MAX_MOVES, MAX_NODES, THINKING, take_plan
from klondike_env.solvers.klondike.plans import (
    MAX_PLANS,
    STOCK,
    find_plans,
    may_turn,
    workspace,
    write_plan,
)
from klondike_env.solvers.klondike.worlds import draw_worlds, room_for_worlds


class FeatureIndex(NamedTuple):
    """The place of each feature; counts are scaled to about 1."""

    value: int  # what the plan earns less what it costs
    cost: int
    draws: int  # stock cards to the tableau
    draw_ups: int
    backs: int
    ups: int
    vacates: int
    turns_up: int  # turned by a play to the foundation
    turns_king: int  # the run that leaves has a king at its end: it goes to a space
    down_1: int  # cards face down in the pile
    down_2: int
    down_3: int
    down_4: int
    down_5: int
    down_6: int
    late_draws: int  # times the part turned up so far
    late_draw_ups: int
    late_ups: int
    late_backs: int
    late_down: int
    # The position after it, the turned card unseen and its pile blocked.
    spaces: int
    kings_waiting: int
    space_for_king: int
    reveals: int  # other piles that could turn a card up at once, and the cards under them
    reveals_depth: int
    reveals_best: int
    reveals_1: int  # those that a stock card in reach makes possible
    reveals_1_depth: int
    relaxed: int  # those that some order of known cards might make possible
    relaxed_depth: int
    stuck_up: int  # piles with both hosts on foundations
    stuck_up_depth: int
    stuck_unseen: int  # piles with a host unseen and none in sight or stock
    stuck_unseen_depth: int
    stuck_stock: int  # a host in the stock, none in sight
    stuck_king: int  # kings on face-down cards with no space
    stock_left: int
    stock_reachable: int
    stock_up: int
    stock_playable: int
    stock_thirds_1: int
    stock_thirds_2: int
    waste_end: int
    up_total: int
    up_lowest: int
    up_spread: int
    twin_hosted: int  # cards whose twin, of their rank and colour, is face up as they are
    last_host: int  # piles with one host left, the other one up
    hosts_unseen: int  # piles with both hosts unseen
    hosts_stock: int  # piles with both hosts in the stock
    open_pairs: int  # ranks and colours with a card that nothing lies on
    next_up_in_sight: int  # next cards of the foundations, by where they are
    next_up_stock: int
    next_up_unseen: int
    unseen_lands: int  # share of the unseen cards that could go to the tableau
    unseen_up: int  # ... to their foundations
    unseen_plays: int  # ... to either
    unseen_hosted: int  # unseen cards that could go on a card that nothing lies on: count
    # What the plan spends: stock cards on the tableau, and cards put up.
    drawn_rank: int
    drawn_kings: int
    drawn_for_unseen: int  # unseen cards that could go on the stock cards
    drawn_for_piles: int  # ends of runs on face-down cards that could
    drawn_for_depth: int  # the face-down cards under these
    upped_for_unseen: int  # unseen cards that could have gone on the cards put up
    upped_for_stock: int
    host_spent_stock: int  # the twin of the card that the pile hands over waits in the stock
    # A second plan, from the position after it.
    next_none: int
    next_value: int
    next_cost: int
    next_draws: int
    next_backs: int
    next_plans: int
    next_second: int
    # Where the stock is not free to look through.
    ends_up: int  # the plan ends with a stock card played up
    ends_draw: int  # ... to the tableau
    ends_draw_rank: int
    ends_draw_last: int  # ... on the last pass
    late_ends_draw: int
    look: int  # no plan: the next packet is drawn
    look_last: int  # ... on the last pass
    look_plans: int  # plans passed over for it
    look_stock: int  # of these, plays of a stock card
    look_unseen: int
    uses_redeal: int  # redeals that the plan makes
    passed: int  # stock cards that it passes over
    passed_last: int  # ... on the last pass


F = FeatureIndex(*range(len(FeatureIndex._fields)))
FEATURES = FeatureIndex._fields
"""Names of the features, in order."""
NUM_FEATURES = len(FEATURES)
NUM_SHALLOW = F.next_none
"""The features from here to `NUM_FREE` need a second search."""
NUM_FREE = F.ends_up
"""The features from here on tell only where passes are limited."""
SECOND_NODES = 256
"""Positions on the ways of the plans that follow a plan: most of a search is cut off there."""


@inlined
def play_blind(state, deal, plan):
    """Make a plan's last move with the card that it turns up left unseen."""
    card = plan.card
    if np.int64(plan.kind) == UP:
        put_up(state, deal, card)
        state.face_up &= ~card
    i = U(plan.pile)
    state.dealt -= ONE << (FOUR * i)
    state.key -= deal.dealt_weight[i]
    state.in_place &= ~card
    state.face_down -= ONE


@inlined
def _depth(state, deal, cards):
    """Face-down cards under some last dealt cards in place: all, and most in one pile."""
    total, most = 0, 0
    while cards != ZERO:
        card = lowest(cards)
        cards ^= card
        i = U(deal.pile_of[lowest_bit(card)])
        down = np.int64((state.dealt >> (FOUR * i)) & NIBBLE) - 1
        total += down
        most = max(most, down)
    return total, most


@inlined
def _put_up_cards(state):
    cards = ZERO
    for s in range(SUITS):
        cards |= BELOW[U(ROW * s) + ((state.up >> U(4 * s)) & NIBBLE)]
    return cards


@inlined
def _guests(cards):
    """The cards that can go on some cards."""
    return (cards | twins(cards)) >> FOUR


@inlined
def _both(cards):
    """Those whose twins are among them as well."""
    return cards & twins(cards)


@inlined
def _describe_unseen(state, before, plan, deal, found, land, opened, turnable, row):
    """The features of the position after a plan that count unseen cards or what the plan spends."""
    stock = state.stock
    unseen = ALL & ~(state.face_up | stock | found)
    share = 1.0 / max(np.float64(popcount(unseen)), 1.0)
    left = state.face_up | stock | unseen
    alone = left & ~twins(left)
    row[F.last_host] = np.float64(popcount(turnable & _guests(alone))) / 2
    row[F.hosts_unseen] = np.float64(popcount(turnable & _guests(_both(unseen)))) / 3
    row[F.hosts_stock] = np.float64(popcount(turnable & _guests(_both(stock)))) / 3
    row[F.open_pairs] = np.float64(popcount(opened & EVEN)) / 6
    row[F.next_up_in_sight] = np.float64(popcount(state.next_up & state.face_up)) / 3
    row[F.next_up_stock] = np.float64(popcount(state.next_up & stock)) / 3
    row[F.next_up_unseen] = np.float64(popcount(state.next_up & unseen)) / 3
    row[F.unseen_lands] = np.float64(popcount(unseen & land)) * share
    row[F.unseen_up] = np.float64(popcount(unseen & state.next_up)) * share
    row[F.unseen_plays] = np.float64(popcount(unseen & (land | state.next_up))) * share
    row[F.unseen_hosted] = np.float64(popcount(unseen & (opened >> FOUR))) / 4

    drawn = before.stock & ~stock & state.face_up
    cards, ranks = drawn, 0
    while cards != ZERO:
        card = lowest(cards)
        cards ^= card
        ranks += np.int64(lowest_bit(card) >> U(2))
    row[F.drawn_rank] = ranks / 12
    row[F.drawn_kings] = np.float64(popcount(drawn & KINGS))
    guests = _guests(drawn)
    row[F.drawn_for_unseen] = np.float64(popcount(guests & unseen)) / 2
    row[F.drawn_for_piles] = np.float64(popcount(guests & turnable)) / 2
    depth, _ = _depth(state, deal, guests & turnable)
    row[F.drawn_for_depth] = depth / 6
    guests = _guests(found & ~_put_up_cards(before))
    row[F.upped_for_unseen] = np.float64(popcount(guests & unseen)) / 2
    row[F.upped_for_stock] = np.float64(popcount(guests & stock)) / 2
    if np.int64(plan.down) > 0 and np.int64(plan.kind) != UP:
        row[F.host_spent_stock] = np.float64(popcount(twins(plan.card) & stock))


@inlined
def _describe_position(state, before, plan, deal, every, row):
    """The features of the position after a plan."""
    opened = open_cards(state)
    num_spaces = spaces(state)
    land = opened >> FOUR
    if num_spaces != ZERO:
        land |= KINGS
    turnable = state.in_place & ~state.first
    known_ups = state.face_up & opened & state.next_up
    stock, talon = state.stock, state.talon
    found = _put_up_cards(state)

    row[F.spaces] = np.float64(num_spaces)
    waiting = popcount(KINGS & (turnable | stock))
    row[F.kings_waiting] = np.float64(waiting) / 2
    row[F.space_for_king] = np.float64(min(num_spaces, waiting))

    now = turnable & (land | known_ups)
    depth, most = _depth(state, deal, now)
    row[F.reveals] = np.float64(popcount(now))
    row[F.reveals_depth] = depth / 6
    row[F.reveals_best] = most / 6

    at_hand, size = ZERO, 0
    if talon != ZERO:
        at_hand = at_places(stock, reachable(state, deal, every), deal)
        size = np.int64(popcount(talon))
    helpers = at_hand & land
    hosts = helpers | twins(helpers)
    soon = turnable & (hosts >> FOUR) & ~now
    depth, most = _depth(state, deal, soon)
    row[F.reveals_1] = np.float64(popcount(soon))
    row[F.reveals_1_depth] = depth / 6

    far = may_turn(state, deal)
    depth, most = _depth(state, deal, far)
    row[F.relaxed] = np.float64(popcount(far))
    row[F.relaxed_depth] = depth / 6

    stuck_up, stuck_unseen, stuck_stock = ZERO, ZERO, ZERO
    cards = turnable & ~KINGS
    while cards != ZERO:
        card = lowest(cards)
        cards ^= card
        pair = (card | twins(card)) << FOUR
        if pair & state.face_up != ZERO:
            continue
        if pair & stock != ZERO:
            stuck_stock |= card
        elif pair & ~found == ZERO:
            stuck_up |= card
        else:
            stuck_unseen |= card
    depth, most = _depth(state, deal, stuck_up)
    row[F.stuck_up] = np.float64(popcount(stuck_up))
    row[F.stuck_up_depth] = depth / 6
    depth, most = _depth(state, deal, stuck_unseen)
    row[F.stuck_unseen] = np.float64(popcount(stuck_unseen))
    row[F.stuck_unseen_depth] = depth / 6
    row[F.stuck_stock] = np.float64(popcount(stuck_stock))
    row[F.stuck_king] = np.float64(popcount(turnable & KINGS)) if num_spaces == ZERO else 0.0

    row[F.stock_left] = size / 12
    row[F.stock_reachable] = np.float64(popcount(at_hand)) / 8
    row[F.stock_up] = np.float64(popcount(at_hand & state.next_up)) / 2
    row[F.stock_playable] = np.float64(popcount(at_hand & (land | state.next_up))) / 4
    row[F.stock_thirds_1] = 1.0 if size % 3 == 1 else 0.0
    row[F.stock_thirds_2] = 1.0 if size % 3 == 2 else 0.0
    row[F.waste_end] = 0.0 if state.waste_end == ZERO else 1.0

    low, high, total = 13, 0, 0
    for s in range(SUITS):
        n = np.int64((state.up >> U(4 * s)) & NIBBLE)
        low, high, total = min(low, n), max(high, n), total + n
    row[F.up_total] = total / 13
    row[F.up_lowest] = low / 4
    row[F.up_spread] = (high - low) / 4
    both = state.face_up & twins(state.face_up)
    row[F.twin_hosted] = np.float64(popcount(both)) / 8
    _describe_unseen(state, before, plan, deal, found, land, opened, turnable, row)


@inlined
def _number(moves, kind):
    return np.float64((moves >> U(8 * kind)) & U(255))


@inlined
def describe_plans(count, deals, every, is_free, work, after, second, features):
    """Write the features of each plan.

    Args:
        count: plans, as `find_plans` found them.
        deals: `DEAL`[1].
        every: `every_table` of the draw count.
        is_free: whether the stock is free to look through.
        work: the workspace of `find_plans`.
        after: `STATE`[1], scratch.
        second: a workspace for the plans that follow each plan; with no room in it the features
            of such plans are 0.
        features: float64[plans or more, NUM_FEATURES].
    """
    states, plans = work[0], work[5]
    deal = deals[0]
    for k in range(count):
        plan, row = plans[k], features[k]
        row[:] = 0.0
        node = states[np.int64(plan.node)]
        down, moves = np.int64(plan.down), plan.moves
        row[F.value] = np.int64(plan.value) / 10
        row[F.cost] = np.int64(plan.cost) / 10
        row[F.draws] = _number(moves, DRAW)
        row[F.draw_ups] = _number(moves, DRAW_UP)
        row[F.backs] = _number(moves, BACK)
        row[F.ups] = _number(moves, UP)
        row[F.vacates] = _number(moves, VACATE)
        row[F.turns_up] = 1.0 if np.int64(plan.kind) == UP else 0.0
        row[F.turns_king] = 1.0 if plan.card & KINGS != ZERO else 0.0
        if down > 0:
            row[F.down_1 + min(down, 6) - 1] = 1.0
        late = 1.0 - np.float64(node.face_down) / 21
        row[F.late_draws] = late * row[F.draws]
        row[F.late_draw_ups] = late * row[F.draw_ups]
        row[F.late_ups] = late * row[F.ups]
        row[F.late_backs] = late * row[F.backs]
        row[F.late_down] = late * down / 6
        after[0] = node
        if down > 0:
            play_blind(after[0], deal, plan)
        else:
            play(after[0], deal, every, np.int64(plan.kind), plan.card)
        _describe_position(after[0], states[0], plan, deal, every, row)
        if not is_free:
            redeals = states[0].redeals_left - after[0].redeals_left
            row[F.uses_redeal] = np.float64(redeals)
            end = (ONE << after[0].waste_end) - ONE
            if redeals == ZERO:
                end &= ~((ONE << states[0].waste_end) - ONE)
            passed = np.float64(popcount(after[0].talon & end)) / 4
            row[F.passed] = passed
            if after[0].redeals_left == ZERO:
                row[F.passed_last] = passed
        if second[0].shape[0] > 1:
            found, _ = find_plans(after, deals, every, second, 1, 0, False)
            row[F.next_none] = 1.0 if found == 0 else 0.0
            row[F.next_plans] = found / 3
            best, other = -1, -1
            for j in range(found):
                if best < 0 or second[5][j].value > second[5][best].value:
                    best, other = j, best
                elif other < 0 or second[5][j].value > second[5][other].value:
                    other = j
            if best >= 0:
                row[F.next_value] = np.int64(second[5][best].value) / 10
                row[F.next_cost] = np.int64(second[5][best].cost) / 10
                row[F.next_draws] = _number(second[5][best].moves, DRAW)
                row[F.next_backs] = _number(second[5][best].moves, BACK)
            if other >= 0:
                row[F.next_second] = np.int64(second[5][other].value) / 10


def room(max_nodes: int, second_nodes: int) -> tuple[Any, ...]:
    """What a choice among plans works in.

    Args:
        max_nodes: positions on the ways of the plans.
        second_nodes: the same of the plans that follow each plan; 1 for no look at these.
    """
    return (
        workspace(max_nodes),
        workspace(second_nodes),
        np.zeros(1, dtype=STATE),
        np.zeros((MAX_PLANS, NUM_FEATURES)),
        np.zeros(1, dtype=STATE),
        np.zeros(MAX_MOVES, dtype=np.int64),
        np.zeros(MAX_MOVES, dtype=np.uint64),
    )


# --- Where the stock is not free to look through -----------------------------------------------


@inlined
def unseen_places(state, is_first):
    """The talon places of cards that have not come up yet, if the stock is on its first pass."""
    if not is_first:
        return ZERO
    return state.talon & ~((ONE << state.waste_end) - ONE)


@inlined
def _hide_stock(state, deal, places):
    """Take the cards at unseen places out of a state, and the redeals: what can be planned with."""
    state.talon &= ~places
    state.redeals_left = ZERO
    state.stock ^= at_places(state.stock, places, deal)


@inlined
def _look(state, deal):
    """Draw a packet."""
    rest = state.talon & ~((ONE << state.waste_end) - ONE)
    end = state.waste_end
    for _ in range(np.int64(deal.draw_count)):
        if rest != ZERO:
            end = lowest_bit(rest) + ONE
            rest &= rest - ONE
    state.key += (end - state.waste_end) * deal.waste_weight
    state.waste_end = end


@entry_point
def list_choices(start, deals, every, is_free, is_first, tools, quota, more):
    """Find and describe what can be chosen in a state.

    Where the stock is free to look through these are the plans that turn a card up. Elsewhere a
    stock card passed over may not come back, so playing one is a plan too; and while some of the
    stock has not come up, only the waste can be planned with, and drawing a packet is the last
    choice.

    Args:
        start: `STATE`[1].
        deals: `DEAL`[1]; what the player has not seen is not looked at.
        every: `every_table` of the draw count.
        is_free: whether the stock is free to look through.
        is_first: whether the stock is on its first pass.
        tools: a `room`, whose plans and features are written.
        quota: plans a pile.
        more: positions looked at after the first plan is found.

    Returns:
        Number of choices.
    """
    work, second, after, features, seen, _, _ = tools
    seen[0] = start[0]
    places = ZERO
    if not is_free:
        places = unseen_places(start[0], is_first)
        if places != ZERO:
            _hide_stock(seen[0], deals[0], places)
    count, _ = find_plans(seen, deals, every, work, quota, more, not is_free)
    count = min(count, work[5].shape[0] - 1)
    if count > 1 or not is_free:
        describe_plans(count, deals, every, is_free, work, after, second, features)
    if is_free:
        return count
    is_last = 1.0 if start[0].redeals_left == ZERO else 0.0
    late = 1.0 - np.float64(start[0].face_down) / 21
    stock_plans = 0
    for k in range(count):
        plan, row = work[5][k], features[k]
        if np.int64(plan.pile) == STOCK:
            stock_plans += 1
            if np.int64(plan.kind) == DRAW_UP:
                row[F.ends_up] = 1.0
            else:
                row[F.ends_draw] = 1.0
                row[F.ends_draw_rank] = np.float64(lowest_bit(plan.card) >> U(2)) / 12
                row[F.ends_draw_last] = is_last
                row[F.late_ends_draw] = late
    if places != ZERO:
        plan, row = work[5][count], features[count]
        plan.kind, plan.pile, plan.card, plan.node = LOOK, STOCK, ZERO, 0
        plan.down, plan.cost, plan.value, plan.moves = 0, 0, 0, ZERO
        row[:] = 0.0
        row[F.look] = 1.0
        row[F.look_last] = is_last
        row[F.look_plans] = (count - stock_plans) / 4
        row[F.look_stock] = stock_plans / 4
        row[F.look_unseen] = np.float64(popcount(places)) / 24
        count += 1
    return count


@inlined
def take_choice(state, deal, every, tools, chosen):
    """Play a choice in a world."""
    work, _, _, _, _, kinds, cards = tools
    plan = work[5][chosen]
    if np.int64(plan.kind) == LOOK:
        _look(state, deal)
        return
    length = write_plan(work[1], plan, kinds, cards)
    for k in range(length):
        play(state, deal, every, np.int64(kinds[k]), cards[k])


# --- Choosing ----------------------------------------------------------------------------------


@inlined
def best_by_weights(features, count, weights):
    """The row with the highest weighted sum, the first of equals; -1 if there is none."""
    best, highest = min(count, 1) - 1, 0.0
    if count < 2:
        return best
    for k in range(count):
        score = 0.0
        for f in range(weights.shape[0]):
            score += weights[f] * features[k, f]
        if k == 0 or score > highest:
            best, highest = k, score
    return best


@entry_point
def choose_by_weights(memory, games, terms, every, worlds, is_free, tools, weights, quota, more):
    """The choice with the highest weighted sum, for every row that thinks."""
    scratch, states, deals = worlds
    for b in range(memory.shape[0]):
        if memory[b].stage == THINKING:
            # Where the unseen cards lie makes no difference.
            is_first = draw_worlds(games[b : b + 1], terms, ZERO, scratch, states, deals)
            count = list_choices(
                states[:1], deals[:1], every, is_free, is_first, tools, quota, more
            )
            take_plan(memory[b], tools[0], best_by_weights(tools[3], count, weights))


class ByWeights:
    """Chooses the plan with the highest weighted sum of features.

    Args:
        rules: of the game.
        weights: float64[NUM_FEATURES].
        quota: plans a pile.
        more: positions looked at after the first plan is found.
    """

    def __init__(self, rules: KlondikeRules, weights: np.ndarray, quota: int, more: int) -> None:
        self._weights, self._quota, self._more = weights, quota, more
        self._every, self._tools = every_table(rules.draw_count), room(MAX_NODES, SECOND_NODES)
        self._worlds, self._is_free = room_for_worlds(1), rules.passes is None

    def choose(self, memory: np.ndarray, games: np.ndarray, terms: np.ndarray) -> None:
        choose_by_weights(
            memory,
            games,
            terms,
            self._every,
            self._worlds,
            self._is_free,
            self._tools,
            self._weights,
            self._quota,
            self._more,
        )

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        pass
