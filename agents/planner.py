"""`planner`: a trained linear choice among plans, no sampling.

Each plan is scored by the features of `klondike_env.solvers.klondike.choice`, a look at the plans
that could follow it among them; `agents.train_planner` finds the weights. It is deterministic.
"""

from __future__ import annotations

from agents.plan_agent import PlanAgent, load_weights
from klondike_env.solvers.klondike.choice import ByWeights
from klondike_env.solvers.klondike.planning import Chooser

QUOTA, MORE = 6, 1_500


class Planner(PlanAgent):
    """Plays the plan that scores best."""

    name = "planner"

    def make_chooser(self) -> Chooser:
        return ByWeights(self.rules, load_weights("planner", self.rules), QUOTA, MORE)
