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
NEAR = 8  # a label from its point, points of type
LABEL_PLACES = [
    (distance, math.pi / 8 * sixteenths)
    for distance in (NEAR, 14, 24, 36, 50)
    for sixteenths in (0, 1, 15, 2, 14, 3, 13, 4, 12, 8, 7, 9, 6, 10, 5, 11)
]
"""Where a label may stand from its point, in the order of choice: points of type, angle."""


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
        panel.set_xscale("log")
        panel.set_xlim(5e-5, 5e4)
        panel.set_ylim(bottom, shown[0].win_rate + 5)
        panel.set_title(env, loc="left", fontsize=10)
        panel.set_xlabel("seconds a game (median)")
        panel.grid(color="0.9")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        for point in shown:
            _draw_point(panel, point)
        figure.canvas.draw()  # so that the panel has its size
        _place_labels(panel, shown)
    panels[0].set_ylabel("games won, %")
    figure.savefig(path, dpi=130)


def _draw_point(panel: Any, point: Point) -> None:
    panel.errorbar(
        point.seconds,
        point.win_rate,
        yerr=[[point.win_rate - point.low], [point.high - point.win_rate]],
        fmt="s" if point.source else "o",
        markerfacecolor="white" if point.source else "black",
        color=_colour(point),
        capsize=3,
    )


def _place_labels(panel: Any, points: Sequence[Point]) -> None:
    """Write each player's name at the nearest free place, with a line to it where that is far."""
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    inside = panel.get_window_extent()
    mark = panel.figure.dpi / 72 * 4  # half its size, pixels
    taken = []
    for point in points:
        x, low = panel.transData.transform((point.seconds, point.low))
        _, high = panel.transData.transform((point.seconds, point.high))
        taken.append(Bbox([[x - mark, low - mark], [x + mark, high + mark]]))
    for point in points:
        label = panel.annotate(
            f"{point.player}\n{point.source}" if point.source else point.player,
            (point.seconds, point.win_rate),
            (0, 0),
            textcoords="offset points",
            fontsize=8,
            color=_colour(point),
            fontweight="normal" if point.source else "bold",
            arrowprops={"arrowstyle": "-", "color": "0.6"},
        )
        for distance, angle in LABEL_PLACES:
            right, up = distance * math.cos(angle), distance * math.sin(angle)
            label.xyann = (right, up)
            label.set_ha("center" if abs(right) < 2 else "left" if right > 0 else "right")
            label.set_va("center" if abs(up) < 2 else "bottom" if up > 0 else "top")
            label.arrow_patch.set_visible(distance > NEAR)
            label.update_positions(panel.figure.canvas.get_renderer())
            box = Text.get_window_extent(label)
            if inside.x0 < box.x0 and box.x1 < inside.x1 and not any(map(box.overlaps, taken)):
                break
        taken.append(box)


def _colour(point: Point) -> str:
    return "0.45" if point.source else "black"
