"""Positions known to be winnable are never called unwinnable, and two searches agree."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from klondike_env.games.klondike import kernels
from klondike_env.games.klondike.layout import STATE, encode_rules
from klondike_env.games.klondike.moves import parse_move
from klondike_env.games.klondike.position import parse
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike import Verdict, plain, search, solve, solver
from tests.endgames import endgame, walk_back
from tests.test_solver_endgames import MAIN, MORE, PLAIN, name, replay
from tests.test_winning_lines import LINES, move_of

SLICE = 1 << 17


def positions_on(
    line: dict[str, Any], rules: KlondikeRules, stops: list[int]
) -> list[dict[str, Any]]:
    """The positions before some steps of a line, in order."""
    env: Any = gym.make("Klondike-Draw3-v0", rules=rules).unwrapped
    env.reset(options={"deck": line["deck"]})
    positions = []
    for number, token in enumerate(line["line"].split()):
        if number in stops:
            positions.append(env.position())
        env.step(parse_move(move_of(token)))
    return positions


def solve_along_lines(draw: int, lines: list[dict[str, Any]], stops: int, seed: int) -> Counter:
    """Solve from points of winning lines, with passes unlimited and as few as the line needs."""
    rng = random.Random(seed)
    verdicts = Counter[str]()
    for line in lines:
        tokens = line["line"].split()
        fewest = tokens.count("R") + 1
        points = sorted(rng.sample(range(len(tokens) // 5, len(tokens)), stops))
        for passes in (None, fewest):
            rules = KlondikeRules(draw_count=draw, passes=passes)
            for point, position in zip(points, positions_on(line, rules, points), strict=True):
                if passes is not None:
                    assert position["redeals_left"] == tokens[point:].count("R")
                verdict = solve(position, rules, max_states=200_000)
                assert verdict.verdict != "unwinnable", (position, rules)
                verdicts[verdict.verdict] += 1
                if verdict.verdict == "winnable":
                    replay(position, rules, "turn", verdict.turn)
                    if passes is not None:
                        redeals = list(verdict.turn).count(1)
                        assert redeals <= position["redeals_left"]
    return verdicts


@pytest.mark.parametrize("draw", [1, 3])
def test_the_way_to_a_win_is_winnable(draw: int) -> None:
    lines = [line for line in LINES if line["draw"] == draw]
    verdicts = solve_along_lines(draw, lines[::20], 2, 1)
    assert verdicts["winnable"] >= 0.9 * verdicts.total()


@pytest.mark.slow
@pytest.mark.parametrize("draw", [1, 3])
def test_more_of_the_way_to_a_win_is_winnable(draw: int) -> None:
    lines = [line for line in LINES if line["draw"] == draw]
    verdicts = solve_along_lines(draw, lines, 10, 2)
    assert verdicts["winnable"] >= 0.9 * verdicts.total()


def solve_backwards(rules: KlondikeRules, count: int, seed: int) -> Counter:
    """Solve positions reached backwards from a win, some of them far from it."""
    verdicts, left = Counter[str](), []
    for number in range(count):
        position = walk_back(1_000 * seed + number, rules, 20 + 20 * (number % 6))
        verdict = solve(position, rules, max_states=100_000)
        assert verdict.verdict != "unwinnable", (position, rules)
        verdicts[verdict.verdict] += 1
        left.append(52 - sum(position["foundations"].values()))
        if verdict.verdict == "winnable":
            replay(position, rules, "turn", verdict.turn)
    assert max(left) >= 20
    return verdicts


@pytest.mark.parametrize("rules", [*MAIN, *MORE, *PLAIN], ids=name)
def test_backwards_from_a_win(rules: KlondikeRules) -> None:
    solve_backwards(rules, 6, 1)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [*MAIN, *MORE, *PLAIN], ids=name)
def test_more_backwards_from_a_win(rules: KlondikeRules) -> None:
    solve_backwards(rules, 200, 2)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", PRESETS)
def test_backwards_from_a_win_for_every_named_rule_set(env_id: str) -> None:
    solve_backwards(PRESETS[env_id], 100, 3)


def solve_plainly(position: dict[str, Any], rules: KlondikeRules, slices: int) -> Verdict:
    """The verdict of the search that makes use of nothing but repetition."""
    task = solver._Task(
        parse(position, rules), rules, solver._Scratch(), slices * SLICE, solver.MAX_BYTES
    )
    task.is_plain, task.is_lost = True, False
    task.terms = encode_rules(rules, "reach" if rules.allows_reach else "turn")
    task.games = np.zeros(solver._DEPTH, dtype=STATE)
    task.games[0] = task.game[0]
    task.todo = np.zeros((solver._DEPTH, 5), dtype=np.uint64)
    task.tried = np.zeros(solver._DEPTH, dtype=np.int64)
    kernels.refresh(task.games[:1], task.terms)
    plain.begin(task.games, task.todo, task.terms)
    status = task.run()
    while status == search.PAUSED and task.states < task.max_states and not task.reason:
        status = task.run()
    return task.verdict(status, 0.0)


def compare_searches(rules: KlondikeRules, count: int, seed: int) -> Counter:
    """Compare the two searches on positions with up to 30 cards left."""
    pairs = Counter[tuple[str, str]]()
    for number in range(count):
        position = endgame(100_003 * seed + number, rules, most=18 + number % 13)
        fast = solve(position, rules, max_states=2 * SLICE).verdict
        slow = solve_plainly(position, rules, 2).verdict
        assert {fast, slow} != {"winnable", "unwinnable"}, (position, rules)
        pairs[fast, slow] += 1
    return pairs


@pytest.mark.parametrize("rules", MAIN, ids=name)
def test_both_searches_agree(rules: KlondikeRules) -> None:
    compare_searches(rules, 12, 1)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [*MAIN, *MORE], ids=name)
def test_both_searches_agree_on_thousands(rules: KlondikeRules) -> None:
    pairs = compare_searches(rules, 1_000, 2)
    assert pairs["winnable", "winnable"] >= 200
    assert pairs["unwinnable", "unwinnable"] >= 20


def test_fewer_passes_never_help() -> None:
    for seed in range(100):
        rules = KlondikeRules(draw_count=2, passes=4)
        position = endgame(seed, rules, most=20) | {"redeals_left": 0}
        verdicts = [
            solve(position | {"redeals_left": left}, rules, max_states=SLICE).verdict
            for left in range(4)
        ]
        endless = {key: value for key, value in position.items() if key != "redeals_left"}
        free = dataclasses.replace(rules, passes=None)
        verdicts.append(solve(endless, free, max_states=SLICE).verdict)
        decided = [verdict for verdict in verdicts if verdict != "unknown"]
        assert decided == sorted(decided), position
