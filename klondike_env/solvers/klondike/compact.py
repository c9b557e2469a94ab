"""Klondike with all cards known, as a state of a few words, and its moves.

The state says how far each foundation is, how many of the cards dealt to each pile are still in
place, which stock cards are left and where the waste ends. Everything else follows. In particular
it does not say on which card a card lies: two cards of one rank and colour take the same cards, and
under partial runs what lies on one of them can always be moved over to the other, so positions that
differ only in that can be won alike (`open_cards` counts instead). It holds for partial runs only.

Cards are bits of a word: bit 4 * rank + place, with places that swap their colours from rank to
rank, so that a card fits on the two cards of its own half of the next four bits, and the two cards
that can take the same cards, *twins*, are neighbours.

    up       a tableau card to its foundation
    reveal   the last dealt card in place of a pile, with all that lies on it, to another pile; a
             face-down card turns up
    vacate   the same with the first dealt card of a pile: a space is left
    draw up  a stock card that draws and redeals can reach, to its foundation
    draw     the same, to a pile
    back     a foundation card to a pile

The cards that lie face down are in the deal's tables, apart from the state, so a search can put one
state over many guesses of them.
"""

from __future__ import annotations

import numpy as np

from klondike_env.cards import NUM_CARDS, NUM_RANKS
from klondike_env.compiled import entry_point, highest_bit, inlined, lowest_bit, popcount
from klondike_env.games.klondike.layout import MAX_HEIGHT, MAX_HIDDEN, PILES, SUITS

U = np.uint64
ZERO, ONE, FOUR, NIBBLE = U(0), U(1), U(4), U(15)

STATE = np.dtype(
    [
        ("face_up", "u8"),  # tableau cards, as bits
        ("in_place", "u8"),  # of them, the last dealt card in place of each pile
        ("first", "u8"),  # of those, the ones with no card under them
        ("stock", "u8"),  # cards of stock and waste
        ("talon", "u8"),  # the same cards as bits of their places in the talon of the deal
        ("waste_end", "u8"),  # talon places below it are waste; the top waste card is right below
        ("next_up", "u8"),  # the next card of each foundation
        ("tops", "u8"),  # the top card of each foundation
        ("up", "u8"),  # cards on each foundation, 4 bits a suit
        ("dealt", "u8"),  # dealt cards in place of each pile, 4 bits a pile
        ("face_down", "u8"),  # how many
        ("empty", "u8"),  # piles with no dealt card in place
        ("redeals_left", "u8"),  # ENDLESS: unlimited
        ("key", "u8"),  # all of this in one number, exactly
    ]
)
"""The compact state."""

ENDLESS = 99

DEAL = np.dtype(
    [
        ("pile_cards", "u8", (PILES * 8,)),  # dealt card k of pile i at 8 i + k, bottom to top
        ("pile_of", "u1", (64,)),  # the pile that a card was dealt to
        ("place", "u1", (64,)),  # the talon place of a stock card
        ("up_weight", "u8", (SUITS,)),  # what one card more adds to the key
        ("dealt_weight", "u8", (PILES,)),
        ("talon_weight", "u8"),
        ("waste_weight", "u8"),
        ("redeal_weight", "u8"),
        ("draw_count", "u8"),
        ("is_endless", "u1"),  # unlimited passes
        ("is_open_stock", "u1"),  # draw 1 and unlimited passes: every stock card is at hand
        ("takes_back", "u1"),
    ]
)
"""Where the cards of one deal lie, hidden ones too, and the rules that the search must know."""


def _bit_index(card: int) -> int:
    suit, rank = divmod(card, NUM_RANKS)
    is_red = suit in (1, 2)
    return 4 * rank + 2 * ((rank ^ is_red) & 1) + (suit >= 2)


INDEX = np.array([_bit_index(card) for card in range(NUM_CARDS)], dtype=np.int64)
"""Bit of each card."""
CARD = np.zeros(64, dtype=np.int64)
CARD[INDEX] = np.arange(NUM_CARDS)
"""Card of each bit."""
BIT = ONE << INDEX.astype(U)
SUIT = CARD // NUM_RANKS
KINGS = U(0b1111 << 48)
ALL = U((1 << NUM_CARDS) - 1)
EVEN = U(0x5555555555555555)  # the first of each pair of twins
ROW = 14
NEXT = np.array(
    [int(BIT[13 * s + n]) if n < 13 else 0 for s in range(SUITS) for n in range(ROW)], dtype=U
)
"""The next card of suit s with n cards up, at 14 s + n; nothing when all are up."""
TOP = np.array(
    [int(BIT[13 * s + n - 1]) if n else 0 for s in range(SUITS) for n in range(ROW)], dtype=U
)
BELOW = np.array(
    [sum(int(bit) for bit in BIT[13 * s : 13 * s + n]) for s in range(SUITS) for n in range(ROW)],
    dtype=U,
)
"""The n lowest cards of suit s, at 14 s + n."""

UP, REVEAL, VACATE, DRAW_UP, DRAW, BACK = range(6)


# --- Setting up --------------------------------------------------------------------------------


def every_table(draw_count: int) -> np.ndarray:
    """uint16[draw_count * 4096]: which bits of 12 end a packet, by cards drawn before, mod draw."""
    bits = (np.arange(4096)[:, None] >> np.arange(12)) & 1
    count = bits.cumsum(axis=1)
    phase = np.arange(draw_count)[:, None, None]
    ends = (bits == 1) & ((phase + count) % draw_count == 0)
    table: np.ndarray = (ends << np.arange(12)).sum(axis=2).astype(np.uint16).ravel()
    return table


@inlined
def _read_piles(game, state, deal):
    """What of the tableau the state says, and where the dealt cards lie."""
    for i in range(PILES):
        height, down = np.int64(game.height[i]), np.int64(game.face_down[i])
        for k in range(height):
            card = np.int64(game.tableau[U(MAX_HEIGHT * i + k)]) - 1
            if k < down:
                card = np.int64(game.hidden[U(MAX_HIDDEN * i + k)]) - 1
            if k <= down and card >= 0:  # the cards of a pile that may still be as dealt
                deal.pile_cards[U(8 * i + k)] = BIT[U(card)]
                deal.pile_of[U(INDEX[U(card)])] = i
            if k >= down:
                state.face_up |= BIT[U(card)]
            if k == down:
                state.in_place |= BIT[U(card)]
                state.dealt |= U(down + 1) << U(4 * i)
                state.face_down += U(down)
                if down == 0:
                    state.first |= BIT[U(card)]
        if height == 0:
            state.empty += ONE


@inlined
def read_game(game, rules, state, deal):
    """Write the compact state and the deal's tables of a game; both zeros at first.

    Returns whether a key can tell the states apart.
    """
    _read_piles(game, state, deal)
    waste, size = np.int64(game.waste_size), np.int64(game.talon_size)
    for k in range(size):
        card = np.int64(game.talon[U(k)]) - 1
        state.stock |= BIT[U(card)]
        deal.place[U(INDEX[U(card)])] = k
    state.talon = (ONE << U(size)) - ONE

    redeals = np.int64(game.redeals_left)
    # Each redeal but the first is worth making only after a card of the pass was played.
    is_endless = redeals < 0 or redeals > size + 1
    deal.is_endless = is_endless
    deal.draw_count = U(rules.draw_count)
    deal.is_open_stock = is_endless and rules.draw_count == 1
    deal.takes_back = rules.foundation_to_tableau
    state.redeals_left = U(ENDLESS) if is_endless else U(redeals)
    state.waste_end = U(waste)
    if is_endless and (waste == size or waste % np.int64(rules.draw_count) == 0):
        state.waste_end = ZERO

    weight, ways = ONE, 1.0
    for s in range(SUITS):
        up = U(game.foundations[s])
        state.up |= up << U(4 * s)
        state.next_up |= NEXT[U(ROW * s) + up]
        state.tops |= TOP[U(ROW * s) + up]
        deal.up_weight[s] = weight
        state.key += weight * up
        weight, ways = weight * U(ROW), ways * ROW
    for i in range(PILES):
        count = (state.dealt >> U(4 * i)) & NIBBLE
        deal.dealt_weight[i] = weight
        state.key += weight * count
        weight, ways = weight * (count + ONE), ways * (np.float64(count) + 1)
    deal.talon_weight = weight
    state.key += weight * state.talon
    weight, ways = weight << U(size), ways * np.float64(ONE << U(size))
    deal.waste_weight = weight
    state.key += weight * state.waste_end
    weight, ways = weight * U(size + 1), ways * (size + 1)
    if not is_endless:
        deal.redeal_weight = weight
        state.key += weight * U(redeals)
        ways *= redeals + 1
    return ways < 2.0**64


@entry_point
def read_games(games, rules, states, deals):
    """`read_game` for games[0]. Returns whether a key can tell the states apart."""
    return read_game(games[0], rules[0], states[0], deals[0])


def compact(games: np.ndarray, rules: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The compact state and the deal's tables of a game.

    Args:
        games: one record of `klondike.layout.STATE`, as an array of one.
        rules: the rules record; the state says all that matters only if runs are partial and aces
            not forced.

    Returns:
        An array of one of `STATE` and one of `DEAL`.

    Raises:
        ValueError: the position has more states than a key can tell apart.
    """
    states, deals = np.zeros(1, dtype=STATE), np.zeros(1, dtype=DEAL)
    if not read_games(games, rules, states, deals):
        raise ValueError("the solver cannot number the states of this position with these passes")
    return states, deals


# --- What may be played ------------------------------------------------------------------------


@inlined
def lowest(cards):
    """The lowest card alone."""
    return cards & (~cards + ONE)


@inlined
def twins(cards):
    """The other card of rank and colour of each card."""
    return ((cards & EVEN) << ONE) | ((cards >> ONE) & EVEN)


@inlined
def open_cards(state):
    """The cards whose rank and colour has a tableau card with nothing on it, both twins as one.

    A card that has left its dealt place lies on one of two twins (or, a king, on none), so the pair
    has an open card as long as it has more cards on the tableau than cards lying on it.
    """
    up = state.face_up
    moved = (up & ~state.in_place) << FOUR & ALL
    any_up, both_up = (up | (up >> ONE)) & EVEN, up & (up >> ONE) & EVEN
    any_on, both_on = (moved | (moved >> ONE)) & EVEN, moved & (moved >> ONE) & EVEN
    pairs = (any_up & ~any_on) | (both_up & ~both_on)
    return pairs | (pairs << ONE)


@inlined
def spaces(state):
    """How many piles are empty: a pile with no dealt card in place may hold a king."""
    return state.empty - popcount(state.face_up & ~state.in_place & KINGS)


@inlined
def packet_ends(every, draw_count, places):
    """The places at which packets end, drawing from `places`."""
    low, high = places & U(4095), places >> U(12)
    phase = popcount(low) % draw_count
    return U(every[low]) | (U(every[(phase << U(12)) | high]) << U(12))


@inlined
def this_pass(state, deal, every):
    """Talon places that draws alone bring to the top of the waste; the talon is not empty."""
    waste = state.talon & ((ONE << state.waste_end) - ONE)
    places = packet_ends(every, deal.draw_count, state.talon ^ waste) | highest_bit(state.talon)
    if waste != ZERO:
        places |= highest_bit(waste)
    return places


@inlined
def at_places(cards, places, deal):
    """Those of some stock cards that lie at some talon places."""
    left = cards
    while left != ZERO:
        card = lowest(left)
        left ^= card
        if (places >> U(deal.place[lowest_bit(card)])) & ONE == ZERO:
            cards ^= card
    return cards


@inlined
def reachable(state, deal, every):
    """Talon places that draws and redeals bring to the top of the waste; the talon is not empty."""
    if deal.is_open_stock:
        return state.talon
    places = this_pass(state, deal, every)
    if state.redeals_left != ZERO:
        places |= packet_ends(every, deal.draw_count, state.talon)
    return places


# --- Playing -----------------------------------------------------------------------------------


@inlined
def leave_pile(state, deal, card):
    """Take the last dealt card in place off its pile; the next one turns up."""
    i = U(deal.pile_of[lowest_bit(card)])
    left = ((state.dealt >> (FOUR * i)) & NIBBLE) - ONE
    state.dealt -= ONE << (FOUR * i)
    state.key -= deal.dealt_weight[i]
    state.in_place &= ~card
    state.first &= ~card
    if left == ZERO:
        state.empty += ONE
    else:
        turned = deal.pile_cards[U(8) * i + left - ONE]
        state.face_up |= turned
        state.in_place |= turned
        state.face_down -= ONE
        if left == ONE:
            state.first |= turned


@inlined
def put_up(state, deal, card):
    """Put a card on its foundation; the caller takes it from where it was."""
    s = U(SUIT[lowest_bit(card)])
    n = (state.up >> (FOUR * s)) & NIBBLE
    state.up += ONE << (FOUR * s)
    state.next_up = (state.next_up & ~card) | NEXT[U(ROW) * s + n + ONE]
    state.tops = (state.tops & ~TOP[U(ROW) * s + n]) | card
    state.key += deal.up_weight[s]


@inlined
def take_back(state, deal, card):
    """Move the top card of a foundation to the tableau."""
    s = U(SUIT[lowest_bit(card)])
    n = (state.up >> (FOUR * s)) & NIBBLE
    state.up -= ONE << (FOUR * s)
    state.next_up = (state.next_up & ~NEXT[U(ROW) * s + n]) | card
    state.tops = (state.tops & ~card) | TOP[U(ROW) * s + n - ONE]
    state.face_up |= card
    state.key -= deal.up_weight[s]


@inlined
def waste_end_after(deal, talon, place):
    """Where the waste ends once the card of bit `place` has been taken out of `talon`.

    Under unlimited passes a waste of whole packets, or of all cards, is as good as none: what can
    be reached is the same.
    """
    waste = talon & (place - ONE)
    if waste == ZERO:
        return ZERO
    if deal.is_endless and (waste == talon or popcount(waste) % deal.draw_count == ZERO):
        return ZERO
    return lowest_bit(highest_bit(waste)) + ONE


@inlined
def take_from_stock(state, deal, every, card):
    """Draw and redeal until a stock card is on top of the waste, and take it."""
    place = ONE << U(deal.place[lowest_bit(card)])
    if not deal.is_endless and this_pass(state, deal, every) & place == ZERO:
        state.redeals_left -= ONE
        state.key -= deal.redeal_weight
    state.talon ^= place
    state.stock ^= card
    state.key -= place * deal.talon_weight
    if not deal.is_open_stock:
        end = waste_end_after(deal, state.talon, place)
        state.key += (end - state.waste_end) * deal.waste_weight
        state.waste_end = end


@inlined
def play(state, deal, every, kind, card):
    """Make a move of one of the six kinds with a card (one bit)."""
    if kind == UP:
        put_up(state, deal, card)
        if card & state.in_place != ZERO:
            leave_pile(state, deal, card)
        state.face_up &= ~card
    elif kind == DRAW_UP:
        take_from_stock(state, deal, every, card)
        put_up(state, deal, card)
    elif kind == DRAW:
        take_from_stock(state, deal, every, card)
        state.face_up |= card
    elif kind == BACK:
        take_back(state, deal, card)
    else:
        leave_pile(state, deal, card)


@inlined
def is_surely_won(state, deal):
    """Nothing is face down and every stock card is at hand (or none is left).

    The lowest card not up is then always free: all that can lie on a card is lower.
    """
    return state.face_down == ZERO and (state.talon == ZERO or deal.is_open_stock)
