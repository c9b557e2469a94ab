"""`ppo-plan`: a small network, trained by PPO, that chooses among plans.

The network is that of `ppo`; what it scores are the plans that `planner` chooses among, by the same
features, with an overview of all of them beside. `agents.train` trains it in `agents.plan_env`, and
`agents/policies` holds the weights, each with its card. Playing needs no PyTorch.

The weights of draw 1 play draw 1, those of draw 3 every other draw count.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from agents.plan_agent import PlanAgent, check_free
from agents.planner import MORE, QUOTA
from agents.ppo import POLICIES, Layout, Weights, score_candidates
from klondike_env.compiled import entry_point, inlined, popcount
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import choice
from klondike_env.solvers.klondike.choice import NUM_FREE, SECOND_NODES, list_choices, room
from klondike_env.solvers.klondike.compact import FOUR, NIBBLE, ZERO, U, every_table, spaces
from klondike_env.solvers.klondike.planning import MAX_NODES, THINKING, Chooser, take_plan
from klondike_env.solvers.klondike.plans import MAX_PLANS
from klondike_env.solvers.klondike.worlds import draw_worlds, room_for_worlds

FEATURES = choice.FEATURES[:NUM_FREE]
"""Names of a plan's features, those that tell where the stock is free to look through."""
_PILES, _SUITS = 7, 4
_OWN = (
    *(f"face_down_{place}" for place in range(1, _PILES + 1)),  # of each pile / 6, most first
    *(f"foundation_{place}" for place in range(1, _SUITS + 1)),  # cards up / 13, most first
    "face_down",  # / 21
    "up",  # cards on the foundations / 52
    "spaces",  # / 4
    "stock",  # cards / 24
    "plans",  # / 16
)
_MOST = len(_OWN)
OVERVIEW = (
    *_OWN,
    *(f"most_{name}" for name in FEATURES),
    *(f"mean_{name}" for name in FEATURES),
)
"""Names of what is said of a position: its own numbers, the plans' highest and mean features."""
PLANS = Layout(FEATURES, OVERVIEW)
"""The layout of a network whose candidates are plans."""


@inlined
def _insert(numbers, first, count, value):  # type: ignore[no-untyped-def]
    """Put a value among `count` sorted ones from place `first` on, highest first."""
    place = first + count
    while place > first and numbers[place - 1] < value:
        numbers[place] = numbers[place - 1]
        place -= 1
    numbers[place] = value


@inlined
def oversee(state, features, count, overview):  # type: ignore[no-untyped-def]
    """Write the overview of a position whose plans have been described.

    Args:
        state: `STATE`.
        features: of the plans, [C, NUM_FREE or more].
        count: plans, at least 1.
        overview: [len(OVERVIEW)], written.
    """
    for i in range(_PILES):
        dealt = np.float64((state.dealt >> (FOUR * U(i))) & NIBBLE)
        _insert(overview, 0, i, max(dealt - 1.0, 0.0) / 6)
    total = 0.0
    for s in range(_SUITS):
        up = np.float64((state.up >> (FOUR * U(s))) & NIBBLE)
        total += up
        _insert(overview, _PILES, s, up / 13)
    at = _PILES + _SUITS
    overview[at] = np.int64(state.face_down) / 21
    overview[at + 1] = total / 52
    overview[at + 2] = np.int64(spaces(state)) / 4
    overview[at + 3] = np.int64(popcount(state.stock)) / 24
    overview[at + 4] = count / 16
    for f in range(NUM_FREE):
        most, mean = features[0, f], 0.0
        for k in range(count):
            most = max(most, features[k, f])
            mean += features[k, f]
        overview[_MOST + f] = most
        overview[_MOST + NUM_FREE + f] = mean / count


@entry_point
def _choose(memory, games, terms, every, worlds, tools, quota, more, weights, scratch):  # type: ignore[no-untyped-def]
    """The plan with the highest score, the first of equals, for every row that thinks."""
    game, states, deals = worlds
    overview, base, hidden, scores = scratch
    features = tools[3]
    for b in range(memory.shape[0]):
        if memory[b].stage != THINKING:
            continue
        # Where the unseen cards lie makes no difference.
        draw_worlds(games[b : b + 1], terms, ZERO, game, states, deals)
        count = list_choices(states[:1], deals[:1], every, True, False, tools, quota, more)
        best = min(count, 1) - 1
        if count > 1:
            oversee(states[0], features, count, overview)
            score_candidates(features, overview, count, weights, base, hidden, scores)
            for k in range(count):
                if scores[k] > scores[best]:
                    best = k
        take_plan(memory[b], tools[0], best)


class ByNetwork:
    """Chooses the plan that the network scores highest.

    Args:
        rules: of the game, under which the stock is free to look through.
        weights: of the network.
        quota: plans a pile.
        more: positions looked at after the first plan is found.
    """

    def __init__(
        self, rules: KlondikeRules, weights: Weights, quota: int = QUOTA, more: int = MORE
    ) -> None:
        size = len(weights.bias)
        scratch = tuple(
            np.zeros(length, dtype=np.float32) for length in (len(OVERVIEW), size, size, MAX_PLANS)
        )
        self._tools = (
            every_table(rules.draw_count),
            room_for_worlds(1),
            room(MAX_NODES, SECOND_NODES),
            quota,
            more,
            weights.for_kernels(),
            scratch,
        )

    def choose(self, memory: np.ndarray, games: np.ndarray, terms: np.ndarray) -> None:
        arguments: tuple[Any, ...] = (memory, games, terms, *self._tools)
        _choose(*arguments)

    def restart(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        pass


class PpoPlan(PlanAgent):
    """Plays the plan that the trained network scores highest.

    Args:
        rules: of the game.
        weights: those of its policy by default.

    Raises:
        ValueError: rules that it does not play, or a policy's file that does not fit the features.
    """

    name = "ppo-plan"
    check = staticmethod(check_free)

    def __init__(
        self, rules: KlondikeRules | None = None, *, weights: Weights | None = None
    ) -> None:
        self._weights = weights
        super().__init__(rules)

    def make_chooser(self) -> Chooser:
        weights = self._weights or Weights.load(policy_file(self.rules), PLANS)
        return ByNetwork(self.rules, weights)


def policy_file(rules: KlondikeRules) -> Path:
    """The file of the shipped policy that plays these rules."""
    return POLICIES / f"ppo-plan-draw{1 if rules.draw_count == 1 else 3}.npz"
