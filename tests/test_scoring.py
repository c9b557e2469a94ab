"""Scores and rewards: faults reported in other programs, and loops that must not pay.

A letter and a number, such as S01, is the place of a public report in the list that these tests
retrace; the report follows.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from klondike_env import ENV_IDS, KlondikeRules
from klondike_env.games.base import REWARDS
from klondike_env.games.klondike.moves import MOVES
from klondike_env.games.klondike.rules import PRESETS
from tests.reference.building import easy_deck, whole_position
from tests.table import Table, make_vec

WINDOWS = "Klondike-Windows-Draw1-v0"
VEGAS = "Klondike-Vegas-v0"
STAKES = {"Klondike-Vegas-v0": 52, "Klondike-Vegas50-v0": 50, "Klondike-VegasDraw3-v0": 52}


# Foundations


def test_no_action_moves_a_card_between_foundations() -> None:
    """S01: TobiasBielefeld/Simple-Solitaire #63."""
    for actions, texts in MOVES.items():
        for text in texts:
            source, _, target = text.partition(">")
            assert not (source in "CDHS" and target in ("F", *"CDHS")), (actions, text)


@pytest.mark.parametrize("pile", range(7))
@pytest.mark.parametrize("reward", list(REWARDS))
@pytest.mark.parametrize(("env_id", "net"), [(WINDOWS, -5), (VEGAS, 0), ("Klondike-Draw3-v0", 0)])
def test_a_card_taken_back_and_played_again_never_pays(
    env_id: str, net: int, reward: str, pile: int
) -> None:
    """S01."""
    piles = ["*"] * 7
    piles[pile] = "* 2S"
    position = whole_position(piles, {"H": 1}, rest_to_stock=14, score=100)
    table = Table(position, env_id=env_id, reward=reward)
    down, up = f"H>T{pile + 1}", f"T{pile + 1}>F"
    total = sum(table.play(move).reward for move in [down, up] * 3)
    assert table.score == 100 + 3 * net
    assert total == (3 * net if reward == "score" else 0)


# Redeals


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ({"draw_count": 1}, [400, 300, 200, 100, 0, 0, 0]),
        ({"draw_count": 3}, [500, 500, 500, 480, 460, 440, 420]),
        ({"draw_count": 24}, [500, 500, 500, 480, 460, 440, 420]),
        ({"draw_count": 3, "redeal_penalty": 100}, [500, 500, 500, 400, 300, 200, 100]),
        ({"draw_count": 3, "free_redeals": 0}, [480, 460, 440, 420, 400, 380, 360]),
        ({"draw_count": 1, "free_redeals": 2}, [500, 500, 400, 300, 200, 100, 0]),
        ({"draw_count": 1, "redeal_penalty": 0}, [500] * 7),
        ({"draw_count": 3, "passes": 8}, [500, 500, 500, 480, 460, 440, 420]),
        ({"draw_count": 3, "scoring": "vegas", "passes": 8}, [500] * 7),
    ],
)
def test_redeals_cost_what_the_rules_say(options: dict[str, Any], scores: list[int]) -> None:
    """S03: SerenityOS/serenity PR #7464."""
    piles = ["* AS", "*", "*", "*", "*", "*", "*"]
    position = whole_position(piles, waste="KS", rest_to_stock=8, score=500)
    table = Table(position, reward="score", **{"scoring": "standard", **options})
    last, found = 500, []
    for _ in scores:
        while "draw" in table.legal:
            assert table.play("draw").reward == 0
        table.play("redeal")
        assert table.reward == table.score - last  # what the floor let it take
        last = table.score
        found.append(last)
    assert found == scores


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_free_redeals_start_anew_with_each_game(mode: AutoresetMode) -> None:
    envs = make_vec(
        "Klondike-Windows-Draw3-v0",
        2,
        autoreset_mode=mode,
        reward="score",
        max_episode_steps=40,
    )
    envs.reset(seed=3)
    position = whole_position(["* AS"] + ["*"] * 6, waste="KS", rest_to_stock=8, score=500)
    for _ in range(2):
        _, infos = envs.reset(options={"position": position})
        paid = []
        for _ in range(20):
            action = int(not infos["action_mask"][0, 0])
            _, rewards, _, _, infos = envs.step([action] * 2)
            if action:
                paid.append(rewards.tolist())
        assert paid == [[0, 0]] * 3 + [[-20, -20]] * 2


# Turning up


@pytest.mark.parametrize("pile", range(7))
@pytest.mark.parametrize("hidden", [1, 2, 6])
def test_turning_up_pays_on_every_pile_at_any_depth(pile: int, hidden: int) -> None:
    """S05."""
    names = ["9C", "9S", "7H", "5D", "3C", "KD"][:hidden]
    piles = ["*"] * 7
    piles[pile] = "".join(f"({name})" for name in names) + " AH"
    table = Table(whole_position(piles, rest_to_stock=22, score=0), env_id=WINDOWS, reward="score")
    assert table.play(f"T{pile + 1}>F").reward == 15
    assert table.tableau[pile].endswith(names[-1])
    assert (table.observation["tableau"][pile] == 53).sum() == hidden - 1


# Vegas


@pytest.mark.parametrize("env_id", STAKES)
def test_vegas_pays_five_a_card_from_minus_the_stake(env_id: str) -> None:
    """S06: wizkidproductions rules page."""
    stake = STAKES[env_id]
    table = Table(deck=easy_deck(), env_id=env_id, reward="score", max_episode_steps=400)
    assert table.score == -stake
    total = 0.0
    for cards in range(1, 53):
        before = table.score
        while table.info["foundation_cards"] < cards:
            ups = sorted(text for text in table.legal if text.endswith(">F"))
            move = ups[0] if ups else "draw" if "draw" in table.legal else "redeal"
            total += table.play(move).reward
        assert table.score == before + 5 == 5 * cards - stake
    assert table.info["outcome"] == "won"
    assert (table.score, total) == (260 - stake, 260)


@pytest.mark.parametrize("cumulative", [False, True])
def test_the_bank_carries_over_only_where_it_is_cumulative(cumulative: bool) -> None:
    """S06: Games of 8, 52 and 15 cards at stake 50 stand at -10, +200 and +225."""
    env: Any = gym.make("Klondike-Vegas50-v0", cumulative=cumulative, reward="score")
    starts, ends = [], []
    for game, cards in enumerate((8, 52, 15)):
        _, info = env.reset(seed=5 if game == 0 else None, options={"deck": easy_deck()})
        starts.append(info["score"])
        while info["foundation_cards"] < cards:
            mask = info["action_mask"]
            ups = [action for action in (2, *range(10, 17)) if mask[action]]
            _, _, _, _, info = env.step(ups[0] if ups else 0)
        ends.append(info["score"])
    if cumulative:
        assert (starts, ends) == ([-50, -60, 150], [-10, 200, 225])
    else:
        assert (starts, ends) == ([-50] * 3, [-10, 210, 25])
    assert env.reset()[1]["score"] == (175 if cumulative else -50)
    assert env.reset(seed=5)[1]["score"] == -50  # a seed starts everything anew


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_each_row_has_its_own_bank_over_automatic_resets(mode: AutoresetMode) -> None:
    envs = make_vec(
        "Klondike-Vegas-v0",
        3,
        cumulative=True,
        autoreset_mode=mode,
        max_episode_steps=25,
        reward="score",
    )
    _, infos = envs.reset(seed=1)
    assert infos["score"].tolist() == [-52] * 3
    banks = infos["score"].astype(float)
    waiting = np.zeros(3, dtype=bool)
    for _ in range(90):
        actions = [
            max(range(87), key=lambda a: (mask[a], 9 < a < 17, a == 2, a == 0))
            for mask in infos["action_mask"]
        ]
        _, rewards, terminated, truncated, infos = envs.step(actions)
        banks += rewards
        if mode == AutoresetMode.SAME_STEP:
            banks[terminated | truncated] -= 52
        else:
            banks[waiting] -= 52
        waiting = terminated | truncated
        assert infos["score"].tolist() == banks.tolist()
    assert len(set(banks.tolist())) == 3
    assert max(banks) < -104


def test_a_reset_of_some_rows_leaves_the_other_banks() -> None:
    envs = make_vec(
        "Klondike-Vegas50-v0", 3, cumulative=True, autoreset_mode=AutoresetMode.DISABLED
    )
    _, infos = envs.reset(seed=1)
    chosen = np.array([True, False, True])
    _, infos = envs.reset(options={"reset_mask": chosen})
    assert infos["score"].tolist() == [-100, -50, -100]
    _, infos = envs.reset(seed=1, options={"reset_mask": np.array([True, False, False])})
    assert infos["score"].tolist() == [-50, -50, -100]
    _, infos = envs.reset(seed=[None, 4, None])
    assert infos["score"].tolist() == [-100, -50, -150]


def test_the_bank_survives_copies_of_the_state_and_positions() -> None:
    env: Any = gym.make(VEGAS, cumulative=True).unwrapped
    env.reset(seed=1)
    env.reset()
    other: Any = gym.make(VEGAS, cumulative=True).unwrapped
    other.set_state(env.get_state())
    assert other.reset()[1]["score"] == env.reset()[1]["score"] == -156
    position = whole_position(["*"] * 7, rest_to_stock=24)
    assert env.reset(options={"position": position})[1]["score"] == -208
    assert env.reset(options={"position": position | {"score": 7}})[1]["score"] == 7


# Loops and the sum of rewards


@pytest.mark.parametrize("reward", list(REWARDS))
@pytest.mark.parametrize(
    "env_id", ["Klondike-Draw3-v0", WINDOWS, "Klondike-Windows-Draw3-v0", VEGAS]
)
def test_a_king_between_spaces_earns_nothing(env_id: str, reward: str) -> None:
    """S07: TobiasBielefeld/Simple-Solitaire #103, #171, #102."""
    piles = ["KS QH", "", "", "* AS", "*", "*", "*"]
    position = whole_position(piles, rest_to_stock=24, score=0)
    table = Table(position, env_id=env_id, reward=reward)
    total = sum(table.play(move).reward for move in ["T1>T2", "T2>T1"] * 50)
    total += sum(table.play(move).reward for move in ["T1>T2", "T2>T3", "T3>T1"] * 20)
    assert (total, table.score) == (0, 0)


def test_a_king_dealt_to_the_bottom_of_a_pile_is_worth_no_progress() -> None:
    """S07: The potential of a fresh deal is the same whatever lies where, so a win's sum is 1."""
    for swap in (None, 0, 1, 2):
        deck = easy_deck()
        if swap is not None:
            king = deck.index(12 + 13 * swap)
            deck[0], deck[king] = deck[king], deck[0]
        table = Table(deck=deck, env_id="Klondike-Draw1-v0", reward="progress")
        if swap is not None:
            assert table.tableau[0][0] == "K"
            total = 0.0
            for _ in range(40):
                moves = sorted(text for text in table.legal if text.startswith("T1>T"))
                total += table.play(moves[0] if moves else sorted(table.legal)[-1]).reward
                state = table.game.get_state()[0]
                potential = int(state["foundation_cards"]) + 21 - int(state["face_down_cards"])
                assert total == pytest.approx(potential / 73)
                if table.terminated:
                    break
            continue
        total = 0.0
        while not table.terminated:
            ups = sorted(text for text in table.legal if text.endswith(">F"))
            total += table.play(ups[0] if ups else "draw").reward
        assert total == pytest.approx(1)


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_rewards_add_up_to_what_they_are_changes_of(env_id: str) -> None:
    """`score` and `cards` telescope in every id, and `win` pays nothing without a win."""
    for reward, key in (("score", "score"), ("cards", "foundation_cards"), ("win", None)):
        env: Any = gym.make(env_id, reward=reward, max_episode_steps=200)
        env.action_space.seed(4)
        for deal in range(3):
            _, info = env.reset(options={"deal": deal})
            start = info[key] if key else 0
            total, is_over = 0.0, False
            while not is_over:
                action = env.action_space.sample(info["action_mask"])
                _, paid, terminated, truncated, info = env.step(action)
                total += paid
                is_over = terminated or truncated
            expected = info[key] - start if key else float(info["outcome"] == "won")
            assert total == expected


@pytest.mark.parametrize("env_id", [env_id for env_id in ENV_IDS if "Windows" in env_id])
def test_the_standard_score_never_falls_below_zero(env_id: str) -> None:
    env: Any = gym.make(env_id, reward="score", seconds_per_move=9)
    env.action_space.seed(1)
    lowest = 100
    for deal in range(5):
        _, info = env.reset(options={"deal": deal})
        score = info["score"]
        for _ in range(150):
            action = env.action_space.sample(info["action_mask"])
            _, paid, terminated, _, info = env.step(action)
            score += paid
            assert info["score"] == score >= 0
            lowest = min(lowest, score)
            if terminated:
                break
    assert lowest == 0


# Time


@pytest.mark.parametrize("seconds_per_move", [0, 7])
def test_nothing_depends_on_the_wall_clock(seconds_per_move: int) -> None:
    """S08: TobiasBielefeld/Simple-Solitaire #87, SerenityOS/serenity PR #7464."""
    games = []
    for pause in (0.0, 0.01):
        table = Table(
            deck=easy_deck(), env_id=WINDOWS, reward="score", seconds_per_move=seconds_per_move
        )
        rewards = []
        while not table.terminated:
            ups = sorted(text for text in table.legal if text.endswith(">F"))
            rewards.append(table.play(ups[0] if ups else "draw").reward)
            time.sleep(pause)
        assert table.info["outcome"] == "won"
        games.append((rewards, table.score))
    assert games[0] == games[1]
    rewards, score = games[0]
    assert sum(rewards) == score
    untimed = 52 * 10 + 21 * 5
    seconds = seconds_per_move * len(rewards)
    assert score == untimed - 2 * (seconds // 10) + (700_000 // seconds if seconds else 0)


@pytest.mark.parametrize("rules", [PRESETS[WINDOWS], KlondikeRules(scoring="standard")])
def test_ignored_actions_take_no_simulated_time(rules: KlondikeRules) -> None:
    position = whole_position(["* AS"] + ["*"] * 6, rest_to_stock=15, score=50)
    table = Table(position, rules=rules, seconds_per_move=10, illegal="ignore", reward="score")
    assert [table.step(1).reward for _ in range(5)] == [0] * 5
    assert table.step(0).reward == -2
