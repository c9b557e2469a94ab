"""`benchmarks strength`: what it reads, shows and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.strength import read_published


def written(folder: Path, **changes: Any) -> Path:
    summary = {
        "win_rate": 0.5,
        "win_rate_low": 0.4,
        "win_rate_high": 0.6,
        "games": 90,
        "median_seconds": 0.25,
    }
    agents = [{"agent": "plan", "summary": {**summary, **changes}}]
    file = folder / "results.json"
    content = {"environments": [{"env_id": "Klondike-Draw3-v0", "agents": agents}]}
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_ours_stand_beside_what_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "strength.png"
    results = str(written(tmp_path))
    assert main(["strength", "--results", results, "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines()]
    assert ["plan", "50.00", "40.00", "-", "60.00", "90", "0.25"] in rows
    assert "lonelybot" in shown
    assert "63.20" not in shown  # of an environment that nothing was played in
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_published_results_say_where_they_come_from() -> None:
    points = list(read_published())
    assert all(point.source and point.games >= 100 for point in points)
    assert {point.env for point in points} == {"Klondike-Draw1-v0", "Klondike-Draw3-v0"}


@pytest.mark.parametrize("content", ["{}", "[1]", "nonsense", None])
def test_other_files_are_refused_in_one_line(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    assert main(["strength", "--results", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: results: {file} is no file of compare --json")
    assert error.count("\n") == 1
