"""Depth-first search of compact Klondike states: finds a win or shows that there is none.

Every state is expanded once, kept by its exact key in an open-addressing table. Three things keep
their number down; each is tested against searches without it.

*Safe plays up.* A tableau card goes up at once if no card that could need it must stay down: both
foundations of the other colour have come within 2 of it and the other one of its colour within 3
(Keller's rule, proved for games with taking back by Blake and Gent, arXiv 1906.12314). With draw 1
and unlimited passes stock cards go up by the same rule, and for any draw count the last stock card
does when the waste is as good as empty: the packets of the others stay as they are, and what comes
to the top by drawing to the end can still be had by drawing to the end.

*One order of moves that commute.* If a move could have been made before the previous one with the
same result, it is only tried in that order: turning plays up, reveals, stock cards up, other plays
up, vacating, taking back, stock cards to the tableau. Moves that only help others thus come last,
right before the moves that they help. A state entered by two different moves can owe different
moves to each, so the table keeps the moves not yet tried from a state (`_left_out`), and a later
visit tries those that it may.

*Nothing that cannot help now.* A card is not taken back if it could safely go up again; a space is
not made while there is one, or no king to fill it; and where all stock cards are at hand, none goes
to the tableau unless it adds a place on which some card can be put next.
"""

from __future__ import annotations

import numpy as np

from klondike_env.compiled import (
    entry_point,
    highest_bit,
    inlined,
    lowest_bit,
    prefetch,
)
from klondike_env.deals import mix
from klondike_env.games.klondike.layout import SUITS
from klondike_env.solvers.klondike.compact import (
    BACK,
    BELOW,
    DRAW,
    DRAW_UP,
    FOUR,
    KINGS,
    NEXT,
    NIBBLE,
    ONE,
    REVEAL,
    ROW,
    SUIT,
    UP,
    VACATE,
    ZERO,
    U,
    at_places,
    is_surely_won,
    lowest,
    open_cards,
    play,
    reachable,
    spaces,
    this_pass,
    twins,
    waste_end_after,
)

KINDS = ("ups", "reveals", "vacates", "draw_ups", "draws", "backs")
NODE = np.dtype(
    [(kind, "u8") for kind in KINDS]  # the moves of a state, a bit for each card that moves
    + [(f"todo_{kind}", "u8") for kind in KINDS]  # of them, still to be tried from here
    + [("is_forced", "u8"), ("kind", "u8"), ("card", "u8")]  # the move being tried
)
"""The moves of a state on the way from the start."""

# Moves of a state as the bits of one word: suits for plays up and taking back, piles for reveals
# and vacating, talon places for both moves of stock cards.
_UPS, _BACKS, _PILES, _DRAW_UPS, _DRAWS = 0, 4, 8, 15, 39

WON, LOST, PAUSED, FULL = range(4)

HIGH_FIRST, HIGH_DRAWS_FIRST, DRAWS_FIRST = 1, 2, 4
"""What an order of trying moves is made of: of tableau cards the highest first, of stock cards the
highest first, stock cards to the tableau before reveals. A deal whose win is far off in one order
may have one near in another; which moves are tried at all does not depend on it."""


@inlined
def _safe_cards(up):
    """The next cards of the foundations that are safe to play up."""
    c, d = up & NIBBLE, (up >> U(4)) & NIBBLE
    h, s = (up >> U(8)) & NIBBLE, (up >> U(12)) & NIBBLE
    red, black = min(d, h) + ONE, min(c, s) + ONE
    safe = ZERO
    if c <= red and c <= s + U(2):
        safe |= NEXT[c]
    if d <= black and d <= h + U(2):
        safe |= NEXT[U(ROW) + d]
    if h <= black and h <= d + U(2):
        safe |= NEXT[U(2 * ROW) + h]
    if s <= red and s <= c + U(2):
        safe |= NEXT[U(3 * ROW) + s]
    return safe


@inlined
def _would_be_safe(up, card):
    """Whether a card taken back from its foundation could safely go up again."""
    k = lowest_bit(card)
    rank, s = k >> U(2), U(SUIT[k])
    if s == U(1) or s == U(2):
        opposite = min(up & NIBBLE, (up >> U(12)) & NIBBLE)
    else:
        opposite = min((up >> U(4)) & NIBBLE, (up >> U(8)) & NIBBLE)
    other = (up >> (FOUR * (U(3) - s))) & NIBBLE
    return rank <= opposite + ONE and rank <= other + U(2)


@inlined
def _only(node, kind, card):
    node.ups = card if kind == UP else ZERO
    node.draw_ups = card if kind == DRAW_UP else ZERO
    node.reveals = ZERO
    node.vacates = ZERO
    node.draws = ZERO
    node.backs = ZERO
    node.is_forced = ONE


@inlined
def find_moves(state, deal, every, node):
    """Write the moves of a state that are worth trying to `node`."""
    opened = open_cards(state)
    num_spaces = spaces(state)
    land = opened >> FOUR
    if num_spaces != ZERO:
        land |= KINGS
    next_up = state.next_up
    safe = _safe_cards(state.up)
    ups = state.face_up & opened & next_up
    if ups & safe != ZERO:
        _only(node, UP, lowest(ups & safe))
        return
    stock, talon = state.stock, state.talon
    tops = state.tops if deal.takes_back else ZERO
    turnable = state.in_place & ~state.first

    draw_ups, draws = ZERO, ZERO
    if talon != ZERO:
        onto = land
        if deal.is_open_stock:
            # A stock card waits until the next move needs it: for a place that was not there, or
            # for its twin to come free by handing over what lies on it.
            hosted = turnable | (state.first & ~KINGS) | stock | tops
            hosted |= twins(hosted)
            onto &= ~opened & ((hosted << FOUR) | twins(state.face_up & next_up))
        wanted = stock & (next_up | onto)
        if wanted != ZERO:
            wanted = at_places(wanted, reachable(state, deal, every), deal)
            draw_ups = wanted & next_up
            draws = wanted & onto & ~(next_up if deal.takes_back else next_up & safe)
            cards = draw_ups & safe
            if cards != ZERO:
                if deal.is_open_stock:
                    _only(node, DRAW_UP, lowest(cards))
                    return
                if deal.is_endless and state.waste_end == ZERO:
                    last = lowest_bit(highest_bit(talon))
                    while cards != ZERO:
                        card = lowest(cards)
                        cards ^= card
                        if U(deal.place[lowest_bit(card)]) == last:
                            _only(node, DRAW_UP, card)
                            return

    backs = tops & land
    cards = backs
    while cards != ZERO:
        card = lowest(cards)
        cards ^= card
        if _would_be_safe(state.up, card):
            backs ^= card
    vacates = ZERO
    if num_spaces == ZERO and KINGS & (turnable | stock | tops) != ZERO:
        vacates = state.first & ~KINGS & land
    node.ups = ups
    node.reveals = turnable & land
    node.vacates = vacates
    node.draw_ups = draw_ups
    node.draws = draws
    node.backs = backs
    node.is_forced = ZERO


@inlined
def moves_of(node, kind):
    """The cards that can move by one of the six kinds."""
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
    return cards


@inlined
def _helps_its_own(turned, kind, card):
    """Whether the card that a move turned up is one that the move itself could have done with.

    That is a twin of the host it went to, or, for a card that went up, its own twin, which what
    lies on it could have been moved to. A move made before might have taken the place that this one
    needed, and only this one's own card makes up for it: the two have one order only.
    """
    if kind == UP:
        return turned & twins(card) != ZERO
    return turned & ((card | twins(card)) << FOUR) != ZERO


@inlined
def _allow(node, previous, state, after, deal, kind, card):
    """Leave of a node's moves those that come after the move that entered it.

    Args:
        node: the moves of the state entered.
        previous: the moves of the state before.
        state: the state before.
        after: the state entered.
        deal: the deal.
        kind: the kind of the move made there.
        card: the card it moved. Among moves of one kind lower cards come first.

    Two moves that could both be made before commute, whichever cards they move: what a state allows
    is a matter of counts, and the counts at the end are the same. There are two exceptions. Taking
    a stock card moves the end of the waste; it commutes with the moves of other cards only, or
    where all of the stock is at hand. And a move may turn up the very card that it needs when the
    other one is made first (`_helps_its_own`).
    """
    ups, reveals, vacates = node.ups, node.reveals, node.vacates
    draw_ups, draws, backs = node.draw_ups, node.draws, node.backs
    turned = after.in_place & ~state.in_place
    if (
        node.is_forced == ZERO
        and previous.is_forced == ZERO
        and not _helps_its_own(turned, kind, card)
    ):
        lower = card - ONE
        turning = previous.ups & state.in_place
        if kind == UP:
            if card & state.in_place != ZERO:
                ups &= ~(turning & lower)
            else:
                ups &= ~(turning | (previous.ups & lower))
                reveals &= ~previous.reveals
                draw_ups &= ~previous.draw_ups
                backs &= ~card
        elif kind == REVEAL:
            ups &= ~turning
            reveals &= ~(previous.reveals & lower)
        elif kind == DRAW_UP:
            ups &= ~turning
            reveals &= ~previous.reveals
            if deal.is_open_stock:
                draw_ups &= ~(previous.draw_ups & lower)
        elif kind == VACATE:
            ups &= ~previous.ups
            reveals &= ~previous.reveals
            draw_ups &= ~previous.draw_ups
            vacates &= ~(previous.vacates & lower)
        elif kind == BACK:
            ups &= ~(previous.ups | card)
            reveals &= ~previous.reveals
            vacates &= ~previous.vacates
            draw_ups &= ~previous.draw_ups
            backs &= ~(previous.backs & lower)
        else:
            ups &= ~(previous.ups | (card & state.next_up))
            reveals &= ~previous.reveals
            vacates &= ~previous.vacates
            backs &= ~previous.backs
            if deal.is_open_stock:
                draw_ups &= ~previous.draw_ups
                draws &= ~previous.draws
    node.todo_ups, node.todo_reveals, node.todo_vacates = ups, reveals, vacates
    node.todo_draw_ups, node.todo_draws, node.todo_backs = draw_ups, draws, backs


@inlined
def _bits(cards, of, base):
    word = ZERO
    while cards != ZERO:
        word |= ONE << U(base + of[lowest_bit(cards)])
        cards &= cards - ONE
    return word


@inlined
def _left_out(node, deal):
    """The moves of a node that are not to be tried, as a word for the table."""
    ups = node.ups ^ node.todo_ups
    backs = node.backs ^ node.todo_backs
    piles = (node.reveals ^ node.todo_reveals) | (node.vacates ^ node.todo_vacates)
    draw_ups = node.draw_ups ^ node.todo_draw_ups
    draws = node.draws ^ node.todo_draws
    if ups | backs | piles | draw_ups | draws == ZERO:
        return ZERO
    return (
        _bits(ups, SUIT, _UPS)
        | _bits(backs, SUIT, _BACKS)
        | _bits(piles, deal.pile_of, _PILES)
        | _bits(draw_ups, deal.place, _DRAW_UPS)
        | _bits(draws, deal.place, _DRAWS)
    )


@inlined
def _among(cards, word, of, base):
    """The cards whose moves are in a word of the table."""
    left = cards
    while left != ZERO:
        card = lowest(left)
        left ^= card
        if (word >> U(base + of[lowest_bit(card)])) & ONE == ZERO:
            cards ^= card
    return cards


@inlined
def _keep(node, word, deal):
    """Leave of the moves to be tried those in a word of the table."""
    node.todo_ups = _among(node.todo_ups, word, SUIT, _UPS)
    node.todo_backs = _among(node.todo_backs, word, SUIT, _BACKS)
    node.todo_reveals = _among(node.todo_reveals, word, deal.pile_of, _PILES)
    node.todo_vacates = _among(node.todo_vacates, word, deal.pile_of, _PILES)
    node.todo_draw_ups = _among(node.todo_draw_ups, word, deal.place, _DRAW_UPS)
    node.todo_draws = _among(node.todo_draws, word, deal.place, _DRAWS)


@inlined
def _has_todo(node):
    return (
        node.todo_ups
        | node.todo_reveals
        | node.todo_vacates
        | node.todo_draw_ups
        | node.todo_draws
        | node.todo_backs
    ) != ZERO


@inlined
def _pick(cards, highest):
    return highest_bit(cards) if highest else lowest(cards)


@inlined
def _choose(node, state, order):
    """Take the next move to try out of `node`. Returns whether there was one."""
    turning = node.todo_ups & state.in_place
    if turning != ZERO:
        node.kind, node.card = U(UP), _pick(turning, order & HIGH_FIRST)
        node.todo_ups ^= node.card
    elif node.todo_reveals != ZERO and not (order & DRAWS_FIRST and node.todo_draws != ZERO):
        node.kind, node.card = U(REVEAL), _pick(node.todo_reveals, order & HIGH_FIRST)
        node.todo_reveals ^= node.card
    elif node.todo_draw_ups != ZERO:
        node.kind, node.card = U(DRAW_UP), _pick(node.todo_draw_ups, order & HIGH_DRAWS_FIRST)
        node.todo_draw_ups ^= node.card
    elif node.todo_ups != ZERO:
        node.kind, node.card = U(UP), _pick(node.todo_ups, order & HIGH_FIRST)
        node.todo_ups ^= node.card
    elif node.todo_draws != ZERO:
        node.kind, node.card = U(DRAW), _pick(node.todo_draws, order & HIGH_DRAWS_FIRST)
        node.todo_draws ^= node.card
    elif node.todo_vacates != ZERO:
        node.kind, node.card = U(VACATE), _pick(node.todo_vacates, order & HIGH_FIRST)
        node.todo_vacates ^= node.card
    elif node.todo_backs != ZERO:
        node.kind, node.card = U(BACK), _pick(node.todo_backs, order & HIGH_FIRST)
        node.todo_backs ^= node.card
    else:
        return False
    return True


@inlined
def is_dead(state, deal):
    """Whether some face-down card can never turn up, whatever is played.

    Plays a game in which everything stays available: a card can be a host for ever, all stock cards
    are at hand, and a card may go up when no lower one of its suit is face down. What cannot be
    turned up there cannot be turned up at all.
    """
    found = ZERO
    for s in range(SUITS):
        found |= BELOW[U(ROW * s) + ((state.up >> U(4 * s)) & NIBBLE)]
    known = state.face_up | state.stock | found
    has_space = spaces(state) != ZERO
    on_tableau, off_tableau = state.face_up, state.stock
    if deal.takes_back:
        off_tableau |= found
    in_place, dealt, face_down = state.in_place, state.dealt, state.face_down
    while face_down != ZERO:
        land = ZERO
        while True:
            land = (on_tableau | twins(on_tableau)) >> FOUR
            if has_space:
                land |= KINGS
            new = off_tableau & land
            if new == ZERO:
                break
            on_tableau |= new
            off_tableau ^= new
        ups = ZERO
        for s in range(SUITS):
            suit = BELOW[U(ROW * s + 13)]
            missing = lowest(suit & ~known)
            ups |= suit & ((missing << ONE) - ONE)
        moving = in_place & (ups | land)
        if moving == ZERO:
            return True
        while moving != ZERO:
            card = lowest(moving)
            moving ^= card
            i = U(deal.pile_of[lowest_bit(card)])
            left = ((dealt >> (FOUR * i)) & NIBBLE) - ONE
            dealt -= ONE << (FOUR * i)
            in_place ^= card
            if left == ZERO:
                has_space = True
            else:
                turned = deal.pile_cards[U(8) * i + left - ONE]
                in_place |= turned
                on_tableau |= turned
                known |= turned
                face_down -= ONE
    return False


@inlined
def _prefetch(table, shift, key):
    prefetch(table, (mix(key + ONE) >> shift) << ONE, 0)


@inlined
def _prefetch_children(state, node, deal, every, table, shift):
    """Have the table's places of all states below fetched: waiting for them is half the time."""
    key = state.key
    cards = node.todo_ups
    while cards != ZERO:
        card = lowest(cards)
        cards ^= card
        k = lowest_bit(card)
        new = key + deal.up_weight[SUIT[k]]
        if card & state.in_place != ZERO:
            new -= deal.dealt_weight[deal.pile_of[k]]
        _prefetch(table, shift, new)
    cards = node.todo_reveals | node.todo_vacates
    while cards != ZERO:
        k = lowest_bit(cards)
        cards &= cards - ONE
        _prefetch(table, shift, key - deal.dealt_weight[deal.pile_of[k]])
    cards = node.todo_backs
    while cards != ZERO:
        k = lowest_bit(cards)
        cards &= cards - ONE
        _prefetch(table, shift, key - deal.up_weight[SUIT[k]])
    cards = node.todo_draw_ups
    if not deal.is_open_stock:
        cards |= node.todo_draws
    if cards == ZERO:
        return
    near = state.talon if deal.is_endless else this_pass(state, deal, every)
    while cards != ZERO:
        card = lowest(cards)
        cards ^= card
        k = lowest_bit(card)
        place = ONE << U(deal.place[k])
        new = key - place * deal.talon_weight
        if near & place == ZERO:
            new -= deal.redeal_weight
        if not deal.is_open_stock:
            end = waste_end_after(deal, state.talon ^ place, place)
            new += (end - state.waste_end) * deal.waste_weight
        if card & node.todo_draws != ZERO:
            _prefetch(table, shift, new)
        if card & node.todo_draw_ups != ZERO:
            _prefetch(table, shift, new + deal.up_weight[SUIT[k]])


@inlined
def _find_place(table, mask, shift, key):
    """Where a key (plus one) is in the table, or the empty place where it would be."""
    at = mix(key) >> shift
    while table[at << ONE] != ZERO and table[at << ONE] != key:
        at = (at + ONE) & mask
    return at << ONE


@entry_point
def begin(states, nodes, deals, every):
    """Make ready to search from states[0]. Returns whether it is seen at once to be lost."""
    node = nodes[0]
    find_moves(states[0], deals[0], every, node)
    node.todo_ups, node.todo_reveals, node.todo_vacates = node.ups, node.reveals, node.vacates
    node.todo_draw_ups, node.todo_draws, node.todo_backs = node.draw_ups, node.draws, node.backs
    return is_dead(states[0], deals[0])


@entry_point
def search(states, nodes, deals, every, table, counts, budget, order):
    """Search on until decided or `budget` more states have been visited.

    Args:
        states: `STATE`[depth], states[0] the start.
        nodes: `NODE`[depth], made ready by `begin`.
        deals: `DEAL`[1].
        every: `every_table` of the draw count.
        table: uint64[2 * a power of 2], zeros at first: key + 1, moves not yet tried.
        counts: int64[4], zeros at first: depth, states visited, entries of the table, states too
            deep to be searched (then LOST shows nothing).
        budget: states.
        order: in which to try moves, 0 or some of HIGH_FIRST ... together; always the same.

    Returns:
        WON, with the moves in nodes[0] ... nodes[depth - 1]; LOST; PAUSED; FULL: the table is.
    """
    deal = deals[0]
    depth, visited, entries = counts[0], counts[1], counts[2]
    size = U(table.shape[0] >> 1)
    mask, shift = size - ONE, U(64) - lowest_bit(size)
    most_entries = np.int64(size) - np.int64(size) // 4
    stop = visited + budget
    deepest = states.shape[0] - 2
    status = PAUSED
    if is_surely_won(states[depth], deal):
        return WON
    while visited < stop:
        node = nodes[depth]
        if not _choose(node, states[depth], order):
            depth -= 1
            if depth < 0:
                status = LOST
                break
            continue
        kind, card = np.int64(node.kind), node.card
        states[depth + 1] = states[depth]
        state, below = states[depth + 1], nodes[depth + 1]
        play(state, deal, every, kind, card)
        visited += 1
        if is_surely_won(state, deal):
            depth += 1
            status = WON
            break
        find_moves(state, deal, every, below)
        _allow(below, node, states[depth], state, deal, kind, card)
        if not _has_todo(below):
            continue
        # A stock card just laid down for the next move can only be followed by that, and only this
        # way leads to the state: no need to keep it.
        if not (kind == DRAW and deal.is_open_stock):
            key = state.key + ONE
            at = _find_place(table, mask, shift, key)
            if table[at] == ZERO:
                table[at] = key
                table[at + ONE] = _left_out(below, deal)
                entries += 1
            else:
                untried = table[at + ONE]
                if untried == ZERO:
                    continue
                table[at + ONE] = untried & _left_out(below, deal)
                _keep(below, untried, deal)
                if not _has_todo(below):
                    continue
        if depth == deepest:
            counts[3] += 1
            continue
        depth += 1
        _prefetch_children(state, below, deal, every, table, shift)
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
        key = old[U(2 * i)]
        if key != ZERO:
            at = _find_place(new, mask, shift, key)
            new[at] = key
            new[at + ONE] = old[U(2 * i + 1)]
