"""Evaluation: each deal once, the same records however it is run, honest statistics."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import binomtest

import klondike_env
from agents import make_agent
from klondike_env import IllegalMoveError
from klondike_env.evaluation import Evaluation, GameRecord, game_seed, wilson_interval
from klondike_env.games.klondike.moves import move_text

DEALS = klondike_env.deals.suite("validation", 40)
VEGAS = "Klondike-Vegas-v0"


def without_time(result: Evaluation) -> list[tuple[Any, ...]]:
    return [(r.deal, r.outcome, r.score, r.foundation_cards, r.steps) for r in result.records]


class Lowest:
    """The smallest possible agent: two methods."""

    def reset(self, num_envs: int, seed: int) -> None:
        self.num_envs = num_envs

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        assert len(action_masks) == self.num_envs
        return action_masks.argmax(axis=1)


@pytest.mark.parametrize("agent", ["random", "greedy", "guide"])
@pytest.mark.parametrize("env_id", ["Klondike-Draw3-v0", "Klondike-Vegas-v0"])
def test_records_do_not_depend_on_the_number_of_rows(agent: str, env_id: str) -> None:
    rules = klondike_env.games.klondike.rules.PRESETS[env_id]
    results = [
        without_time(
            klondike_env.evaluate(
                make_agent(agent, rules), env_id, DEALS, num_envs=n, max_episode_steps=150, seed=3
            )
        )
        for n in (1, 7, 64)
    ]
    assert results[0] == results[1] == results[2]
    assert [row[0] for row in results[0]] == list(DEALS)


class Fifty(Lowest):
    """Gives every game up before its move 51."""

    def reset(self, num_envs: int, seed: int) -> None:
        super().reset(num_envs, seed)
        self.moves = np.zeros(num_envs, dtype=np.int64)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.moves[rows] = 0

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        self.moves += 1
        return super().act(observations, action_masks)

    def given_up(self) -> np.ndarray:
        return self.moves > 50


@pytest.mark.parametrize("num_envs", [1, 7, 64])
def test_a_game_given_up_ends_there_as_a_loss(num_envs: int) -> None:
    games: list[klondike_env.records.Record] = []
    result = klondike_env.evaluate(
        Fifty(), "Klondike-Windows-Draw3-v0", DEALS, num_envs=num_envs, records=games.append
    )
    assert {(game.outcome, game.steps) for game in result.records} == {("unfinished", 50)}
    assert (result.wins, result.truncated_rate) == (0, 0.0)
    scores = {game.start["deal"]: (game.score, game.foundation_cards) for game in games}
    assert len(scores) == len(DEALS)
    for game in result.records:
        assert scores[game.deal] == (game.score, game.foundation_cards)
    for game in games:
        assert game.outcome == "unfinished"
        klondike_env.records.replay(game)
    limited = klondike_env.evaluate(
        Lowest(), "Klondike-Windows-Draw3-v0", DEALS, num_envs=num_envs, max_episode_steps=50
    )
    assert [row[2:] for row in without_time(limited)] == [row[2:] for row in without_time(result)]


@pytest.mark.parametrize(("agent", "env_id"), [("plan", "Klondike-Draw3-v0"), ("planner", VEGAS)])
def test_who_gives_up_has_played_up_what_went_up(agent: str, env_id: str) -> None:
    rules = klondike_env.games.klondike.rules.PRESETS[env_id]
    games: list[klondike_env.records.Record] = []
    klondike_env.evaluate(make_agent(agent, rules), env_id, DEALS, records=games.append)
    given_up = [game for game in games if game.outcome == "unfinished"]
    assert len(given_up) > 10
    for game in given_up:
        env: Any = gym.make(env_id, actions=game.actions)
        _, info = env.reset(options=dict(game.start))
        for move in game.moves:
            _, _, _, _, info = env.step(env.unwrapped.game.parse_move(move, game.actions))
        legal = np.flatnonzero(info["action_mask"])
        texts = [move_text(int(a), game.actions) for a in legal]
        assert not [text for text in texts if text.startswith("T") and ">F" in text]


def test_order_and_company_of_the_deals_do_not_matter() -> None:
    def play(deals: list[int]) -> dict[int, Any]:
        result = klondike_env.evaluate(
            make_agent("random"), "Klondike-Draw3-v0", deals, num_envs=5, max_episode_steps=100
        )
        return {row[0]: row for row in without_time(result)}

    forward, backward = play(list(DEALS)), play(list(DEALS)[::-1])
    assert forward == backward
    assert play(list(DEALS)[7:9]) == {deal: forward[deal] for deal in list(DEALS)[7:9]}


def test_a_seed_changes_random_play_and_nothing_else() -> None:
    def play(seed: int) -> list[tuple[Any, ...]]:
        agent = make_agent("random")
        return without_time(
            klondike_env.evaluate(
                agent, "Klondike-Draw3-v0", DEALS, seed=seed, max_episode_steps=100
            )
        )

    assert play(1) == play(1)
    assert play(1) != play(2)
    assert [row[0] for row in play(2)] == list(DEALS)


def test_wins_and_lengths_equal_a_plain_loop() -> None:
    """R12: Farama-Foundation/Gymnasium #1103, #1017: last steps lost, lengths off by one."""
    rules = klondike_env.games.klondike.rules.PRESETS["Klondike-Draw1-v0"]
    result = klondike_env.evaluate(make_agent("guide", rules), "Klondike-Draw1-v0", DEALS)
    env = gym.make("Klondike-Draw1-v0", actions="reach")
    guide = make_agent("guide", rules)
    for record in result.records[:12]:
        observation, info = env.reset(options={"deal": record.deal})
        guide.reset(1, 0)
        terminated = truncated = False
        steps = 0
        while not (terminated or truncated):
            batch = {key: array[None] for key, array in observation.items()}
            action = guide.act(batch, info["action_mask"][None])[0]
            observation, _, terminated, truncated, info = env.step(action)
            steps += 1
        assert (info["outcome"] or "truncated", steps) == (record.outcome, record.steps)
        assert info["foundation_cards"] == record.foundation_cards
    assert result.wins >= 20


def test_every_game_counts_and_the_numbers_agree() -> None:
    """R23: TobiasBielefeld/Simple-Solitaire #39: win rates over 100 %, unfinished games dropped."""
    outcomes = ["won"] * 5 + ["stuck"] * 5 + ["truncated"] * 10
    records = tuple(GameRecord(n, o, 7, n, 10 * n, 0.1) for n, o in enumerate(outcomes))
    result = Evaluation("Klondike-Draw3-v0", records, 0.95)
    assert (result.games, result.wins, result.win_rate) == (20, 5, 0.25)
    assert result.truncated_rate == 0.5
    assert result.mean_foundation_cards == 9.5
    assert (result.mean_steps, result.mean_steps_of_wins) == (95, 20)
    assert Evaluation("Klondike-Draw3-v0", records[5:], 0.95).mean_steps_of_wins is None
    assert result.mean_score == 7
    assert "won 5 of 20, 25.0% [11.2%, 46.9%]" in str(result)


def test_asking_for_n_deals_gives_n_records() -> None:
    """R14: Farama-Foundation/Gymnasium #226: the first N to finish over-represent short games."""
    for num_envs in (1, 8):
        result = klondike_env.evaluate(
            Lowest(), "Klondike-Draw3-v0", range(100), num_envs=num_envs, max_episode_steps=60
        )
        assert Counter(r.deal for r in result.records) == Counter(range(100))
    twice = klondike_env.evaluate(Lowest(), "Klondike-Draw3-v0", [4, 4, 9], max_episode_steps=30)
    assert [r.deal for r in twice.records] == [4, 4, 9]


def test_progress_hears_of_every_game() -> None:
    heard: list[GameRecord] = []
    result = klondike_env.evaluate(
        Lowest(), "Klondike-Draw3-v0", DEALS, max_episode_steps=40, progress=heard.append
    )
    assert sorted(heard, key=lambda r: r.deal) == list(result.records)


def test_an_illegal_action_names_the_deal() -> None:
    class Bad(Lowest):
        def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
            return np.where(np.arange(len(action_masks)) == 2, 1, 0)

    with pytest.raises(IllegalMoveError, match=f"deal {DEALS[2]}: redeal is illegal: the stock"):
        klondike_env.evaluate(Bad(), "Klondike-Draw3-v0", DEALS, num_envs=4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"deals": []}, "no deals"),
        ({"deals": [-1]}, "a deal is a whole number"),
        ({"num_envs": 0}, "num_envs is a whole number from 1 on"),
        ({"num_envs": "8"}, "num_envs is a whole number from 1 on"),
        ({"seed": -1}, "seed is a whole number from 0 on"),
        ({"seed": 1.5}, "seed is a whole number from 0 on"),
        ({"deals": 5}, "deals are deal numbers"),
        ({"confidence": "x"}, "confidence lies between 0 and 1"),
        ({"confidence": 1.0}, "confidence"),
        ({"rewards": "win"}, "no option 'rewards'"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    arguments = {"deals": [1], **arguments}
    with pytest.raises(ValueError, match=message):
        klondike_env.evaluate(Lowest(), "Klondike-Draw3-v0", **arguments)


@pytest.mark.parametrize(("wins", "games"), [(0, 10), (10, 10), (5, 20), (4758, 10_000), (1, 3)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_interval_is_scipy_s(wins: int, games: int, confidence: float) -> None:
    expected = binomtest(wins, games).proportion_ci(confidence, method="wilson")
    low, high = wilson_interval(wins, games, confidence)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= wins / games <= high <= 1


@pytest.mark.parametrize(("wins", "games"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(wins: int, games: int) -> None:
    with pytest.raises(ValueError, match="wins"):
        wilson_interval(wins, games)


def test_agents_get_observations_and_masks_alone() -> None:
    class Curious(Lowest):
        def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
            self.seeds = seeds

        def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
            assert set(observations) == {
                "tableau", "foundations", "waste", "stock", "redeals_left",
            }  # fmt: skip
            return super().act(observations, action_masks)

    agent = Curious()
    klondike_env.evaluate(agent, "Klondike-Draw3-v0", [1, 2], max_episode_steps=5, seed=9)
    assert agent.seeds.tolist() == [game_seed(9, 1), game_seed(9, 2)]
    assert not set(agent.seeds.tolist()) & {1, 2}
