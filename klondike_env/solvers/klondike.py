"""Prototype search on compact."""
from __future__ import annotations

import numpy as np

from klondike_env.compiled import entry_point, inlined, lowest_bit, popcount, highest_bit, prefetch
from klondike_env.deals import mix
from klondike_env.solvers.compact import *
from klondike_env.solvers import compact as C
from klondike_env.solvers.compact import (
    U, ZERO, ONE, FOUR, NIBBLE, UP, REVEAL, VACATE, DRAW_UP, DRAW, BACK, ROW, NEXT, TOP, SUIT, KINGS, BELOW, EVEN, packet_ends,
    lowest, twins, open_cards, spaces, reachable, play, is_surely_won, this_pass, waste_end_after, STATE, DEAL, SUITS, INDEX,BIT)

import os
DEADCHECK=bool(int(os.environ.get('DC','1')))
MOVES = ("ups", "reveals", "vacates", "draw_ups", "draws", "backs")
NODE = np.dtype(
    [(name, "u8") for name in MOVES]
    + [("todo_" + name, "u8") for name in MOVES]
    + [("is_forced", "u8"), ("kind", "u8"), ("card", "u8")]
)


@inlined
def only(node, kind, card):
    node.ups = card if kind == UP else ZERO
    node.draw_ups = card if kind == DRAW_UP else ZERO
    node.reveals = ZERO
    node.vacates = ZERO
    node.draws = ZERO
    node.backs = ZERO
    node.is_forced = ONE


@inlined
def find_moves(state, deal, every, node):
    opened = open_cards(state)
    free = spaces(state)
    land = opened >> FOUR
    if free != ZERO:
        land |= KINGS
    up = state.up
    c, d, h, s = up & NIBBLE, (up >> U(4)) & NIBBLE, (up >> U(8)) & NIBBLE, (up >> U(12)) & NIBBLE
    red, black = min(d, h) + ONE, min(c, s) + ONE
    safe = ZERO
    if c <= red and c <= s + U(2):
        safe |= NEXT[c]
    if s <= red and s <= c + U(2):
        safe |= NEXT[U(3 * ROW) + s]
    if d <= black and d <= h + U(2):
        safe |= NEXT[U(ROW) + d]
    if h <= black and h <= d + U(2):
        safe |= NEXT[U(2 * ROW) + h]
    next_up = state.next_up
    ups = state.face_up & opened & next_up
    if ups & safe != ZERO:
        only(node, UP, lowest(ups & safe))
        return
    in_place, first, stock = state.in_place, state.first, state.stock
    tops = state.tops if deal.takes_back else ZERO
    movable = in_place & ~(first & KINGS)
    draw_ups, draws = ZERO, ZERO
    talon = state.talon
    if talon != ZERO:
        onto = land
        if deal.is_open_stock:
            hosted = movable | stock | tops
            hosted |= twins(hosted)
            onto &= ~opened & ((hosted << FOUR) | twins(state.face_up & next_up))
        wanted = stock & (next_up | onto)
        if wanted != ZERO:
            places = reachable(state, deal, every)
            w = wanted
            while w != ZERO:
                card = lowest(w)
                w ^= card
                if (places >> U(deal.place[lowest_bit(card)])) & ONE == ZERO:
                    wanted ^= card
            draw_ups = wanted & next_up
            draws = wanted & onto & ~(next_up & safe)
            if deal.is_open_stock:
                if draw_ups & safe != ZERO:
                    only(node, DRAW_UP, lowest(draw_ups & safe))
                    return
            elif deal.is_endless and state.waste_end == ZERO and draw_ups & safe != ZERO:
                last = U(lowest_bit(highest_bit(talon)))
                w = draw_ups & safe
                while w != ZERO:
                    card = lowest(w)
                    w ^= card
                    if U(deal.place[lowest_bit(card)]) == last:
                        only(node, DRAW_UP, card)
                        return
    node.is_forced = ZERO
    node.ups = ups
    node.reveals = in_place & ~first & land
    vacates = ZERO
    if free == ZERO and KINGS & ((in_place & ~first) | stock | tops) != ZERO:
        vacates = first & ~KINGS & land
    node.vacates = vacates
    node.draw_ups = draw_ups
    node.draws = draws
    backs = tops & land
    w = backs
    while w != ZERO:
        card = lowest(w)
        w ^= card
        k = lowest_bit(card)
        rank, suit = k >> U(2), U(SUIT[k])
        opposite = black if (suit == U(1) or suit == U(2)) else red
        other = (up >> (FOUR * (U(3) - suit))) & NIBBLE
        if rank <= opposite and rank <= other + U(2):
            backs ^= card
    node.backs = backs


@inlined
def allow(node, before, state0, deal, kind, card):
    ups, reveals, vacates = node.ups, node.reveals, node.vacates
    draw_ups, draws, backs = node.draw_ups, node.draws, node.backs
    if node.is_forced == ZERO and before.is_forced == ZERO:
        under = card - ONE
        turning = before.ups & state0.in_place
        if kind == UP:
            if card & state0.in_place != ZERO:
                ups &= ~(turning & under)
            else:
                ups &= ~(turning | (before.ups & under))
                reveals &= ~before.reveals
                draw_ups &= ~before.draw_ups
                backs &= ~card
        elif kind == REVEAL:
            ups &= ~turning
            reveals &= ~(before.reveals & under)
        elif kind == DRAW_UP:
            ups &= ~turning
            reveals &= ~before.reveals
            if deal.is_open_stock:
                draw_ups &= ~(before.draw_ups & under)
        elif kind == VACATE:
            ups &= ~before.ups
            reveals &= ~before.reveals
            draw_ups &= ~before.draw_ups
            vacates &= ~(before.vacates & under)
        elif kind == BACK:
            ups &= ~(before.ups | card)
            reveals &= ~before.reveals
            vacates &= ~before.vacates
            draw_ups &= ~before.draw_ups
            backs &= ~(before.backs & under)
        else:
            ups &= ~(before.ups | (card & state0.next_up))
            reveals &= ~before.reveals
            vacates &= ~before.vacates
            backs &= ~before.backs
            if deal.is_open_stock:
                draw_ups &= ~before.draw_ups
                draws &= ~before.draws
    node.todo_ups, node.todo_reveals, node.todo_vacates = ups, reveals, vacates
    node.todo_draw_ups, node.todo_draws, node.todo_backs = draw_ups, draws, backs


@inlined
def has_todo(node):
    return (node.todo_ups | node.todo_reveals | node.todo_vacates | node.todo_draw_ups | node.todo_draws | node.todo_backs) != ZERO


@inlined
def group_bits(cards, of, base):
    out = ZERO
    while cards != ZERO:
        out |= ONE << U(base + of[lowest_bit(cards)])
        cards &= cards - ONE
    return out


@inlined
def left_out(node, deal):
    a = node.ups ^ node.todo_ups
    b = node.backs ^ node.todo_backs
    c = (node.reveals ^ node.todo_reveals) | (node.vacates ^ node.todo_vacates)
    d = node.draw_ups ^ node.todo_draw_ups
    e = node.draws ^ node.todo_draws
    out = ZERO
    if a | b | c | d | e != ZERO:
        out = group_bits(a, SUIT, 0) | group_bits(b, SUIT, 4) | group_bits(c, deal.pile_of, 8)
        out |= group_bits(d, deal.place, 15) | group_bits(e, deal.place, 39)
    return out


@inlined
def keep(cards, of, base, groups):
    w = cards
    while w != ZERO:
        card = lowest(w)
        w ^= card
        if (groups >> U(base + of[lowest_bit(card)])) & ONE == ZERO:
            cards ^= card
    return cards


@inlined
def is_dead(state, deal):
    up = state.up
    found = ZERO
    for s in range(SUITS):
        found |= BELOW[U(ROW * s) + ((up >> U(4 * s)) & NIBBLE)]
    known = state.face_up | state.stock | found
    is_space = spaces(state) != ZERO
    on = state.face_up
    off = state.stock
    if deal.takes_back:
        off |= found
    in_place, dealt, face_down = state.in_place, state.dealt, state.face_down
    while True:
        while True:
            land = (on | twins(on)) >> FOUR
            if is_space:
                land |= KINGS
            new = off & land
            if new == ZERO:
                break
            on |= new
            off ^= new
        ups = ZERO
        for s in range(SUITS):
            suit = BELOW[U(ROW * s + 13)]
            gap = suit & ~known
            ups |= suit & ((lowest(gap) << ONE) - ONE)
        go = in_place & (ups | land)
        if go == ZERO:
            return True
        while go != ZERO:
            card = lowest(go)
            go ^= card
            i = U(deal.pile_of[lowest_bit(card)])
            left = ((dealt >> (FOUR * i)) & NIBBLE) - ONE
            dealt -= ONE << (FOUR * i)
            in_place ^= card
            if left == ZERO:
                is_space = True
            else:
                turned = deal.pile_cards[U(8) * i + left - ONE]
                in_place |= turned
                on |= turned
                known |= turned
                face_down -= ONE
                if face_down == ZERO:
                    return False


@inlined
def prefetch_key(table, shift, key):
    prefetch(table, (mix(key + ONE) >> shift) << ONE)


@inlined
def prefetch_children(state, node, deal, every, table, shift):
    key = state.key
    w = node.todo_ups
    while w != ZERO:
        card = lowest(w)
        w ^= card
        k = lowest_bit(card)
        new = key + deal.up_weight[SUIT[k]]
        if card & state.in_place != ZERO:
            new -= deal.dealt_weight[deal.pile_of[k]]
        prefetch_key(table, shift, new)
    w = node.todo_reveals | node.todo_vacates
    while w != ZERO:
        k = lowest_bit(w)
        w &= w - ONE
        prefetch_key(table, shift, key - deal.dealt_weight[deal.pile_of[k]])
    w = node.todo_backs
    while w != ZERO:
        k = lowest_bit(w)
        w &= w - ONE
        prefetch_key(table, shift, key - deal.up_weight[SUIT[k]])
    both = node.todo_draw_ups
    if not deal.is_open_stock:
        both |= node.todo_draws
    if both != ZERO:
        near = ZERO
        if not deal.is_endless:
            near = this_pass(state, deal, every)
        w = both
        while w != ZERO:
            card = lowest(w)
            w ^= card
            k = lowest_bit(card)
            place = ONE << U(deal.place[k])
            new = key - place * deal.talon_weight
            if not deal.is_open_stock:
                end = waste_end_after(deal, state.talon ^ place, place)
                new += (end - state.waste_end) * deal.waste_weight
                if not deal.is_endless and near & place == ZERO:
                    new -= deal.redeal_weight
            if card & node.todo_draws != ZERO:
                prefetch_key(table, shift, new)
            if card & node.todo_draw_ups != ZERO:
                prefetch_key(table, shift, new + deal.up_weight[SUIT[k]])


WON, LOST, PAUSED, FULL = range(4)


@entry_point
def search(states, nodes, deals, every, table, counts, budget):
    """counts: depth, states, entries, moves, cut."""
    deal = deals[0]
    depth = counts[0]
    size = U(table.shape[0] >> 1)
    shift = U(64) - lowest_bit(size)
    room = np.int64(size) * 3 // 4
    visited, entries, moves = counts[1], counts[2], counts[3]
    stop = visited + budget
    deepest = states.shape[0] - 2
    status = PAUSED
    while True:
        node = nodes[depth]
        x = node.todo_ups & states[depth].in_place
        if x != ZERO:
            kind = UP
            card = lowest(x)
            node.todo_ups ^= card
        elif node.todo_reveals != ZERO:
            kind = REVEAL
            card = lowest(node.todo_reveals)
            node.todo_reveals ^= card
        elif node.todo_draw_ups != ZERO:
            kind = DRAW_UP
            card = lowest(node.todo_draw_ups)
            node.todo_draw_ups ^= card
        elif node.todo_ups != ZERO:
            kind = UP
            card = lowest(node.todo_ups)
            node.todo_ups ^= card
        elif node.todo_draws != ZERO:
            kind = DRAW
            card = lowest(node.todo_draws)
            node.todo_draws ^= card
        elif node.todo_vacates != ZERO:
            kind = VACATE
            card = lowest(node.todo_vacates)
            node.todo_vacates ^= card
        elif node.todo_backs != ZERO:
            kind = BACK
            card = lowest(node.todo_backs)
            node.todo_backs ^= card
        else:
            depth -= 1
            if depth < 0:
                status = LOST
                break
            continue
        node.kind = U(kind)
        node.card = card
        states[depth + 1] = states[depth]
        state = states[depth + 1]
        play(state, deal, every, kind, card)
        moves += 1
        if is_surely_won(state, deal):
            depth += 1
            status = WON
            break
        below = nodes[depth + 1]
        if not (kind == DRAW and deal.is_open_stock):
            key = state.key + ONE
            at = mix(key) >> shift
            find_moves(state, deal, every, below)
            allow(below, node, states[depth], deal, kind, card)
            while table[at << ONE] != ZERO and table[at << ONE] != key:
                at = (at + ONE) & (size - ONE)
            at <<= ONE
            if table[at] == ZERO:
                table[at] = key
                entries += 1
                if DEADCHECK and state.face_down != ZERO and is_dead(state, deal):
                    counts[5] += 1
                    table[at + ONE] = ZERO
                    continue
                table[at + ONE] = left_out(below, deal)
            else:
                groups = table[at + ONE]
                if groups == ZERO:
                    continue
                table[at + ONE] = groups & left_out(below, deal)
                below.todo_ups = keep(below.todo_ups, SUIT, 0, groups)
                below.todo_backs = keep(below.todo_backs, SUIT, 4, groups)
                below.todo_reveals = keep(below.todo_reveals, deal.pile_of, 8, groups)
                below.todo_vacates = keep(below.todo_vacates, deal.pile_of, 8, groups)
                below.todo_draw_ups = keep(below.todo_draw_ups, deal.place, 15, groups)
                below.todo_draws = keep(below.todo_draws, deal.place, 39, groups)
        else:
            find_moves(state, deal, every, below)
            allow(below, node, states[depth], deal, kind, card)
        visited += 1
        if not has_todo(below):
            continue
        depth += 1
        prefetch_children(state, below, deal, every, table, shift)
        if depth >= deepest:
            counts[4] += 1
            depth -= 1
        if entries >= room:
            status = FULL
            break
        if visited >= stop:
            break
    counts[0], counts[1], counts[2], counts[3] = depth, visited, entries, moves
    return status


@entry_point
def begin(states, nodes, deals, every):
    find_moves(states[0], deals[0], every, nodes[0])
    node = nodes[0]
    node.todo_ups, node.todo_reveals, node.todo_vacates = node.ups, node.reveals, node.vacates
    node.todo_draw_ups, node.todo_draws, node.todo_backs = node.draw_ups, node.draws, node.backs
    return is_dead(states[0], deals[0])


@entry_point
def rehash(old, new):
    size = U(new.shape[0] >> 1)
    shift = U(64) - lowest_bit(size)
    for i in range(old.shape[0] >> 1):
        key = old[2 * i]
        if key != ZERO:
            at = mix(key) >> shift
            while new[at << ONE] != ZERO:
                at = (at + ONE) & (size - ONE)
            new[at << ONE] = key
            new[(at << ONE) + ONE] = old[2 * i + 1]
