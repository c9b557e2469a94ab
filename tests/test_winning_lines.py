"""Winning lines that other solvers found are legal here, step by step, and win."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import klondike_env  # noqa: F401  (registers the ids)
from klondike_env.games.klondike.moves import parse_move

DATA = Path(__file__).parent / "data"
LINES = [
    json.loads(line)
    for line in (DATA / "winning_lines.jsonl").read_text(encoding="utf-8").splitlines()
]
SEVEN_PASSES = json.loads((DATA / "seven_passes_line.json").read_text(encoding="utf-8"))


def move_of(token: str) -> str:
    """The move text of a token: D, R, W>F, W>3, 3>F, F:S>3, 3>5x2."""
    if token in ("D", "R"):
        return {"D": "draw", "R": "redeal"}[token]
    source, _, target = re.sub(r"x\d+$", "", token).removeprefix("F:").partition(">")
    source = f"T{source}" if source.isdigit() else source
    return f"{source}>{'F' if target == 'F' else f'T{target}'}"


def heights(env: Any) -> list[int]:
    return [len(re.findall(r"[2-9TJQKA][CDHS]", pile)) for pile in env.position()["tableau"]]


def replay(line: dict[str, Any], actions: str) -> Any:
    """Play a line; each action must be legal, and as many cards must move as the line says."""
    env = gym.make(f"Klondike-Draw{line['draw']}-v0", actions=actions).unwrapped
    _, info = env.reset(options={"deck": line["deck"]})
    terminated = False
    waste, size = 0, 24  # of the talon, as the line's own draws and redeals leave it
    for token in line["line"].split():
        assert not terminated
        move = move_of(token)
        if actions == "reach":
            if move == "draw":
                waste = min(waste + line["draw"], size)
                continue
            if move == "redeal":
                waste = 0
                continue
            if move.startswith("W>"):
                move = f"#{waste}{move[1:]}"
                waste, size = waste - 1, size - 1
        action = parse_move(move, actions)
        assert info["action_mask"][action], (token, env.position())
        before = heights(env)
        _, _, terminated, _, info = env.step(action)
        if count := re.search(r"(\d)>(\d)x(\d+)$", token):
            source, target, cards = (int(part) for part in count.groups())
            assert heights(env)[target - 1] == before[target - 1] + cards
            assert heights(env)[source - 1] == before[source - 1] - cards
    return env, terminated, info


@pytest.mark.parametrize("actions", ["turn", "reach"])
@pytest.mark.parametrize("draw", [1, 3])
def test_lines_win(draw: int, actions: str) -> None:
    lines = [line for line in LINES if line["draw"] == draw]
    assert len(lines) >= 200
    for line in lines:
        _, terminated, info = replay(line, actions)
        assert terminated, line["name"]
        assert info["outcome"] == "won", line["name"]


def test_a_long_line_of_seven_passes_uncovers_every_card() -> None:
    """ShootMe/Klondike-Solver #14: a deal that a person won and a solver gave up on."""
    env, terminated, _ = replay(SEVEN_PASSES, "turn")
    assert not terminated
    assert SEVEN_PASSES["line"].split().count("R") == 6
    assert not any("(" in pile for pile in env.position()["tableau"])
