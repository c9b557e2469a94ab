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
has two matching queens, those of the other colour: one in sight is enough for 1, and -1 is for both
face down. While stock cards are unseen, nobody knows which cards are face down, so a queen not in
sight counts 0 then. Tableau cards that go up to a foundation get the first two priorities too. A
draw or redeal is `any other` move. The paper counts a repeated configuration as lost; an agent
cannot resign, so moves that repeat are passed over as `agents.chooser` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.chooser import Chooser
from agents.features import FEATURES, F
from klondike_env.cards import FACE_DOWN
from klondike_env.games.klondike.rules import KlondikeRules

_SCORE, _PRIORITY = 10_000.0, 100.0  # far apart, and a priority far above the random part

_WEIGHTS = {
    "pile_to_foundation": 5 * _SCORE,
    "stock_to_pile": 5 * _SCORE + _PRIORITY,
    "take_back": -10 * _SCORE,
    "empties_pile": _PRIORITY,
    **{f"reveal_{k}": (k + 1) * _PRIORITY for k in range(1, 7)},
}


class Yan(Chooser):
    """Highest score, then highest priority, then at random."""

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        # Drawn from the softmax of scores that lie 100 apart: the best ones, each equally likely.
        super().__init__(rules, is_random=True)
        self._weights = np.array([_WEIGHTS.get(name, 0.0) for name in FEATURES], dtype=np.float32)

    def score(self, observations: Any) -> np.ndarray:
        """Scores of the present candidates."""
        features = self.candidates.features
        scores = features @ self._weights
        in_sight = features[:, :, F.king_queen_base] + features[:, :, F.king_queen_open] > 0
        all_seen = ~(observations["stock"] == FACE_DOWN).any(axis=1)
        is_king = (features[:, :, F.king_to_space] > 0) & (features[:, :, F.stock_to_pile] > 0)
        # Already counted 1, as for any card.
        scores[is_king & ~in_sight & all_seen[:, None]] -= 2 * _PRIORITY
        scores[is_king & ~in_sight & ~all_seen[:, None]] -= _PRIORITY
        return scores
