"""`greedy`: the six priorities of Bjarnason, Fern and Tadepalli (ICAPS 2009).

1. tableau to foundation that turns a card up
2. any play to a foundation
3. tableau to tableau that turns a card up
4. stock card to tableau
5. foundation to tableau
6. tableau to tableau without turning a card up

Readings: of several moves of one priority the lowest action id is played. Moves that repeat an
earlier state are barred, as in the paper; `agents.chooser` says what is played when all do. The
order goes on when nothing is face down any more, where the paper starts a search. Where draws are
actions of their own they come last, redeals after them; a stock card seen on an earlier pass counts
as a stock card while draws lead to it, later ones after sooner ones.
"""

from __future__ import annotations

import numpy as np

from agents.chooser import LinearChooser
from agents.features import FEATURES
from klondike_env.games.klondike.rules import KlondikeRules

ORDER = {
    "pile_to_foundation": 40.0,
    "stock_to_foundation": 40.0,
    "reveal": 30.0,
    "reveal_upward": -20.0,  # 50 in all
    "stock_to_pile": 20.0,
    "take_back": 10.0,
    "draw": -10.0,
    "redeal": -20.0,
    "later_draws": -2.0,
}
"""Features weighted so that their sums fall in the order of the priorities."""


class Greedy(LinearChooser):
    """Plays the first of six kinds of moves that is there."""

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        weights = np.array([ORDER.get(name, 0.0) for name in FEATURES], dtype=np.float32)
        super().__init__(weights, rules)
