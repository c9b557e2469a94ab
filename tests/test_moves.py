"""Faults reported in other Klondike programs, tried on the environments in every form they take.

A letter and a number, such as K01, is the place of a public report in the list that these tests
retrace; the report follows.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import klondike_env
from klondike_env import ENV_IDS, IllegalMoveError, KlondikeRules
from klondike_env.cards import CARDS
from klondike_env.games.base import REWARDS
from klondike_env.games.klondike.moves import MOVES
from tests.reference.building import easy_deck, whole_position
from tests.table import DEAD, Table, cards_of, make_vec

REACH_AND_TURN = pytest.mark.parametrize("actions", ["turn", "reach"])


def fits(card: int, on: int) -> bool:
    """Whether card lies on card: one rank lower, other colour, and nothing on an ace."""
    red, red_on = card // 13 in (1, 2), on // 13 in (1, 2)
    return on % 13 > 0 and card % 13 + 1 == on % 13 and red != red_on


def spread(named: dict[int, list[str]], foundations: dict[str, int], waste: str = "") -> Any:
    """A position with some piles given; the other cards go to the stock, then under the others."""
    taken = {card for pile in named.values() for card in pile} | set(waste.split())
    for suit, up in foundations.items():
        taken |= {rank + suit for rank in "A23456789TJQK"[:up]}
    rest = [card for card in CARDS if card not in taken]
    size = 24 - len(waste.split())
    stock, rest = rest[:size], rest[size:]
    piles = []
    for i in range(7):
        if i in named:
            piles.append(" ".join(named[i]))
            continue
        part, rest = rest[:7], rest[7:]
        piles.append("".join(f"({card})" for card in part[:-1]) + " " + "".join(part[-1:]))
    assert not rest
    return {
        "tableau": piles,
        "foundations": foundations,
        "stock": " ".join(stock),
        "waste": waste,
    }


# Draws


@pytest.mark.parametrize("draw_count", range(1, 25))
def test_every_draw_turns_a_packet_and_the_last_what_is_left(draw_count: int) -> None:
    """K01."""
    table = Table(deck=easy_deck(), draw_count=draw_count)
    stock = [CARDS[card] for card in easy_deck()[28:]]
    for packet in range(1, math.ceil(24 / draw_count) + 1):
        table.play("draw")
        turned = min(24, packet * draw_count)
        assert table.waste.split() == stock[:turned]
        assert table.stock.split() == ["##"] * (24 - turned)
        assert ("draw" in table.legal) == (turned < 24)
        assert ("redeal" in table.legal) == (turned == 24)


def test_the_card_under_a_played_one_is_free_at_once_and_all_views_agree() -> None:
    """K02: SoundGoddess/OpenSolitaire #6, brianstrauch/solitaire-tui #4."""
    piles = ["* 9H", "* QC", "*", "*", "*", "*", "*"]
    position = whole_position(piles, waste="4S JD 8C", rest_to_stock=10)
    table = Table(position, render_mode="ansi")
    stock = table.position["stock"]
    table.refuse("W>T2")
    table.play("W>T1")
    assert table.waste == "4S JD"
    assert table.position["stock"] == stock
    assert "W>T2" in table.legal
    board = table.env.render()
    assert "waste (2) 4S JD\n" in board
    table.play("W>T2")
    assert table.waste == "4S"
    assert "waste (1) 4S\n" in table.env.render()


@pytest.mark.parametrize("actions", ["turn", "reach"])
@pytest.mark.parametrize("draw_count", [1, 2, 3, 5, 23])
def test_the_talon_only_ever_loses_cards(draw_count: int, actions: str) -> None:
    """K03: Waste and stock together stay in the order in which the stock was dealt."""
    rng = random.Random(draw_count)
    env: Any = gym.make("Klondike-Draw3-v0", draw_count=draw_count, actions=actions).unwrapped
    plays = 0
    for deal in range(6):
        _, info = env.reset(options={"deal": deal})
        before = env.position()["stock"].split()
        for _ in range(150):
            action = rng.choice(np.flatnonzero(info["action_mask"]).tolist())
            _, _, terminated, _, info = env.step(action)
            position = env.position()
            after = f"{position['waste']} {position['stock']}".split()
            if len(after) < len(before):
                (gone,) = set(before) - set(after)
                before.remove(gone)
                plays += 1
            assert after == before
            if terminated:
                break
    assert plays >= 3


# Redeals


def test_redeals_left_counts_the_most_passes_there_are() -> None:
    """K04."""
    table = Table(deck=easy_deck(), passes=32_767, draw_count=24)
    table.play("draw", "redeal")
    assert table.observation["redeals_left"].tolist() == [32_765]


@pytest.mark.parametrize("passes", [None, 1, 3])
@pytest.mark.parametrize("action", [0, 1])
def test_empty_stock_and_waste_give_nothing_to_draw_or_redeal(
    action: int, passes: int | None
) -> None:
    """K05: SerenityOS/serenity PR #1390."""
    up = {"C": 13, "D": 13, "H": 13, "S": 11}
    position = whole_position(["KS", "QS", "", "", "", "", ""], up, score=40)
    options: dict[str, Any] = {"scoring": "standard", "passes": passes}
    table = Table(position, **options)
    table.refuse(MOVES["turn"][action])
    lenient = Table(position, illegal="ignore", reward="score", max_episode_steps=4, **options)
    for step in range(1, 5):
        lenient.step(action)
        assert lenient.reward == 0
        assert not lenient.terminated
        assert lenient.truncated == (step == 4)
        assert lenient.position == table.position
        assert lenient.info["action_mask"].tolist() == table.info["action_mask"].tolist()


# What goes where


@pytest.mark.parametrize("space", range(7))
@REACH_AND_TURN
@pytest.mark.parametrize("run_moves", ["partial", "whole", "same_suit"])
def test_only_kings_fill_a_space(space: int, actions: str, run_moves: str) -> None:
    """K08: doofy-dev/flipper_solitaire #8, PR #9."""
    source = (space + 3) % 7
    to = f">T{space + 1}"
    for waste, is_king in (("QS", False), ("2S", False), ("AD", False), ("KS", True)):
        piles = ["*"] * 7
        piles[space] = ""
        position = whole_position(piles, waste=waste, rest_to_stock=15)
        table = Table(position, actions=actions, run_moves=run_moves)
        move = (waste if actions == "reach" else "W") + to
        assert (move in table.legal) == is_king
        if is_king:
            assert table.play(move).tableau[space] == waste
        else:
            table.refuse(move)
    for run in ("QH", "QH JS", "AS", "KD", "KD QS", "KD QS JH"):
        piles = ["*"] * 7
        piles[space], piles[source] = "", "* " + run
        table = Table(whole_position(piles, rest_to_stock=20), actions=actions, run_moves=run_moves)
        is_legal = run[0] == "K" and (run_moves != "same_suit" or " " not in run)
        assert (f"T{source + 1}{to}" in table.legal) == is_legal
        if is_legal:
            assert table.play(f"T{source + 1}{to}").tableau[space] == run
        else:
            table.refuse(f"T{source + 1}{to}")
    for suit, up in itertools.product("CDHS", (1, 12, 13)):
        piles = ["*"] * 7
        piles[space] = ""
        position = whole_position(piles, {suit: up}, rest_to_stock=16 if up < 12 else 8)
        table = Table(position, actions=actions, run_moves=run_moves)
        assert (f"{suit}{to}" in table.legal) == (up == 13)
        if up == 13:
            assert table.play(f"{suit}{to}").tableau[space] == "K" + suit
        strict = Table(position, actions=actions, run_moves=run_moves, foundation_to_tableau=False)
        strict.refuse(f"{suit}{to}")


def test_every_card_goes_on_a_foundation_only_when_it_is_next() -> None:
    """K09."""
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    for card, text in enumerate(CARDS):
        suit, rank = text[1], card % 13
        for up in range(rank + 1):
            position = spread({0: [text]}, {suit: up})
            _, info = env.reset(options={"position": position})
            assert info["action_mask"][10] == (up == rank), (text, up)
            _, info = env.reset(options={"position": spread({}, {suit: up}, waste=text)})
            assert info["action_mask"][2] == (up == rank), (text, up)


def test_every_card_goes_on_a_pile_only_where_it_fits() -> None:
    """All pairs, from a pile, the waste and a foundation: also no ace on a king, nor a king on an
    ace, and nothing on an ace."""
    env: Any = gym.make("Klondike-Draw3-v0").unwrapped
    for card, on in itertools.permutations(range(52), 2):
        text, on_text = CARDS[card], CARDS[on]
        _, info = env.reset(options={"position": spread({0: [text], 1: [on_text]}, {})})
        assert info["action_mask"][17] == fits(card, on), (text, on_text)
        _, info = env.reset(options={"position": spread({1: [on_text]}, {}, waste=text)})
        assert info["action_mask"][4] == fits(card, on), (text, on_text)
        suit, up = card // 13, card % 13 + 1
        if on // 13 != suit or on % 13 >= up:
            position = spread({1: [on_text]}, {text[1]: up})
            _, info = env.reset(options={"position": position})
            assert info["action_mask"][59 + 7 * suit + 1] == fits(card, on), (text, on_text)


@REACH_AND_TURN
@pytest.mark.parametrize("env_id", ["Klondike-Thoughtful-Draw1-v0", "Klondike-Thoughtful-Draw3-v0"])
def test_no_card_is_lost_or_doubled_in_200_games_side_by_side(env_id: str, actions: str) -> None:
    """K10."""
    envs = make_vec(env_id, 200, actions=actions, max_episode_steps=120)
    observations, infos = envs.reset(seed=1)
    rng = np.random.default_rng(1)
    heights = np.arange(13)
    for _ in range(150):
        up = heights < observations["foundations"][:, :, None]
        parts = [observations[key].reshape(200, -1) for key in ("tableau", "waste", "stock")]
        cards = np.concatenate([*parts, np.where(up.reshape(200, 52), np.arange(1, 53), 0)], axis=1)
        cards = np.sort(cards, axis=1)
        np.testing.assert_array_equal(cards[:, -52:], np.tile(np.arange(1, 53), (200, 1)))
        assert not cards[:, :-52].any()
        actions_now = klondike_env.sample_actions(infos["action_mask"], rng)
        observations, *_, infos = envs.step(actions_now)


# Runs

RUNS = ["JC", "QH JS TD", "KS", "", "4C", "4S", "8S"]


def run_moves_of(table: Table) -> set[str]:
    """Pile to pile moves and how many cards each takes, found by playing it."""
    state, found = table.game.get_state(), set()
    for text in table.legal:
        if text[0] == "T" and not text.endswith("F"):
            source = int(text[1]) - 1
            before = len(table.tableau[source].split())
            table.game.step(table.action(text))
            found.add(f"{text} x{before - len(table.tableau[source].split())}")
            table.game.set_state(state)
    return found


@REACH_AND_TURN
@pytest.mark.parametrize(
    ("run_moves", "expected"),
    [
        ("partial", {"T2>T3 x3", "T2>T1 x1", "T3>T4 x1"}),
        ("whole", {"T2>T3 x3", "T3>T4 x1"}),
        ("same_suit", {"T2>T1 x1", "T3>T4 x1"}),
    ],
)
def test_as_many_cards_move_as_fit(run_moves: str, expected: set[str], actions: str) -> None:
    """K11: ShootMe/Klondike-Solver #5."""
    position = whole_position(RUNS, {"D": 8, "H": 11, "C": 1}, rest_to_stock=24)
    table = Table(position, run_moves=run_moves, actions=actions)
    assert run_moves_of(table) == expected
    if run_moves != "same_suit":
        assert table.play("T2>T3").tableau[1:3] == ["", "KS QH JS TD"]
    else:
        table.refuse("T2>T3")


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(range(7), 2)))
def test_a_run_splits_where_it_fits_between_any_two_piles(source: int, target: int) -> None:
    """K11: Every tail of a run from king to ace, onto every host, from and to every pile."""
    run = [card + "SH"[k % 2] for k, card in enumerate("KQJT98765432A")]  # KS QH JS ...
    for length in range(1, 13):
        host = run[-length - 1][0] + ("C" if run[-length - 1][1] == "S" else "D")
        table_position = spread({source: run, target: [host]}, {})
        for run_moves in ("partial", "whole", "same_suit"):
            table = Table(table_position, run_moves=run_moves)
            move = f"T{source + 1}>T{target + 1}"
            is_legal = run_moves == "partial" or (run_moves == "same_suit" and length == 1)
            assert (move in table.legal) == is_legal
            if is_legal:
                piles = table.play(move).tableau
                assert piles[target] == " ".join([host, *run[-length:]])
                assert piles[source] == " ".join(run[:-length])


@REACH_AND_TURN
@pytest.mark.parametrize("reward", list(REWARDS))
def test_a_part_run_moved_there_and_back_gains_nothing_and_ends_at_the_limit(
    reward: str, actions: str
) -> None:
    """K12: thecharlieblake/Solvitaire #143."""
    piles = ["(5C) 7D", "(3H) 7H 6C 5H", "*", "*", "*", "*", "*"]
    position = whole_position(piles, rest_to_stock=18)
    table = Table(position, actions=actions, reward=reward)
    first, total, steps = table.position, 0.0, 0
    while not (table.terminated or table.truncated):
        table.env.step(table.action("T2>T1"))
        _, _, table.terminated, table.truncated, table.info = table.env.step(table.action("T1>T2"))
        steps += 2
        if steps < 20:
            assert table.position == first
    assert (table.terminated, table.truncated, steps) == (False, True, 2_000)
    assert table.info["outcome"] == ""
    table = Table(position, actions=actions, reward=reward)
    for move in ["T2>T1", "T1>T2"] * 10:
        total += table.play(move).reward
    assert total == 0


# Ends


@pytest.mark.parametrize("draw_count", [1, 2, 3, 4, 24])
@pytest.mark.parametrize("passes", [None, 1, 3])
@pytest.mark.parametrize("run_moves", ["partial", "whole", "same_suit"])
def test_a_dead_game_ends_with_its_first_step(
    draw_count: int, passes: int | None, run_moves: str
) -> None:
    """K15: keith-packard/kgames #13, silent-lad/VueSolitaire #11."""
    options: dict[str, Any] = {
        "draw_count": draw_count,
        "passes": passes,
        "run_moves": run_moves,
        "reward": "cards",
    }
    table = Table(DEAD, **options)
    assert table.legal == {"draw"}
    table.play("draw")
    assert (table.reward, table.terminated, table.truncated) == (0, True, False)
    assert table.info["outcome"] == "stuck"
    assert table.info["action_mask"].all()
    with pytest.raises(gym.error.ResetNeeded):
        table.game.step(0)
    if passes is None:
        table = Table(DEAD, actions="reach", **options)
        assert table.legal == set()
        assert table.info["action_mask"].all()
        assert table.step(5).terminated
        assert table.info["outcome"] == "stuck"


@pytest.mark.parametrize("mode", list(AutoresetMode))
@REACH_AND_TURN
def test_dead_games_end_in_a_batch_too(mode: AutoresetMode, actions: str) -> None:
    """K15."""
    envs = make_vec(num_envs=3, autoreset_mode=mode, actions=actions)
    envs.reset(seed=1)
    _, infos = envs.reset(options={"position": DEAD})
    assert infos["action_mask"].all() == (actions == "reach")
    _, rewards, terminated, truncated, infos = envs.step([0, 0, 0])
    assert terminated.all()
    assert not truncated.any()
    assert not rewards.any()
    shown = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
    assert shown["outcome"].tolist() == ["stuck"] * 3
    if mode == AutoresetMode.SAME_STEP:
        assert infos["outcome"].tolist() == [""] * 3
        assert (infos["deal"] >= 2**32).all()


@pytest.mark.parametrize("suit", "CDHS")
@pytest.mark.parametrize("place", ["waste", *range(7)])
@pytest.mark.parametrize("passes", [1, 3])
def test_a_win_with_no_pass_left_is_a_win(suit: str, place: Any, passes: int) -> None:
    """K16: SaitoTech/saito-lite #274."""
    ups = dict.fromkeys("CDHS", 13) | {suit: 12}
    piles = [""] * 7
    if place != "waste":
        piles[place] = "K" + suit
    position = {
        "tableau": piles,
        "foundations": ups,
        "waste": "K" + suit if place == "waste" else "",
        "redeals_left": 0,
    }
    move = "W>F" if place == "waste" else f"T{place + 1}>F"
    paid = {"win": 1, "cards": 1, "score": 1, "progress": 1 / 73}
    for reward in REWARDS:
        table = Table(position, passes=passes, reward=reward).play(move)
        assert (table.terminated, table.truncated) == (True, False)
        assert table.info["outcome"] == "won"
        assert table.reward == paid[reward]
    for mode in AutoresetMode:
        envs = make_vec(num_envs=2, passes=passes, autoreset_mode=mode)
        envs.reset(options={"position": position})
        action = table.action(move)
        _, rewards, terminated, truncated, infos = envs.step([action] * 2)
        assert rewards.tolist() == [1, 1]
        assert terminated.all()
        assert not truncated.any()
        shown = infos["final_info"] if mode == AutoresetMode.SAME_STEP else infos
        assert shown["outcome"].tolist() == ["won"] * 2
        _, rewards, _, _, _ = envs.step(envs.action_masks().argmax(axis=1))
        assert rewards.tolist() == [0, 0]  # paid once


# Nothing moves by itself


@REACH_AND_TURN
def test_a_card_taken_back_stays_back(actions: str) -> None:
    """K19: ianhanniballake/TripleSolitaire #2, #20."""
    piles = ["* 6C", "*", "*", "*", "*", "*", "*"]
    rules = KlondikeRules(draw_count=1, scoring="standard", redeal_penalty=0)
    position = whole_position(piles, {"H": 5, "C": 4, "S": 3}, rest_to_stock=12, score=100)
    table = Table(position, rules=rules, actions=actions, reward="score")
    before = table.position
    table.play("H>T1")
    assert (table.score, table.reward) == (85, -15)
    assert table.tableau[0].endswith("6C 5H")
    assert table.tableau[1:] == before["tableau"][1:]
    assert table.position["foundations"] == {"C": 4, "D": 0, "H": 4, "S": 3}
    best = 100
    for _ in range(30):
        table.play("T1>F")
        # A penalty takes only what is there, so the loss ends at the 10 points of the last play.
        assert table.score == max(best - 5, 10)
        best = table.score
        table.play("H>T1")
    assert table.score == 0


@REACH_AND_TURN
def test_a_card_still_needed_stays_where_it_is_but_may_go_up(actions: str) -> None:
    """K20: oddstream/lsol #14, mpereira/tty-solitaire PR #69."""
    piles = ["* 3H", "* 2C", "* 2S", "*", "*", "*", "*"]
    position = whole_position(piles, {"C": 1, "S": 1, "H": 2, "D": 2}, rest_to_stock=12)
    table = Table(position, actions=actions)
    assert {"T1>F", "T2>F", "T3>F", "T2>T1", "T3>T1"} <= table.legal
    table.play("T2>T1")
    assert table.tableau[0].endswith("3H 2C")
    assert table.info["foundation_cards"] == 6
    table = Table(position, actions=actions).play("T1>F")
    assert table.info["foundation_cards"] == 7


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_step_makes_one_move(env_id: str) -> None:
    """K20: In a step of any id at most one card goes up or comes down, and at most one turns."""
    rng = random.Random(3)
    env: Any = gym.make(env_id).unwrapped
    for deal in range(4):
        _, info = env.reset(options={"deal": deal})
        for _ in range(120):
            before, cards = env.get_state(), info["foundation_cards"]
            action = rng.choice(np.flatnonzero(info["action_mask"]).tolist())
            _, _, terminated, _, info = env.step(action)
            goes_up = 10 <= action < 17 or action == 2
            expected = 1 if goes_up else -1 if action >= 59 else 0
            assert info["foundation_cards"] - cards == expected
            turned = int(before["face_down_cards"][0]) - int(env.get_state()["face_down_cards"][0])
            assert turned in ((0, 1) if 10 <= action < 59 else (0,))
            if terminated:
                break


def test_forced_actions_out_of_the_table_of_moves_are_refused_with_the_number() -> None:
    for actions, size in (("turn", 87), ("reach", 269)):
        table = Table(deal=1, actions=actions)
        for action in (-1, size, 2**40, -(2**63)):
            with pytest.raises(IllegalMoveError, match=rf"action {action} is out of range"):
                table.env.step(action)
        assert cards_of(table.position)
