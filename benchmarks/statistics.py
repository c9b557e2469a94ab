"""What a comparison says about its games: one summary an agent, one paired test a pair.

A win rate counts every game asked for: a game that got stuck, met the step limit or was given up is
a loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from scipy import stats

from klondike_env.evaluation import Evaluation, GameRecord


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One agent's games. Rates and intervals are fractions of all games; None: no such game.

    ``mean_score_margin`` is half the width of Student's interval around the mean score; None for
    one game.
    """

    games: int
    wins: int
    win_rate: float
    win_rate_low: float
    win_rate_high: float
    mean_score: float
    mean_score_margin: float | None
    mean_foundation_cards: float
    truncated_share: float
    mean_moves: float
    mean_moves_of_wins: float | None
    seconds: float
    median_seconds: float
    steps_per_second: float | None
    games_per_second: float | None


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """An agent against the first one on the same deals.

    ``difference`` is the agent's win rate minus the first one's. Its interval is exact given the
    number of deals that only one of the two won: the Clopper-Pearson interval of the agent's share
    of those deals, carried over to all deals.
    """

    only_this_won: int
    only_first_won: int
    difference: float
    difference_low: float
    difference_high: float
    p_value: float


def summarize(records: Sequence[GameRecord], confidence: float = 0.95) -> Summary:
    """The summary of at least one game, with a Wilson interval around the win rate."""
    result = Evaluation("", tuple(records), confidence)  # of any id: the figures are the same
    low, high = result.interval
    seconds = float(sum(record.seconds for record in records))
    steps = sum(record.steps for record in records)
    margin = None
    if result.games > 1:
        error = float(stats.sem([record.score for record in records]))
        margin = float(stats.t.ppf((1 + confidence) / 2, result.games - 1)) * error
    return Summary(
        games=result.games,
        wins=result.wins,
        win_rate=result.win_rate,
        win_rate_low=low,
        win_rate_high=high,
        mean_score=result.mean_score,
        mean_score_margin=margin,
        mean_foundation_cards=result.mean_foundation_cards,
        truncated_share=result.truncated_rate,
        mean_moves=result.mean_steps,
        mean_moves_of_wins=result.mean_steps_of_wins,
        seconds=seconds,
        median_seconds=median(record.seconds for record in records),
        steps_per_second=steps / seconds if seconds > 0 else None,
        games_per_second=result.games / seconds if seconds > 0 else None,
    )


def pair(
    first: Sequence[GameRecord], other: Sequence[GameRecord], confidence: float = 0.95
) -> Pairing:
    """Exact McNemar test of ``other`` against ``first``, two-sided, on their common deals.

    Given the deals that only one agent won, either is as likely to have won each of them if the
    agents are equally strong: a binomial test with probability one half.

    Source: McNemar, Psychometrika 12 (1947), in its exact form.

    Raises:
        ValueError: when the two did not play the same deals in the same order.
    """
    if [record.deal for record in first] != [record.deal for record in other]:
        raise ValueError("a paired test needs the same deals in the same order")
    first_won = np.array([record.outcome == "won" for record in first])
    other_won = np.array([record.outcome == "won" for record in other])
    gained = int((other_won & ~first_won).sum())
    lost = int((first_won & ~other_won).sum())
    discordant = gained + lost
    low = high = 0.0
    p_value = 1.0
    if discordant:
        test = stats.binomtest(gained, discordant)
        interval = test.proportion_ci(confidence, method="exact")
        p_value = float(test.pvalue)
        low = (2 * float(interval.low) - 1) * discordant / len(first)
        high = (2 * float(interval.high) - 1) * discordant / len(first)
    return Pairing(
        only_this_won=gained,
        only_first_won=lost,
        difference=(gained - lost) / len(first),
        difference_low=low,
        difference_high=high,
        p_value=p_value,
    )
