from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import contenders, throughput
from benchmarks.__main__ import main
from benchmarks.contenders import OPEN_SPIEL, Contender, MissingError
from benchmarks.throughput import measure_all


class Clock:
    """Stands in for the time module: wall and CPU time pass only when it is told so."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now / 2

    def contender(self, name: str, steps: int, seconds: float, log: list[str] | None = None):
        """A simulator that makes this many steps in a burst of this many seconds."""

        def play() -> int:
            self.now += seconds
            if log is not None:
                log.append(name)
            return steps

        return Contender(name, lambda: play)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(throughput, "time", clock)
    return clock


def absent():
    raise MissingError("rare_thing: not installed, skipped")


def test_rates_and_ratios(clock: Clock) -> None:
    rows, skipped = measure_all(
        [
            clock.contender("ours", 30, 0.25),
            clock.contender(OPEN_SPIEL, 10, 0.25),
            Contender("absent", absent, peer=True),
            Contender("absent too", absent, peer=True),
        ],
        seconds=1,
        repeats=3,
    )
    assert [row.name for row in rows] == ["ours", OPEN_SPIEL]
    assert skipped == ["rare_thing: not installed, skipped"]
    assert (rows[0].steps_per_second, rows[0].steps_per_cpu_second) == (120, 240)
    assert [row.times_open_spiel for row in rows] == [3, 1]
    assert all(len(row.turns) == 3 for row in rows)


def test_turns_are_interleaved(clock: Clock) -> None:
    log: list[str] = []
    measure_all([clock.contender(name, 1, 2.0, log) for name in "ab"], seconds=1, repeats=3)
    assert log == ["a", "b"] * 4  # one warm-up and three rounds


def test_without_the_yardstick_there_are_no_ratios(clock: Clock) -> None:
    rows, _ = measure_all([clock.contender("ours", 1, 1.0)], seconds=1, repeats=1)
    assert rows[0].times_open_spiel is None


@pytest.mark.parametrize(
    "contender", contenders.all_contenders(), ids=lambda contender: contender.name
)
def test_every_contender_that_is_installed_plays(contender: Contender) -> None:
    try:
        play = contender.build()
    except MissingError:
        assert contender.peer
        return
    assert all(play() > 0 for _ in range(3))


@pytest.mark.parametrize(
    ("name", "module", "line"),
    [
        ("OpenSpiel", "pyspiel", "open_spiel: not installed, skipped"),
        ("EnvPool", "envpool", "envpool: not installed, skipped"),
    ],
)
def test_a_peer_that_is_not_installed_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str, line: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "open_spiel.python", None)
    peers = [peer for peer in contenders.all_contenders() if peer.name.startswith(name)]
    assert measure_all(peers, seconds=0.01, repeats=1) == ([], [line])


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
