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
from klondike_env.compiled import highest_bit, inlined, lowest_bit, popcount
from klondike_env.games.klondike.layout import MAX_HEIGHT, MAX_HIDDEN, PILES, SUITS
from klondike_env.games.klondike.rules import KlondikeRules

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


def compact(game: np.ndarray, rules: KlondikeRules) -> tuple[np.ndarray, np.ndarray]:
    """The compact state and the deal's tables of a game.

    Args:
        game: one record of `klondike.layout.STATE`, as an array of one.
        rules: its rules; the state says all that matters only if runs are partial and aces not
            forced.

    Returns:
        An array of one of `STATE` and one of `DEAL`.

    Raises:
        ValueError: the position has more states than a key can tell apart.
    """
    record = game[0]
    states, deals = np.zeros(1, dtype=STATE), np.zeros(1, dtype=DEAL)
    state, deal = states[0], deals[0]
    waste, size = int(record["waste_size"]), int(record["talon_size"])
    redeals = int(record["redeals_left"])

    face_up = in_place = first = empty = dealt = 0
    counts = []
    for i in range(PILES):
        height, down = int(record["height"][i]), int(record["face_down"][i])
        shown = record["tableau"][i * MAX_HEIGHT + down : i * MAX_HEIGHT + height]
        cards = [int(card) - 1 for card in record["hidden"][i * MAX_HIDDEN :][:down]]
        cards += [int(card) - 1 for card in shown[:1]]
        for k, card in enumerate(cards):
            deal["pile_cards"][8 * i + k] = BIT[card]
            deal["pile_of"][INDEX[card]] = i
        for card in shown:
            face_up |= int(BIT[int(card) - 1])
        if cards:
            in_place |= int(BIT[cards[-1]])
            first |= 0 if down else int(BIT[cards[-1]])
        empty += not cards
        dealt |= len(cards) << (4 * i)
        counts.append(len(cards))

    stock = 0
    for k, card in enumerate(record["talon"][:size]):
        stock |= int(BIT[int(card) - 1])
        deal["place"][INDEX[int(card) - 1]] = k
    ups = [int(up) for up in record["foundations"]]

    # Each redeal but the first is worth making only after a card of the pass was played.
    useful = size + 1 if redeals >= 0 else 0
    deal["is_endless"] = redeals < 0 or redeals > useful
    redeals = ENDLESS if deal["is_endless"] else redeals
    deal["draw_count"] = rules.draw_count
    deal["is_open_stock"] = deal["is_endless"] and rules.draw_count == 1
    deal["takes_back"] = rules.foundation_to_tableau

    weight, key = 1, 0
    for s in range(SUITS):
        deal["up_weight"][s] = weight
        key += weight * ups[s]
        weight *= ROW
    for i in range(PILES):
        deal["dealt_weight"][i] = weight
        key += weight * counts[i]
        weight *= counts[i] + 1
    deal["talon_weight"] = weight
    key += weight * ((1 << size) - 1)
    weight <<= size
    deal["waste_weight"] = weight
    end = waste
    if deal["is_endless"] and (waste % rules.draw_count == 0 or waste == size):
        end = 0
    key += weight * end
    weight *= size + 1
    if not deal["is_endless"]:
        deal["redeal_weight"] = weight
        key += weight * redeals
        weight *= redeals + 1
    if weight >= 1 << 64:
        raise ValueError("the solver cannot number the states of this position with these passes")

    state["face_up"], state["in_place"], state["first"] = face_up, in_place, first
    state["stock"], state["talon"], state["waste_end"] = stock, (1 << size) - 1, end
    state["next_up"] = sum(int(NEXT[ROW * s + ups[s]]) for s in range(SUITS))
    state["tops"] = sum(int(TOP[ROW * s + ups[s]]) for s in range(SUITS))
    state["up"] = sum(up << (4 * s) for s, up in enumerate(ups))
    state["dealt"], state["empty"] = dealt, empty
    state["face_down"] = sum(max(count - 1, 0) for count in counts)
    state["redeals_left"], state["key"] = redeals, key
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
