"""``python -m benchmarks strength``: win rate against seconds a game, ours and what is published.

Reads what ``compare --json`` wrote; the published results are in ``published.yaml``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from benchmarks import config
from benchmarks.errors import UserError

PUBLISHED = Path(__file__).parent / "published.yaml"
HEIGHT = 4.6  # of the picture, inches


@dataclass(frozen=True, kw_only=True)
class StrengthConfig:
    """Show win rate against seconds a game, beside published results."""

    results: list[str] = config.option([], "files that compare --json wrote")
    picture: str | None = config.option(None, "write the picture to this PNG file")

    def __post_init__(self) -> None:
        """Refuse to show nothing."""
        if not self.results:
            raise UserError("results is missing: name at least one file with --results")


@dataclass(frozen=True, kw_only=True)
class Point:
    """A player's win rate in percent and median seconds a game; `source` is empty for ours."""

    env: str
    player: str
    win_rate: float
    low: float
    high: float
    games: int
    seconds: float
    source: str = ""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    asked = config.parse(StrengthConfig, argv, prog="python -m benchmarks strength")
    if asked.picture is not None:
        config.prepare_file("picture", Path(asked.picture))
    ours = [point for path in asked.results for point in read_results(Path(path))]
    envs = sorted({point.env for point in ours})
    points = ours + [point for point in read_published() if point.env in envs]
    console = Console()
    for env in envs:
        console.print(f"\n[bold]{env}[/bold]", _table([p for p in points if p.env == env]))
    if asked.picture is not None:
        write_picture(points, Path(asked.picture))
        print(f"picture: {asked.picture}")


def read_results(path: Path) -> Iterable[Point]:
    """The points of a file that ``compare --json`` wrote.

    Raises:
        UserError: there is no such file, or it is none of these.
    """
    try:
        environments = json.loads(path.read_text(encoding="utf-8"))["environments"]
        for environment in environments:
            for agent in environment["agents"]:
                summary = agent["summary"]
                yield Point(
                    env=environment["env_id"],
                    player=agent["agent"],
                    win_rate=100 * summary["win_rate"],
                    low=100 * summary["win_rate_low"],
                    high=100 * summary["win_rate_high"],
                    games=summary["games"],
                    seconds=summary["median_seconds"],
                )
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"results: {path} is no file of compare --json ({reason})") from None


def read_published() -> Iterable[Point]:
    """The published results."""
    for row in yaml.safe_load(PUBLISHED.read_text(encoding="utf-8")):
        yield Point(low=row["win_rate"], high=row["win_rate"], **row)


def _table(points: Sequence[Point]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("player", "win rate %", "interval %", "games", "s/game", "source"):
        table.add_column(name, justify="left" if name in ("player", "source") else "right")
    for point in sorted(points, key=lambda point: point.win_rate):
        interval = "" if point.source else f"{point.low:.2f} - {point.high:.2f}"
        table.add_row(
            point.player,
            f"{point.win_rate:.2f}",
            interval,
            f"{point.games:,}",
            f"{point.seconds:.2g}" if point.seconds < 100 else f"{point.seconds:,.0f}",
            point.source,
        )
    return table


def write_picture(points: Sequence[Point], path: Path) -> None:
    """One panel an environment; ours filled, published ones hollow."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    envs = sorted({point.env for point in points})
    figure = Figure(figsize=(5 * len(envs), HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)
    panels: Any = figure.subplots(1, len(envs), squeeze=False)[0]
    for panel, env in zip(panels, envs, strict=True):
        shown = sorted((p for p in points if p.env == env), key=lambda p: -p.win_rate)
        bottom = max(0.0, 10 * (shown[-1].win_rate // 10 - 1))
        per_point = (shown[0].win_rate + 5 - bottom) / (72 * 0.8 * HEIGHT)  # of type, in percent
        labels: list[tuple[float, float]] = []  # places taken: decade of seconds, percent
        for point in shown:
            colour = "0.45" if point.source else "black"
            panel.errorbar(
                point.seconds,
                point.win_rate,
                yerr=[[point.win_rate - point.low], [point.high - point.win_rate]],
                fmt="s" if point.source else "o",
                markerfacecolor="white" if point.source else "black",
                color=colour,
                capsize=3,
            )
            decade, height = math.log10(point.seconds), point.win_rate
            line, width = (20 * per_point, 3.5) if point.source else (10 * per_point, 2.0)
            while any(abs(decade - x) < width and abs(height - y) < line for x, y in labels):
                height -= per_point
            labels.append((decade, height))
            is_right = point.seconds > 30
            panel.annotate(
                f"{point.player}\n{point.source}" if point.source else point.player,
                (point.seconds, point.win_rate),
                (-8 if is_right else 8, (height - point.win_rate) / per_point),
                textcoords="offset points",
                ha="right" if is_right else "left",
                va="center",
                fontsize=8,
                color=colour,
                fontweight="normal" if point.source else "bold",
            )
        panel.set_xscale("log")
        panel.set_xlim(5e-5, 2e4)
        panel.set_ylim(bottom, shown[0].win_rate + 5)
        panel.set_title(env, loc="left", fontsize=10)
        panel.set_xlabel("seconds a game (median)")
        panel.grid(color="0.9")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("games won, %")
    figure.savefig(path, dpi=130)
