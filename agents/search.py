"""`search`: plays the plan that does best in sampled worlds. The strongest player here.

A world is a guess of where the cards not yet seen lie, drawn uniformly; it is all that the agent
knows of them. `klondike_env.solvers.klondike.lookahead` plays every plan out in the same worlds and
drops those that do worst. `search-fast` is the same with fewer worlds.

What settings the outcomes of every plan in 512 worlds favour, at some 200 decisions of training
deals: the mean gain a decision over the prior's choice, in points of the win rate (draw 1 / draw
3), is 0.60 / 1.15 with 16 plans and 192 worlds, 0.52 / 0.99 with 128, 0.61 / 1.05 with 256, and
0.25 / 0.59 with 4 plans and 64 worlds. A point of the prior's score is worth some 0.001: with
0.004 a fifth of the gain or more is lost, with 0.02 most of it. Races that drop plans by paired
differences instead of by halves gain no more for the same number of games. Nor did it help to
train the weights of the play within worlds on its narrow list of plans (73.4 % against 73.3 % of
draw 1, 42.3 against 42.1 of draw 3, 6,000 validation deals), or to mix in what the solver says of
a world (draw 3, 57.3 % against 56.7 % of 150).
"""

from __future__ import annotations

from agents.plan_agent import PlanAgent, check_free, load_weights
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.lookahead import ByWorlds, Effort
from klondike_env.solvers.klondike.planning import Chooser

DEFAULT = Effort(
    worlds=192,
    plans=16,
    quota=6,
    more=1_000,
    roll_quota=3,
    roll_more=30,
    exact_states=2_000,
    verdict_states=0,
    verdict_share=0.0,
    prior=0.001,
)
FAST = DEFAULT._replace(worlds=48, plans=4, prior=0.0015)
VOTES = DEFAULT._replace(worlds=16, verdict_states=1_000, verdict_share=1.0, prior=0.001)


class Search(PlanAgent):
    """Plays the plan that does best in sampled worlds.

    Args:
        rules: of the game.
        effort: how much is looked at.
    """

    name = "search"
    plays_alone = True

    def __init__(self, rules: KlondikeRules | None = None, effort: Effort = DEFAULT) -> None:
        self.effort = effort
        super().__init__(rules)

    def make_chooser(self) -> Chooser:
        return ByWorlds(
            self.rules,
            load_weights("planner", self.rules),
            load_weights("rollout", self.rules),
            self.effort,
        )


class Fast(Search):
    """`Search` with a tenth of the work."""

    name = "search-fast"

    def __init__(self, rules: KlondikeRules | None = None, effort: Effort = FAST) -> None:
        super().__init__(rules, effort)


class Hop(Search):
    """Hindsight optimisation: worlds vote by what the solver says of them, no play within them.

    The classical use of sampled worlds: it overrates plans that pay only for somebody who knows
    where the cards lie.
    """

    name = "hop"
    check = staticmethod(check_free)

    def __init__(self, rules: KlondikeRules | None = None, effort: Effort = VOTES) -> None:
        super().__init__(rules, effort)
