"""Deals: the same for ever, fair, and apart for people, suites and training."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from klondike_env import cli, deals

ROOT = Path(__file__).parent.parent

DECK_HASHES = {
    0: "8fe9c72d9b6912a4",
    1: "d985b94a2d734c23",
    2: "d4dcac43b518a4d2",
    3: "28f916ee416b55f1",
    4: "1e951c263c67b4ab",
    5: "67015e0dc0dfc020",
    6: "ce5202012d6af42b",
    7: "d218d0a272b4c4d1",
    8: "fbe96528a6debfa7",
    9: "97790e7df8749c7e",
    4294967295: "0376d38534f0116a",
    4294967296: "e58e032e85214c21",
    9223372036854775807: "e9b02640d82caa26",
}


def deck_hash(number: int) -> str:
    return hashlib.sha256(deals.deck(number).tobytes()).hexdigest()[:16]


def test_decks_never_change() -> None:
    numbers = [*range(10), 2**32 - 1, 2**32, 2**63 - 1]
    assert {number: deck_hash(number) for number in numbers} == DECK_HASHES


def test_streams_never_change() -> None:
    env = gym.make("Klondike-Draw1-v0")
    met = [env.reset(seed=0)[1]["deal"], env.reset()[1]["deal"], env.reset(seed=1)[1]["deal"]]
    assert met == [1245385924588900603, 6219885905840992460, 2886252455528875389]
    envs = gym.make_vec("Klondike-Draw1-v0", num_envs=2, vectorization_mode="vector_entry_point")
    assert envs.reset(seed=0)[1]["deal"].tolist() == [215939506222813068, 1448648821767192110]


def test_decks_of_other_sizes_hold_each_card_once() -> None:
    assert sorted(deals.deck(3, size=104).tolist()) == list(range(104))


def test_suites_lie_apart_from_each_other_from_people_and_from_streams() -> None:
    ranges = [*deals.SUITES.values(), range(1_000_000_000), range(2**32, 2**63)]
    for first in ranges:
        for second in ranges:
            assert first is second or first.stop <= second.start or second.stop <= first.start
    assert list(deals.suite("test", 3)) == [10**9, 10**9 + 1, 10**9 + 2]
    assert list(deals.suite("validation", 2, start=5)) == [2 * 10**9 + 5, 2 * 10**9 + 6]


@pytest.mark.parametrize(
    ("name", "count"),
    [("train", 1), (["test"], 1), *(("test", n) for n in (0, 10**9 + 1, 1.5, "3", True, None))],
)
def test_bad_suites_are_refused(name: Any, count: Any) -> None:
    with pytest.raises(ValueError, match="suite"):
        deals.suite(name, count)


@pytest.mark.parametrize("size", [0, -1, 256, 1.5, "52", True])
def test_bad_sizes_of_decks_are_refused(size: Any) -> None:
    """From 256 on a card number would not fit and cards would be double."""
    with pytest.raises(ValueError, match="size is"):
        deals.deck(1, size)


@pytest.mark.parametrize("numbers", [[1.5], [-1], [[1]], 5, ["1"], [True]])
def test_bad_rows_of_numbers_are_refused(numbers: Any) -> None:
    with pytest.raises(ValueError, match="deals are whole numbers >= 0 in one row"):
        deals.decks(numbers)


@pytest.mark.parametrize("number", [-1, 2**63, 1.5, "7", None, True])
def test_bad_numbers_are_refused(number: object) -> None:
    with pytest.raises(ValueError, match=r"from 0 to 2\^63 - 1"):
        deals.deck(number)  # type: ignore[arg-type]


def test_a_seeded_environment_goes_on_the_same_way() -> None:
    runs = []
    for _ in range(2):
        env = gym.make("Klondike-Draw1-v0")
        runs.append([env.reset(seed=42)[1]["deal"], *(env.reset()[1]["deal"] for _ in range(2))])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3


@pytest.mark.parametrize("vector", [False, True])
def test_without_a_seed_no_two_games_are_alike(vector: bool) -> None:
    met = []
    for _ in range(5):
        if vector:
            env = gym.make_vec(
                "Klondike-Draw1-v0", num_envs=3, vectorization_mode="vector_entry_point"
            )
            met += env.reset()[1]["deal"].tolist() + env.reset()[1]["deal"].tolist()
        else:
            env = gym.make("Klondike-Draw1-v0")
            met += [env.reset()[1]["deal"] for _ in range(6)]
    assert len(set(met)) == 30


def run_cli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "klondike_env.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_command_prints_the_same_deal_in_every_process() -> None:
    """D04."""
    printed = {
        run_cli("deal", "--seed", "1", PYTHONHASHSEED=hashing, LANG="C").stdout
        for hashing in ("0", "1", "random")
    }
    assert len(printed) == 1
    number = gym.make("Klondike-Draw3-v0").reset(seed=1)[1]["deal"]
    text = printed.pop()
    assert text.startswith(f"deal {number}\n")
    assert text.isascii()


def test_command_agrees_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["deal", "7", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["deck"] == deals.deck(7).tolist()
    env = gym.make("Klondike-Draw3-v0").unwrapped
    env.reset(options={"deal": 7})
    by_deal = env.position()
    env.reset(options={"position": printed["position"]})
    assert env.position() == by_deal
    assert cli.main(["deal", "--suite", "validation", "--index", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deal"] == deals.suite("validation", 3)[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-1"], "from 0 to 2^63 - 1"),
        (["--seed", "-2"], "seed"),
        (["--suite", "test", "--index", "-1"], "suite 'test'"),
        (["7", "--index", "3"], "name one by --suite"),
        (["seven"], "invalid int value: 'seven'"),
        (["--suite", "train"], "invalid choice: 'train'"),
        ([], "required"),
    ],
)
def test_mistakes_on_the_command_line_get_one_line(arguments: list[str], message: str) -> None:
    done = run_cli("deal", *arguments)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not done.stdout
