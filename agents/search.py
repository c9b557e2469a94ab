"""`search`: plays the plan that does best in sampled worlds. The strongest player here.

A world is a guess of where the cards not yet seen lie, drawn uniformly; it is all that the agent
knows of them. `klondike_env.solvers.klondike.lookahead` plays every plan out in the same worlds and
drops those that do worst. `search-fast` is the same with fewer worlds.

The settings come from the outcomes of every plan in many worlds, at decisions of training deals,
and from games on the suite `validation`. In draw 1 plans differ by less, so it takes more worlds to
tell them apart. With `exact_down` cards face down the solver finishes a world, which takes less
time than playing on and wins no less (1,000 deals of draw 1, 1,500 of draw 3). It knows all cards,
so much earlier, or with cards of the stock unseen, it would promise too much. A point of the
prior's score is worth little: several times more, and the search hardly leaves the prior; only
`search-fast` in draw 1, with its few worlds, trusts it more.

What showed no gain: dropping plans by paired differences instead of by halves; mixing in what the
solver says of a world at once (`verdict_share` a quarter or a half, 1,000 deals of draw 1); four
times the worlds under Vegas rules.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from agents.plan_agent import PlanAgent, check_free, load_weights
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.lookahead import ByWorlds, Effort
from klondike_env.solvers.klondike.planning import Chooser


class Efforts(NamedTuple):
    """What is found best for some rules.

    Attributes:
        draw_1: draw 1, the stock free to look through.
        draw_more: larger draws, the stock free to look through.
        limited: limited passes, for wins or for money.
    """

    draw_1: Effort
    draw_more: Effort
    limited: Effort

    def of(self, rules: KlondikeRules) -> Effort:
        """What is for these rules."""
        if rules.passes is not None:
            return self.limited
        return self.draw_1 if rules.draw_count == 1 else self.draw_more


LIMITED = Effort(
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
DEFAULT = Efforts(
    draw_1=LIMITED._replace(worlds=640, exact_down=12, exact_states=200),
    draw_more=LIMITED._replace(worlds=320, exact_down=9, exact_states=500),
    limited=LIMITED,
)
FAST = Efforts(
    draw_1=DEFAULT.draw_1._replace(worlds=96, plans=4, prior=0.004),
    draw_more=DEFAULT.draw_more._replace(worlds=48, plans=4, prior=0.0015),
    limited=LIMITED._replace(worlds=48, plans=4, prior=0.0015),
)
VOTES = LIMITED._replace(worlds=16, verdict_states=1_000, verdict_share=1.0)


class Search(PlanAgent):
    """Plays the plan that does best in sampled worlds.

    Args:
        rules: of the game.
        effort: how much is looked at; by default what was found best for these rules.
    """

    name = "search"
    plays_alone = True
    efforts: ClassVar[Efforts] = DEFAULT

    def __init__(self, rules: KlondikeRules | None = None, effort: Effort | None = None) -> None:
        self.effort = self.efforts.of(rules or KlondikeRules()) if effort is None else effort
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
    efforts = FAST


class Hop(Search):
    """Hindsight optimisation: worlds vote by what the solver says of them, no play within them.

    The classical use of sampled worlds: it overrates plans that pay only for somebody who knows
    where the cards lie.
    """

    name = "hop"
    check = staticmethod(check_free)
    efforts = Efforts(VOTES, VOTES, VOTES)
