"""Shows a comparison: tables on the console, JSON, CSV, and a picture of the win rates."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks.compare import AgentResult, Comparison, EnvironmentResult

Column = tuple[str, Callable[["AgentResult"], str]]


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _mean(value: float, margin: float | None) -> str:
    digits = 0 if abs(value) >= 1000 else 2
    return _number(value, digits) + ("" if margin is None else f" ± {_number(margin, digits)}")


def _rate(value: float | None) -> str:
    """Per second: three digits are enough to compare speeds."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _p_value(value: float) -> str:
    return "<1e-16" if value < 1e-16 else f"{value:.2g}"


STRENGTH: tuple[Column, ...] = (
    ("wins", lambda agent: f"{agent.summary.wins:,}"),
    ("win\nrate %", lambda agent: _percent(agent.summary.win_rate)),
    (
        "interval\n%",
        lambda agent: (
            f"{_percent(agent.summary.win_rate_low)} - {_percent(agent.summary.win_rate_high)}"
        ),
    ),
    (
        "against\nfirst",
        lambda agent: f"{100 * agent.pairing.difference:+.2f}" if agent.pairing else "",
    ),
    ("p", lambda agent: _p_value(agent.pairing.p_value) if agent.pairing else ""),
)
OF_WINNABLE: Column = (
    "of win-\nnable %",
    lambda agent: (
        "-" if agent.win_rate_of_winnable is None else _percent(agent.win_rate_of_winnable)
    ),
)
PLAY: tuple[Column, ...] = (
    ("score", lambda agent: _mean(agent.summary.mean_score, agent.summary.mean_score_margin)),
    ("cards", lambda agent: _number(agent.summary.mean_foundation_cards)),
    ("at limit\n%", lambda agent: _percent(agent.summary.truncated_share)),
    ("moves", lambda agent: _number(agent.summary.mean_moves)),
    ("moves\nif won", lambda agent: _number(agent.summary.mean_moves_of_wins)),
    ("steps\n/s", lambda agent: _rate(agent.summary.steps_per_second)),
    ("games\n/s", lambda agent: _rate(agent.summary.games_per_second)),
    ("median\ns/game", lambda agent: f"{agent.summary.median_seconds:.2g}"),
)


def columns(environment: EnvironmentResult) -> tuple[Column, ...]:
    """All columns that there are results for."""
    of_winnable = () if environment.winnable is None else (OF_WINNABLE,)
    return (*STRENGTH, *of_winnable, *PLAY)


def print_tables(comparison: Comparison, console: Console) -> None:
    """One table an environment, or two where the console is too narrow for one."""
    for environment in comparison.environments:
        console.print(f"\n[bold]{title(environment)}[/bold]", highlight=False)
        strength = STRENGTH if environment.winnable is None else (*STRENGTH, OF_WINNABLE)
        whole = _table(environment, strength + PLAY)
        if _natural_width(console, whole) <= console.width:
            console.print(whole)
        else:
            console.print(_table(environment, strength), "")
            console.print(_table(environment, PLAY))
    confidence = f"{100 * comparison.config.confidence:g} %"
    console.print(
        "Every deal counts: games stuck, at the step limit or given up are losses. Interval: "
        f"Wilson, {confidence}; of the score: Student's. Against first: difference in win rate on "
        "the same deals, in points, with p of the exact McNemar test, two-sided. Score, cards (on "
        "the foundations) and moves are means; speed is that of one process."
        + (
            _OF_WINNABLE_NOTE
            if any(row.winnable is not None for row in comparison.environments)
            else ""
        ),
        style="dim",
        highlight=False,
    )


_OF_WINNABLE_NOTE = (
    " Of winnable: of the deals that can be won when all cards are known, by the library's solver."
)


def _natural_width(console: Console, table: Table) -> int:
    # A measurement never exceeds the width it is told of, so tell of one that is ample.
    return console.measure(table, options=console.options.update(width=1000)).maximum


def title(environment: EnvironmentResult) -> str:
    """One line that says what was played."""
    limit = (
        f"{environment.step_limit:,} steps at most" if environment.step_limit else "no step limit"
    )
    return (
        f"{environment.env_id}: {environment.games:,} deals of suite {environment.suite}, {limit}"
    )


def label(environment: EnvironmentResult, agent: AgentResult) -> str:
    """The agent's short name; who saw all cards is marked so wherever it appears."""
    name = agent.agent.rpartition(":")[2]
    return f"{name} (thoughtful)" if environment.all_cards_known else name


def _table(environment: EnvironmentResult, columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agent", overflow="fold", vertical="bottom")
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for agent in environment.agents:
        table.add_row(label(environment, agent), *(cell(agent) for _, cell in columns))
    return table


def write_json(comparison: Comparison, path: Path) -> None:
    """Everything, fractions as fractions; the games themselves are in each agent's games_file."""
    text = json.dumps(dataclasses.asdict(comparison), indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(comparison: Comparison, path: Path) -> None:
    """One line for each agent on each environment, with the configuration and versions beside."""
    rows = list(_flat_rows(comparison))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _flat_rows(comparison: Comparison) -> Iterable[dict[str, Any]]:
    for environment in comparison.environments:
        for agent in environment.agents:
            pairing = dataclasses.asdict(agent.pairing) if agent.pairing else {}
            yield {
                "env": environment.env_id,
                "agent": agent.agent,
                "actions": agent.actions,
                "all_cards_known": environment.all_cards_known,
                **dataclasses.asdict(agent.summary),
                "winnable_games": "" if environment.winnable is None else environment.winnable,
                "first_agent": environment.agents[0].agent,
                **{name: pairing.get(name, "") for name in PAIRING_COLUMNS},
                "suite": environment.suite,
                "first_deal": environment.first_deal,
                "step_limit": environment.step_limit,
                "seed": comparison.config.seed,
                "confidence": comparison.config.confidence,
                **comparison.versions,
            }


PAIRING_COLUMNS = (
    "only_this_won",
    "only_first_won",
    "difference",
    "difference_low",
    "difference_high",
    "p_value",
)


def write_picture(comparison: Comparison, path: Path) -> None:
    """Win rates with their intervals as a PNG file, one panel an environment, no colours needed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    environments = comparison.environments
    heights = [len(environment.agents) for environment in environments]
    figure = Figure(
        figsize=(7, sum(0.45 * height + 1.1 for height in heights)), layout="constrained"
    )
    FigureCanvasAgg(figure)
    panels = figure.subplots(
        len(environments), 1, squeeze=False, sharex=True, height_ratios=[n + 1 for n in heights]
    )
    for panel, environment in zip(panels[:, 0], environments, strict=True):
        for place, agent in enumerate(environment.agents):
            summary = agent.summary
            rate = 100 * summary.win_rate
            low, high = 100 * summary.win_rate_low, 100 * summary.win_rate_high
            panel.errorbar(
                rate,
                place,
                xerr=[[rate - low], [high - rate]],
                fmt="o",
                color="black",
                capsize=4,
                clip_on=False,
            )
            panel.annotate(
                f"{rate:.1f} %", (high, place), (8, 0), textcoords="offset points", va="center"
            )
        panel.set_yticks(
            range(len(environment.agents)),
            [label(environment, agent) for agent in environment.agents],
        )
        panel.set_ylim(len(environment.agents) - 0.5, -0.5)
        panel.set_title(
            f"{environment.env_id}, {environment.games:,} deals", loc="left", fontsize=10
        )
        panel.grid(axis="x", color="0.85")
        panel.set_axisbelow(True)
        panel.spines[["top", "right", "left"]].set_visible(False)
        panel.tick_params(axis="y", length=0)
    panels[-1, 0].set_xlabel(
        f"games won, % (bars: {100 * comparison.config.confidence:g} % Wilson interval)"
    )
    panels[0, 0].set_xlim(0)
    panels[0, 0].margins(x=0.15)
    figure.savefig(path, format="png", dpi=150)
