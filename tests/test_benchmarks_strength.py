"""`benchmarks strength`: what it reads, shows and refuses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from benchmarks.__main__ import main
from benchmarks.strength import Point, _place_labels, read_published


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


def test_no_label_lies_on_another() -> None:
    points = [
        Point(
            env="Klondike-Draw3-v0",
            player=f"player {k}",
            win_rate=50 + k % 3,
            low=49,
            high=53,
            games=100,
            seconds=0.01 * 1.3**k,
        )
        for k in range(6)
    ]
    figure = Figure(figsize=(5, 4))
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    panel.set(xscale="log", xlim=(5e-5, 5e4), ylim=(20, 60))
    _place_labels(panel, points)
    boxes = [Text.get_window_extent(label) for label in panel.texts]
    assert len(boxes) == 6
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
