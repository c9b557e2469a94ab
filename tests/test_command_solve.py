"""`klondike solve`: what it prints, for every kind of input, and its exit status."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium as gym
import pytest

from klondike_env import cli, deals, formats
from klondike_env.games.klondike.moves import parse_move

ROOT = Path(__file__).parent.parent
DEAD = {  # nothing but draws, for ever: all low cards lie face down
    "tableau": [
        "6C", "(AC) 8C", "(AD)(5D) 8S", "(7D)(9D)(JD) TC", "(KD)(AH)(2H)(3H) TS",
        "(4H)(5H)(6H)(7H)(8H) QC", "(9H)(TH)(JH)(QH)(KH)(AS) QS",
    ],
    "rest": "stock",
}  # fmt: skip


def solve(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["solve", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_line_is_printed_that_wins(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = solve(capsys, "6", "--env", "Klondike-Draw1-v0")
    assert status == 0
    assert not err
    lines = out.splitlines()
    assert lines[0] == "deal 6, Klondike-Draw1-v0: winnable"
    moves = " ".join(line for line in lines if line.startswith("  ")).split()
    assert lines[-2].startswith(f"{len(moves)} moves")
    env = gym.make("Klondike-Draw1-v0").unwrapped
    env.reset(options={"deal": 6})
    for move in moves:
        _, _, terminated, _, info = env.step(parse_move(move))
    assert terminated
    assert info["outcome"] == "won"


def test_json_has_both_action_sets(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = solve(capsys, "6", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["verdict"] == "winnable"
    for actions in ("turn", "reach"):
        env = gym.make(found["env"], actions=actions).unwrapped
        env.reset(options={"deal": 6})
        for action in found[actions]:
            _, _, _, _, info = env.step(action)
        assert info["outcome"] == "won"
    _, out, _ = solve(capsys, "6", "--env", "Klondike-Vegas-v0", "--json")
    assert json.loads(out)["reach"] is None


@pytest.mark.parametrize("name", sorted(formats.FORMATS))
def test_every_format_is_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = formats.write(deals.deck(6), name)
    path = tmp_path / "deal.txt"
    path.write_text(text, encoding="utf-8")
    _, from_number, _ = solve(capsys, "6", "--json")
    _, from_file, _ = solve(capsys, str(path), "--json")
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    _, from_input, _ = solve(capsys, "-", "--json")
    lines = [json.loads(out)["turn"] for out in (from_number, from_file, from_input)]
    assert lines[0] == lines[1] == lines[2]


def test_the_exit_status_tells_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dead.json"
    path.write_text(json.dumps(DEAD), encoding="utf-8")
    for env_id in ("Klondike-Draw1-v0", "Klondike-Draw3-v0"):
        status, out, _ = solve(capsys, str(path), "--env", env_id)
        assert status == 1
        assert f"{env_id}: unwinnable" in out
    status, out, _ = solve(capsys, "6", "--max-states", "10")
    assert status == 3
    assert "unknown (10 states)" in out


BAD_FILES = {
    "empty": (b"", "empty text"),
    "short": (b"072103023042094134111", "7 cards"),
    "binary": (b"\xff\xfe\x00", "not UTF-8"),
    "spider": (b"8 decks of nothing", "no known format"),
    "impossible": (b'{"tableau": ["", "", "", "", "", "", ""], "stock": "AS"}', "misses"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_get_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """I05."""
    content, message = BAD_FILES[name]
    path = tmp_path / "deal.txt"
    path.write_bytes(content)
    status, out, err = solve(capsys, str(path))
    assert (status, out) == (2, "")
    assert err.startswith("klondike solve: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such/file"], "neither a deal number nor a file"),
        (["9" * 30], "from 0 to 2^63 - 1"),
        (["6", "--env", "Chess-v0"], "no environment 'Chess-v0'"),
        (["6", "--max-states", "0"], "max_states is a whole number from 1 on"),
        (["6", "--max-seconds", "-1"], "max_seconds is a number above 0"),
        (["6", "--max-seconds", "nan"], "max_seconds is a number above 0"),
        (["6", "--max-megabytes", "0"], "max_bytes is a whole number from"),
    ],
)
def test_mistakes_get_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = solve(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_a_search_with_what_was_reached() -> None:
    # A deal that takes some 80 million states.
    program = [sys.executable, "-m", "klondike_env.cli", "solve", "1000000732", "--json"]
    subprocess.run([*program, "--max-states", "1"], cwd=ROOT, check=False)  # compiles
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    found = json.loads(out)
    assert process.returncode == 3
    assert (found["verdict"], found["reason"]) == ("unknown", "stopped")
    assert found["states"] > 0
