"""`klondike replay`, and the records that `benchmarks compare` keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.__main__ import main as benchmarks
from klondike_env import records
from klondike_env.cli import main

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "data" / "records-1.jsonl"
GAME = ROOT / "docs" / "replay.jsonl"


def test_every_game_is_verified_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(SAMPLES)]) == 0
    lines = capsys.readouterr().out.splitlines()
    games = list(records.read(SAMPLES))
    assert len(lines) == len(games) + 1
    for number, (line, game) in enumerate(zip(lines, games, strict=False), start=1):
        assert line.startswith(f"game {number}: {game.env_id}, {game.title}, {game.agent}: ")
        assert f"{game.outcome}, {len(game.moves)} moves, score {game.score}" in line
    assert lines[-1] == f"verified: {len(games)} games"


def test_a_tampered_game_is_refused_with_its_first_wrong_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = SAMPLES.read_text().splitlines()
    values = json.loads(lines[0])
    values["moves"][10] = "W>F"
    path = tmp_path / "games.jsonl"
    path.write_text("\n".join([lines[1], json.dumps(values)]) + "\n")
    assert main(["replay", str(path)]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith(f"klondike replay: {path}, game 2 (deal 328): move 11, 'W>F': ")
    path.write_text(lines[0][:-1] + "\n")
    assert main(["replay", str(path)]) == 2
    assert f"{path}, line 1: no JSON, or cut off" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.jsonl"], "'nowhere.jsonl' cannot be read: No such file"),
        ([str(ROOT / "README.md")], "README.md, line 1: no JSON, or cut off"),
        ([str(GAME), "--game", "2"], "has games 1 to 1, not 2"),
        ([str(GAME), "--all-cards"], "--all-cards goes with --html"),
        ([str(GAME), "--move", "3"], "--move goes with --picture"),
        ([str(GAME), "--html", "no/where.html"], "no/where.html cannot be written"),
        ([str(SAMPLES), "--animation", "x.gif"], "shows one game: choose it by --game"),
        ([str(GAME), "--animation", "x.mov"], "an animation is a .gif file, not x.mov"),
        ([str(GAME), "--picture", "x.png", "--move", "98"], "a move from 0 to 97 needed, not 98"),
        ([str(GAME), "--picture", "x.doc"], "unknown file extension: .doc"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["replay", *arguments]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("klondike replay: ")
    assert message in error
    assert not list(tmp_path.iterdir())


def test_pages_pictures_and_animations_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, picture, film = (tmp_path / name for name in ("r.html", "b.png", "r.gif"))
    files = ["--html", str(page), "--picture", str(picture), "--animation", str(film)]
    assert main(["replay", str(GAME), *files, "--move", "34"]) == 0
    assert f"html: {page}" in capsys.readouterr().out
    assert '"all":' not in page.read_text()
    assert main(["replay", str(GAME), "--html", str(page), "--all-cards"]) == 0
    assert '"all":' in page.read_text()
    moves = len(next(iter(records.read(GAME))).moves)
    with Image.open(film) as animation, Image.open(picture) as board:
        assert animation.n_frames == moves + 1
        assert board.size[0] == 960
    assert film.stat().st_size < 500_000


def test_the_pictures_of_the_readme_are_those_of_make_pictures(tmp_path: Path) -> None:
    picture = tmp_path / "board.png"
    assert main(["replay", str(GAME), "--picture", str(picture), "--move", "34"]) == 0
    with Image.open(picture) as new, Image.open(ROOT / "docs" / "board.png") as old:
        drawn, committed = (np.asarray(image).astype(int) for image in (new, old))
    # Fonts are drawn a little differently by other versions of their library.
    assert (abs(drawn - committed).max(axis=2) > 40).mean() < 0.01
    makefile = (ROOT / "Makefile").read_text()
    assert "docs/replay.jsonl" in makefile
    assert "--move 34" in makefile


def test_stepping_goes_there_and_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["", "", "b", "q"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    assert main(["replay", str(GAME), "--step"]) == 0
    titles = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.split("  ")[0].isdigit() and line[0] != " "
    ]
    assert titles == ["0  the deal", "1  T5>T4", "2  T5>T6", "1  T5>T4"]


def test_a_reader_that_has_seen_enough_may_go() -> None:
    command = f"{sys.executable} -m klondike_env.cli replay {SAMPLES} --boards | head -n 3"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.count("\n") == 3
    assert done.stderr == ""


def compare(folder: Path, *options: str, games: int = 6) -> int:
    basic = f"compare --env Klondike-Strict-v0 --output {folder}/out --games {games}"
    return benchmarks([*basic.split(), *options, "--agents", "random", "greedy"])


def test_compare_keeps_the_games_and_plays_only_those_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.jsonl"
    assert compare(tmp_path, games=4) == 0
    assert compare(tmp_path, "--records", str(path), games=4) == 0
    assert "4 games played" in capsys.readouterr().err
    found = list(records.read(path))
    assert [record.agent for record in found] == ["random"] * 4 + ["greedy"] * 4
    for record in found:
        records.replay(record)
    text = path.read_text()
    path.write_text(text[:-30])  # interrupted while the last game was written
    assert compare(tmp_path, "--records", str(path)) == 0
    told = capsys.readouterr().err
    assert "random on Klondike-Strict-v0: 2 games played" in told
    assert "greedy on Klondike-Strict-v0: 3 games played" in told
    games = [(record.agent, record.start["deal"]) for record in records.read(path)]
    assert len(set(games)) == len(games) == 12
    assert compare(tmp_path, "--records", str(path)) == 0
    assert "random on Klondike-Strict-v0: 0 games played" in capsys.readouterr().err
    assert compare(tmp_path, "--records", str(path), "--seed", "3") == 0
    assert {record.seed for record in records.read(path)} == {3}


def test_compare_keeps_a_file_for_each_agent_in_a_folder(tmp_path: Path) -> None:
    assert compare(tmp_path, "--records", str(tmp_path / "games"), games=2) == 0
    names = sorted(path.name for path in (tmp_path / "games").iterdir())
    assert names == ["Klondike-Strict-v0.Greedy.jsonl", "Klondike-Strict-v0.Random.jsonl"]


def test_compare_refuses_a_file_that_holds_no_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"note": 1}\n')
    assert compare(tmp_path, "--records", str(path)) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert f"records: {path} is no file of records" in error
    assert path.read_text() == '{"note": 1}\n'
