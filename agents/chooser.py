"""Agents that score each candidate move and play the best, never going in circles.

A move that recreates a position seen since the last irreversible move is passed over, and so are
draws and redeals that have gone through the whole stock twice (see `agents.repeats`). If every move
is passed over, the one whose position was seen least often is played, the better score breaking
ties: so the positions that can still be reached are all tried. Once even the least seen has been
seen `PATIENCE` times, nothing new is in reach and the lowest legal action is played, until
something irreversible happens or the game ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.base import Agent, best_actions
from agents.features import MAX_CANDIDATES, Candidates
from agents.repeats import FULL, SAME_TABLEAU, Positions
from klondike_env.compiled import entry_point
from klondike_env.games.klondike.rules import KlondikeRules

PATIENCE = 3
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


@entry_point
def choose(  # type: ignore[no-untyped-def]
    scores,  # float32[B, C]
    repeats,  # int64[B, C]: how often each candidate's position was seen
    keys,  # uint64[B, C]
    actions,  # int64[B, C]
    counts,  # int64[B]
    stages,  # int64[B]
    masks,  # int8[B, A]
    streams,  # uint64[B]: random streams, advanced
    is_random,  # draw from the softmax of the scores instead of playing the best
    used,  # int64[B]: positions in the record
    idle,  # int64[B]: draws and redeals since a card moved, updated
    idle_stages,  # int64[B]: the stage at which a row has given up
    choices,  # out int64[B]: place of the candidate played, -1 if none
    played,  # out int64[B]: the action
):
    """Choose a candidate in every row."""
    for b in range(counts.shape[0]):
        choices[b] = -1
        if counts[b] == 0:
            # Ended or given up.
            played[b] = 0
            for a in range(masks.shape[1]):
                if masks[b, a] != 0:
                    played[b] = a
                    break
            continue

        best = np.int64(-1)
        best_repeats = np.int64(0)
        best_score = 0.0
        for c in range(counts[b]):
            times = repeats[b, c]
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
        if best_repeats >= PATIENCE or used[b] >= FULL:
            idle_stages[b] = stages[b]
        idle[b] = idle[b] + 1 if keys[b, best] == SAME_TABLEAU else 0
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

    def score(self, observations: Any) -> np.ndarray:
        """Scores of the present `candidates`: float32[B, MAX_CANDIDATES]."""
        raise NotImplementedError

    def reset(self, num_envs: int, seed: int = 0) -> None:
        """Prepare for `num_envs` rows, each with a new game."""
        self._positions = Positions(num_envs, self.rules.draw_count)
        self._idle_stages = np.full(num_envs, -1, dtype=np.int64)
        self._streams = np.zeros(num_envs, dtype=np.uint64)
        self.repeats = np.zeros((num_envs, MAX_CANDIDATES), dtype=np.int64)
        self.choices = np.zeros(num_envs, dtype=np.int64)
        super().reset(num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Forget the positions of these rows' last games."""
        self._positions.start_games(rows)
        self._idle_stages[rows] = -1
        self._streams[rows] = seeds

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        """The action of the best candidate of each row."""
        found = self.candidates
        found.describe(observations, action_masks, self._idle_stages)
        played = np.empty(len(action_masks), dtype=np.int64)
        self.repeats = self._positions.repeats(found)
        choose(
            self.score(observations),
            self.repeats,
            found.keys,
            found.actions,
            found.counts,
            found.stages,
            action_masks,
            self._streams,
            self.is_random,
            self._positions.used,
            self._positions.idle,
            self._idle_stages,
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
