"""`uct`: ensemble UCT over single moves, the search of the literature, as a baseline.

After Bjarnason, Fern and Tadepalli (ICAPS 2009); see `klondike_env.solvers.klondike.uct`. Moves
that repeat a position since the last card turned up are barred, as theirs are.
"""

from __future__ import annotations

from agents.plan_agent import PlanAgent, check_free
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike.planning import Chooser
from klondike_env.solvers.klondike.uct import ByTrees


class Uct(PlanAgent):
    """Plays the move that trees of trajectories value most.

    Args:
        rules: of the game.
        trees: that vote on a move.
        trajectories: of each tree.
        exploration: constant of the upper confidence bound.
    """

    name = "uct"
    plays_alone = True
    check = staticmethod(check_free)

    def __init__(
        self,
        rules: KlondikeRules | None = None,
        trees: int = 20,
        trajectories: int = 200,
        exploration: float = 1.0,
    ) -> None:
        self._settings = trees, trajectories, exploration
        super().__init__(rules)

    def make_chooser(self) -> Chooser:
        return ByTrees(self.rules, *self._settings)
