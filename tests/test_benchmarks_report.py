from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import report
from benchmarks.compare import AgentResult, CompareConfig, Comparison, EnvironmentResult
from benchmarks.statistics import pair, summarize
from klondike_env.evaluation import GameRecord


def records(wins: int, *, shift: int = 0) -> list[GameRecord]:
    return [
        GameRecord(
            deal=deal,
            outcome="won" if (deal + shift) % 100 < wins else "truncated",
            score=-12_345,
            foundation_cards=52,
            steps=1_234,
            seconds=0.001,
        )
        for deal in range(100)
    ]


def comparison(
    *, all_cards_known: bool = False, wins: int = 40, winnable: int | None = 95
) -> Comparison:
    first, second = records(wins), records(90, shift=3)
    agents = [
        AgentResult(
            agent=name,
            actions="turn",
            summary=summarize(own),
            pairing=pair(first, own) if own is second else None,
            win_rate_of_winnable=summarize(own).wins / winnable if winnable else None,
            games_file="games.jsonl",
        )
        for name, own in (("random", first), ("my.package:Agent", second))
    ]
    environment = EnvironmentResult(
        env_id="Klondike-Draw3-v0",
        rules={},
        all_cards_known=all_cards_known,
        step_limit=2000,
        suite="test",
        first_deal=0,
        games=100,
        winnable=winnable,
        agents=agents,
    )
    config = CompareConfig(env=["Klondike-Draw3-v0"], agents=["random", "my.package:Agent"])
    return Comparison(
        config=config,
        versions={"klondike_env": "0.1.0"},
        environments=[environment, dataclasses.replace(environment, env_id="Klondike-Draw1-v0")],
    )


def printed(width: int, shown: Comparison) -> str:
    console = Console(file=io.StringIO(), width=width)
    report.print_tables(shown, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_every_number_is_readable_at_any_usual_width(width: int) -> None:
    text = printed(width, comparison())
    assert max(map(len, text.splitlines())) <= width
    for shown in ["40.00", "30.94 - 49.80", "90.00", "+50.00", "-12,345 ± 0", "1,234.0", "60.00"]:
        assert shown in text
    assert "…" not in text


def test_a_wide_console_gets_one_table_and_a_narrow_one_two() -> None:
    assert printed(160, comparison()).count("random") == 2
    assert printed(80, comparison()).count("random") == 4


def test_who_sees_all_cards_is_marked() -> None:
    assert "Agent (thoughtful)" in printed(160, comparison(all_cards_known=True))
    assert "thoughtful" not in printed(160, comparison())


def test_an_agent_without_wins_is_shown(tmp_path: Path) -> None:
    assert "0.00 - 3.70" in printed(120, comparison(wins=0))
    report.write_picture(comparison(wins=0), tmp_path / "out.png")


def test_json_is_read_back(tmp_path: Path) -> None:
    report.write_json(comparison(), tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["environments"][0]["agents"][1]["summary"]["win_rate"] == 0.9
