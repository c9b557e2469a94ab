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
from klondike_env.compiled import entry_point, inlined
from klondike_env.deals import advance_stream, shuffle_into, stream_number
from klondike_env.games.base import OUTCOMES, REWARDS
from klondike_env.games.klondike.layout import (
    MAX_HEIGHT,
    MAX_HIDDEN,
    PILES,
    PROGRESS_SCALE,
    REACH_BOARD,
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

KING, TWO = 12, 1
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
def _has_talon_play(state, rules):
    """Whether any card that draws and redeals can bring to the top may go anywhere."""
    cards = _reachable(state, rules)
    for k in range(np.int64(state.talon_size)):
        if (cards >> k) & 1 and _waste_plays(state, np.int64(state.talon[U(k)]) - 1, rules):
            return True
    return False


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

    board = ups | (runs << PILES)  # 49 bits
    counted |= ups | back
    if rules.is_reach:
        _talon_plays(state, rules, state.legal)
        counted |= np.int64((state.legal[0] | state.legal[1] | state.legal[2]) != ZERO)
        state.legal[3] = U(board) | (U(back) << U(49))
        state.legal[4] = U(back) >> U(15)
        return counted != 0

    turns = np.int64(state.waste_size < state.talon_size)
    turns |= np.int64(has_waste and turns == 0 and state.redeals_left != 0) << 1
    waste = np.int64(0)
    if has_waste:
        waste = _waste_plays(
            state, np.int64(state.talon[U(np.int64(state.waste_size) - 1)]) - 1, rules
        )
    state.legal[0] = U(turns | (waste << TURN_WASTE) | (board << TURN_BOARD)) | (U(back) << U(59))
    state.legal[1] = U(back) >> U(5)
    return counted != 0 or waste != 0 or _has_talon_play(state, rules)


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
    """Derive what follows from the cards, at the start of a game."""
    state.steps = 0
    state.outcome = RUNNING
    state.has_ended = 0
    for i in range(PILES):
        _update_pile(state, i, rules)
    _find_legal(state, rules)


@inlined
def _put_up(state, suit):
    state.foundations[U(suit)] += 1
    state.foundation_cards += 1


@inlined
def _put_on_pile(state, j, card, rules):
    state.tableau[U(MAX_HEIGHT * j + np.int64(state.height[U(j)]))] = card + 1
    state.height[U(j)] += 1
    _update_pile(state, U(j), rules)


@inlined
def _after_leaving(state, i, rules):
    """Turn up a face-down top card of pile i. Returns 1 if one turned."""
    height, turned = np.int64(state.height[U(i)]), np.int64(0)
    if height > 0 and height == np.int64(state.face_down[U(i)]):
        card = state.hidden[U(MAX_HIDDEN * i + height - 1)]
        state.tableau[U(MAX_HEIGHT * i + height - 1)] = card
        state.face_down[U(i)] -= 1
        state.face_down_cards -= 1
        turned = np.int64(1)
    _update_pile(state, U(i), rules)
    return turned


@inlined
def _play_waste(state, target, rules):
    """Play the top waste card to its foundation (target 0) or to pile target - 1."""
    top = np.int64(state.waste_size) - 1
    card = np.int64(state.talon[U(top)]) - 1
    for k in range(top, np.int64(state.talon_size)):  # a zero moves in behind the last card
        state.talon[U(k)] = state.talon[U(k + 1)]
    state.waste_size -= 1
    state.talon_size -= 1
    if target == 0:
        _put_up(state, SUIT[U(card)])
    else:
        _put_on_pile(state, target - 1, card, rules)


@inlined
def _move_run(state, i, j, rules):
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
    _update_pile(state, U(j), rules)


@inlined
def _play_board(state, move, rules):
    """Play board move 0-76. Returns (standard points, cards put up, cards turned up)."""
    if move < PILES:
        card = _top(state, U(move))
        height = np.int64(state.height[U(move)]) - 1
        state.tableau[U(MAX_HEIGHT * move + height)] = 0
        state.height[U(move)] = height
        _put_up(state, SUIT[U(card)])
        return np.int64(10), np.int64(1), _after_leaving(state, move, rules)
    if move < PILES * PILES:
        i, to = (move - PILES) // (PILES - 1), (move - PILES) % (PILES - 1)
        j = to if to < i else to + 1
        _move_run(state, i, j, rules)
        return np.int64(0), np.int64(0), _after_leaving(state, i, rules)
    suit, j = (move - PILES * PILES) // PILES, (move - PILES * PILES) % PILES
    state.foundations[U(suit)] -= 1
    state.foundation_cards -= 1
    _put_on_pile(state, j, 13 * suit + np.int64(state.foundations[U(suit)]), rules)
    return np.int64(-15), np.int64(-1), np.int64(0)


@inlined
def play(state, action, rules):
    """Play a legal action and keep the score."""
    points, ups, turned = np.int64(0), np.int64(0), np.int64(0)
    board = REACH_BOARD if rules.is_reach else TURN_BOARD
    if action >= board:
        points, ups, turned = _play_board(state, action - board, rules)
    elif rules.is_reach or action >= TURN_WASTE:
        target = action - TURN_WASTE
        if rules.is_reach:
            state.waste_size = (action >> 3) + 1  # the draws and redeals that bring it to the top
            target = action & 7
        _play_waste(state, target, rules)
        points, ups = (np.int64(10), np.int64(1)) if target == 0 else (np.int64(5), np.int64(0))
    elif action == 0:
        left = np.int64(state.talon_size) - np.int64(state.waste_size)
        state.waste_size += min(left, np.int64(rules.draw_count))
        left = np.int64(state.talon_size) - np.int64(state.waste_size)
        state.unseen = min(np.int64(state.unseen), left)
    else:
        state.waste_size = 0
        if state.redeals >= rules.free_redeals:
            points = -np.int64(rules.redeal_penalty)
        state.redeals += 1
        if state.redeals_left > 0:
            state.redeals_left -= 1
    state.moves += 1

    has_won = state.foundation_cards == NUM_CARDS
    if rules.scoring == STANDARD:
        _score_standard(state, points + 5 * turned, has_won, rules)
    elif rules.scoring == VEGAS:
        state.score += 5 * ups
    elif has_won:
        state.score += 1

    if has_won:
        state.outcome = WON
        state.legal[:] = ZERO
    elif not _find_legal(state, rules):
        state.outcome = STUCK


@inlined
def _score_standard(state, points, has_won, rules):
    """Windows points with their floor at 0, then the simulated clock, then its bonus."""
    state.score = max(state.score + points, np.int64(0))
    if rules.seconds_per_move > 0:
        seconds = np.int64(state.moves) * rules.seconds_per_move
        ticks = seconds // 10 - (seconds - rules.seconds_per_move) // 10
        state.score = max(state.score - 2 * ticks, np.int64(0))
        if has_won and seconds > 30:
            state.score += 700_000 // seconds


# --- Seeing ------------------------------------------------------------------------------------


@inlined
def _is_playable(state, action, num_actions):
    """Whether an action is in range and legal; any is if none is legal, and ends the game."""
    if action < 0 or action >= num_actions:
        return False
    if (state.legal[U(action >> 6)] >> U(action & 63)) & U(1) != ZERO:
        return True
    return _has_no_legal(state)


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
def _write_facts(state, facts, row):
    facts[0, row] = state.deal
    facts[1, row] = state.score
    facts[2, row] = np.int64(state.foundation_cards)
    facts[3, row] = np.int64(state.outcome)


@inlined
def _write_waste(state, view, at):
    keep = KEEP[U(state.waste_size)]
    for k in range(TALON):
        view[U(at + k)] = state.talon[k] & keep[k]


@inlined
def _write_stock(state, view, at):
    waste = np.int64(state.waste_size)
    for k in range(TALON):
        view[U(at + k)] = state.talon[U(waste + k)]
    size = np.int64(state.talon_size)
    for k in range(size - np.int64(state.unseen) - waste, size - waste):
        view[U(at + k)] = FACE_DOWN


@inlined
def _write_flat(state, view):
    """The observation as one row, the arrays of `observation_fields` one after another."""
    for k in range(PILES * MAX_HEIGHT):
        view[k] = state.tableau[k]
    at = PILES * MAX_HEIGHT
    for s in range(SUITS):
        view[at + s] = state.foundations[s]
    at += SUITS
    _write_waste(state, view, at)
    _write_stock(state, view, at + TALON)
    at += 2 * TALON
    view[at] = state.redeals_left
    if view.shape[0] > at + 1:
        for i in range(PILES):
            view[U(at + 1 + i)] = state.face_down[i]


@inlined
def _write_views(state, views, row):
    if len(views) == 1:
        _write_flat(state, views[0][row])
        return
    tableau, foundations = views[0][row].ravel(), views[1][row]
    for k in range(PILES * MAX_HEIGHT):
        tableau[k] = state.tableau[k]
    for s in range(SUITS):
        foundations[s] = state.foundations[s]
    _write_waste(state, views[2][row], 0)
    _write_stock(state, views[3][row], 0)
    views[4][row, 0] = state.redeals_left
    if len(views) == 6:
        face_down = views[5][row]
        for i in range(PILES):
            face_down[i] = state.face_down[i]


# --- Entry points: loops over many games -------------------------------------------------------


@entry_point
def start(states, rows, decks, deals, rules):
    """Deal decks[b] in row rows[b]. See `games.base.Kernels`."""
    for b in range(rows.shape[0]):
        _deal(states[U(rows[b])], decks[b], deals[b], rules[0])


@entry_point
def refresh(states, rules):
    """Derive what follows from the cards, in records that were filled by hand."""
    for row in range(states.shape[0]):
        _begin(states[row], rules[0])


@entry_point
def find_illegal(states, actions, num_actions):
    """First row whose action is illegal or out of range, or -1. See `games.base.Kernels`."""
    for row in range(states.shape[0]):
        if not states[row].has_ended and not _is_playable(states[row], actions[row], num_actions):
            return row
    return -1


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
    ignore_illegal,
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
    if not ignore_illegal:
        for row in range(first_row, last_row):
            if not states[row].has_ended and not _is_playable(
                states[row], actions[row], num_actions
            ):
                return row
    terms = rules[0]
    deck = np.empty(NUM_CARDS, dtype=np.uint8)
    for row in range(first_row, last_row):
        state = states[row]
        rewards[row] = 0.0
        if state.has_ended and next_step_autoreset:
            state.stream = advance_stream(state.stream)
            number = stream_number(state.stream)
            shuffle_into(np.uint64(number), deck)
            _deal(state, deck, number, terms)
        elif not state.has_ended:
            score, cards = state.score, np.int64(state.foundation_cards)
            face_down = np.int64(state.face_down_cards)
            if _has_no_legal(state):
                state.outcome = STUCK
            else:
                if not ignore_illegal or _is_playable(state, actions[row], num_actions):
                    play(state, actions[row], terms)
                elif not _find_legal(state, terms):
                    state.outcome = STUCK  # a deal dead on arrival ends with its first step
            state.steps += 1
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
