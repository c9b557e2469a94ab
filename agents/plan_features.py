"""What the plans that begin with a move say about it: more features, for learned agents alone.

A plan is all moves up to the next card turned up (`klondike_env.solvers.klondike.plans`). Those of
a position are listed, and each candidate that begins one gets features of the plan, of several the
one worth most; all others get zeros. So a learner of single moves sees further than the one step of
`agents.features`, on known cards all the same.

Where plans do not fit the rules, and with the `turn` actions, all of it is zero.

No look at the plans that could come next: it took as long as all the rest and won no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents import features, guide
from agents.plan_agent import check_free
from klondike_env.compiled import entry_point, lowest_bit
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import choice
from klondike_env.solvers.klondike.choice import describe_plans, room
from klondike_env.solvers.klondike.compact import CARD, ZERO, every_table, read_game
from klondike_env.solvers.klondike.lines import next_action
from klondike_env.solvers.klondike.planning import (
    has_unseen_stock,
    reach_terms,
    read_observation,
)
from klondike_env.solvers.klondike.plans import NO_NODE, find_plans
from klondike_env.solvers.klondike.worlds import room_for_worlds

QUOTA, MORE, NODES = 4, 30, 2048
"""Plans a pile, positions looked at after the first plan, and all of them; see `find_plans`."""
_KEPT = (
    "value",
    "cost",
    "draws",
    "draw_ups",
    "backs",
    "ups",
    "vacates",
    "turns_king",
    "late_draws",
    "late_ups",
    "late_backs",
    "late_down",
    "spaces",
    "kings_waiting",
    "space_for_king",
    "reveals",
    "reveals_depth",
    "reveals_best",
    "reveals_1",
    "relaxed",
    "relaxed_depth",
    "stuck_unseen",
    "stuck_unseen_depth",
    "stuck_stock",
    "stuck_king",
    "stock_reachable",
    "stock_playable",
    "up_spread",
    "twin_hosted",
)
PLAN_FEATURES = ("plan", "plan_best", *(f"plan_{name}" for name in _KEPT))
FEATURES = (*features.FEATURES, *PLAN_FEATURES)
"""Names of all features that a learned agent sees of a candidate move."""
BEST_PLAN = 4.0
"""Score of beginning the best plan in `guided_weights`; of 0, 2, 4 and 8 it won the most."""
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
    links, plans, starts = work[1], work[5], tools[5]
    for b in range(counts.shape[0]):
        is_dead[b] = False
        if counts[b] == 0:
            continue
        read_observation(tableau[b], foundations[b], waste[b], stock[b], redeals_left[b, 0], game)
        if has_unseen_stock(game):
            continue
        states[0], deals[0] = states[1], deals[1]
        read_game(game, terms, states[0], deals[0])
        if states[0].face_down == ZERO:
            continue
        count, is_complete = find_plans(states[:1], deals[:1], every, work, quota, more, False)
        is_dead[b] = count == 0 and is_complete
        # Of the plans that begin with the same move the one worth most is kept, in front.
        kept, best = 0, 0
        for k in range(count):
            kind, card, node = np.int64(plans[k].kind), plans[k].card, np.int64(plans[k].node)
            while links[node].parent != NO_NODE:
                kind, card = np.int64(links[node].kind), links[node].card
                node = np.int64(links[node].parent)
            action, _ = next_action(game, terms, kind, CARD[lowest_bit(card)])
            at = 0
            while at < kept and starts[at] != action:
                at += 1
            if at == kept or plans[k].value > plans[at].value:
                plans[at], starts[at] = plans[k], action
                kept = max(kept, at + 1)
                if plans[at].value > plans[best].value:
                    best = at
        describe_plans(kept, deals[:1], every, True, work, tools[2], tools[1], described)
        for k in range(kept):
            for c in range(counts[b]):
                if actions[b, c] == starts[k]:
                    row = rows[b, c]
                    row[_FIRST] = 1.0
                    row[_FIRST + 1] = 1.0 if k == best else 0.0
                    for f in range(_PLACES.shape[0]):
                        row[_FIRST + 2 + f] = described[k, _PLACES[f]]


def guided_weights(rules: KlondikeRules) -> np.ndarray:
    """Linear weights to start from, float32[F]: those of `guide`, and a score for the best plan."""
    weights = planning_weights()
    weights[:_FIRST] = guide.load_weights(guide.weights_file(rules))
    return weights


def planning_weights() -> np.ndarray:
    """Linear weights to start from, float32[F]: a score for the best plan and nothing else.

    From zeros the first win may not come for hundreds of thousands of decisions.
    """
    weights = np.zeros(len(FEATURES), dtype=np.float32)
    weights[FEATURES.index("plan_best")] = BEST_PLAN
    return weights


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
            reach_terms(self.rules),
            every_table(self.rules.draw_count),
            room(NODES, 1),
            QUOTA,
            MORE,
            *room_for_worlds(1),
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
