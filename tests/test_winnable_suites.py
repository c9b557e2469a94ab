"""Suites of winnable deals: what they promise, and for which rules."""

from __future__ import annotations

import numpy as np
import pytest

from klondike_env import deals, verdicts
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike import solve

DRAW1, DRAW3 = KlondikeRules(draw_count=1), KlondikeRules()


@pytest.mark.parametrize("suite", ["test", "validation"])
@pytest.mark.parametrize("rules", [DRAW1, DRAW3], ids=["draw1", "draw3"])
def test_ten_thousand_deals_of_each_suite_are_decided(suite: str, rules: KlondikeRules) -> None:
    known = verdicts.load(suite, rules)
    assert len(known.verdict) == len(known.digits) == 10_000
    assert (known.verdict != verdicts.UNDECIDED).all()
    rate = (known.verdict == verdicts.WINNABLE).mean()
    # Blake and Gent, arXiv 1906.12314: 90.480 % and 81.945 %; 4 standard errors around them.
    published = 0.9048 if rules.draw_count == 1 else 0.81945
    assert abs(rate - published) < 4 * np.sqrt(published * (1 - published) / 10_000)


@pytest.mark.parametrize("suite", ["test", "validation"])
@pytest.mark.parametrize("rules", [DRAW1, DRAW3], ids=["draw1", "draw3"])
def test_listed_deals_are_won_under_their_rules(suite: str, rules: KlondikeRules) -> None:
    """shlomif/PySolFC PR #591: a list of winnable deals must be true for the rules it states."""
    for number in deals.winnable_suite(suite, 30, rules, start=40):
        assert solve(deals.deck(number), rules).verdict == "winnable"


def test_deals_left_out_cannot_be_won() -> None:
    listed = set(deals.winnable_suite("validation", 200, DRAW3))
    left_out = [number for number in deals.suite("validation", 200) if number not in listed]
    assert 20 < len(left_out) < 60
    for number in left_out[:10]:
        assert solve(deals.deck(number), DRAW3).verdict == "unwinnable"


def test_difficulty_is_the_number_of_states() -> None:
    easy = deals.winnable_suite("validation", 20, DRAW3, max_states=256)
    hard = deals.winnable_suite("validation", 20, DRAW3, min_states=8192)
    for number in easy:
        assert solve(deals.deck(number), DRAW3).states < 256
    for number in hard:
        assert solve(deals.deck(number), DRAW3).states >= 8192


def test_rules_that_change_no_verdict_may_differ() -> None:
    listed = deals.winnable_suite("test", 50, DRAW1)
    for name in ("Klondike-Windows-Draw1-v0", "Klondike-Thoughtful-Draw1-v0"):
        assert deals.winnable_suite("test", 50, PRESETS[name]) == listed


@pytest.mark.parametrize(
    "rules",
    [
        KlondikeRules(passes=3),
        KlondikeRules(draw_count=2),
        KlondikeRules(foundation_to_tableau=False),
        PRESETS["Klondike-Bicycle-v0"],
    ],
)
def test_verdicts_are_not_lent_to_other_rules(rules: KlondikeRules) -> None:
    with pytest.raises(
        ValueError, match=r"holds for its own rules only.*draw_count=1.*draw_count=3"
    ):
        deals.winnable_suite("test", 10, rules)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere", 10, DRAW3), "a deal suite is one of"),
        (("test", 0, DRAW3), "count is a whole number from 1 on"),
        (("test", 9_999, DRAW3), "only 81.. such deals are known"),
        (("test", 10, None), "no verdicts for suite"),
    ],
)
def test_impossible_wishes_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deals.winnable_suite(*arguments)  # type: ignore[arg-type]


def test_an_archive_keeps_its_rules(tmp_path: object) -> None:
    path = tmp_path / "some.npz"  # type: ignore[operator]
    some = verdicts.Verdicts(np.array([1, 2, 0]), np.array([3, 30, 40]))
    verdicts.save(path, "test", {"draw_count": 1}, some)
    verdicts.save(path, "validation", {"draw_count": 1}, some)
    with pytest.raises(ValueError, match="holds verdicts for other rules"):
        verdicts.save(path, "test", {"draw_count": 3}, some)
    with np.load(path) as archive:
        assert sorted(archive.files) == ["rules", "test", "validation"]
        assert (archive["test"] & 3).tolist() == [1, 2, 0]
        assert (archive["test"] >> 2).tolist() == [3, 30, 40]
