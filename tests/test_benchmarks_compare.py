from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from klondike_env import deals

ENV = "Klondike-Draw1-v0"
AGENTS = ["random", "tests.benchmark_agents:Thrifty"]
INTERRUPTED = "tests.benchmark_agents:Interrupted"


def compare(*options: str, folder: Path, agents: list[str] | None = None, games: int = 20) -> int:
    basic = f"compare --env {ENV} --games {games} --output {folder}/games --json {folder}/out.json"
    return main([*basic.split(), *options, "--agents", *(agents or AGENTS)])


def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "out.json").read_text())


def without_speed(value: Any) -> Any:
    """The result without what depends on the clock or on where files lie."""
    if isinstance(value, dict):
        hidden = {
            "seconds",
            "median_seconds",
            "steps_per_second",
            "games_per_second",
            "games_file",
            "config",
        }
        return {key: without_speed(item) for key, item in value.items() if key not in hidden}
    return [without_speed(item) for item in value] if isinstance(value, list) else value


def stored_games(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The complete records of each file, in the order of their deals, without their seconds."""
    games = {}
    for path in sorted((folder / "games").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        records = [line for line in lines if "deal" in line]
        for record in records:
            del record["seconds"]
        games[path.name] = sorted(records, key=lambda record: record["deal"])
    return games


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison played in one go."""
    folder = tmp_path_factory.mktemp("reference")
    assert compare(folder=folder) == 0
    return folder


def test_every_deal_asked_for_is_played_once_by_each_agent(reference: Path) -> None:
    for records in stored_games(reference).values():
        assert [record["deal"] for record in records] == list(deals.suite("test", 20))


def test_the_result_states_what_it_takes_to_repeat_it(reference: Path) -> None:
    found = result(reference)
    assert found["config"]["games"] == 20
    assert found["config"]["seed"] == 0
    assert {"klondike_env", "numpy", "numba", "gymnasium", "python"} <= set(found["versions"])
    (environment,) = found["environments"]
    assert environment["env_id"] == ENV
    assert environment["rules"]["draw_count"] == 1
    assert environment["step_limit"] == 2000
    assert (environment["suite"], environment["first_deal"]) == ("test", 1_000_000_000)


def test_the_result_agrees_with_its_games(reference: Path) -> None:
    for agent in result(reference)["environments"][0]["agents"]:
        lines = Path(agent["games_file"]).read_text().splitlines()[1:]
        records = [json.loads(line) for line in lines]
        summary = agent["summary"]
        wins = [record for record in records if record["outcome"] == "won"]
        assert summary["games"] == len(records) == 20
        assert summary["wins"] == len(wins)
        assert summary["win_rate_low"] <= summary["win_rate"] <= summary["win_rate_high"]
        assert summary["mean_moves"] == pytest.approx(sum(r["steps"] for r in records) / 20)


def test_the_first_agent_is_what_the_others_are_tested_against(reference: Path) -> None:
    first, second = result(reference)["environments"][0]["agents"]
    assert first["pairing"] is None
    won = [
        {record["deal"] for record in records if record["outcome"] == "won"}
        for records in (
            [json.loads(line) for line in Path(a["games_file"]).read_text().splitlines()[1:]]
            for a in (first, second)
        )
    ]
    assert second["pairing"]["only_this_won"] == len(won[1] - won[0])
    assert second["pairing"]["only_first_won"] == len(won[0] - won[1])


def test_a_second_run_plays_nothing(reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (reference / "games").iterdir()}
    found = result(reference)
    assert compare(folder=reference) == 0
    assert {path: path.read_bytes() for path in (reference / "games").iterdir()} == before
    assert result(reference) == found


@pytest.mark.parametrize(
    "options", [["--workers", "2"], ["--batch", "3"], ["--batch", "7"]], ids=" ".join
)
def test_how_games_are_spread_changes_no_game(
    reference: Path, tmp_path: Path, options: list[str]
) -> None:
    assert compare(*options, folder=tmp_path) == 0
    assert stored_games(tmp_path) == stored_games(reference)
    assert without_speed(result(tmp_path)) == without_speed(result(reference))


def test_more_games_go_on_from_those_that_are_there(reference: Path, tmp_path: Path) -> None:
    assert compare(folder=tmp_path, games=8) == 0
    kept = {path: path.read_text() for path in (tmp_path / "games").iterdir()}
    assert compare(folder=tmp_path) == 0
    assert all(path.read_text().startswith(text) for path, text in kept.items())
    assert stored_games(tmp_path) == stored_games(reference)


def test_a_damaged_file_gives_the_same_result(reference: Path, tmp_path: Path) -> None:
    assert compare(folder=tmp_path) == 0
    for path in (tmp_path / "games").iterdir():
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:12]) + lines[12][:-9])
    assert compare(folder=tmp_path) == 0
    assert stored_games(tmp_path) == stored_games(reference)
    assert without_speed(result(tmp_path)) == without_speed(result(reference))


def test_another_seed_is_another_set_of_games(reference: Path, tmp_path: Path) -> None:
    assert compare("--seed", "1", folder=tmp_path) == 0
    assert not stored_games(tmp_path).keys() & stored_games(reference).keys()


def command(folder: Path, *options: str, games: int = 14) -> list[str]:
    basic = f"-m benchmarks compare --env {ENV} --games {games} --batch 4 --output {folder}/games"
    agents = ["--agents", "random", INTERRUPTED]
    return [sys.executable, *basic.split(), "--json", f"{folder}/out.json", *options, *agents]


@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), ("SIGTERM", 130), ("SIGKILL", -signal.SIGKILL)]
)
def test_an_interrupted_comparison_goes_on(tmp_path: Path, name: str, code: int) -> None:
    ended = subprocess.run(
        command(tmp_path),
        env={**os.environ, "STEPS_UNTIL_SIGNAL": "2500", "SIGNAL": name},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == code
    if name != "SIGKILL":
        assert "the same command goes on from there" in ended.stderr
        assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out.json").exists()
    kept = {path: path.read_text() for path in (tmp_path / "games").iterdir()}
    played = {path.name: len(text.splitlines()) - 1 for path, text in kept.items()}
    assert 14 in played.values()  # the first agent's
    assert 0 < min(played.values()) < 14

    assert subprocess.run(command(tmp_path), capture_output=True).returncode == 0
    assert all(path.read_text().startswith(text) for path, text in kept.items())
    whole = tmp_path / "whole"
    assert compare(folder=whole, agents=["random", INTERRUPTED], games=14) == 0
    assert stored_games(tmp_path) == stored_games(whole)
    assert without_speed(result(tmp_path)) == without_speed(result(whole))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, name: str) -> None:
    with subprocess.Popen(
        command(tmp_path, "--workers", "2", games=100_000),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_until(lambda: _games_kept(tmp_path) > 5)
            children = _children(process.pid)
            assert len(children) >= 2
            if name == "SIGINT":  # a terminal's Ctrl-C reaches the workers too
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.send_signal(getattr(signal, name))
            process.wait(timeout=30)
        finally:
            process.kill()
    _wait_until(lambda: not any(_is_running(child) for child in children))


def _games_kept(folder: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in (folder / "games").glob("*.jsonl"))


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("the system does not list a process's children")
    return [int(child) for child in path.read_text().split()]


def _is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def _wait_until(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)


def error_of(code: int, capsys: pytest.CaptureFixture[str], wanted: int = 2) -> str:
    """The one line on stderr of a command that failed."""
    assert code == wanted
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(
    ("options", "named", "allowed"),
    [
        (["--env", "Klondike-Draw9-v0"], "'Klondike-Draw9-v0'", "Klondike-Draw3-v0"),
        (["--env", "CartPole-v1"], "'CartPole-v1'", "Klondike-Draw3-v0"),
        (["--games", "0"], "games", "1 or more"),
        (["--suite", "training"], "'training'", "test, validation"),
        (["--colour", "red"], "--colour", ""),
        (["--config", "missing.yaml"], "missing.yaml", ""),
        (["--json", "."], "json", "folder"),
        (["--json", "pyproject.toml/out.json"], "json", "pyproject.toml"),
        (["--output", "pyproject.toml/games"], "output", "pyproject.toml"),
    ],
)
def test_a_users_mistake_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    named: str,
    allowed: str,
) -> None:
    line = error_of(compare(*options, folder=tmp_path), capsys)
    assert named in line
    assert allowed in line


@pytest.mark.parametrize(
    ("agent", "allowed"),
    [
        ("grandmaster", "greedy"),
        ("tests.benchmark_agents:Nobody", "Nobody"),
        ("tests.no_such_module:Agent", "no_such_module"),
        ("tests.benchmark_agents:NeedsAllCards", "thoughtful"),
    ],
)
def test_an_unknown_agent_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: str, allowed: str
) -> None:
    line = error_of(compare(folder=tmp_path, agents=["random", agent]), capsys)
    assert agent.rpartition(":")[2] in line
    assert allowed in line
    assert not any((tmp_path / "games").glob("*"))  # found out before any game was played


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("agent", "named"),
    [
        ("Raises", ["RuntimeError: out of ideas", "deals 10000000"]),
        ("Illegal", ["deal 10000000", "illegal"]),
        ("WrongShape", ["(1,)"]),
    ],
)
def test_a_broken_agent_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    agent: str,
    named: list[str],
    workers: str,
) -> None:
    code = compare(
        "--workers", workers, folder=tmp_path, agents=[f"tests.benchmark_agents:{agent}"]
    )
    line = error_of(code, capsys, wanted=1)
    for text in [agent, *named]:
        assert text in line


@pytest.mark.parametrize("argv", [[], ["play"]])
def test_an_unknown_command_is_one_line(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert "compare, throughput" in error_of(main(argv), capsys)


def test_csv_has_a_line_for_each_agent_with_what_it_takes_to_repeat(
    tmp_path: Path, reference: Path
) -> None:
    path = tmp_path / "new" / "out.csv"
    code = compare("--csv", str(path), "--output", str(reference / "games"), folder=tmp_path)
    assert code == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == AGENTS
    assert {row["env"] for row in rows} == {ENV}
    assert {row["first_deal"] for row in rows} == {"1000000000"}
    assert all(row["klondike_env"] and row["seed"] == "0" and row["games"] == "20" for row in rows)
    assert rows[0]["p_value"] == ""
    assert float(rows[1]["p_value"]) <= 1


def test_the_picture_is_a_png(tmp_path: Path, reference: Path) -> None:
    path = tmp_path / "out.png"
    code = compare("--picture", str(path), "--output", str(reference / "games"), folder=tmp_path)
    assert code == 0
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_game_that_its_agent_gives_up_ends_there(tmp_path: Path) -> None:
    assert compare(folder=tmp_path, agents=["plan"], games=60) == 0
    (records,) = stored_games(tmp_path).values()
    given_up = [record for record in records if record["outcome"] == "unfinished"]
    assert len(given_up) >= 5
    assert max(record["steps"] for record in given_up) < 500
    (environment,) = result(tmp_path)["environments"]
    (agent,) = environment["agents"]
    assert agent["summary"]["truncated_share"] == 0.0
    assert agent["summary"]["wins"] == sum(record["outcome"] == "won" for record in records)
