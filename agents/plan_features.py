"""What the plans that begin with a move say about it: more features, for learned agents alone.

A plan is all moves up to the next card turned up (`klondike_env.solvers.klondike.plans`). Those of
a position are listed, and each candidate that begins one gets features of the plan, of several the
one worth most; all others get zeros. So a learner of single moves sees further than the one step of
`agents.features`, on known cards all the same.

Where plans do not fit the rules or some of the stock has not been seen, all of it is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents import features
from agents.plan_agent import check_free
from klondike_env.cards import FACE_DOWN
from klondike_env.compiled import entry_point, lowest_bit
from klondike_env.games.klondike.layout import STATE as GAME
from klondike_env.games.klondike.layout import encode_rules
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import choice
from klondike_env.solvers.klondike.choice import NUM_FREE, describe_plans, room
from klondike_env.solvers.klondike.compact import CARD, DEAL, STATE, U, ZERO, every_table, read_game
from klondike_env.solvers.klondike.lines import next_action
from klondike_env.solvers.klondike.planning import read_observation
from klondike_env.solvers.klondike.plans import NO_NODE, find_plans

QUOTA, MORE = 4, 60
NODES, SECOND_NODES = 2048, 128
_KEPT = tuple(choice.FEATURES[:NUM_FREE])
PLAN_FEATURES = ("plan", "plan_best", *(f"plan_{name}" for name in _KEPT))
FEATURES = (*features.FEATURES, *PLAN_FEATURES)
"""Names of all features that a learned agent sees of a candidate move."""
_FIRST = len(features.FEATURES)
_PLACES = np.array([choice.FEATURES.index(name) for name in _KEPT])


@entry_point
def add_plans(  # type: ignore[no-untyped-def]
    tableau,  # and so on: the observations
    foundations,
    waste,
    stock,
    redeals_left,
    rules,  # the rules record
    every,  # `every_table` of the draw count
    tools,  # a `room`
    quota,
    more,
    games,  # a record, scratch
    states,  # STATE[2], zeros
    deals,  # DEAL[2], zeros
    actions,  # int64[B, C]
    counts,  # int64[B]: candidates
    rows,  # out float32[B, C, F], the last of them zeros
    is_dead,  # out bool[B]: no further card can be turned up
):
    """Fill in the plan features of every row's candidates."""
    terms, game = rules[0], games[0]
    work, described = tools[0], tools[3]
    links, plans = work[1], work[5]
    for b in range(counts.shape[0]):
        is_dead[b] = False
        if counts[b] == 0:
            continue
        read_observation(tableau[b], foundations[b], waste[b], stock[b], redeals_left[b, 0], game)
        unseen = 0
        for k in range(np.int64(game.talon_size)):
            unseen += np.int64(game.talon[U(k)]) == FACE_DOWN
        if unseen:
            continue
        states[0], deals[0] = states[1], deals[1]
        read_game(game, terms, states[0], deals[0])
        if states[0].face_down == ZERO:
            continue
        count, is_complete = find_plans(states[:1], deals[:1], every, work, quota, more, False)
        is_dead[b] = count == 0 and is_complete
        describe_plans(count, deals[:1], every, True, work, tools[2], tools[1], described)
        best = -1
        for k in range(count):
            if best < 0 or plans[k].value > plans[best].value:
                best = k
        for k in range(count):
            kind, card, node = np.int64(plans[k].kind), plans[k].card, np.int64(plans[k].node)
            while links[node].parent != NO_NODE:
                kind, card = np.int64(links[node].kind), links[node].card
                node = np.int64(links[node].parent)
            action, _ = next_action(game, terms, kind, CARD[lowest_bit(card)])
            for c in range(counts[b]):
                row = rows[b, c]
                value = described[k, 0]
                if actions[b, c] == action and (row[_FIRST] == 0.0 or value > row[_FIRST + 2]):
                    row[_FIRST] = 1.0
                    row[_FIRST + 1] = 1.0 if k == best else 0.0
                    for f in range(_PLACES.shape[0]):
                        row[_FIRST + 2 + f] = described[k, _PLACES[f]]


class Candidates(features.Candidates):
    """Candidates with the features of plans as well.

    Attributes:
        is_dead: bool[B], whether no further card can be turned up, so that the game is lost.
    """

    num_features = len(FEATURES)

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        super().__init__(rules)
        self._tools: tuple[Any, ...] | None = None
        try:
            check_free(self.rules)
        except ValueError:
            return
        self._tools = (
            encode_rules(self.rules, "reach"),
            every_table(self.rules.draw_count),
            room(NODES, SECOND_NODES),
            QUOTA,
            MORE,
            np.zeros(1, dtype=GAME),
            np.zeros(2, dtype=STATE),
            np.zeros(2, dtype=DEAL),
        )

    def _resize(self, size: int) -> None:
        super()._resize(size)
        self.is_dead = np.zeros(size, dtype=np.bool_)

    def describe(
        self,
        observations: Mapping[str, np.ndarray],
        masks: np.ndarray,
        idle_stages: np.ndarray | None = None,
    ) -> None:
        """Describe the candidates of observations with their masks."""
        super().describe(observations, masks, idle_stages)
        if self._tools is None or masks.shape[1] < 100:
            return
        seen = tuple(
            observations[key]
            for key in ("tableau", "foundations", "waste", "stock", "redeals_left")
        )
        arguments: tuple[Any, ...] = (
            *seen,
            *self._tools,
            self.actions,
            self.counts,
            self.features,
            self.is_dead,
        )
        add_plans(*arguments)
