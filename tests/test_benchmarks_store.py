from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks.store import Matchup, Store
from klondike_env.evaluation import GameRecord

MATCHUP = Matchup(
    env_id="Klondike-Draw3-v0",
    rules={"draw_count": 3},
    step_limit=2000,
    agent="agents.random_agent:RandomAgent",
    actions="turn",
    seed=0,
    suite="test",
    versions={"klondike_env": "0.1.0"},
    code="abc",
)


def game(deal: int) -> GameRecord:
    return GameRecord(
        deal=deal, outcome="stuck", score=0, foundation_cards=3, steps=50, seconds=0.25
    )


def write_games(folder: Path, count: int) -> Path:
    with Store(folder, MATCHUP, GameRecord) as store:
        for deal in range(count):
            store.add(game(deal))
    return store.path


def read_games(folder: Path, matchup: Matchup = MATCHUP) -> dict[int, GameRecord]:
    with Store(folder, matchup, GameRecord) as store:
        return store.records


def test_games_come_back(tmp_path: Path) -> None:
    write_games(tmp_path / "new" / "folder", 3)
    assert read_games(tmp_path / "new" / "folder") == {deal: game(deal) for deal in range(3)}


def test_a_game_is_on_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    with Store(tmp_path, MATCHUP, GameRecord) as store:
        store.add(game(7))
        assert list(read_games(tmp_path)) == [7]


@pytest.mark.parametrize("cut", [1, 2, 10, 40])
def test_a_half_written_last_line_costs_that_game_only(tmp_path: Path, cut: int) -> None:
    path = write_games(tmp_path, 3)
    path.write_bytes(path.read_bytes()[:-cut])
    kept = [0, 1, 2] if cut == 1 else [0, 1]  # one byte is only the end of the line
    assert list(read_games(tmp_path)) == kept
    with Store(tmp_path, MATCHUP, GameRecord) as store:
        store.add(game(3))
    assert list(read_games(tmp_path)) == [*kept, 3]


def test_a_half_written_first_line_costs_nothing(tmp_path: Path) -> None:
    path = write_games(tmp_path, 0)
    path.write_bytes(path.read_bytes()[:20])
    write_games(tmp_path, 2)
    assert list(read_games(tmp_path)) == [0, 1]


def test_the_latest_of_two_records_of_a_deal_counts(tmp_path: Path) -> None:
    write_games(tmp_path, 1)
    with Store(tmp_path, MATCHUP, GameRecord) as store:
        store.add(dataclasses.replace(game(0), steps=99))
    assert read_games(tmp_path) == {0: dataclasses.replace(game(0), steps=99)}


@pytest.mark.parametrize(
    "change",
    [
        {"env_id": "Klondike-Draw1-v0"},
        {"rules": {"draw_count": 1}},
        {"step_limit": 500},
        {"agent": "agents.other:RandomAgent"},
        {"actions": "reach"},
        {"seed": 1},
        {"suite": "validation"},
        {"versions": {"klondike_env": "0.2.0"}},
        {"code": "abd"},
    ],
)
def test_games_played_differently_are_kept_apart(tmp_path: Path, change: dict[str, object]) -> None:
    write_games(tmp_path, 2)
    assert read_games(tmp_path, dataclasses.replace(MATCHUP, **change)) == {}
