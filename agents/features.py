"""What a player can say about each legal move, as numbers, for `guide` and learned agents.

Only observation arrays and the legal mask come in, so a hidden card cannot leak: a face-down card
is known by its number in the pile alone. Each row of the batch becomes a list of *candidates*, at
most `MAX_CANDIDATES`. A candidate is an action to play now, its features, and a key of the position
that it makes, by which repeats can be told.

Candidates are the legal actions with two changes. Of several spaces only the first is offered,
since spaces are interchangeable. And with the `turn` actions, playing a later stock card that was
seen on an earlier pass is a candidate too, whose action is the draw or redeal that leads there.

One step of look-ahead: nearly all features describe the position after the move, as far as the
player knows it. Its heart is the *reveal cost* of a pile, the number of preparing moves before its
next face-down card can be turned up, from a relaxed plan in which preparations do not disturb each
other. A card's host costs nothing if it is on top of a pile, one move more than its own host if it
is a stock card that draws can reach or the top of a foundation, and one move if the card on it can
go up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from klondike_env.compiled import entry_point, inlined
from klondike_env.games.klondike.rules import KlondikeRules

MAX_CANDIDATES = 64
IRREVERSIBLE = 0
"""Key of a move that cannot be undone: it turns a card up or plays a stock card."""
SAME_TABLEAU = 1
"""Key of a draw or redeal."""


class FeatureIndex(NamedTuple):
    """The place of each feature; counts are scaled to about 1."""

    # The move itself.
    reveal: int
    reveal_1: int  # one face-down card was left in the pile, and so on
    reveal_2: int
    reveal_3: int
    reveal_4: int
    reveal_5: int
    reveal_6: int
    reveal_upward: int  # by a foundation play
    empties_pile: int
    empties_pile_for_king: int  # and a king that would gain is waiting
    pile_to_foundation: int
    pile_to_foundation_early: int  # some card that it could host is still below
    stock_to_foundation: int
    stock_to_foundation_early: int
    stock_to_pile: int
    stock_to_pile_rank: int
    stock_to_pile_next: int  # the card could go to its foundation instead
    stock_to_pile_hosts_hidden: int  # cards that it could host: not seen yet
    stock_to_pile_hosts_base: int  # ... at the bottom of a run over face-down cards
    stock_to_pile_hosts_stock: int
    twin_hidden: int  # the other card of its rank and colour is not seen yet
    king_to_space: int
    king_queen_base: int  # its queens at the bottom of a run over face-down cards
    king_queen_open: int  # its queens elsewhere in sight
    king_queen_hidden: int
    take_back: int
    take_back_rank: int
    split_run: int
    split_run_frees_next: int  # the card left behind can go to its foundation
    run_length: int
    covers_next: int  # the card covered could go to its foundation
    covers_face_down: int  # face-down cards under the pile that it joins
    same_suit_two_up: int
    # The position after it.
    reveals_0: int  # piles with face-down cards by reveal cost: count, face-down cards
    reveals_0_depth: int
    reveals_1: int
    reveals_1_depth: int
    reveals_2: int
    reveals_2_depth: int
    reveals_3: int
    reveals_3_depth: int
    best_reveal_depth: int  # most face-down cards in a pile of cost 0
    spaces_0: int  # piles without face-down cards by the cost of emptying them
    spaces_1: int
    spaces: int
    spaces_for_king: int
    kings_waiting: int  # kings that a space would help
    stuck_on_foundation: int  # piles whose both hosts have gone up
    stuck_in_stock: int  # piles with a host in the stock out of reach
    stuck_hidden: int  # piles whose hosts are both not seen yet
    stuck_hidden_depth: int
    stuck_king_depth: int  # face-down cards under kings that no space is near for
    stock_reachable: int
    stock_playable: int
    stock_playable_up: int
    stock_useful: int  # reachable cards that host a run over face-down cards
    stock_opened: int  # further cards that playing one of them brings within reach
    stock_left: int
    stock_thirds_1: int  # cards left modulo 3
    stock_thirds_2: int
    waste_thirds_1: int  # waste cards modulo 3
    waste_thirds_2: int
    up_lowest: int
    up_spread: int
    next_open: int  # next foundation cards that can go up now
    next_one_under: int  # ... that lie under one card
    # Moves whose worth changes as fewer cards stay face down: times the part turned up.
    late_stock_to_pile: int
    late_stock_to_foundation: int
    late_pile_to_foundation: int
    late_early: int
    late_take_back: int
    late_reveals_0: int
    late_stock_useful: int
    # Going through the stock, with the `turn` actions.
    draw: int
    draw_unseen: int  # the card that it turns up is not known
    draw_last_pass: int
    draw_past_playable: int  # the waste card could be played
    draw_past_playable_last: int  # ... and does not come back
    redeal: int
    later_draws: int  # a stock card that comes later: draws until then
    later_redeal: int  # ... and a redeal before it
    later_last_redeal: int


F = FeatureIndex(*range(len(FeatureIndex._fields)))
FEATURES = FeatureIndex._fields
"""Names of the features, in order."""

_PILES, _KING, _NO_CARD = 7, 12, -1
_INF = 9
_ONE = np.uint64(1)
_DIAMONDS, _HEARTS, _SPADES = np.uint64(13), np.uint64(26), np.uint64(39)  # first bit of each suit
_SUIT = np.uint64(0x1FFF)
_NO_ACES = np.uint64(sum(1 << card for card in range(52) if card % 13 > 0))
_NO_KINGS = np.uint64(sum(1 << card for card in range(52) if card % 13 < 12))
_KINGS = np.uint64(sum(1 << card for card in range(52) if card % 13 == 12))
_BITS = np.array([1 << card for card in range(52)], dtype=np.uint64)


def _is_red(card: int) -> bool:
    return 13 <= card < 39


def _cards_beside(card: int, step: int) -> list[int]:
    """The two cards of the other colour that are `step` ranks higher, -1 where there are none."""
    found = [
        other
        for other in range(52)
        if other % 13 == card % 13 + step and _is_red(other) != _is_red(card)
    ]
    return found or [-1, -1]


# [52, 2]: the cards that a card may lie on, and those that may lie on it.
_HOSTS = np.array([_cards_beside(card, 1) for card in range(52)], dtype=np.int64)
_GUESTS = np.array([_cards_beside(card, -1) for card in range(52)], dtype=np.int64)
_TWIN = np.array(
    [
        next(
            other
            for other in range(52)
            if other != card and other % 13 == card % 13 and _is_red(other) == _is_red(card)
        )
        for card in range(52)
    ],
    dtype=np.int64,
)


def _position_keys() -> np.ndarray:
    """uint64[52, 64]: a random number for each card on each card, a space or a face-down card."""
    state = np.arange(1, 52 * 64 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))).reshape(52, 64)


_KEYS = _position_keys()
_ON_SPACE, _ON_FACE_DOWN = 52, 53

# Kinds of candidates.
_UP, _MOVE, _STOCK_UP, _STOCK_MOVE, _BACK, _DRAW, _REDEAL = range(7)


@inlined
def _reachable(talon, size, waste_size, draw_count, can_pass, without, without_too):  # type: ignore[no-untyped-def]
    """Bit set of the cards that draws (and redeals if `can_pass`) bring to the top of the waste.

    `size` and `waste_size` count `talon` without its cards at `without` and `without_too`, places
    of the full talon, -1 for none.
    """
    first = min(without, without_too)
    last = max(without, without_too)
    if first < 0:
        first = last if last >= 0 else np.int64(99)
        last = np.int64(99)
    cards = np.uint64(0)
    for turn in range(2 if can_pass else 1):
        place = waste_size if turn == 0 else min(draw_count, size)
        while True:
            if place > 0:
                at = place - 1
                at += np.int64(at >= first)
                at += np.int64(at >= last)
                card = talon[np.uint64(at)]
                if card >= 0:
                    cards |= _BITS[np.uint64(card)]
            if place >= size:
                break
            place = min(place + draw_count, size)
    return cards


@inlined
def _guests(cards):  # type: ignore[no-untyped-def]
    """The cards that may lie on any of a set of cards (bit sets)."""
    lower = (cards & _NO_ACES) >> _ONE
    on_black = (lower | (lower >> _SPADES)) & _SUIT
    on_red = ((lower >> _DIAMONDS) | (lower >> _HEARTS)) & _SUIT
    return (on_black << _DIAMONDS) | (on_black << _HEARTS) | on_red | (on_red << _SPADES)


@inlined
def _hosts(cards):  # type: ignore[no-untyped-def]
    """The cards on which any of a set of cards may lie (bit sets)."""
    higher = (cards & _NO_KINGS) << _ONE
    of_black = (higher | (higher >> _SPADES)) & _SUIT
    of_red = ((higher >> _DIAMONDS) | (higher >> _HEARTS)) & _SUIT
    return (of_black << _DIAMONDS) | (of_black << _HEARTS) | of_red | (of_red << _SPADES)


@inlined
def _count(cards):  # type: ignore[no-untyped-def]
    """Size of a bit set."""
    cards = cards - ((cards >> _ONE) & np.uint64(0x5555555555555555))
    twos = np.uint64(0x3333333333333333)
    cards = (cards & twos) + ((cards >> np.uint64(2)) & twos)
    cards = (cards + (cards >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((cards * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def _has(cards, card):  # type: ignore[no-untyped-def]
    return (cards >> np.uint64(card)) & _ONE != 0


@entry_point
def describe(  # type: ignore[no-untyped-def]
    tableau,  # int8[B, 7, 19]
    foundations,  # int8[B, 4]
    waste,  # int8[B, 24]
    stock,  # int8[B, 24]
    redeals_left,  # int16[B, 1]
    face_down,  # int8[B, 7], read only if cards_known
    masks,  # int8[B, A]
    idle_stages,  # int64[B]: a row at this stage is left out
    draw_count,
    can_take_back,
    same_suit,
    cards_known,
    features,  # out float32[B, MAX_CANDIDATES, len(FEATURES)]
    actions,  # out int64[B, MAX_CANDIDATES]
    keys,  # out uint64[B, MAX_CANDIDATES]
    counts,  # out int64[B]
    positions,  # out uint64[B]: key of the present position
    stages,  # out int64[B]: changes with every irreversible move
):
    """Fill in the candidates of every row; a row that has ended (its mask all ones) gets none."""
    is_reach = masks.shape[1] > 100
    board = 192 if is_reach else 10
    kinds = np.empty(2 * MAX_CANDIDATES, np.int64)
    sources = np.empty(2 * MAX_CANDIDATES, np.int64)
    targets = np.empty(2 * MAX_CANDIDATES, np.int64)
    ids = np.empty(2 * MAX_CANDIDATES, np.int64)
    later = np.empty(2 * MAX_CANDIDATES, np.int64)  # draws before a stock card comes up
    crosses = np.empty(2 * MAX_CANDIDATES, np.int64)  # redeals before it
    talon = np.empty(48, np.int64)
    height = np.empty(_PILES, np.int64)
    down = np.empty(_PILES, np.int64)
    top = np.empty(_PILES, np.int64)
    under = np.empty(_PILES, np.int64)
    base = np.empty(_PILES, np.int64)
    down_now = np.empty(_PILES, np.int64)
    top_now = np.empty(_PILES, np.int64)
    under_now = np.empty(_PILES, np.int64)
    base_now = np.empty(_PILES, np.int64)
    up = np.empty(4, np.int64)

    for b in range(masks.shape[0]):
        counts[b] = 0
        mask = masks[b]
        legal = np.int64(0)
        for a in range(mask.shape[0]):
            legal += np.int64(mask[a] != 0)
        if legal == mask.shape[0]:
            continue

        # The position in numbers.
        seen = np.uint64(0)  # cards whose place is known
        bases = np.uint64(0)  # bottom cards of runs over face-down cards
        total_down = np.int64(0)
        space = np.int64(-1)  # first space
        position = np.uint64(0)
        for i in range(_PILES):
            size = np.int64(0)
            hidden = np.int64(0)
            while size < 19 and tableau[b, i, size] != 0:
                hidden += np.int64(tableau[b, i, size] == 53)
                size += 1
            if cards_known:
                hidden = np.int64(face_down[b, i])
            height[i] = size
            down_now[i] = hidden
            total_down += hidden
            top_now[i] = _NO_CARD
            under_now[i] = _NO_CARD
            base_now[i] = _NO_CARD
            if size == 0:
                if space < 0:
                    space = np.int64(i)
                continue
            parent = np.int64(_ON_SPACE)
            if hidden > 0:
                parent = np.int64(_ON_FACE_DOWN)
            for k in range(hidden, size):
                card = np.int64(tableau[b, i, k]) - 1
                seen |= _BITS[card]
                position ^= _KEYS[card, parent]
                parent = card
            top_now[i] = np.int64(tableau[b, i, size - 1]) - 1
            base_now[i] = np.int64(tableau[b, i, hidden]) - 1
            if size - hidden > 1:
                under_now[i] = np.int64(tableau[b, i, size - 2]) - 1
            if hidden > 0:
                bases |= _BITS[base_now[i]]
        for s in range(4):
            for r in range(np.int64(foundations[b, s])):
                seen |= _BITS[s * 13 + r]
        waste_size = np.int64(0)
        in_talon = np.uint64(0)
        while waste_size < 24 and waste[b, waste_size] != 0:
            talon[waste_size] = np.int64(waste[b, waste_size]) - 1
            in_talon |= _BITS[talon[waste_size]]
            waste_size += 1
        talon_size = waste_size
        while talon_size - waste_size < 24 and stock[b, talon_size - waste_size] != 0:
            card = np.int64(stock[b, talon_size - waste_size]) - 1
            if card >= 52:
                card = np.int64(_NO_CARD)
            else:
                in_talon |= _BITS[card]
            talon[talon_size] = card
            talon_size += 1
        seen |= in_talon
        redeals = np.int64(redeals_left[b, 0])
        positions[b] = position
        stages[b] = total_down * 64 + talon_size
        if stages[b] == idle_stages[b]:
            continue

        # The candidates.
        n = np.int64(0)
        for a in range(mask.shape[0]):
            if mask[a] == 0 or n >= MAX_CANDIDATES:
                continue
            kind = np.int64(_DRAW)
            source = np.int64(-1)
            target = np.int64(-1)
            if a >= board:
                x = np.int64(a - board)
                if x < 7:
                    kind = np.int64(_UP)
                    source = x
                elif x < 49:
                    kind = np.int64(_MOVE)
                    source = (x - 7) // 6
                    target = (x - 7) % 6
                    target += np.int64(target >= source)
                else:
                    kind = np.int64(_BACK)
                    source = (x - 49) // 7
                    target = (x - 49) % 7
            elif is_reach:
                source = np.int64(a // 8)
                target = np.int64(a % 8) - 1
                kind = np.int64(_STOCK_UP if target < 0 else _STOCK_MOVE)
            elif a >= 2:
                source = waste_size - 1
                target = np.int64(a) - 3
                kind = np.int64(_STOCK_UP if target < 0 else _STOCK_MOVE)
            elif a == 1:
                kind = np.int64(_REDEAL)
            if target >= 0 and height[target] == 0 and target != space:
                continue
            kinds[n] = kind
            sources[n] = source
            targets[n] = target
            ids[n] = a
            later[n] = 0
            crosses[n] = 0
            n += 1
        if not is_reach and (mask[0] != 0 or mask[1] != 0):
            go = np.int64(0 if mask[0] != 0 else 1)
            for turn in range(2 if redeals != 0 else 1):
                place = waste_size if turn == 0 else np.int64(0)
                draws = np.int64(0) if turn == 0 else (talon_size - waste_size) // draw_count + 2
                while place < talon_size:
                    place = min(place + draw_count, talon_size)
                    draws += 1
                    card = talon[place - 1]
                    if card < 0 or n >= MAX_CANDIDATES - 9:
                        continue
                    if turn == 1 and waste_size < talon_size and place > waste_size:
                        if place == talon_size or (place - waste_size) % draw_count == 0:
                            continue  # this pass brings it up
                    if np.int64(foundations[b, card // 13]) == card % 13:
                        kinds[n] = _STOCK_UP
                        sources[n] = place - 1
                        targets[n] = -1
                        ids[n] = go
                        later[n] = draws
                        crosses[n] = turn
                        n += 1
                    for j in range(_PILES):
                        fits = card % 13 == _KING and j == space
                        if height[j] > 0 and card % 13 != _KING:
                            fits = _HOSTS[card, 0] == top_now[j] or _HOSTS[card, 1] == top_now[j]
                        if fits:
                            kinds[n] = _STOCK_MOVE
                            sources[n] = place - 1
                            targets[n] = j
                            ids[n] = go
                            later[n] = draws
                            crosses[n] = turn
                            n += 1
        counts[b] = n
        all_reachable = draw_count == 1 and redeals != 0
        reach_now = _reachable(talon, talon_size, waste_size, draw_count, redeals != 0, -1, -1)

        for c in range(n):
            x = features[b, c]
            x[:] = 0.0
            kind = kinds[c]
            source = sources[c]
            target = targets[c]
            actions[b, c] = ids[c]
            key = position
            for i in range(_PILES):
                top[i] = top_now[i]
                under[i] = under_now[i]
                base[i] = base_now[i]
                down[i] = down_now[i]
            for s in range(4):
                up[s] = np.int64(foundations[b, s])
            lowest_red = min(up[1], up[2])
            lowest_black = min(up[0], up[3])
            size_after = talon_size
            waste_after = waste_size
            without = np.int64(-1)
            redeals_after = redeals
            after_seen = seen
            after_bases = bases

            card = np.int64(-1)  # the card that moves, the lowest of a run
            if kind == _UP:
                card = top_now[source]
            elif kind == _MOVE:
                if height[target] == 0:
                    card = base_now[source]
                else:
                    at = height[source] - 1 - (top_now[target] % 13 - 1 - top_now[source] % 13)
                    card = np.int64(tableau[b, source, at]) - 1
            elif kind == _STOCK_UP or kind == _STOCK_MOVE:
                card = talon[source]
            elif kind == _BACK:
                card = source * 13 + up[source] - 1

            # Away from where it was.
            if kind == _UP or kind == _MOVE:
                length = top_now[source] % 13
                length = card % 13 - length + 1
                left = height[source] - down_now[source] - length
                if left > 0:
                    at = height[source] - length - 1
                    top[source] = np.int64(tableau[b, source, at]) - 1
                    under[source] = _NO_CARD
                    if left > 1:
                        under[source] = np.int64(tableau[b, source, at - 1]) - 1
                    key ^= _KEYS[card, top[source]]
                    if kind == _MOVE:
                        x[F.split_run] = 1
                        if up[top[source] // 13] == top[source] % 13:
                            x[F.split_run_frees_next] = 1
                elif down_now[source] > 0:
                    down[source] -= 1
                    after_bases &= ~_BITS[card]
                    top[source] = _NO_CARD
                    under[source] = _NO_CARD
                    base[source] = _NO_CARD
                    if cards_known:
                        turned = np.int64(tableau[b, source, down[source]]) - 1
                        top[source] = turned
                        base[source] = turned
                        after_seen |= _BITS[turned]
                        if down[source] > 0:
                            after_bases |= _BITS[turned]
                    x[F.reveal] = 1
                    x[F.reveal + down_now[source]] = 1
                    if kind == _UP:
                        x[F.reveal_upward] = 1
                    key = np.uint64(IRREVERSIBLE)
                else:
                    top[source] = _NO_CARD
                    under[source] = _NO_CARD
                    base[source] = _NO_CARD
                    key ^= _KEYS[card, _ON_SPACE]
                if kind == _MOVE:
                    x[F.run_length] = length / 13.0
            elif kind == _STOCK_UP or kind == _STOCK_MOVE:
                key = np.uint64(IRREVERSIBLE)
                without = source
                waste_after = source
                size_after = talon_size - 1
                if crosses[c] > 0 and redeals > 0:
                    redeals_after = redeals - 1
            elif kind == _BACK:
                up[source] -= 1
                x[F.take_back] = 1
                x[F.take_back_rank] = card % 13 / 12.0
            elif kind == _DRAW:
                waste_after = np.int64(min(waste_size + draw_count, talon_size))
            else:
                waste_after = np.int64(0)
                if redeals > 0:
                    redeals_after = redeals - 1
            if later[c] > 0 or kind == _DRAW or kind == _REDEAL:
                key = np.uint64(SAME_TABLEAU)

            # To where it goes.
            if kind == _UP or kind == _STOCK_UP:
                other = lowest_black if _is_red_card(card) else lowest_red
                early = other < card % 13
                up[card // 13] += 1
                if kind == _UP:
                    x[F.pile_to_foundation] = 1
                    x[F.pile_to_foundation_early] = early
                else:
                    x[F.stock_to_foundation] = 1
                    x[F.stock_to_foundation_early] = early
            elif target >= 0:
                parent = np.int64(_ON_SPACE)
                if height[target] > 0:
                    parent = top_now[target]
                    x[F.covers_face_down] = down_now[target] / 6.0
                    if up[parent // 13] == parent % 13:
                        x[F.covers_next] = 1
                    if under_now[target] >= 0 and under_now[target] // 13 == card // 13:
                        x[F.same_suit_two_up] = 1
                else:
                    base[target] = card
                if kind == _MOVE:
                    top[target] = top_now[source]
                    under[target] = under_now[source] if card != top_now[source] else parent
                else:
                    top[target] = card
                    under[target] = parent
                if under[target] >= 52:
                    under[target] = _NO_CARD
                if key > np.uint64(SAME_TABLEAU):
                    key ^= _KEYS[card, parent]
                if card % 13 == _KING:
                    x[F.king_to_space] = 1
                    for g in range(2):
                        queen = _GUESTS[card, g]
                        if _has(after_bases, queen):
                            x[F.king_queen_base] += 0.5
                        elif _has(seen, queen):
                            x[F.king_queen_open] += 0.5
                        else:
                            x[F.king_queen_hidden] += 0.5
            if kind == _STOCK_MOVE:
                x[F.stock_to_pile] = 1
                x[F.stock_to_pile_rank] = card % 13 / 12.0
                if up[card // 13] == card % 13:
                    x[F.stock_to_pile_next] = 1
                for g in range(2):
                    guest = _GUESTS[card, g]
                    if guest >= 0:
                        if not _has(seen, guest):
                            x[F.stock_to_pile_hosts_hidden] += 0.5
                        elif _has(bases, guest):
                            x[F.stock_to_pile_hosts_base] += 0.5
                        elif _has(in_talon, guest):
                            x[F.stock_to_pile_hosts_stock] += 0.5
                if not _has(seen, _TWIN[card]):
                    x[F.twin_hidden] = 1
            keys[b, c] = key

            # Going through the stock.
            if kind == _DRAW:
                x[F.draw] = 1
                if waste_after > 0 and talon[waste_after - 1] < 0:
                    x[F.draw_unseen] = 1
                if redeals == 0:
                    x[F.draw_last_pass] = 1
                if mask[2] != 0:
                    x[F.draw_past_playable] = 1
                for j in range(_PILES):
                    if mask[3 + j] != 0:
                        x[F.draw_past_playable] = 1
                if redeals == 0:
                    x[F.draw_past_playable_last] = x[F.draw_past_playable]
            elif kind == _REDEAL:
                x[F.redeal] = 1
            if later[c] > 0:
                x[F.later_draws] = later[c] / 24.0
                if crosses[c] > 0:
                    x[F.later_redeal] = 1
                    if redeals == 1:
                        x[F.later_last_redeal] = 1

            # The position after it.
            after_talon = in_talon
            reach = reach_now
            if without >= 0:
                after_talon &= ~_BITS[card]
            if all_reachable:
                reach = after_talon
            elif without >= 0 or waste_after != waste_size or redeals_after != redeals:
                reach = _reachable(
                    talon, size_after, waste_after, draw_count, redeals_after != 0, without, -1
                )
            tops = np.uint64(0)
            loosened = np.uint64(0)  # cards free once the card on them goes up
            next_up = np.uint64(0)  # cards whose foundation is ready for them
            last_up = np.uint64(0)  # top cards of the foundations
            space_bases = np.uint64(0)  # bottom cards of the piles that could become spaces
            open_spaces = np.int64(0)
            for s in range(4):
                if up[s] < 13:
                    next_up |= _BITS[s * 13 + up[s]]
                if up[s] > 0:
                    last_up |= _BITS[s * 13 + up[s] - 1]
            for i in range(_PILES):
                if top[i] >= 0:
                    tops |= _BITS[top[i]]
                    if under[i] >= 0 and _has(next_up, top[i]):
                        loosened |= _BITS[under[i]]
                    if down[i] == 0:
                        space_bases |= _BITS[base[i]]
                elif down[i] == 0:
                    open_spaces += 1
                    if height[i] > 0:
                        x[F.empties_pile] = 1
            space_bases &= _NO_KINGS
            usable = reach | last_up if can_take_back else reach
            second = np.uint64(0)  # stock cards within reach once another one is played
            # place_n: cards that fit somewhere after n preparing moves at most.
            place_0 = _guests(tops)
            if open_spaces > 0:
                place_0 |= _KINGS
            if draw_count > 1 or redeals == 0:
                for p in range(size_after):
                    at = p + 1 if without >= 0 and p >= without else p
                    k = talon[at]
                    if k >= 0 and _has(reach & (place_0 | next_up), k):
                        second |= _reachable(
                            talon, size_after - 1, p, draw_count, redeals_after != 0, without, at
                        )
                second &= ~reach
            opened = tops | loosened | (usable & place_0)
            place_1 = place_0 | _guests(opened)
            if space_bases & place_0 != 0:
                place_1 |= _KINGS
            opened |= (usable & place_1) | (second & place_0)
            place_2 = place_1 | _guests(opened)
            if space_bases & place_1 != 0:
                place_2 |= _KINGS
            opened |= (usable & place_2) | (second & place_1)
            place_3 = place_2 | _guests(opened)
            if space_bases & place_2 != 0:
                place_3 |= _KINGS
            opened |= (usable & place_3) | (second & place_2)
            place_4 = place_3 | _guests(opened)
            if space_bases & place_3 != 0:
                place_4 |= _KINGS

            kings = _count(_KINGS & (reach | after_bases))
            best = np.int64(0)
            for i in range(_PILES):
                if top[i] < 0:
                    continue
                bottom = base[i]
                bit = _BITS[bottom]
                cost = np.int64(_INF)
                if place_0 & bit != 0:
                    cost = np.int64(0)
                elif place_1 & bit != 0:
                    cost = np.int64(1)
                elif place_2 & bit != 0:
                    cost = np.int64(2)
                elif place_4 & bit != 0:
                    cost = np.int64(3)
                if same_suit and top[i] != bottom:
                    cost = min(cost + bottom % 13 - top[i] % 13, np.int64(_INF))
                if top[i] == bottom:
                    # Up to its foundation, after the cards of its suit that are open.
                    missing = bottom % 13 - up[bottom // 13]
                    if missing < cost:
                        below = bit - (bit >> np.uint64(missing))
                        if below & ~(tops | reach) == 0:
                            cost = missing
                if down[i] == 0:
                    if bottom % 13 != _KING:
                        if cost == 0:
                            x[F.spaces_0] += 0.5
                        elif cost == 1:
                            x[F.spaces_1] += 0.5
                    continue
                depth = down[i] / 6.0
                if cost == 0:
                    x[F.reveals_0] += 0.5
                    x[F.reveals_0_depth] += depth
                    best = max(best, down[i])
                elif cost == 1:
                    x[F.reveals_1] += 0.5
                    x[F.reveals_1_depth] += depth
                elif cost == 2:
                    x[F.reveals_2] += 0.5
                    x[F.reveals_2_depth] += depth
                elif cost < _INF:
                    x[F.reveals_3] += 0.5
                    x[F.reveals_3_depth] += depth
                elif bottom % 13 != _KING:
                    gone = np.int64(0)
                    away = np.int64(0)
                    unseen = np.int64(0)
                    for h in range(2):
                        host = _HOSTS[bottom, h]
                        if up[host // 13] > host % 13:
                            gone += 1
                        elif _has(after_talon, host):
                            away += np.int64(not _has(reach, host))
                        elif not _has(after_seen, host):
                            unseen += 1
                    x[F.stuck_on_foundation] += 0.5 * (gone == 2)
                    x[F.stuck_in_stock] += 0.5 * (away > 0)
                    if unseen == 2:
                        x[F.stuck_hidden] += 0.5
                        x[F.stuck_hidden_depth] += depth
                else:
                    x[F.stuck_king_depth] += depth
            x[F.best_reveal_depth] = best / 6.0
            x[F.spaces] = 0.5 * open_spaces
            x[F.kings_waiting] = 0.5 * kings
            x[F.spaces_for_king] = 0.5 * min(kings, open_spaces)
            if kings > 0:
                x[F.empties_pile_for_king] = x[F.empties_pile]
            x[F.stock_reachable] = _count(reach) / 8.0
            x[F.stock_playable] = _count(reach & (place_0 | next_up)) / 4.0
            x[F.stock_playable_up] = _count(reach & next_up) / 4.0
            x[F.stock_useful] = _count(reach & place_1 & _hosts(after_bases)) / 4.0
            x[F.stock_opened] = _count(second) / 8.0
            x[F.stock_left] = size_after / 12.0
            x[F.next_open] = 0.5 * _count(next_up & (tops | reach))
            for i in range(_PILES):
                if under[i] >= 0 and _has(next_up, under[i]):
                    x[F.next_one_under] += 0.5
            if draw_count > 1:
                x[F.stock_thirds_1] = size_after % 3 == 1
                x[F.stock_thirds_2] = size_after % 3 == 2
                x[F.waste_thirds_1] = waste_after % 3 == 1
                x[F.waste_thirds_2] = waste_after % 3 == 2
            low = min(min(up[0], up[1]), min(up[2], up[3]))
            high = max(max(up[0], up[1]), max(up[2], up[3]))
            x[F.up_lowest] = low / 4.0
            x[F.up_spread] = (high - low) / 4.0

            late = 1.0 - total_down / 21.0
            x[F.late_stock_to_pile] = late * x[F.stock_to_pile]
            x[F.late_stock_to_foundation] = late * x[F.stock_to_foundation]
            x[F.late_pile_to_foundation] = late * x[F.pile_to_foundation]
            x[F.late_early] = late * (
                x[F.pile_to_foundation_early] + x[F.stock_to_foundation_early]
            )
            x[F.late_take_back] = late * x[F.take_back]
            x[F.late_reveals_0] = late * x[F.reveals_0]
            x[F.late_stock_useful] = late * x[F.stock_useful]


@inlined
def _is_red_card(card):  # type: ignore[no-untyped-def]
    return card >= 13 and card < 39


class Candidates:
    """The candidates of a batch of observations; the arrays are reused by the next `describe`.

    Attributes:
        features: float32[B, MAX_CANDIDATES, len(FEATURES)].
        actions: int64[B, MAX_CANDIDATES], the action to play now.
        keys: uint64[B, MAX_CANDIDATES], of the position that it makes.
        counts: int64[B], candidates of each row; 0 for rows that have ended or were left out.
        positions: uint64[B], key of the present position.
        stages: int64[B], differs before and after an irreversible move.
    """

    num_features = len(FEATURES)

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        self.rules = KlondikeRules() if rules is None else rules
        self._resize(0)

    def _resize(self, size: int) -> None:
        self.features = np.zeros((size, MAX_CANDIDATES, self.num_features), dtype=np.float32)
        self.actions = np.zeros((size, MAX_CANDIDATES), dtype=np.int64)
        self.keys = np.zeros((size, MAX_CANDIDATES), dtype=np.uint64)
        self.counts = np.zeros(size, dtype=np.int64)
        self.positions = np.zeros(size, dtype=np.uint64)
        self.stages = np.zeros(size, dtype=np.int64)
        self._no_face_down = np.zeros((size, 7), dtype=np.int8)
        self._never_idle = np.full(size, -1, dtype=np.int64)

    def describe(
        self,
        observations: Mapping[str, np.ndarray],
        masks: np.ndarray,
        idle_stages: np.ndarray | None = None,
    ) -> None:
        """Describe the candidates of observations with their masks (int8[B, A]).

        Rows whose stage is their `idle_stages` (int64[B]) get no candidates.
        """
        if len(masks) != len(self.counts):
            self._resize(len(masks))
        rules = self.rules
        describe(
            observations["tableau"],
            observations["foundations"],
            observations["waste"],
            observations["stock"],
            observations["redeals_left"],
            observations.get("face_down", self._no_face_down),
            masks,
            self._never_idle if idle_stages is None else idle_stages,
            rules.draw_count,
            rules.foundation_to_tableau,
            rules.run_moves == "same_suit",
            "face_down" in observations,
            self.features,
            self.actions,
            self.keys,
            self.counts,
            self.positions,
            self.stages,
        )
