"""A readable golden playthrough of every registered id: a change in any rule shows as a diff.

Renew them after a change that is meant, and read the diff:

    python -m tests.test_playthroughs
"""

from __future__ import annotations

import random
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import klondike_env
from klondike_env.games.klondike.moves import MOVES
from tests.lockstep import eager

FOLDER = Path(__file__).parent / "data" / "playthroughs"
STEPS, BOARD_EVERY = 60, 15


def playthrough(env_id: str) -> str:
    """Sixty steps of an eager player, with the board and the legal moves now and then."""
    env = gym.make(env_id, render_mode="ansi", reward="score")
    choose = eager(random.Random(env_id), "turn")
    observation, info = env.reset(options={"deal": 7})
    lines = [f"{env_id}, deal {info['deal']}", ""]
    for step in range(STEPS + 1):
        legal = np.flatnonzero(info["action_mask"]).tolist()
        if step % BOARD_EVERY == 0:
            lines += [env.render(), "legal: " + ", ".join(MOVES["turn"][a] for a in legal), ""]
        action = choose(observation, info["action_mask"], legal)
        observation, reward, terminated, truncated, info = env.step(action)
        paid = f"  {reward:+g}" if reward else ""
        lines.append(f"{step + 1:>3}  {MOVES['turn'][action]:<7}{paid}".rstrip())
        if terminated or truncated:
            break
    ending = f"{info['outcome'] or 'goes on'}, score {info['score']}"
    return "\n".join([*lines, "", env.render(), ending, ""])


@pytest.mark.parametrize("env_id", klondike_env.ENV_IDS)
def test_playthrough_is_as_it_was(env_id: str) -> None:
    expected = (FOLDER / f"{env_id}.txt").read_text(encoding="utf-8")
    assert playthrough(env_id) == expected


def test_every_playthrough_belongs_to_an_id() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(klondike_env.ENV_IDS)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for env_id in klondike_env.ENV_IDS:
        (FOLDER / f"{env_id}.txt").write_text(playthrough(env_id), encoding="utf-8")
