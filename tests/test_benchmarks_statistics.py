from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics import pair, summarize
from klondike_env.evaluation import GameRecord, wilson_interval


def game(deal: int, outcome: str, steps: int = 100, score: int = 0, cards: int = 10) -> GameRecord:
    return GameRecord(
        deal=deal, outcome=outcome, score=score, foundation_cards=cards, steps=steps, seconds=0.5
    )


def games(outcomes: str) -> list[GameRecord]:
    """A game for each letter: w won, s stuck, t truncated."""
    names = {"w": "won", "s": "stuck", "t": "truncated"}
    return [game(deal, names[letter]) for deal, letter in enumerate(outcomes)]


def test_stuck_and_truncated_games_count_as_losses() -> None:
    summary = summarize(games("wwsttttttt"))
    assert (summary.games, summary.wins, summary.win_rate) == (10, 2, 0.2)
    assert summary.truncated_share == 0.7
    assert (summary.win_rate_low, summary.win_rate_high) == wilson_interval(2, 10, 0.95)


def test_moves_are_averaged_over_all_games_and_over_wins_apart() -> None:
    summary = summarize(
        [game(0, "won", 120), game(1, "won", 140), game(2, "stuck", 40), game(3, "truncated", 2000)]
    )
    assert summary.mean_moves == 575
    assert summary.mean_moves_of_wins == 130


def test_without_a_win_there_are_no_moves_of_wins() -> None:
    assert summarize(games("sss")).mean_moves_of_wins is None


def test_scores_cards_and_speed() -> None:
    summary = summarize([game(0, "stuck", 30, -52, 0), game(1, "won", 70, 208, 52)])
    assert (summary.mean_score, summary.mean_foundation_cards) == (78, 26)
    assert (summary.seconds, summary.steps_per_second, summary.games_per_second) == (1, 100, 2)
    assert summary.median_seconds == 0.5


def test_the_interval_of_the_mean_score_is_students() -> None:
    summary = summarize([game(n, "stuck", 30, score, 0) for n, score in enumerate((-52, 0, 52))])
    # t of 2 degrees of freedom at 97.5 % is 4.303; the standard error is 52 / sqrt(3).
    assert summary.mean_score_margin == pytest.approx(4.3027 * 52 / 3**0.5, rel=1e-4)
    assert summarize([game(0, "won", 30, 208, 52)]).mean_score_margin is None


def test_mcnemar_against_a_table_worked_by_hand() -> None:
    # 9 deals only the other agent won, 1 only the first: p = 2 (C(10,0) + C(10,1)) / 2^10.
    pairing = pair(
        games("w" * 5 + "w" + "s" * 9 + "s" * 5), games("w" * 5 + "s" + "w" * 9 + "s" * 5)
    )
    assert (pairing.only_this_won, pairing.only_first_won) == (9, 1)
    assert pairing.p_value == pytest.approx(22 / 1024)
    assert pairing.difference == pytest.approx(8 / 20)


def test_the_interval_of_the_difference_against_published_clopper_pearson_limits() -> None:
    # 9 of 10: 0.5550 to 0.9975 (95 %, two-sided).
    pairing = pair(games("w" + "s" * 9), games("s" + "w" * 9))
    assert pairing.difference_low == pytest.approx(2 * 0.5550 - 1, abs=2e-4)
    assert pairing.difference_high == pytest.approx(2 * 0.9975 - 1, abs=2e-4)


def test_agents_that_win_the_same_deals_do_not_differ() -> None:
    pairing = pair(games("wst"), games("wts"))
    assert (pairing.difference, pairing.p_value) == (0, 1)


def test_deals_must_be_the_same() -> None:
    with pytest.raises(ValueError, match="same deals"):
        pair(games("ws"), games("ws")[::-1])


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_test_does_not_care_which_agent_comes_first(wins: list[tuple[bool, bool]]) -> None:
    one = games("".join("w" if first else "s" for first, _ in wins))
    two = games("".join("w" if second else "s" for _, second in wins))
    there, back = pair(one, two), pair(two, one)
    assert there.p_value == back.p_value
    assert there.difference == -back.difference
    assert math.isclose(there.difference_low, -back.difference_high, abs_tol=1e-12)
    assert there.difference_low <= there.difference <= there.difference_high
