"""The tables in docstrings say what the code says."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from klondike_env.envs.klondike import KlondikeEnv
from klondike_env.games.base import COMMON_FIELDS, REWARDS
from klondike_env.games.klondike.layout import STATE, observation_fields
from klondike_env.games.klondike.moves import MOVES, action_table, move_text, parse_move
from klondike_env.games.klondike.rules import KlondikeRules

DOCUMENTED = [" ".join(line.split()) for line in inspect.getdoc(KlondikeEnv).splitlines()]


@pytest.mark.parametrize("actions", MOVES)
def test_action_table(actions: str) -> None:
    for line in action_table(actions):
        assert " ".join(line.split()) in DOCUMENTED
    assert f"`Discrete({len(MOVES[actions])})`" in inspect.getdoc(KlondikeEnv)


def test_observation_table() -> None:
    for field in observation_fields(KlondikeRules(cards_known=True)):
        line = f"{field.name} {field.shape} {np.dtype(field.dtype).name} {field.meaning}"
        assert " ".join(line.split()) in DOCUMENTED


def test_reward_table() -> None:
    for name, meaning in REWARDS.items():
        assert f"{name} {meaning}" in DOCUMENTED


@pytest.mark.parametrize("actions", MOVES)
def test_moves_and_ids_translate_both_ways(actions: str) -> None:
    texts = [move_text(action, actions) for action in range(len(MOVES[actions]))]
    assert [parse_move(text, actions) for text in texts] == list(range(len(texts)))
    assert len(set(texts)) == len(texts)
    assert parse_move(" t3>t5 x2 ", actions) == parse_move("T3>T5", actions)


def test_ids_follow_the_published_formulas() -> None:
    """The formulas at the head of `moves`, each pile, suit and talon card in turn."""
    for i in range(7):
        for j in range(7):
            if i != j:
                place = 6 * i + (j if j < i else j - 1)
                assert (
                    move_text(17 + place) == move_text(199 + place, "reach") == f"T{i + 1}>T{j + 1}"
                )
        assert move_text(3 + i) == f"W>T{i + 1}"
        assert move_text(10 + i) == move_text(192 + i, "reach") == f"T{i + 1}>F"
        for s, suit in enumerate("CDHS"):
            place = 7 * s + i
            assert move_text(59 + place) == move_text(241 + place, "reach") == f"{suit}>T{i + 1}"
    for k in range(24):
        assert move_text(8 * k, "reach") == f"#{k + 1}>F"
        for j in range(7):
            assert move_text(8 * k + 1 + j, "reach") == f"#{k + 1}>T{j + 1}"
    assert [move_text(action) for action in range(3)] == ["draw", "redeal", "W>F"]


def test_unknown_moves_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="action 87 is not one of 0-86"):
        move_text(87)
    with pytest.raises(ValueError, match="'T8>F' is no move"):
        parse_move("T8>F")


def test_state_record_has_the_fields_every_game_has() -> None:
    assert set(COMMON_FIELDS) <= set(STATE.names)
