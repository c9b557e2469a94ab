from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import config
from benchmarks.compare import CompareConfig
from benchmarks.errors import UserError

GOOD = "env: [Klondike-Draw3-v0]\nagents: [random, greedy]\ngames: 12\n"


def parse(*argv: str) -> CompareConfig:
    return config.parse(CompareConfig, argv, prog="test")


@pytest.fixture
def write(tmp_path: Path):
    def write_file(text: str) -> str:
        path = tmp_path / "some.yaml"
        path.write_text(text)
        return str(path)

    return write_file


def test_file_and_command_line_say_the_same(write) -> None:
    options = ["--env", "Klondike-Draw3-v0", "--agents", "random", "greedy", "--games", "12"]
    assert parse("--config", write(GOOD)) == parse(*options)


@pytest.mark.parametrize("file_first", [True, False])
def test_the_command_line_wins_wherever_it_stands(write, file_first: bool) -> None:
    file = ["--config", write(GOOD)]
    own = ["--agents", "yan", "--games", "5"]
    asked = parse(*file, *own) if file_first else parse(*own, *file)
    assert (asked.agents, asked.games, asked.env) == (["yan"], 5, ["Klondike-Draw3-v0"])


def test_a_lone_value_is_a_list_of_one(write) -> None:
    assert parse("--config", write("env: A\nagents: b\n")).agents == ["b"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (GOOD + "gamess: 3\n", "unknown key 'gamess'"),
        (GOOD + "config: other.yaml\n", "unknown key 'config'"),
        (GOOD + "1: 3\n", "unknown key 1"),
        (GOOD + "workers: many\n", "workers"),
        (GOOD + "workers: true\n", "workers"),
        (GOOD + "workers: 1.5\n", "workers"),
        (GOOD + "workers:\n", "workers"),
        (GOOD + "seed:\n", "seed"),
        (GOOD + "suite:\n", "suite"),
        ("env: [1]\nagents: [random]\n", "env"),
        ("env: {a: 1}\nagents: [random]\n", "env"),
        ("- a\n- b\n", "keys and values"),
        ("", "keys and values"),
        ("games: [1\n", "is not YAML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(write, text: str, named: str) -> None:
    with pytest.raises(UserError) as caught:
        parse("--config", write(text))
    message = str(caught.value)
    assert named in message
    assert "some.yaml" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--gamess", "3"], "--gamess"),
        (["--game", "3"], "--game"),
        (["--games"], "--games"),
        (["--games", "x"], "games"),
        (["--games", "0"], "games must be 1 or more, not 0"),
        (["--games", "-5"], "games"),
        (["--games", "9999999999"], "1,000,000,000"),
        (["--workers", "0"], "workers"),
        (["--batch", "0"], "batch"),
        (["--seed", "-1"], "seed"),
        (["--confidence", "95"], "confidence"),
        (["--suite", "tests"], "'tests'; suites: test, validation"),
        (["--agents", "random", "random"], "'random' more than once"),
        (["extra"], "extra"),
        (["--config", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_a_bad_option_is_refused_in_one_line(argv: list[str], named: str) -> None:
    # `extra` must not be taken for one more agent, so the options with lists come last.
    with pytest.raises(UserError) as caught:
        parse(*argv, *([] if "--agents" in argv else ["--agents", "random"]), "--env", "A")
    message = str(caught.value)
    assert named in message
    assert "\n" not in message


def test_what_must_be_given_is_asked_for() -> None:
    with pytest.raises(UserError, match="--agents"):
        parse("--env", "A")
    with pytest.raises(UserError, match="--env"):
        parse("--agents", "random")


@pytest.mark.parametrize("path", sorted(Path("configs").glob("compare*.yaml")), ids=str)
def test_committed_configurations_are_valid(path: Path) -> None:
    assert parse("--config", str(path)).games > 0
