"""The solver against trying everything: thousands of endgames under every kind of rules."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import klondike_env  # noqa: F401  (registers the ids)
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike import Verdict, solve
from tests.brute_force import can_win, moves, read, winning_line
from tests.endgames import decided_endgames, endgame

MAIN = [
    KlondikeRules(draw_count=draw, passes=passes, foundation_to_tableau=back)
    for draw in (1, 3)
    for passes in (None, 1, 3)
    for back in (True, False)
]
MORE = [
    KlondikeRules(draw_count=2),
    KlondikeRules(draw_count=2, passes=2),
    KlondikeRules(draw_count=5),
    KlondikeRules(draw_count=5, passes=9, foundation_to_tableau=False),
    KlondikeRules(draw_count=24),
    KlondikeRules(draw_count=24, passes=3),
    KlondikeRules(draw_count=3, passes=2),
    KlondikeRules(draw_count=3, passes=40),
    KlondikeRules(draw_count=1, passes=9),
]
PLAIN = [  # rules that make other demands on the search
    KlondikeRules(run_moves="whole"),
    KlondikeRules(run_moves="whole", draw_count=1, passes=3),
    KlondikeRules(run_moves="whole", draw_count=5, passes=1, foundation_to_tableau=False),
    KlondikeRules(run_moves="same_suit", draw_count=1),
    KlondikeRules(run_moves="same_suit", passes=3, foundation_to_tableau=False),
    KlondikeRules(forced_aces=True),
    KlondikeRules(forced_aces=True, passes=2),
    KlondikeRules(forced_aces=True, draw_count=2, foundation_to_tableau=False),
    KlondikeRules(forced_aces=True, run_moves="whole", foundation_to_tableau=False),
    KlondikeRules(forced_aces=True, run_moves="same_suit", draw_count=24, passes=9),
]


def name(rules: KlondikeRules) -> str:
    parts = [f"draw{rules.draw_count}", f"passes{rules.passes or ''}", rules.run_moves]
    parts += ["back"] * rules.foundation_to_tableau + ["aces"] * rules.forced_aces
    return "-".join(parts)


def is_plain(rules: KlondikeRules) -> bool:
    return rules.run_moves != "partial" or rules.forced_aces


def replay(
    position: dict[str, Any], rules: KlondikeRules, actions: str, line: Iterable[int]
) -> None:
    """Play a line in the environment, every action legal, to a win with the last one."""
    env: Any = gym.make("Klondike-Draw3-v0", rules=rules, actions=actions).unwrapped
    env.reset(options={"position": position})
    assert line
    terminated, info = False, {}
    for action in line:
        assert not terminated
        assert env.action_masks()[action]
        _, _, terminated, _, info = env.step(action)
    assert terminated
    assert info["outcome"] == "won"


def check(position: dict[str, Any], rules: KlondikeRules, is_won: bool) -> Verdict:
    """The verdict is right, or at worst unknown where the search has no short cuts."""
    verdict = solve(position, rules, max_states=1_000_000)
    if verdict.verdict == "unknown":
        assert is_plain(rules), (position, rules)
        return verdict
    assert (verdict.verdict == "winnable") == is_won, (position, rules)
    if is_won:
        replay(position, rules, "turn", verdict.turn)
        assert (verdict.reach is not None) == rules.allows_reach
        if verdict.reach is not None:
            replay(position, rules, "reach", verdict.reach)
    else:
        assert verdict.turn == ()
        assert verdict.reach is None
    return verdict


def compare(rules: KlondikeRules, count: int, seed: int) -> Counter[str]:
    """Compare so many endgames. Both verdicts are well represented, `unknown` is rare."""
    verdicts: Counter[str] = Counter()
    truths: Counter[bool] = Counter()
    for position, is_won in decided_endgames(rules, count, seed):
        truths[is_won] += 1
        verdicts[check(position, rules, is_won).verdict] += 1
    assert min(truths[True], truths[False]) >= 0.2 * count
    assert verdicts["unknown"] <= 1 + 0.05 * count
    return verdicts


@pytest.mark.parametrize("rules", [*MAIN, *MORE, *PLAIN], ids=name)
def test_endgames(rules: KlondikeRules) -> None:
    compare(rules, 10, 1)


@pytest.mark.parametrize("env_id", PRESETS)
def test_endgames_of_every_named_rule_set(env_id: str) -> None:
    compare(PRESETS[env_id], 10, 2)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [*MAIN, *MORE, *PLAIN], ids=name)
def test_more_endgames(rules: KlondikeRules) -> None:
    compare(rules, 5_000, 3)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", PRESETS)
def test_more_endgames_of_every_named_rule_set(env_id: str) -> None:
    compare(PRESETS[env_id], 5_000, 4)


@pytest.mark.parametrize("rules", [*MAIN, *MORE, *PLAIN], ids=name)
def test_trying_everything_plays_by_the_rules(rules: KlondikeRules) -> None:
    """The moves that the verdicts rest on are those of the environment."""
    env: Any = gym.make("Klondike-Draw3-v0", rules=rules).unwrapped
    rng = random.Random(5)
    for seed in range(12):
        _, info = env.reset(options={"position": endgame(seed, rules)})
        for _ in range(12):
            before = env.get_state()
            mask = np.flatnonzero(info["action_mask"])
            reached = set()
            for action in mask:
                env.set_state(before)
                env.step(int(action))
                reached.add(read(env.position(), rules))
            env.set_state(before)
            found = moves(read(env.position(), rules), rules)
            if not found:  # lost on arrival; the mask shows all ones then
                assert info["action_mask"].all()
                break
            assert reached == set(found)
            _, _, terminated, _, info = env.step(int(rng.choice(mask)))
            if terminated:
                break


@pytest.mark.parametrize(
    ("option", "value", "back"),
    [("foundation_to_tableau", False, True), ("passes", 1, False), ("draw_count", 3, False)],
)
def test_endgames_can_be_lost_by_stricter_rules(option: str, value: int, back: bool) -> None:
    """Some are won only with cards taken back, with redeals, by looking at every card."""
    rules = KlondikeRules(draw_count=1, foundation_to_tableau=back)
    strict = dataclasses.replace(rules, **{option: value})
    needed = 0
    for position, is_won in decided_endgames(rules, 80 if back else 400, seed=6):
        limited = position | ({"redeals_left": 0} if option == "passes" else {})
        can_still = can_win(limited, strict, 20_000)
        assert is_won or not can_still
        needed += is_won and can_still is False
    assert needed >= 1


FIRST_COME = {
    "two queens, one black king until the second queen turns up the other": {
        "tableau": [
            "KD QC JH TC 9H",
            "KH QS",
            "",
            "5C",
            "(8C)(KC) QH JS TH 9C",
            "(JD) QD JC TD",
            "7C",
        ],
        "foundations": {"C": 3, "D": 8, "H": 6, "S": 10},
        "stock": "4C 6C 9D 8H",
        "waste": "7H KS",
    },
    "two jacks, one red queen until the second jack turns up the other": {
        "tableau": ["", "(9S)(KC)(JH) JC", "(QC)(QD) JS", "(KS) TS", "", "", "(9C)(QS)(TC) QH"],
        "foundations": {"C": 8, "D": 11, "H": 10, "S": 8},
        "stock": "KH KD",
    },
    "a nine that an eight must use before it goes up": {
        "tableau": [
            "(8D) 9H",
            "(7S)(9D) 8S",
            "KS QD JS TD 9S",
            "(TS) TH",
            "KH QS JD",
            "KD",
            "QH",
        ],
        "foundations": {"C": 13, "D": 7, "H": 8, "S": 6},
        "stock": "JH",
    },
}
"""Two moves can be made, and only one order of them wins: the first turns up what the second needs,
which the other way round would have no place to go."""


@pytest.mark.parametrize("back", [True, False])
@pytest.mark.parametrize("passes", [None, 1])
@pytest.mark.parametrize("draw", [1, 2, 3])
@pytest.mark.parametrize("what", FIRST_COME)
def test_moves_that_win_in_one_order_only(
    what: str, draw: int, passes: int | None, back: bool
) -> None:
    rules = KlondikeRules(draw_count=draw, passes=passes, foundation_to_tableau=back)
    is_won = can_win(FIRST_COME[what], rules, 300_000)
    assert is_won
    check(FIRST_COME[what], rules, is_won)


def test_a_hidden_card_costs_two_more_moves() -> None:
    """mpereira/tty-solitaire #17: the king leaves the jack first."""
    position = {
        "tableau": ["(JS) KS", "QS", "", "", "", "", ""],
        "foundations": {"C": 13, "D": 13, "H": 13, "S": 10},
    }
    line = winning_line(position, KlondikeRules())
    assert line is not None
    assert len(line) == 1 + 4
