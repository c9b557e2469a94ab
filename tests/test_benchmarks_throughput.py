from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from benchmarks import contenders, throughput
from benchmarks.__main__ import main
from benchmarks.contenders import OPEN_SPIEL, Contender, MissingError
from benchmarks.throughput import measure_all


def steady(steps: int):
    """A simulator that makes this many steps in a burst of 1 ms."""

    def play() -> int:
        end = time.perf_counter() + 0.001
        while time.perf_counter() < end:
            pass
        return steps

    return lambda: play


def absent():
    raise MissingError("rare_thing: not installed, skipped")


def test_rates_and_ratios() -> None:
    rows, skipped = measure_all(
        [
            Contender("ours", steady(30)),
            Contender(OPEN_SPIEL, steady(10), peer=True),
            Contender("absent", absent, peer=True),
            Contender("absent too", absent, peer=True),
        ],
        seconds=0.03,
        repeats=3,
    )
    assert [row.name for row in rows] == ["ours", OPEN_SPIEL]
    assert skipped == ["rare_thing: not installed, skipped"]
    assert rows[0].steps_per_second == pytest.approx(30_000, rel=0.3)
    assert rows[0].times_open_spiel == pytest.approx(3, rel=0.3)
    assert rows[1].times_open_spiel == 1
    assert all(len(row.turns) == 3 for row in rows)


def test_turns_are_interleaved() -> None:
    order = []

    def build(name: str):
        def play() -> int:
            order.append(name)
            time.sleep(0.02)
            return 1

        return lambda: play

    measure_all([Contender("a", build("a")), Contender("b", build("b"))], seconds=0.01, repeats=3)
    assert order == ["a", "b"] * 4  # one warm-up and three rounds


def test_without_the_yardstick_there_are_no_ratios() -> None:
    rows, _ = measure_all([Contender("ours", steady(1))], seconds=0.005, repeats=1)
    assert rows[0].times_open_spiel is None


@pytest.mark.parametrize(
    "contender", contenders.all_contenders(), ids=lambda contender: contender.name
)
def test_every_contender_that_is_installed_plays(contender: Contender) -> None:
    try:
        play = contender.build()
    except MissingError as missing:
        pytest.skip(str(missing))
    assert all(play() > 0 for _ in range(3))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "out.json"
    options = ["--seconds", "0.01", "--repeats", "2", "--only", "64 envs", "--json", str(path)]
    assert main(["throughput", *options]) == 0
    found = json.loads(path.read_text())
    assert len(found["rows"]) == 4
    assert all(row["steps_per_cpu_second"] > 0 for row in found["rows"])
    assert found["config"]["repeats"] == 2
    assert "Klondike-Draw1-v0, turn, 64 envs" in capsys.readouterr().out
    if found["memory"]["bytes"] is not None:
        assert found["memory"]["bytes"] > 2**20


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--seconds", "0"], "seconds"),
        (["--repeats", "0"], "repeats"),
        (["--only", "chess"], "'chess'"),
        (["--seconds", "fast"], "seconds"),
    ],
)
def test_a_users_mistake_is_one_line(
    capsys: pytest.CaptureFixture[str], options: list[str], named: str
) -> None:
    assert main(["throughput", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert named in line


def test_memory_grows_with_the_number_of_environments() -> None:
    one, many = throughput.measure_memory(1), throughput.measure_memory(50_000)
    if one is None or many is None:
        pytest.skip("the system does not say how much memory a process has")
    assert 2**20 < one < many
