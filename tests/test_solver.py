"""The solver's surface: limits, refusals, positions, reports of other solvers' faults.

A letter and a number, such as V02, is the place of a public report in the list that these tests
retrace; the report follows.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import klondike_env  # noqa: F401  (registers the ids)
from klondike_env import deals, formats
from klondike_env.games.klondike.moves import move_text, parse_move
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike import solve, solve_many
from tests.table import DEAD
from tests.test_solver_endgames import replay
from tests.test_winning_lines import LINES, SEVEN_PASSES, move_of

ROOT = Path(__file__).parent.parent

DRAW_1, DRAW_3 = KlondikeRules(draw_count=1), KlondikeRules()

ALL_UP = {"C": 13, "D": 13, "H": 13, "S": 13}
ALMOST_WON: dict[str, Any] = {
    "tableau": [""] * 7,
    "foundations": {**ALL_UP, "S": 11},
    "waste": "KS QS",
}
HARD = deals.deck(1)  # searched for a second or more under HARD_RULES
HARD_RULES = KlondikeRules(draw_count=1, run_moves="whole")

FOUR_PASSES = formats.read(
    "122021053133044042092074131071132062123061011022101013064091114073063082034041014024103121094113"
    "102031033134072111084032023052012081112124043104083093051054"
)
"""ShootMe/Klondike-Solver #11: a plan was shortened until it took more passes than allowed."""

SEVENTH_PASS = formats.read(
    "132114074043113024111053121013041063042032103091044093011023012064061071101092102021084034081051"
    "122014062123022133112134082054072033104124073083052094031131"
)
"""ShootMe/Klondike-Solver #14: searched for hours, while a person had won it."""


class TestRefusals:
    @pytest.mark.parametrize(
        ("game", "fault"),
        [
            (list(range(51)), "51"),
            ([0, *range(51)], "AC"),
            ([*range(51), 52], "52"),
            ([], ""),
            (range(53), "53"),
            ([1.5, *range(1, 52)], "whole number"),
            ({**ALMOST_WON, "waste": "KS"}, "QS"),
            ({**ALMOST_WON, "waste": "KS QS QS"}, "QS"),
            ({**ALMOST_WON, "waste": "KS XX"}, "XX"),
            ({**ALMOST_WON, "redeals_left": 2}, "redeals_left"),
            ({**ALMOST_WON, "colour": 2}, "colour"),
            ({"foundations": ALL_UP}, "already won"),
            ({"tableau": ["(KS)", "QS"] + [""] * 5, "foundations": {**ALL_UP, "S": 11}}, "pile 1"),
        ],
    )
    def test_impossible_games(self, game: Any, fault: str) -> None:
        with pytest.raises(ValueError, match=rf"^[^\n]*{fault}[^\n]*$"):
            solve(game)

    @pytest.mark.parametrize(
        ("limit", "value"),
        [
            ("max_states", 0),
            ("max_states", -1),
            ("max_seconds", 0),
            ("max_seconds", -0.5),
            ("max_seconds", float("nan")),
            ("max_bytes", 0),
            ("max_bytes", 1_000),
        ],
    )
    def test_impossible_limits(self, limit: str, value: float) -> None:
        with pytest.raises(ValueError, match=rf"^{limit} [^\n]+ not {value}$"):
            solve(ALMOST_WON, **{limit: value})

    def test_more_redeals_than_the_rules_have(self) -> None:
        with pytest.raises(ValueError, match=r"^redeals_left[^\n]*$"):
            solve({**ALMOST_WON, "redeals_left": 1}, KlondikeRules(passes=1))

    def test_one_of_many(self) -> None:
        with pytest.raises(ValueError, match="51"):
            list(solve_many([ALMOST_WON, list(range(51))]))

    def test_the_game_handed_in_is_left_alone(self) -> None:
        deck, position = deals.deck(3), json.loads(json.dumps(ALMOST_WON))
        before = deck.copy()
        solve(deck, DRAW_1, max_states=1_000)
        solve(position)
        assert (deck == before).all()
        assert position == ALMOST_WON

    def test_a_deck_in_any_form(self) -> None:
        deck = deals.deck(3)
        verdicts = {
            (verdict.verdict, verdict.states, verdict.turn)
            for form in (deck, deck.tolist(), tuple(deck.tolist()), iter(deck.tolist()))
            for verdict in [solve(form, DRAW_1, max_states=200_000)]
        }
        assert len(verdicts) == 1


class TestLimits:
    """V05: ShootMe/MinimalKlondike #4, #3: half a billion states and all the memory."""

    @pytest.mark.parametrize("rules", [HARD_RULES, DRAW_3, KlondikeRules(passes=3)])
    @pytest.mark.parametrize("states", [1, 10, 1_000, 150_000])
    def test_states(self, rules: KlondikeRules, states: int) -> None:
        for number in range(4):
            verdict = solve(deals.deck(number), rules, max_states=states)
            assert verdict.states <= states
            if verdict.verdict == "unknown":
                assert verdict.states == states
                assert verdict.reason == f"{states} states"
            else:
                assert verdict.reason == ""

    def test_seconds(self) -> None:
        solve(HARD, HARD_RULES, max_states=10)  # compiled
        for seconds in (0.3, 1.0):
            start = time.perf_counter()
            verdict = solve(HARD, HARD_RULES, max_seconds=seconds)
            took = time.perf_counter() - start
            assert verdict.verdict == "unknown"
            assert verdict.reason == f"{seconds} seconds"
            assert seconds <= verdict.seconds <= took < 1.1 * seconds + 1

    def test_bytes(self) -> None:
        for most in (1 << 20, 1 << 24):
            verdict = solve(HARD, HARD_RULES, max_bytes=most)
            assert verdict.verdict == "unknown"
            assert verdict.reason == f"{most} bytes"
            assert 16 * verdict.states >= most // 16

    def test_more_states_find_the_same_win(self) -> None:
        """A search that was cut short goes the way of the one that was not."""
        deck = LINES[0]["deck"]
        full = solve(deck, KlondikeRules(draw_count=LINES[0]["draw"]))
        assert full.verdict == "winnable"
        assert solve(deck, DRAW_3, max_states=full.states).turn == full.turn
        if full.states > 1:
            assert solve(deck, DRAW_3, max_states=full.states - 1).verdict == "unknown"

    def test_progress(self) -> None:
        calls = []
        verdict = solve(
            HARD,
            HARD_RULES,
            max_seconds=60,
            on_progress=lambda states, seconds: calls.append((states, seconds)) or len(calls) < 3,
        )
        assert verdict.verdict == "unknown"
        assert verdict.reason == "stopped"
        assert len(calls) == 3
        assert calls == sorted(calls)
        assert 0 < calls[0][0] <= calls[-1][0] == verdict.states
        assert verdict.seconds < 10

    def test_progress_may_return_nothing(self) -> None:
        verdict = solve(HARD, HARD_RULES, max_states=1_000_000, on_progress=lambda *_: None)
        assert verdict.reason == "1000000 states"


class TestPositions:
    @pytest.mark.parametrize("draw", [1, 3])
    @pytest.mark.parametrize("passes", [None, 1, 3])
    @pytest.mark.parametrize("run_moves", ["partial", "whole"])
    def test_a_dead_deal(self, draw: int, passes: int | None, run_moves: Any) -> None:
        """K15, keith-packard/kgames #13: nothing can ever be played."""
        verdict = solve(DEAD, KlondikeRules(draw_count=draw, passes=passes, run_moves=run_moves))
        assert verdict.verdict == "unwinnable"
        assert verdict.states <= 26
        assert verdict.turn == ()
        assert verdict.reach is None

    @pytest.mark.parametrize("env_id", PRESETS)
    def test_the_last_move_of_the_last_pass(self, env_id: str) -> None:
        """K16, SaitoTech/saito-lite #274: the winning move was reported as a loss."""
        rules = PRESETS[env_id]
        position = {"foundations": {**ALL_UP, "S": 12}, "waste": "KS"}
        if rules.passes is not None:
            position["redeals_left"] = 0
        verdict = solve(position, rules)
        assert verdict.verdict == "winnable"
        assert [move_text(action) for action in verdict.turn] == ["W>F"]
        replay(position, rules, "turn", verdict.turn)

    @pytest.mark.parametrize("env_id", PRESETS)
    def test_a_hidden_card_with_stock_and_waste_empty(self, env_id: str) -> None:
        """K17, mpereira/tty-solitaire #17."""
        position = {
            "tableau": ["(JS) KS", "QS", "", "", "", "", ""],
            "foundations": {**ALL_UP, "S": 10},
        }
        verdict = solve(position, PRESETS[env_id])
        assert verdict.verdict == "winnable"
        assert len(verdict.turn) == 4
        replay(position, PRESETS[env_id], "turn", verdict.turn)

    def test_a_hidden_card_that_nothing_uncovers(self) -> None:
        position = {
            "tableau": ["(JS) QS", "KS", "", "", "", "", ""],
            "foundations": {**ALL_UP, "S": 10},
        }
        rules = KlondikeRules(foundation_to_tableau=False)
        assert solve(position, rules).verdict == "unwinnable"
        verdict = solve(position)  # a red king comes back and takes the queen
        assert verdict.verdict == "winnable"
        replay(position, DRAW_3, "turn", verdict.turn)

    @pytest.mark.parametrize("env_id", PRESETS)
    def test_cards_left_in_the_waste(self, env_id: str) -> None:
        """K18, SerenityOS/serenity PR #26775: the finish forgot the waste and hung."""
        verdict = solve(ALMOST_WON, PRESETS[env_id])
        assert verdict.verdict == "winnable"
        assert [move_text(action) for action in verdict.turn] == ["W>F", "W>F"]
        replay(ALMOST_WON, PRESETS[env_id], "turn", verdict.turn)

    def test_cards_gone_by(self) -> None:
        """On the last pass they are lost; with a redeal left they come round again."""
        position = {"foundations": {**ALL_UP, "S": 9}, "waste": "TS JS KS QS"}
        for draw in (1, 2, 3):
            rules = KlondikeRules(draw_count=draw, passes=3, foundation_to_tableau=False)
            for left in range(3):
                verdict = solve({**position, "redeals_left": left}, rules)
                is_won = draw == 1 and left > 0
                assert verdict.verdict == ("winnable" if is_won else "unwinnable")


def positions_of(line: dict[str, Any], rules: KlondikeRules) -> list[dict[str, Any]]:
    """The position before every step of a line."""
    env: Any = gym.make("Klondike-Draw3-v0", rules=rules).unwrapped
    env.reset(options={"deck": line["deck"]})
    positions = []
    for token in line["line"].split():
        positions.append(env.position())
        env.step(parse_move(move_of(token)))
    return [*positions, env.position()]


class TestHalfPlayedGames:
    """V07, ShootMe/Klondike-Solver #4."""

    RULES = KlondikeRules(passes=3)
    LINES = tuple(
        line for line in LINES if line["draw"] == 3 and line["line"].split().count("R") == 2
    )

    def test_no_more_redeals_than_are_left(self) -> None:
        assert len(self.LINES) >= 20
        found = 0
        for line in self.LINES[:12]:
            positions = positions_of(line, self.RULES)
            for position in positions[: len(positions) // 2 : 25]:
                verdict = solve(position, self.RULES, max_states=500_000)
                assert verdict.verdict != "unwinnable"
                assert verdict.turn.count(1) <= position["redeals_left"]
                if verdict.verdict == "winnable":
                    found += 1
                    replay(position, self.RULES, "turn", verdict.turn)
        assert found >= 15

    def test_after_a_wasted_pass(self) -> None:
        """Never a third redeal; without the wasted ones it may not be winnable."""
        verdicts = []
        for line in self.LINES[:12]:
            env: Any = gym.make("Klondike-Draw3-v0", rules=self.RULES).unwrapped
            env.reset(options={"deck": line["deck"]})
            for _ in range(8):
                env.step(0)
            env.step(1)
            position = env.position()
            assert position["redeals_left"] == 1
            verdict = solve(position, self.RULES, max_states=200_000)
            verdicts.append(verdict.verdict)
            if verdict.verdict == "winnable":
                assert verdict.turn.count(1) <= 1
                replay(position, self.RULES, "turn", verdict.turn)
        assert "winnable" in verdicts

    def test_the_rest_of_a_line_wins(self) -> None:
        """First half of the solver's own line, then what it finds from there."""
        line = self.LINES[0]
        first = solve(line["deck"], self.RULES, max_states=2_000_000)
        assert first.verdict == "winnable"
        half = len(first.turn) // 2
        env: Any = gym.make("Klondike-Draw3-v0", rules=self.RULES).unwrapped
        env.reset(options={"deck": line["deck"]})
        for action in first.turn[:half]:
            env.step(action)
        rest = solve(env.position(), self.RULES, max_states=2_000_000)
        assert rest.verdict == "winnable"
        assert first.turn[:half].count(1) + rest.turn.count(1) <= 2
        for action in rest.turn:
            _, _, terminated, _, info = env.step(action)
        assert terminated
        assert info["outcome"] == "won"


class TestKnownDeals:
    def test_a_hard_deal_is_not_called_unwinnable(self) -> None:
        """V02."""
        assert list(SEVENTH_PASS) == SEVEN_PASSES["deck"]
        verdict = solve(SEVENTH_PASS, DRAW_1, max_seconds=2)
        assert verdict.verdict != "unwinnable"

    @pytest.mark.slow
    def test_a_hard_deal_for_a_minute(self) -> None:
        """V02."""
        verdict = solve(SEVENTH_PASS, DRAW_1, max_seconds=60)
        assert verdict.verdict != "unwinnable"
        assert verdict.seconds < 66
        if verdict.verdict == "winnable":
            assert verdict.reach is not None
            env: Any = gym.make("Klondike-Draw1-v0").unwrapped
            env.reset(options={"deck": SEVENTH_PASS})
            for action in verdict.turn:
                _, _, terminated, _, info = env.step(action)
            assert terminated
            assert info["outcome"] == "won"

    def test_the_rest_of_the_long_line(self) -> None:
        """V02: after the line every card is uncovered, and few states are left to search."""
        positions = positions_of(SEVEN_PASSES, DRAW_1)
        verdict = solve(positions[-1], DRAW_1)
        assert verdict.verdict == "winnable"
        assert verdict.states < 1_000
        replay(positions[-1], DRAW_1, "turn", verdict.turn)
        for position in positions[::25]:
            assert solve(position, DRAW_1, max_states=200_000).verdict != "unwinnable"

    def test_a_deal_of_four_passes(self) -> None:
        """V03. Nobody has shown a line of three passes, and an exhausted search finds none."""
        verdict = solve(FOUR_PASSES, DRAW_3, max_states=1_000_000)
        assert verdict.verdict == "winnable"
        for passes in (4, 5, 9):
            rules = KlondikeRules(passes=passes)
            verdict = solve(FOUR_PASSES, rules, max_states=3_000_000)
            assert verdict.verdict == "winnable"
            assert verdict.turn.count(1) < passes
        for passes in (1, 2, 3):
            rules = KlondikeRules(passes=passes)
            assert solve(FOUR_PASSES, rules, max_states=3_000_000).verdict == "unwinnable"

    def test_a_limit_of_an_early_answer(self) -> None:
        """V05: a hard deal, 5 seconds and 100,000 states."""
        start = time.perf_counter()
        verdict = solve(deals.deck(1_000_000_732), DRAW_3, max_seconds=5, max_states=100_000)
        assert verdict.verdict == "unknown"
        assert verdict.states == 100_000
        assert verdict.reason == "100000 states"
        assert time.perf_counter() - start < 5.5

    @pytest.mark.parametrize("draw", [1, 3])
    def test_deals_that_others_won(self, draw: int) -> None:
        decks = [line["deck"] for line in LINES if line["draw"] == draw][:60]
        rules = KlondikeRules(draw_count=draw)
        verdicts = dict(solve_many(decks, rules, max_states=100_000))
        found = [place for place in verdicts if verdicts[place].verdict == "winnable"]
        assert not [v for v in verdicts.values() if v.verdict == "unwinnable"]
        assert len(found) >= 40
        for place in found[:10]:
            env: Any = gym.make("Klondike-Draw3-v0", rules=rules).unwrapped
            env.reset(options={"deck": decks[place]})
            for action in verdicts[place].turn:
                _, _, terminated, _, info = env.step(action)
            assert terminated
            assert info["outcome"] == "won"


def plain_fields(verdict: Any) -> tuple[Any, ...]:
    return verdict.verdict, verdict.states, verdict.turn, verdict.reach, verdict.reason


class TestRepetition:
    GAMES = tuple(deals.deck(number) for number in range(24))

    @pytest.mark.parametrize("rules", [DRAW_1, KlondikeRules(passes=3), HARD_RULES])
    def test_any_number_of_workers(self, rules: KlondikeRules) -> None:
        alone = [plain_fields(solve(game, rules, max_states=50_000)) for game in self.GAMES]
        again = [plain_fields(solve(game, rules, max_states=50_000)) for game in self.GAMES]
        assert alone == again
        for workers in (1, 2, 5, None):
            found = list(solve_many(self.GAMES, rules, workers=workers, max_states=50_000))
            assert sorted(place for place, _ in found) == list(range(len(self.GAMES)))
            assert {place: plain_fields(verdict) for place, verdict in found} == dict(
                enumerate(alone)
            )

    def test_games_are_read_as_they_are_needed(self) -> None:
        read = []

        def endless() -> Any:
            number = 0
            while True:
                read.append(number)
                yield deals.deck(number)
                number += 1

        verdicts = solve_many(endless(), DRAW_1, workers=2, max_states=1_000)
        for _ in range(10):
            next(verdicts)
        verdicts.close()
        assert len(read) <= 20

    def test_none_at_all(self) -> None:
        assert list(solve_many([])) == []

    def test_leaving_early_stops_the_others(self) -> None:
        start = time.perf_counter()
        for _ in solve_many([ALMOST_WON, HARD, HARD], HARD_RULES, workers=3, max_seconds=60):
            break
        assert time.perf_counter() - start < 10


WITHOUT_COMPILER = """
import sys
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import solve
from tests.brute_force import can_win
from tests.endgames import endgame
for rules in (
    KlondikeRules(), KlondikeRules(draw_count=1, passes=2),
    KlondikeRules(run_moves="whole", forced_aces=True),
):
    for seed in range(6):
        v = solve(endgame(seed, rules), rules, max_states=2_000)
        print((v.verdict, v.states, v.turn, v.reach, v.reason))
"""


def test_the_same_without_the_compiler() -> None:
    outputs = []
    for disabled in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_COMPILER],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        outputs.append([ast.literal_eval(line) for line in done.stdout.splitlines()])
    assert outputs[0] == outputs[1]
    assert {output[0] for output in outputs[0]} >= {"winnable", "unwinnable"}


def test_numbers_of_numpy_are_no_different() -> None:
    deck = np.asarray(deals.deck(5), dtype=np.int64)
    left, right = (
        solve(game, DRAW_1, max_states=np.int64(5_000)) for game in (deck, deck.astype(np.uint8))
    )
    assert plain_fields(left) == plain_fields(right)
    json.dumps([left.verdict, left.states, left.turn, left.reach])
