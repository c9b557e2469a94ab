"""`yan`: the heuristic of Yan, Diaconis, Rusmevichientong and Van Roy (NIPS 2004).

The move with the highest score is played; of these the one with the highest priority; of these one
at random.

=====================================================================  =====
move                                                                   score
=====================================================================  =====
tableau to foundation, stock or waste to tableau                           5
foundation to tableau                                                    -10
any other                                                                  0
=====================================================================  =====

==============================================================================  ========
move                                                                            priority
==============================================================================  ========
tableau card that leaves a face-down card to turn up, k face down in its pile   k + 1
tableau card that leaves a space                                                1
stock or waste card to tableau, no king                                         1
stock or waste king, its queen in stock, waste, foundation or face up           1
stock or waste king, its queen face down                                        -1
any other                                                                       0
==============================================================================  ========

Readings. The heuristic was made for thoughtful play; here it uses what a player may know. A king
has two matching queens, those of the other colour: one in sight is enough for 1, and -1 is for
both face down. While stock cards are unseen, nobody knows which cards are face down, so a queen
not in sight counts 0 then. Tableau cards that go up to a foundation get the first two priorities
too. Draws and redeals are moves like any other, so `yan` plays the `turn` actions everywhere: only
the waste card at hand can be played before the next draw. (With every reachable stock card at
hand, each would be played before a card is turned up, and far fewer games are won: of 1,000
validation deals 5 % of draw 3 against 14 %.) The paper counts a repeated configuration as lost; an
agent cannot resign, so moves that repeat are passed over as `agents.chooser` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.chooser import LinearChooser
from agents.features import FEATURES, F
from klondike_env.cards import FACE_DOWN
from klondike_env.compiled import entry_point
from klondike_env.games.klondike.rules import KlondikeRules

_SCORE, _PRIORITY = 10_000.0, 100.0  # far apart, and a priority far above the random part

_WEIGHTS = {
    "pile_to_foundation": 5 * _SCORE,
    "stock_to_pile": 5 * _SCORE + _PRIORITY,
    "take_back": -10 * _SCORE,
    "empties_pile": _PRIORITY,
    "later_draws": -1e8,  # stock cards that cannot be played yet
    **{f"reveal_{k}": (k + 1) * _PRIORITY for k in range(1, 7)},
}


@entry_point
def _welcome_kings(features, counts, stock, scores):  # type: ignore[no-untyped-def]
    """Correct the priority 1, which every stock card has got, for kings."""
    for b in range(counts.shape[0]):
        is_stock_seen = True
        for k in range(stock.shape[1]):
            if stock[b, k] == FACE_DOWN:
                is_stock_seen = False
        for c in range(counts[b]):
            x = features[b, c]
            if x[F.king_to_space] > 0 and x[F.stock_to_pile] > 0:
                if x[F.king_queen_base] + x[F.king_queen_open] > 0:
                    continue
                scores[b, c] -= 2 * _PRIORITY if is_stock_seen else _PRIORITY


class Yan(LinearChooser):
    """Highest score, then highest priority, then at random."""

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        weights = np.array([_WEIGHTS.get(name, 0.0) for name in FEATURES], dtype=np.float32)
        # Drawn from the softmax of scores that lie 100 apart: the best ones, each equally likely.
        super().__init__(weights, rules, is_random=True)
        self.actions = "turn"

    def score(self, observations: Any) -> np.ndarray:
        """Scores of the present candidates."""
        scores = super().score(observations)
        found = self.candidates
        _welcome_kings(found.features, found.counts, observations["stock"], scores)
        return scores
