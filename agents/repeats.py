"""Remembers, game by game, the positions seen since the last irreversible move.

A position is the tableau and the foundations, spaces being interchangeable; an irreversible move
turns a card up or plays a stock card. Draws and redeals make no new position: they count as repeats
once they have gone through the whole stock twice without a card moved.

All this comes from observations alone: face-down and stock cards are counted, and when a count
changes, or a new game begins, the record starts anew.
"""

from __future__ import annotations

import numpy as np

from agents.features import MAX_CANDIDATES, Candidates
from klondike_env.compiled import entry_point

SLOTS = 1024  # of the record of positions, a power of two
FULL = 768
_LAST_SLOT = np.uint64(SLOTS - 1)
_IRREVERSIBLE, SAME_TABLEAU = np.uint64(0), np.uint64(1)  # see agents.features
_ONE = np.uint64(1)


@entry_point
def look_up(  # type: ignore[no-untyped-def]
    rows,  # int64[M]: the game of each description
    keys,  # uint64[M, C]
    counts,  # int64[M]
    positions,  # uint64[M]
    stages,  # int64[M]
    idle_limit,
    seen,  # uint64[B, SLOTS]: hash table of the positions since the last irreversible move
    visits,  # int32[B, SLOTS]
    used,  # int64[B]: positions in it
    last_stages,  # int64[B]
    last_positions,  # uint64[B]
    idle,  # int64[B]: draws and redeals since a card moved
    repeats,  # out int64[M, C]: how often each candidate's position was seen
):
    """Add the present position of every game to its record and look its candidates up."""
    for m in range(rows.shape[0]):
        b = rows[m]
        if stages[m] != last_stages[b]:
            last_stages[b] = stages[m]
            last_positions[b] = 0
            idle[b] = 0
            if used[b] > 0:
                seen[b, :] = 0
                visits[b, :] = 0
                used[b] = 0
        if counts[m] == 0:
            continue
        position = positions[m]
        if position != last_positions[b]:
            last_positions[b] = position
            slot = position & _LAST_SLOT
            while seen[b, slot] != 0 and seen[b, slot] != position:
                slot = (slot + _ONE) & _LAST_SLOT
            if seen[b, slot] == 0 and used[b] < FULL:
                seen[b, slot] = position
                used[b] += 1
            visits[b, slot] += 1
        for c in range(counts[m]):
            key = keys[m, c]
            times = np.int64(0)
            if key == SAME_TABLEAU:
                if idle[b] >= idle_limit:
                    times = np.int64(idle[b] // idle_limit)
            elif key != _IRREVERSIBLE:
                slot = key & _LAST_SLOT
                while seen[b, slot] != 0 and seen[b, slot] != key:
                    slot = (slot + _ONE) & _LAST_SLOT
                times = np.int64(visits[b, slot])
            repeats[m, c] = times


class Positions:
    """The positions seen in each of `num_envs` games.

    Args:
        num_envs: games side by side, B.
        draw_count: cards turned by a draw.

    Attributes:
        used: int64[B], positions in the record of each game.
        idle: int64[B], draws and redeals since a card moved; whoever plays keeps it up to date.
    """

    def __init__(self, num_envs: int, draw_count: int) -> None:
        # Packets of two full passes and their redeals.
        self._idle_limit = 2 * (-(-24 // draw_count) + 1)
        self._everyone = np.arange(num_envs)
        self._seen = np.zeros((num_envs, SLOTS), dtype=np.uint64)
        self._visits = np.zeros((num_envs, SLOTS), dtype=np.int32)
        self._last_stages = np.full(num_envs, -1, dtype=np.int64)
        self._last_positions = np.zeros(num_envs, dtype=np.uint64)
        self.used = np.zeros(num_envs, dtype=np.int64)
        self.idle = np.zeros(num_envs, dtype=np.int64)

    def start_games(self, rows: np.ndarray) -> None:
        """Forget the positions of the last games in these rows (int64[R])."""
        self._last_stages[rows] = -1

    def repeats(self, found: Candidates, rows: np.ndarray | None = None) -> np.ndarray:
        """Note the present positions; how often was the position after each candidate seen?

        Args:
            found: the candidates of M games.
            rows: which games they are, int64[M]; None for all, in order.

        Returns:
            int64[M, MAX_CANDIDATES].
        """
        repeats = np.zeros((len(found.counts), MAX_CANDIDATES), dtype=np.int64)
        look_up(
            self._everyone if rows is None else rows,
            found.keys,
            found.counts,
            found.positions,
            found.stages,
            self._idle_limit,
            self._seen,
            self._visits,
            self.used,
            self._last_stages,
            self._last_positions,
            self.idle,
            repeats,
        )
        return repeats
