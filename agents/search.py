"""`search`: plays the plan that does best in sampled worlds. The strongest player here.

A world is a guess of where the cards not yet seen lie, drawn uniformly; it is all that the agent
knows of them. `klondike_env.solvers.klondike.lookahead` plays every plan out in the same worlds and
drops those that do worst. `search-fast` is the same with fewer worlds.

The settings come from the outcomes of every plan in many worlds, at decisions of training deals,
and from games on the suite `validation`. In draw 1 plans differ by less, so it takes more worlds to
tell them apart. There the solver finishes a world as soon as a dozen cards lie face down, for what
can be won from there is nearly always won: it takes half the time of playing on and wins as many of
1,000 deals. In draw 3 that is not so, and the solver, which knows all cards, would promise too
much. A point of the prior's score is worth little: several times more, and the search hardly leaves
the prior; only `search-fast` in draw 1, with its few worlds, trusts it more. Dropping plans by
paired differences instead of by halves showed no gain. Mixing in what the solver says of a world
(`verdict_share` a quarter or a half) made no difference that 1,000 deals of draw 1 could tell from
chance; nor did four times the worlds under Vegas rules.
"""

from __future__ import annotations

from typing import ClassVar

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
    exact_down=1,
    exact_states=2_000,
    verdict_states=0,
    verdict_share=0.0,
    prior=0.001,
)
DRAW_1 = DEFAULT._replace(worlds=640, exact_down=12, exact_states=200)
"""Of draw 1 with a free stock."""
FAST = DEFAULT._replace(worlds=48, plans=4, prior=0.0015)
FAST_DRAW_1 = FAST._replace(worlds=96, exact_down=12, exact_states=200, prior=0.004)
VOTES = DEFAULT._replace(worlds=16, verdict_states=1_000, verdict_share=1.0, prior=0.001)


class Search(PlanAgent):
    """Plays the plan that does best in sampled worlds.

    Args:
        rules: of the game.
        effort: how much is looked at; by default what was found best for these rules.
    """

    name = "search"
    plays_alone = True
    efforts: ClassVar[tuple[Effort, Effort]] = (DEFAULT, DRAW_1)
    """By default: that of most rules, and that of draw 1 with a free stock."""

    def __init__(self, rules: KlondikeRules | None = None, effort: Effort | None = None) -> None:
        if effort is None:
            rules = rules or KlondikeRules()
            most, draw_1 = self.efforts
            effort = draw_1 if rules.draw_count == 1 and rules.passes is None else most
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
    efforts = (FAST, FAST_DRAW_1)


class Hop(Search):
    """Hindsight optimisation: worlds vote by what the solver says of them, no play within them.

    The classical use of sampled worlds: it overrates plans that pay only for somebody who knows
    where the cards lie.
    """

    name = "hop"
    check = staticmethod(check_free)
    efforts = (VOTES, VOTES)
