"""Klondike's compiled rules: deal, legal actions, step, observe, and the loops over many games.

All functions work on the records of `layout.STATE`. They stay in one file because a cached function
does not notice edits in another file that it calls. Loads are widened to int64 at once, since small
unsigned integers would wrap, and indices are unsigned, since a possibly negative index costs a
branch.

Fitting. Down a run colours alternate, so (rank + colour) mod 2 is one and the same for all its
cards: the run's parity. A card fits on another when their parities are equal and its rank is one
lower. With bit 16 * parity + rank for a card, `accepts[j]` holds the bits of the cards that pile j
takes and `movable[i]` the bits of the cards that can head what leaves pile i, and a move is legal
when the two words meet.
"""

from __future__ import annotations

import numpy as np

from klondike_env.cards import FACE_DOWN, NUM_CARDS
from klondike_env.compiled import entry_point, inlined, prefetch
from klondike_env.deals import advance_stream, shuffle_into, stream_number
from klondike_env.games.base import NEXT_DEAL, OUTCOMES, OWN_DECK, REWARDS
from klondike_env.games.klondike.layout import (
    MAX_HEIGHT,
    MAX_HIDDEN,
    PILES,
    PROGRESS_SCALE,
    REACH_BOARD,
    STATE,
    SUITS,
    TALON,
    TURN_BOARD,
    TURN_WASTE,
)
from klondike_env.games.klondike.rules import RUN_MOVES, SCORINGS

U = np.uint64
ZERO = np.uint64(0)

PARTIAL, WHOLE = RUN_MOVES.index("partial"), RUN_MOVES.index("whole")
STANDARD, VEGAS = SCORINGS.index("standard"), SCORINGS.index("vegas")
RUNNING, WON, STUCK = (OUTCOMES.index(outcome) for outcome in ("", "won", "stuck"))
REWARD_WIN, REWARD_SCORE, REWARD_CARDS = (
    list(REWARDS).index(name) for name in ("win", "score", "cards")
)

AHEAD = 32  # rows, from fetching a state to looking at it
LEGAL_AT = dict(STATE.fields or {})["legal"][1]  # bytes into a state

KING = 12
KING_BITS = (1 << KING) | (1 << (16 + KING))

_CARDS = np.arange(NUM_CARDS)
RANK = (_CARDS % 13).astype(np.int64)
SUIT = (_CARDS // 13).astype(np.int64)
PARITY = ((RANK + ((SUIT == 1) | (SUIT == 2))) % 2).astype(np.int64)
BIT = 1 << (16 * PARITY + RANK)

EVERY = np.array(
    [0] + [sum(1 << k for k in range(d - 1, TALON, d)) for d in range(1, TALON + 1)], dtype=np.int64
)
"""EVERY[d]: bit k for each card of a full talon that ends a packet of d, counted from its start."""

KEEP = (np.arange(TALON) < np.arange(TALON + 1)[:, None]).astype(np.uint8) * np.uint8(255)
"""KEEP[n]: all bits of the first n bytes."""

BYTES = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.int8)
"""The bits of a byte, lowest first."""


# --- Piles -------------------------------------------------------------------------------------


@inlined
def _update_pile(state, i, rules):
    """Derive `accepts` and `movable` of pile i from its cards."""
    height = np.int64(state.height[i])
    if height == 0:
        state.accepts[i] = KING_BITS
        state.movable[i] = 0
        return
    top = np.int64(state.tableau[U(MAX_HEIGHT * i + height - 1)]) - 1
    rank, base = RANK[U(top)], 16 * PARITY[U(top)]
    # Nothing goes on an ace: its shift leaves no bit.
    state.accepts[i] = ((1 << rank) >> 1) << base
    head = rank + height - np.int64(state.face_down[i]) - 1
    if rules.run_moves == PARTIAL:
        state.movable[i] = ((2 << head) - (1 << rank)) << base
    elif rules.run_moves == WHOLE:
        state.movable[i] = (1 << head) << base
    else:
        state.movable[i] = (1 << rank) << base


@inlined
def _hosts(state, bits):
    """The piles that take a card of these bits: one bit each."""
    piles = np.int64(0)
    if np.int64(state.any_accepts) & bits:  # most cards fit nowhere
        for j in range(PILES):
            piles |= np.int64((np.int64(state.accepts[j]) & bits) != 0) << j
    return piles


@inlined
def _top(state, i):
    """Top card of pile i, which is not empty."""
    return np.int64(state.tableau[U(MAX_HEIGHT * i + np.int64(state.height[i]) - 1)]) - 1


# --- Legal actions -----------------------------------------------------------------------------


@inlined
def _waste_plays(state, card, rules):
    """Where a waste card may go: bit 0 its foundation, bit 1 + j pile j."""
    is_up_next = np.int64(np.int64(state.foundations[U(SUIT[U(card)])]) == RANK[U(card)])
    if rules.forced_aces and RANK[U(card)] == 0:
        return is_up_next
    return is_up_next | (_hosts(state, BIT[U(card)]) << 1)


@inlined
def _reachable(state, rules):
    """Talon cards that draws and redeals alone can bring to the top of the waste: one bit each."""
    waste, size = np.int64(state.waste_size), np.int64(state.talon_size)
    if size == 0:
        return np.int64(0)
    full, last = (np.int64(1) << size) - 1, np.int64(1) << (size - 1)
    every = EVERY[U(rules.draw_count)]
    this_pass = ((every << waste) & full) | last
    if waste > 0:
        this_pass |= np.int64(1) << (waste - 1)
    next_pass = (every & full) | last if state.redeals_left != 0 else np.int64(0)
    if rules.forced_aces:  # no draw passes an ace by
        aces = np.int64(0)
        for k in range(size):
            aces |= np.int64(RANK[U(np.int64(state.talon[U(k)]) - 1)] == 0) << k
        first = this_pass & aces
        if first:
            return this_pass & (first ^ (first - 1))
        first = next_pass & aces
        if first:
            next_pass &= first ^ (first - 1)
    return this_pass | next_pass


@inlined
def _talon_plays(state, rules, words):
    """Add each play of a reachable talon card to the first three of `words`: bit 8 k + d."""
    cards = _reachable(state, rules)
    for k in range(np.int64(state.talon_size)):
        if (cards >> k) & 1:
            plays = _waste_plays(state, np.int64(state.talon[U(k)]) - 1, rules)
            words[U(k >> 3)] |= U(plays) << U((k & 7) * 8)


@inlined
def _find_legal(state, rules):
    """Write the legal actions to `state.legal`. Returns whether any counts as a move.

    Draws and redeals do not count, nor does carrying a whole pile into a space: they change nothing
    that matters. Where no other action is left at any stock position that can still be reached, the
    game is stuck.
    """
    spaces, aces, ups = np.int64(0), np.int64(0), np.int64(0)
    any_accepts = np.int64(0)
    for i in range(PILES):
        any_accepts |= np.int64(state.accepts[i])
    state.any_accepts = any_accepts
    for i in range(PILES):
        if state.height[i] == 0:
            spaces |= np.int64(1) << i
        else:
            top = _top(state, i)
            rank = RANK[U(top)]
            ups |= np.int64(np.int64(state.foundations[U(SUIT[U(top)])]) == rank) << i
            aces |= np.int64(rank == 0) << i

    runs, counted = np.int64(0), np.int64(0)  # pile to pile, 6 bits a pile
    for i in range(PILES):
        hosts = _hosts(state, np.int64(state.movable[i]))
        below, above = hosts & ((1 << i) - 1), hosts >> (i + 1)
        runs |= (below | (above << i)) << (6 * i)
        if state.face_down[i] == 0:
            hosts &= ~spaces
        counted |= hosts

    back = np.int64(0)  # foundation to pile, 7 bits a suit
    if rules.foundation_to_tableau:
        for s in range(SUITS):
            up = np.int64(state.foundations[s])
            if up > 0:
                back |= _hosts(state, BIT[U(s * 13 + up - 1)]) << (PILES * s)

    state.legal[:] = ZERO
    has_waste = state.waste_size > 0
    if rules.forced_aces:
        waste_top = np.int64(state.talon[U(np.int64(state.waste_size) - 1)]) - 1 if has_waste else 1
        if aces != 0 or RANK[U(waste_top)] == 0:
            if rules.is_reach:
                state.legal[REACH_BOARD >> 6] = U(aces)
                if RANK[U(waste_top)] == 0:
                    k = np.int64(state.waste_size) - 1
                    state.legal[U(k >> 3)] = U(1) << U((k & 7) * 8)
            else:
                state.legal[0] = U(aces) << U(TURN_BOARD)
                if RANK[U(waste_top)] == 0:
                    state.legal[0] |= U(1 << TURN_WASTE)
            return True

    waste = np.int64(0)
    if has_waste and not rules.is_reach:
        waste = _waste_plays(
            state, np.int64(state.talon[U(np.int64(state.waste_size) - 1)]) - 1, rules
        )
    counted |= ups | back | waste
    if rules.is_reach or counted == 0:
        _talon_plays(state, rules, state.legal)
        counted |= np.int64((state.legal[0] | state.legal[1] | state.legal[2]) != ZERO)
    board = ups | (runs << PILES)  # 49 bits
    if rules.is_reach:
        state.legal[3] = U(board) | (U(back) << U(49))
        state.legal[4] = U(back) >> U(15)
    else:
        turns = np.int64(state.waste_size < state.talon_size)
        turns |= np.int64(has_waste and turns == 0 and state.redeals_left != 0) << 1
        state.legal[0] = U(turns | (waste << TURN_WASTE) | (board << TURN_BOARD)) | (
            U(back) << U(59)
        )
        state.legal[1] = U(back) >> U(5)
        state.legal[2] = ZERO
    return counted != 0


@inlined
def _is_legal(state, action, num_actions):
    """Whether an action is in range and legal."""
    if action < 0 or action >= num_actions:
        return False
    return (state.legal[U(action >> 6)] >> U(action & 63)) & U(1) != ZERO


@inlined
def _find_illegal(states, actions, num_actions, first_row, last_row):
    """First row whose action is out of range or illegal, or -1; any will do where none is legal."""
    for row in range(first_row, last_row):
        prefetch(states, U(row + AHEAD), LEGAL_AT)
        state, action = states[row], actions[row]
        if not _is_legal(state, action, num_actions) and not state.has_ended:
            if action < 0 or action >= num_actions or not _has_no_legal(state):
                return row
    return -1


@inlined
def _has_no_legal(state):
    return (
        state.legal[0] | state.legal[1] | state.legal[2] | state.legal[3] | state.legal[4]
    ) == ZERO


# --- Playing -----------------------------------------------------------------------------------


@inlined
def _deal(state, deck, deal, rules):
    """Start a game with `deck` (uint8[52]); the stream and a carried-over bank stay."""
    for k in range(PILES * MAX_HEIGHT):
        state.tableau[k] = 0
    for k in range(PILES * MAX_HIDDEN):
        state.hidden[k] = 0
    for i in range(PILES):
        state.height[i] = i + 1
        state.face_down[i] = i
    next_card = 0
    for row in range(PILES):
        for i in range(row, PILES):
            card = np.int64(deck[next_card]) + 1
            next_card += 1
            if i == row or rules.cards_known:
                state.tableau[MAX_HEIGHT * i + row] = card
            else:
                state.tableau[MAX_HEIGHT * i + row] = FACE_DOWN
            if i != row:
                state.hidden[MAX_HIDDEN * i + row] = card
    for k in range(TALON):
        state.talon[k] = np.int64(deck[NUM_CARDS - TALON + k]) + 1
        state.talon[TALON + k] = 0
    for s in range(SUITS):
        state.foundations[s] = 0
    state.waste_size = 0
    state.talon_size = TALON
    state.unseen = 0 if rules.cards_known or rules.is_reach else TALON
    state.foundation_cards = 0
    state.face_down_cards = 21
    state.redeals_left = rules.redeals
    state.redeals = 0
    state.moves = 0
    state.score = (state.score if rules.cumulative else 0) + rules.start_score
    state.deal = deal
    _begin(state, rules)


@inlined
def _begin(state, rules):
    """Derive what follows from the cards, but for the legal actions, at the start of a game."""
    state.steps = 0
    state.outcome = RUNNING
    state.has_ended = 0
    for i in range(PILES):
        _update_pile(state, U(i), rules)


@inlined
def _take_waste(state):
    """Take the top card off the waste."""
    top = np.int64(state.waste_size) - 1
    card = np.int64(state.talon[U(top)]) - 1
    for k in range(top, np.int64(state.talon_size)):  # a zero moves in behind the last card
        state.talon[U(k)] = state.talon[U(k + 1)]
    state.waste_size -= 1
    state.talon_size -= 1
    return card


@inlined
def _move_run(state, i, j):
    """Move the part of pile i's run that fits onto pile j; into a space goes all of it."""
    height, to = np.int64(state.height[U(i)]), np.int64(state.height[U(j)])
    if to == 0:
        count = height - np.int64(state.face_down[U(i)])
    else:
        count = RANK[U(_top(state, U(j)))] - RANK[U(_top(state, U(i)))]
    source, target = MAX_HEIGHT * i + height - count, MAX_HEIGHT * j + to
    for k in range(count):
        state.tableau[U(target + k)] = state.tableau[U(source + k)]
        state.tableau[U(source + k)] = 0
    state.height[U(i)] = height - count
    state.height[U(j)] = to + count


@inlined
def _turn_up(state, i):
    """Turn up the top card of pile i if it lies face down. Returns how many turned."""
    height = np.int64(state.height[U(i)])
    if height == 0 or height != np.int64(state.face_down[U(i)]):
        return np.int64(0)
    card = state.hidden[U(MAX_HIDDEN * i + height - 1)]
    state.tableau[U(MAX_HEIGHT * i + height - 1)] = card
    state.face_down[U(i)] -= 1
    state.face_down_cards -= 1
    return np.int64(1)


@inlined
def play(state, action, rules):
    """Play a legal action, keep the score, find the legal actions and the outcome."""
    _play(state, action, rules)
    _conclude(state, rules)


@inlined
def _play(state, action, rules):
    """Play a legal action and keep the score."""
    points, ups = np.int64(0), np.int64(0)  # standard points, cards put up
    card = np.int64(-1)  # a card that moves alone: to its foundation unless to a pile
    left, to = np.int64(-1), np.int64(-1)  # the piles that lose and get cards
    board = REACH_BOARD if rules.is_reach else TURN_BOARD
    if action >= board:
        move = action - board
        if move < PILES:
            left = move
            card = _top(state, U(left))
            height = np.int64(state.height[U(left)]) - 1
            state.tableau[U(MAX_HEIGHT * left + height)] = 0
            state.height[U(left)] = height
        elif move < PILES * PILES:
            left, to = (move - PILES) // (PILES - 1), (move - PILES) % (PILES - 1)
            if to >= left:
                to += 1
            _move_run(state, left, to)
        else:
            suit, to = (move - PILES * PILES) // PILES, (move - PILES * PILES) % PILES
            state.foundations[U(suit)] -= 1
            state.foundation_cards -= 1
            card = 13 * suit + np.int64(state.foundations[U(suit)])
            points, ups = np.int64(-15), np.int64(-1)
    elif rules.is_reach or action >= TURN_WASTE:
        if rules.is_reach:
            state.waste_size = (action >> 3) + 1  # the draws and redeals that bring it to the top
            to = (action & 7) - 1
        else:
            to = action - TURN_WASTE - 1
        card = _take_waste(state)
        points = np.int64(5)
    elif action == 0:
        unturned = np.int64(state.talon_size) - np.int64(state.waste_size)
        drawn = min(unturned, np.int64(rules.draw_count))
        state.waste_size += drawn
        state.unseen = min(np.int64(state.unseen), unturned - drawn)
    else:
        state.waste_size = 0
        if state.redeals >= rules.free_redeals:
            points = -np.int64(rules.redeal_penalty)
        state.redeals += 1
        if state.redeals_left > 0:
            state.redeals_left -= 1
    state.moves += 1

    if card >= 0:
        if to < 0:
            state.foundations[U(SUIT[U(card)])] += 1
            state.foundation_cards += 1
            points, ups = np.int64(10), np.int64(1)
        else:
            state.tableau[U(MAX_HEIGHT * to + np.int64(state.height[U(to)]))] = card + 1
            state.height[U(to)] += 1
    if to >= 0:
        _update_pile(state, U(to), rules)
    if left >= 0:
        points += 5 * _turn_up(state, left)
        _update_pile(state, U(left), rules)

    has_won = state.foundation_cards == NUM_CARDS
    if rules.scoring == STANDARD:  # Windows points with their floor at 0
        state.score = max(state.score + points, np.int64(0))
        if rules.seconds_per_move > 0:  # then the simulated clock, then its bonus
            seconds = np.int64(state.moves) * rules.seconds_per_move
            ticks = seconds // 10 - (seconds - rules.seconds_per_move) // 10
            state.score = max(state.score - 2 * ticks, np.int64(0))
            if has_won and seconds > 30:
                state.score += 700_000 // seconds
    elif rules.scoring == VEGAS:
        state.score += 5 * ups
    elif has_won:
        state.score += 1


@inlined
def _conclude(state, rules):
    """Find the legal actions and the outcome."""
    can_move = _find_legal(state, rules)
    if state.foundation_cards == NUM_CARDS:
        state.outcome = WON
        state.legal[:] = ZERO
    elif not can_move:
        state.outcome = STUCK


# --- Seeing ------------------------------------------------------------------------------------


@inlined
def _write_mask(state, mask):
    """The legal actions as int8[actions]; all ones once the game has ended or nothing is legal."""
    size = mask.shape[0]
    if state.has_ended or _has_no_legal(state):
        mask[:] = 1
        return
    for word in range(size >> 6):
        bits = state.legal[word]
        for byte in range(8):
            values = BYTES[U((bits >> U(8 * byte)) & U(255))]
            for k in range(8):
                mask[U(64 * word + 8 * byte + k)] = values[k]
    done = size & ~63
    bits = state.legal[U(size >> 6)]
    for k in range(done, size):
        mask[U(k)] = (bits >> U(k - done)) & U(1)


@inlined
def _write_views(state, views, row):
    """The observation: an array for each of `observation_fields`, or all in one row."""
    if len(views) == 1:
        tableau = foundations = waste = stock = redeals_left = views[0][row]
        foundations_at = PILES * MAX_HEIGHT
        waste_at = foundations_at + SUITS
        stock_at = waste_at + TALON
        redeals_at = stock_at + TALON
        if tableau.shape[0] > redeals_at + 1:
            for i in range(PILES):
                tableau[U(redeals_at + 1 + i)] = state.face_down[i]
    else:
        tableau, foundations = views[0][row].ravel(), views[1][row]
        waste, stock, redeals_left = views[2][row], views[3][row], views[4][row]
        foundations_at = waste_at = stock_at = redeals_at = 0
        if len(views) == 6:
            face_down = views[5][row]
            for i in range(PILES):
                face_down[i] = state.face_down[i]
    for k in range(PILES * MAX_HEIGHT):
        tableau[k] = state.tableau[k]
    for s in range(SUITS):
        foundations[U(foundations_at + s)] = state.foundations[s]
    keep = KEEP[U(state.waste_size)]
    border = np.int64(state.waste_size)
    for k in range(TALON):
        waste[U(waste_at + k)] = state.talon[k] & keep[k]
    for k in range(TALON):
        stock[U(stock_at + k)] = state.talon[U(border + k)]
    size = np.int64(state.talon_size)
    for k in range(size - np.int64(state.unseen) - border, size - border):
        stock[U(stock_at + k)] = FACE_DOWN
    redeals_left[U(redeals_at)] = state.redeals_left


@inlined
def _write_facts(state, facts, row):
    facts[0, row] = state.deal
    facts[1, row] = state.score
    facts[2, row] = np.int64(state.foundation_cards)
    facts[3, row] = np.int64(state.outcome)


# --- Entry points: loops over many games -------------------------------------------------------


@entry_point
def start(states, rows, deals, decks, rules):
    """Deal anew in row rows[b]. See `games.base.Kernels`."""
    deck = np.empty(NUM_CARDS, dtype=np.uint8)
    for b in range(rows.shape[0]):
        state, deal = states[U(rows[b])], deals[b]
        if deal == NEXT_DEAL:
            state.stream = advance_stream(state.stream)
            deal = stream_number(state.stream)
        if deal == OWN_DECK:
            for k in range(NUM_CARDS):
                deck[k] = decks[b, k]
        else:
            shuffle_into(np.uint64(deal), deck)
        _deal(state, deck, deal, rules[0])
        _find_legal(state, rules[0])


@entry_point
def refresh(states, rules):
    """Derive what follows from the cards, in records that were filled by hand."""
    for row in range(states.shape[0]):
        _begin(states[row], rules[0])
        _find_legal(states[row], rules[0])


@entry_point
def find_illegal(states, actions, num_actions, first_row, last_row):
    """First row whose action is illegal or out of range, or -1. See `games.base.Kernels`."""
    return _find_illegal(states, actions, num_actions, first_row, last_row)


@entry_point
def write_masks(states, masks):
    """Write the legal actions of every row."""
    for row in range(states.shape[0]):
        _write_mask(states[row], masks[row])


@entry_point
def observe(states, views, masks, facts):
    """Observe every row as it is."""
    for row in range(states.shape[0]):
        _write_views(states[row], views, row)
        _write_mask(states[row], masks[row])
        _write_facts(states[row], facts, row)


@entry_point
def step(
    states,
    actions,
    rules,
    step_limit,
    next_step_autoreset,
    reward,
    refuse_illegal,
    first_row,
    last_row,
    views,
    masks,
    rewards,
    terminated,
    truncated,
    facts,
):
    """Play one action in each of the rows and observe them. See `games.base.Kernels`."""
    num_actions = masks.shape[1]
    if refuse_illegal:
        illegal = _find_illegal(states, actions, num_actions, first_row, last_row)
        if illegal >= 0:
            return illegal
    terms = rules[0]
    deck = np.empty(NUM_CARDS, dtype=np.uint8)
    for row in range(first_row, last_row):
        state = states[row]
        rewards[row] = 0.0
        is_played = not state.has_ended
        is_dealt = not is_played and next_step_autoreset
        score, cards = state.score, np.int64(state.foundation_cards)
        face_down = np.int64(state.face_down_cards)
        if is_dealt:
            state.stream = advance_stream(state.stream)
            number = stream_number(state.stream)
            shuffle_into(np.uint64(number), deck)
            _deal(state, deck, number, terms)
        elif is_played:
            if _is_legal(state, actions[row], num_actions):
                _play(state, actions[row], terms)
            state.steps += 1
        if is_played or is_dealt:
            _conclude(state, terms)
        if is_dealt:
            state.outcome = RUNNING  # a deal dead on arrival ends with its first step
        if is_played:
            if reward == REWARD_WIN:
                rewards[row] = np.float64(state.outcome == WON)
            elif reward == REWARD_SCORE:
                rewards[row] = np.float64(state.score - score)
            else:
                gained = np.int64(state.foundation_cards) - cards
                if reward == REWARD_CARDS:
                    rewards[row] = np.float64(gained)
                else:
                    gained += face_down - np.int64(state.face_down_cards)
                    rewards[row] = gained * PROGRESS_SCALE
        is_over = state.outcome != RUNNING
        is_late = step_limit > 0 and state.steps >= step_limit
        state.has_ended = is_over or is_late
        terminated[row] = is_over
        truncated[row] = is_late
        _write_views(state, views, row)
        _write_mask(state, masks[row])
        _write_facts(state, facts, row)
    return -1
