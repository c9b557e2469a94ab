"""`plan`: turns up the card whose turning earns most for what it costs.

`klondike_env.solvers.klondike.plans` has the costs and earnings. The plan with the highest earning
minus cost is played to its end; then the next one is sought. When at most one card is face down,
all are known, and the game is finished by search.
"""

from __future__ import annotations

from agents.plan_agent import PlanAgent, check_free
from klondike_env.solvers.klondike.planning import ByValue, Chooser


class Plan(PlanAgent):
    """Plays the plan that earns most for what it costs."""

    name = "plan"
    check = staticmethod(check_free)

    def make_chooser(self) -> Chooser:
        return ByValue(self.rules)
