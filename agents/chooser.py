"""Agents that score each candidate move and play the best, never going in circles.

A move that recreates a position seen since the last irreversible move is passed over; a position is
the tableau and the foundations, spaces being interchangeable, and an irreversible move turns a card
up or plays a stock card. Draws and redeals that have gone through the whole stock twice without a
card moved are passed over too. If every move is passed over, the one whose position was seen least
often is played, the better score breaking ties: so the positions that can still be reached are all
tried. Once even the least seen has been seen `PATIENCE` times, nothing new is in reach and the
lowest legal action is played, until something irreversible happens or the game ends.

All this comes from observations alone: face-down and stock cards are counted, and when a count
changes, or a new game begins, the record of positions starts anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.base import Agent, best_actions
from agents.features import MAX_CANDIDATES, Candidates
from klondike_env.compiled import entry_point
from klondike_env.games.klondike.rules import KlondikeRules

PATIENCE = 3
SLOTS = 1024  # of the record of positions, a power of two
_FULL = 768
_LAST_SLOT = np.uint64(SLOTS - 1)
_IRREVERSIBLE, _SAME_TABLEAU = np.uint64(0), np.uint64(1)  # see agents.features
_ONE = np.uint64(1)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


@entry_point
def choose(  # type: ignore[no-untyped-def]
    scores,  # float32[B, C]
    keys,  # uint64[B, C]
    actions,  # int64[B, C]
    counts,  # int64[B]
    positions,  # uint64[B]
    stages,  # int64[B]
    masks,  # int8[B, A]
    streams,  # uint64[B]: random streams, advanced
    is_random,  # draw from the softmax of the scores instead of playing the best
    idle_limit,
    seen,  # uint64[B, SLOTS]: hash table of the positions since the last irreversible move
    visits,  # int32[B, SLOTS]
    used,  # int64[B]: positions in it
    last_stages,  # int64[B]
    last_positions,  # uint64[B]
    idle,  # int64[B]: draws and redeals since a card moved
    idle_stages,  # int64[B]: the stage at which a row has given up, or -1
    repeats,  # out int64[B, C]: how often each candidate's position was seen
    choices,  # out int64[B]: place of the candidate played, -1 if none
    played,  # out int64[B]: the action
):
    """Choose a candidate in every row and keep the record of positions."""
    for b in range(counts.shape[0]):
        if stages[b] != last_stages[b]:
            last_stages[b] = stages[b]
            last_positions[b] = 0
            idle_stages[b] = -1
            idle[b] = 0
            if used[b] > 0:
                seen[b, :] = 0
                visits[b, :] = 0
                used[b] = 0
        choices[b] = -1
        if counts[b] == 0:
            # Ended or given up.
            played[b] = 0
            for a in range(masks.shape[1]):
                if masks[b, a] != 0:
                    played[b] = a
                    break
            continue

        position = positions[b]
        if position != last_positions[b]:
            last_positions[b] = position
            slot = position & _LAST_SLOT
            while seen[b, slot] != 0 and seen[b, slot] != position:
                slot = (slot + _ONE) & _LAST_SLOT
            if seen[b, slot] == 0 and used[b] < _FULL:
                seen[b, slot] = position
                used[b] += 1
            visits[b, slot] += 1

        best = np.int64(-1)
        best_repeats = np.int64(0)
        best_score = 0.0
        for c in range(counts[b]):
            key = keys[b, c]
            times = np.int64(0)
            if key == _SAME_TABLEAU:
                if idle[b] >= idle_limit:
                    times = np.int64(idle[b] // idle_limit)
            elif key != _IRREVERSIBLE:
                slot = key & _LAST_SLOT
                while seen[b, slot] != 0 and seen[b, slot] != key:
                    slot = (slot + _ONE) & _LAST_SLOT
                times = np.int64(visits[b, slot])
            repeats[b, c] = times
            score = np.float64(scores[b, c])
            if is_random:
                # Adding Gumbel noise to the scores makes the best one a draw from their softmax.
                streams[b] += _GAMMA
                word = streams[b]
                word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                word = word ^ (word >> np.uint64(31))
                uniform = (np.float64(word >> np.uint64(11)) + 0.5) / 9007199254740992.0
                score -= np.log(-np.log(uniform))
            better = times < best_repeats or (times == best_repeats and score > best_score)
            if best < 0 or better:
                best = np.int64(c)
                best_repeats = times
                best_score = score
        if best_repeats >= PATIENCE or used[b] >= _FULL:
            idle_stages[b] = stages[b]
        idle[b] = idle[b] + 1 if keys[b, best] == _SAME_TABLEAU else 0
        choices[b] = best
        played[b] = actions[b, best]


class Chooser(Agent):
    """Plays the candidate with the best score; subclasses say how to score.

    Args:
        rules: the rules of the game.
        is_random: draw the move from the softmax of the scores instead, with random numbers that
            come from each game's seed.

    Attributes:
        candidates: those of the last decision.
        repeats: int64[B, MAX_CANDIDATES], how often the position of each had been seen.
        choices: int64[B], the place of the candidate played, -1 in rows without one.
    """

    def __init__(self, rules: KlondikeRules | None = None, *, is_random: bool = False) -> None:
        super().__init__(rules)
        self.actions = best_actions(self.rules)
        self.is_random = is_random
        self.candidates = Candidates(self.rules)
        # Packets of two full passes and their redeals.
        self._idle_limit = 2 * (-(-24 // self.rules.draw_count) + 1)

    def score(self, observations: Any) -> np.ndarray:
        """Scores of the present `candidates`: float32[B, MAX_CANDIDATES]."""
        raise NotImplementedError

    def reset(self, num_envs: int, seed: int = 0) -> None:
        """Prepare for `num_envs` rows, each with a new game."""
        self._seen = np.zeros((num_envs, SLOTS), dtype=np.uint64)
        self._visits = np.zeros((num_envs, SLOTS), dtype=np.int32)
        self._used = np.zeros(num_envs, dtype=np.int64)
        self._last_stages = np.full(num_envs, -1, dtype=np.int64)
        self._last_positions = np.zeros(num_envs, dtype=np.uint64)
        self._idle = np.zeros(num_envs, dtype=np.int64)
        self._idle_stages = np.full(num_envs, -1, dtype=np.int64)
        self._streams = np.zeros(num_envs, dtype=np.uint64)
        self.repeats = np.zeros((num_envs, MAX_CANDIDATES), dtype=np.int64)
        self.choices = np.zeros(num_envs, dtype=np.int64)
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Forget the positions of these rows' last games."""
        self._last_stages[rows] = -1
        self._idle_stages[rows] = -1
        self._streams[rows] = seeds

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        """The action of the best candidate of each row."""
        found = self.candidates
        found.describe(observations, action_masks, self._idle_stages)
        played = np.empty(len(action_masks), dtype=np.int64)
        choose(
            self.score(observations),
            found.keys,
            found.actions,
            found.counts,
            found.positions,
            found.stages,
            action_masks,
            self._streams,
            self.is_random,
            self._idle_limit,
            self._seen,
            self._visits,
            self._used,
            self._last_stages,
            self._last_positions,
            self._idle,
            self._idle_stages,
            self.repeats,
            self.choices,
            played,
        )
        return played


@entry_point
def _add_up(features, counts, weights, scores):  # type: ignore[no-untyped-def]
    size = weights.shape[0] // 4 * 4
    for b in range(counts.shape[0]):
        for c in range(counts[b]):
            # Four sums, since one alone would wait for each addition.
            sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
            for f in range(0, size, 4):
                sum_0 += np.float64(weights[f] * features[b, c, f])
                sum_1 += np.float64(weights[f + 1] * features[b, c, f + 1])
                sum_2 += np.float64(weights[f + 2] * features[b, c, f + 2])
                sum_3 += np.float64(weights[f + 3] * features[b, c, f + 3])
            for f in range(size, weights.shape[0]):
                sum_0 += np.float64(weights[f] * features[b, c, f])
            scores[b, c] = (sum_0 + sum_1) + (sum_2 + sum_3)


class LinearChooser(Chooser):
    """Scores are sums of features times `weights` (float32[len(FEATURES)])."""

    def __init__(
        self, weights: np.ndarray, rules: KlondikeRules | None = None, *, is_random: bool = False
    ) -> None:
        super().__init__(rules, is_random=is_random)
        self.weights = weights
        self._scores = np.zeros((0, MAX_CANDIDATES), dtype=np.float32)

    def score(self, observations: Any) -> np.ndarray:
        """Scores of the present candidates."""
        found = self.candidates
        if len(self._scores) != len(found.counts):
            self._scores = np.zeros((len(found.counts), MAX_CANDIDATES), dtype=np.float32)
        _add_up(found.features, found.counts, self.weights, self._scores)
        return self._scores
