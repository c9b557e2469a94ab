"""What a learner is told of a whole position, beside the features of each move.

The first numbers describe the position itself; the rest is, for each feature of
`agents.plan_features`, its highest value among the candidate moves: what the best move in that
respect offers. All of it comes from observation arrays, so hidden cards cannot leak.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agents.plan_features import FEATURES, Candidates
from klondike_env.compiled import entry_point

_PILES = 7
_OWN = (
    "face_down",  # face-down cards / 21
    *(f"face_down_{place}" for place in range(1, 8)),  # of each pile / 6, most first
    "spaces",
    *(f"foundation_{place}" for place in range(1, 5)),  # cards up / 13, most first
    "up",  # cards on the foundations / 52
    "stock",  # cards / 24
    "waste",
    "unseen",  # stock cards never seen / 24
    "redeals",  # left, over 3; 1 if unlimited
    "candidates",  # / 16
)
OVERVIEW = (*_OWN, *(f"most_{name}" for name in FEATURES))
"""Names of the numbers, in order."""
_MOST = len(_OWN)


@entry_point
def summarize(  # type: ignore[no-untyped-def]
    tableau,  # int8[B, 7, 19]
    foundations,  # int8[B, 4]
    waste,  # int8[B, 24]
    stock,  # int8[B, 24]
    redeals_left,  # int16[B, 1]
    face_down,  # int8[B, 7], read only if cards_known
    cards_known,
    features,  # float32[B, C, F]: of the candidates
    counts,  # int64[B]
    overview,  # out float32[B, len(OVERVIEW)]
):
    """Fill in the overview of every row."""
    down = np.empty(_PILES, np.int64)
    up = np.empty(4, np.int64)
    for b in range(counts.shape[0]):
        x = overview[b]
        x[:] = 0.0
        spaces = np.int64(0)
        total = np.int64(0)
        for i in range(_PILES):
            hidden = np.int64(0)
            if cards_known:
                hidden = np.int64(face_down[b, i])
            else:
                while hidden < 19 and tableau[b, i, hidden] == 53:
                    hidden += 1
            spaces += np.int64(tableau[b, i, 0] == 0)
            total += hidden
            place = np.int64(i)  # sorted by insertion, most first
            while place > 0 and down[place - 1] < hidden:
                down[place] = down[place - 1]
                place -= 1
            down[place] = hidden
        up_total = np.int64(0)
        for s in range(4):
            cards = np.int64(foundations[b, s])
            up_total += cards
            place = np.int64(s)
            while place > 0 and up[place - 1] < cards:
                up[place] = up[place - 1]
                place -= 1
            up[place] = cards
        x[0] = total / 21.0
        for i in range(_PILES):
            x[1 + i] = down[i] / 6.0
        x[8] = spaces / 7.0
        for s in range(4):
            x[9 + s] = up[s] / 13.0
        x[13] = up_total / 52.0
        in_stock = np.int64(0)
        in_waste = np.int64(0)
        unseen = np.int64(0)
        for k in range(24):
            in_stock += np.int64(stock[b, k] != 0)
            in_waste += np.int64(waste[b, k] != 0)
            unseen += np.int64(stock[b, k] == 53)
        x[14] = in_stock / 24.0
        x[15] = in_waste / 24.0
        x[16] = unseen / 24.0
        redeals = redeals_left[b, 0]
        x[17] = 1.0 if redeals < 0 else min(redeals, 3) / 3.0
        x[18] = counts[b] / 16.0
        for c in range(counts[b]):
            for f in range(features.shape[2]):
                x[_MOST + f] = max(x[_MOST + f], features[b, c, f])


def overviews(observations: Mapping[str, np.ndarray], found: Candidates | None) -> np.ndarray:
    """The overviews of a batch of observations.

    Args:
        observations: [B, ...].
        found: their candidates, as described; None where the games have ended.

    Returns:
        float32[B, len(OVERVIEW)].
    """
    size = len(observations["tableau"])
    overview = np.empty((size, len(OVERVIEW)), dtype=np.float32)
    summarize(
        observations["tableau"],
        observations["foundations"],
        observations["waste"],
        observations["stock"],
        observations["redeals_left"],
        observations.get("face_down", np.zeros((size, _PILES), dtype=np.int8)),
        "face_down" in observations,
        np.zeros((size, 0, len(FEATURES)), dtype=np.float32) if found is None else found.features,
        np.zeros(size, dtype=np.int64) if found is None else found.counts,
        overview,
    )
    return overview
