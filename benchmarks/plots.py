"""The plots of the report page, as SVG texts that take their colours from the page.

Agents differ in place, line style, marker or hatching, never in colour alone. Text stays text, so
that it can be searched, read aloud and shown in the page's font.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from klondike_env import verdicts
from klondike_env.evaluation import GameRecord, wilson_interval

WIDTH = 4.7  # inches, at 72 units an inch: as wide as a phone shows it at full size
INK, QUIET, LINE, PAPER = "#010203", "#040506", "#070809", "#0a0b0c"
AGENTS = tuple(f"#1{place}1{place}1{place}" for place in range(8))
"""Stand-ins for colours that the page defines, so that one plot serves light and dark."""
_VARIABLES = {INK: "--text", QUIET: "--quiet", LINE: "--line", PAPER: "--panel"} | {
    colour: f"--agent-{place}" for place, colour in enumerate(AGENTS)
}
_MARKERS = "osD^vPX*"
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MIN_DEALS = 20  # in a class of difficulty


@dataclass(frozen=True)
class Player:
    """An agent's name and games, and its results as shares with intervals.

    Its place among all agents decides its colour, marker and line. `difference` is that of the
    paired comparison with the first agent: (low, middle, high).
    """

    label: str
    place: int
    games: Sequence[GameRecord]
    win_rate: tuple[float, float, float]
    difference: tuple[float, float, float] | None


def _drawn(draw: Callable[..., None]) -> Callable[..., str]:
    """Make a function that draws into a figure one that gives the figure as SVG."""

    @functools.wraps(draw)
    def as_svg(*arguments: Any) -> str:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        settings: Any = {
            "svg.fonttype": "none",
            "svg.hashsalt": draw.__name__,
            "font.size": 10.5,
            "hatch.linewidth": 0.8,
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": QUIET,
            "xtick.color": QUIET,
            "ytick.color": QUIET,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "grid.color": LINE,
            "axes.facecolor": "none",
            "legend.frameon": False,
        }
        with matplotlib.rc_context(settings):
            figure = Figure(figsize=(WIDTH, 3), layout="constrained")
            FigureCanvasSVG(figure)
            draw(figure, *arguments)
            file = io.StringIO()
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        return _for_page(file.getvalue(), draw.__name__)

    return as_svg


def _for_page(svg: str, name: str) -> str:
    """The SVG element alone, in the page's colours and font, with ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"(font: (?:\w+ )*[\d.]+px) [^;\"]*", r"\1 inherit", svg)
    svg = svg.replace(" inherit", " var(--font)")
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg)
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg)
    return re.sub(r"\n\s*", "\n", svg)


def _clean(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)


def _rows(figure: Any, players: Sequence[Player], axes: Any) -> None:
    """One row an agent, the first one on top."""
    figure.set_size_inches(WIDTH, 0.42 * len(players) + 0.75)
    axes.set_yticks(range(len(players)), [player.label for player in players])
    axes.set_ylim(len(players) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    _clean(axes)


def _point(axes: Any, row: int, place: int, shares: tuple[float, float, float], text: str) -> None:
    low, middle, high = (100 * share for share in shares)
    axes.errorbar(
        middle,
        row,
        xerr=[[middle - low], [high - middle]],
        fmt=_MARKERS[place % 8],
        color=AGENTS[place % 8],
        markeredgecolor=INK,
        ecolor=INK,
        capsize=4,
        markersize=7,
        clip_on=False,
    )
    axes.annotate(text, (high, row), (9, 0), textcoords="offset points", va="center")


@_drawn
def win_rates(figure: Any, players: Sequence[Player]) -> None:
    """Share of games won, with its interval."""
    axes = figure.subplots()
    _rows(figure, players, axes)
    for row, player in enumerate(players):
        _point(axes, row, player.place, player.win_rate, f"{100 * player.win_rate[1]:.1f} %")
    most = max(player.win_rate[2] for player in players)
    right = min(122, max(1, 130 * most))
    axes.set_xlim(-0.03 * right, right)
    axes.set_xlabel("games won, %")


@_drawn
def differences(figure: Any, players: Sequence[Player]) -> None:
    """Win rates minus the first agent's on the same deals, with intervals."""
    axes = figure.subplots()
    others = [player for player in players if player.difference is not None]
    _rows(figure, others, axes)
    axes.axvline(0, color=INK, linewidth=1.2)
    for row, player in enumerate(others):
        assert player.difference is not None
        middle = f"{100 * player.difference[1]:+.1f}".replace("-", "\N{MINUS SIGN}")
        _point(axes, row, player.place, player.difference, middle)
    ends = [100 * end for player in others for end in player.difference or ()]
    low, high = min(0, *ends), max(0, *ends)
    room = max(high - low, 1)
    axes.set_xlim(low - 0.06 * room, high + 0.25 * room)
    axes.set_xlabel(f"win rate minus that of {players[0].label}, points")


@_drawn
def foundation_cards(figure: Any, players: Sequence[Player]) -> None:
    """How many cards were on the foundations at the end."""
    panels = _panels(figure, players)
    for axes, player in zip(panels, players, strict=True):
        cards = np.array([game.foundation_cards for game in player.games])
        counts = np.bincount(np.minimum(cards // 4, 13), minlength=14)
        shares = 100 * counts / len(cards)
        colour = AGENTS[player.place % 8]
        axes.bar(range(13), shares[:13], 0.9, color=colour, edgecolor=INK, linewidth=0.6)
        axes.bar(13, shares[13], 0.9, color=PAPER, edgecolor=colour, hatch="/////", linewidth=1.2)
        if shares[13]:
            axes.annotate(
                f"{shares[13]:.0f} %",
                (13, shares[13]),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
    _leave_room(panels)
    panels[-1].set_xticks(range(14), [*(f"{4 * k}" for k in range(13)), "52"], fontsize=9)
    panels[-1].set_xlabel("cards up: 0-3, 4-7, ... 48-51, and 52, won (hatched)")


@_drawn
def lengths(figure: Any, players: Sequence[Player], limit: int | None) -> None:
    """How many actions games took, won and stuck; those at the limit or given up as numbers."""
    panels = _panels(figure, players)
    ended = [g.steps for p in players for g in p.games if g.outcome in ("won", "stuck")]
    top = float(np.quantile(ended, 0.98)) if ended else 1.0
    edges = np.linspace(0, top, 26)
    for axes, player in zip(panels, players, strict=True):
        steps = {
            outcome: [game.steps for game in player.games if game.outcome == outcome]
            for outcome in ("won", "stuck", "truncated", "unfinished")
        }
        weight = 100 / len(player.games)
        won, stuck = (
            np.histogram(np.minimum(steps[name], top), edges)[0] * weight
            for name in ("won", "stuck")
        )
        colour = AGENTS[player.place % 8]
        style = {"width": np.diff(edges), "align": "edge", "linewidth": 0.6}
        axes.bar(edges[:-1], won, color=PAPER, edgecolor=colour, hatch="/////", **style)
        axes.bar(edges[:-1], stuck, bottom=won, color=colour, edgecolor=INK, **style)
        text = f"won {weight * len(steps['won']):.1f} %, stuck {weight * len(steps['stuck']):.1f} %"
        if limit is not None:
            text += f",\nat the limit of {limit:,} {weight * len(steps['truncated']):.1f} %"
        if steps["unfinished"]:
            text += f",\ngiven up {weight * len(steps['unfinished']):.1f} %"
        axes.text(0.99, 0.97, text, transform=axes.transAxes, ha="right", va="top", fontsize=9)
        axes.set_xlim(0, top)
    _leave_room(panels)
    panels[-1].set_xlabel("actions in games won (hatched) and stuck (filled)")


def _panels(figure: Any, players: Sequence[Player]) -> list[Any]:
    """A row of axes an agent, on the same scales."""
    figure.set_size_inches(WIDTH, 0.95 * len(players) + 0.65)
    panels = list(figure.subplots(len(players), 1, sharex=True, sharey=True, squeeze=False)[:, 0])
    for axes, player in zip(panels, players, strict=True):
        axes.set_title(player.label, loc="left", fontsize=10.5, pad=2)
        axes.grid(axis="y")
        axes.locator_params(axis="y", nbins=3)
        _clean(axes)
    figure.supylabel("games, %", fontsize=10.5)
    return panels


def _leave_room(panels: Sequence[Any]) -> None:
    """Above the tallest bar, for what is written there."""
    panels[0].set_ylim(0, 1.25 * panels[0].get_ylim()[1])


@_drawn
def by_difficulty(figure: Any, players: Sequence[Player], known: verdicts.Verdicts) -> None:
    """Win rate on winnable deals against the states that the solver needed for them."""
    axes = figure.subplots()
    figure.set_size_inches(WIDTH, 3.6)
    classes = difficulty_classes(known)
    for place, player in enumerate(players):
        is_won = np.array([game.outcome == "won" for game in player.games])
        rates, lows, highs = [], [], []
        for _, members in classes:
            wins, deals = int(is_won[members].sum()), int(members.sum())
            low, high = wilson_interval(wins, deals)
            rates.append(100 * wins / deals)
            lows.append(100 * low)
            highs.append(100 * high)
        nudged = np.arange(len(classes)) + 0.08 * (place - (len(players) - 1) / 2)
        axes.errorbar(
            nudged,
            rates,
            yerr=[np.subtract(rates, lows), np.subtract(highs, rates)],
            color=AGENTS[player.place % 8],
            linestyle=_LINES[player.place % 8],
            marker=_MARKERS[player.place % 8],
            markeredgecolor=INK,
            markersize=6,
            capsize=2,
            label=player.label,
            clip_on=False,
        )
    axes.set_xticks(
        range(len(classes)),
        [f"{label}\n{int(members.sum()):,}" for label, members in classes],
    )
    axes.set_ylim(0, 100)
    axes.set_ylabel("winnable deals won, %")
    axes.set_xlabel("states that the solver searched; number of deals")
    axes.grid(axis="y")
    _clean(axes)
    figure.legend(loc="outside upper left", ncols=2, handlelength=3.2)


def difficulty_classes(known: verdicts.Verdicts) -> list[tuple[str, np.ndarray]]:
    """Winnable deals in classes of the states searched, easiest first: label and bool[deals].

    A class spans two powers of two, or as many as it takes to hold `MIN_DEALS` deals.
    """
    winnable = known.verdict == verdicts.WINNABLE
    digits = known.digits[winnable]
    classes: list[tuple[str, np.ndarray]] = []
    start, last = int(digits.min()), int(digits.max())
    for end in range(start + 1, last + 2):
        members = winnable & (known.digits >= start) & (known.digits <= end)
        is_last = end >= last or (digits > end).sum() < MIN_DEALS
        if is_last:
            members = winnable & (known.digits >= start)
            classes.append((f"\N{GREATER-THAN OR EQUAL TO}{_short(1 << start >> 1)}", members))
            break
        if end > start and members.sum() >= MIN_DEALS:
            classes.append((f"<{_short(1 << end)}", members))
            start = end + 1
    return classes


def _short(number: int) -> str:
    if number >= 1 << 20:
        return f"{number >> 20}M"
    return f"{number >> 10}k" if number >= 1 << 10 else str(number)
