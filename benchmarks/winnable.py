"""``python -m benchmarks winnable``: how many deals can be won with all cards known, resumable."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import stats

from benchmarks import config
from benchmarks.compare import progress_bar
from benchmarks.errors import UserError
from benchmarks.provenance import all_versions, digest, game_versions
from benchmarks.store import Store
from klondike_env import deals as deal_numbers
from klondike_env import verdicts
from klondike_env.games import klondike as klondike_game
from klondike_env.games.klondike.rules import PRESETS
from klondike_env.solvers import klondike as klondike_solver
from klondike_env.solvers.klondike import solve_many

OPTIONS = ("draw_count", "passes", "run_moves", "foundation_to_tableau", "forced_aces")
"""The options of Klondike's rules that decide whether a deal can be won."""


@dataclass(frozen=True, kw_only=True)
class WinnableConfig:
    """Estimate the share of deals that can be won with all cards known.

    Verdicts are kept in the output folder as they are found: an interrupted run goes on from there
    when the same command is given again, and a longer limit is spent on undecided deals only.
    """

    env: str = config.option("Klondike-Draw3-v0", "environment id whose rules hold")
    deals: int = config.option(1000, "deals, from the start of the suite")
    suite: str = config.option("test", f"deal suite: {', '.join(deal_numbers.SUITES)}")
    foundation_to_tableau: bool = config.option(
        True, "false: cards are never taken back from a foundation, whatever the id's rules say"
    )
    max_seconds: float = config.option(10.0, "give a deal up after so many seconds")
    workers: int = config.option(0, "threads that search; 0: one for each core")
    confidence: float = config.option(0.95, "confidence of the intervals")
    output: str = config.option("results", "folder that keeps the verdicts")
    json: str | None = config.option(None, "write the result, configuration and versions here")
    picture: str | None = config.option(
        None, "draw the share of deals decided within so many states into this PNG file"
    )
    verdicts: str | None = config.option(
        None, "add the verdicts to this archive of the library (see klondike_env.verdicts)"
    )

    def __post_init__(self) -> None:
        """Refuse values that no estimate can be made of."""
        if self.env not in PRESETS:
            raise UserError(f"unknown environment {self.env!r}; environments: {', '.join(PRESETS)}")
        if self.suite not in deal_numbers.SUITES:
            raise UserError(
                f"unknown suite {self.suite!r}; suites: {', '.join(deal_numbers.SUITES)}"
            )
        if not 1 <= self.deals <= deal_numbers.SUITE_SIZE:
            raise UserError(
                f"deals must be from 1 to {deal_numbers.SUITE_SIZE:,}, not {self.deals}"
            )
        if not self.max_seconds > 0:
            raise UserError(f"max_seconds must be above 0, not {self.max_seconds}")
        if self.workers < 0:
            raise UserError(f"workers must be 0 or more, not {self.workers}")
        if not 0 < self.confidence < 1:
            raise UserError(f"confidence must lie between 0 and 1, not {self.confidence}")

    @property
    def rules(self) -> Any:
        rules = PRESETS[self.env]
        takes_back = rules.foundation_to_tableau and self.foundation_to_tableau
        return dataclasses.replace(rules, foundation_to_tableau=takes_back)

    @property
    def options(self) -> dict[str, Any]:
        """Of the rules, what the verdicts depend on."""
        return {name: getattr(self.rules, name) for name in OPTIONS}


@dataclass(frozen=True)
class Subject:
    """All that decides a verdict."""

    label: str
    rules: dict[str, Any]
    suite: str
    versions: dict[str, str]
    code: str


@dataclass(frozen=True)
class DealVerdict:
    """What the solver said of one deal."""

    deal: int
    verdict: str
    states: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The share of winnable deals; undecided ones may be either.

    ``rate_low`` and ``rate_high`` take all undecided deals as unwinnable and as winnable. The
    interval runs from the Clopper-Pearson limit below the one to the limit above the other.
    """

    deals: int
    winnable: int
    unwinnable: int
    undecided: int
    rate_low: float
    rate_high: float
    interval_low: float
    interval_high: float
    seconds: float
    median_seconds: float
    longest_seconds: float
    states: int


def estimate(records: Sequence[DealVerdict], confidence: float = 0.95) -> Estimate:
    """The estimate from at least one verdict."""
    total = len(records)
    found = {name: sum(record.verdict == name for record in records) for name in verdicts.NAMES}
    winnable, undecided = found["winnable"], found["unknown"]
    low = stats.binomtest(winnable, total).proportion_ci(confidence, method="exact").low
    high = stats.binomtest(winnable + undecided, total).proportion_ci(confidence, method="exact")
    seconds = np.array([record.seconds for record in records])
    return Estimate(
        deals=total,
        winnable=winnable,
        unwinnable=found["unwinnable"],
        undecided=undecided,
        rate_low=winnable / total,
        rate_high=(winnable + undecided) / total,
        interval_low=float(low),
        interval_high=float(high.high),
        seconds=float(seconds.sum()),
        median_seconds=float(np.median(seconds)),
        longest_seconds=float(seconds.max()),
        states=sum(record.states for record in records),
    )


def main(argv: Sequence[str]) -> None:
    """Run the command: solve, print the estimate and write the files that were asked for."""
    asked = config.parse(WinnableConfig, argv, prog="python -m benchmarks winnable")
    for name in ("json", "picture", "verdicts"):
        if getattr(asked, name):
            config.prepare_file(name, Path(getattr(asked, name)))
    config.prepare_file("output", Path(asked.output) / "verdicts.jsonl")
    records = run(asked)
    result = estimate(records, asked.confidence)
    _print(asked, result, Console())
    if asked.json:
        _write_json(asked, result, Path(asked.json))
    if asked.picture:
        _write_picture(asked, records, Path(asked.picture))
    if asked.verdicts:
        _write_verdicts(asked, records, Path(asked.verdicts))


def run(asked: WinnableConfig) -> list[DealVerdict]:
    """The verdicts on the deals asked for, in their order; searches those that are missing.

    Raises:
        KeyboardInterrupt: with a message that says where the verdicts are.
    """
    wanted = deal_numbers.suite(asked.suite, asked.deals)
    folders = [Path(str(module.__file__)).parent for module in (klondike_game, klondike_solver)]
    subject = Subject(
        label=f"{asked.env}.winnable",
        rules=asked.options,
        suite=asked.suite,
        versions=game_versions(),
        code=digest(*folders),
    )
    with Store(Path(asked.output), subject, DealVerdict) as store, progress_bar() as progress:
        missing = [deal for deal in wanted if _is_missing(store.records.get(deal), asked)]
        task = progress.add_task(asked.env, total=len(wanted), completed=len(wanted) - len(missing))
        found = solve_many(
            (deal_numbers.deck(deal) for deal in missing),
            asked.rules,
            workers=asked.workers or None,
            max_seconds=asked.max_seconds,
        )
        try:
            for place, verdict in found:
                store.add(
                    DealVerdict(missing[place], verdict.verdict, verdict.states, verdict.seconds)
                )
                progress.advance(task)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"verdicts are kept in {asked.output}; the same command goes on from there"
            ) from None
        if progress.disable:
            print(f"{asked.env}: {len(missing):,} deals searched", file=sys.stderr)
        return [_within_limit(store.records[deal], asked) for deal in wanted]


def _is_missing(record: DealVerdict | None, asked: WinnableConfig) -> bool:
    return record is None or (record.verdict == "unknown" and record.seconds < asked.max_seconds)


def _within_limit(record: DealVerdict, asked: WinnableConfig) -> DealVerdict:
    """A verdict as this limit gives it: one that an earlier run took longer for is none."""
    if record.seconds <= asked.max_seconds:
        return record
    return dataclasses.replace(record, verdict="unknown")


def _print(asked: WinnableConfig, result: Estimate, console: Console) -> None:
    back = "" if asked.rules.foundation_to_tableau else ", no taking back"
    console.print(
        f"\n[bold]{asked.env}{back}: {result.deals:,} deals of suite {asked.suite}, all cards"
        f" known, {asked.max_seconds:g} s a deal at most[/bold]",
        highlight=False,
    )
    low, high = f"{100 * result.rate_low:.3f}", f"{100 * result.rate_high:.3f}"
    rows = {
        "winnable": f"{result.winnable:,}",
        "unwinnable": f"{result.unwinnable:,}",
        "undecided": f"{result.undecided:,}",
        "winnable %": low if low == high else f"{low} - {high}",
        "interval %": f"{100 * result.interval_low:.3f} - {100 * result.interval_high:.3f}",
        "seconds in all": f"{result.seconds:,.1f}",
        "median": f"{result.median_seconds:.5f}",
        "longest": f"{result.longest_seconds:.2f}",
        "states in all": f"{result.states:,}",
    }
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    console.print(
        f"Interval: Clopper-Pearson, {100 * asked.confidence:g} %; undecided deals count as"
        " unwinnable in its lower limit and as winnable in its upper one. Seconds are those of one"
        " thread.",
        style="dim",
        highlight=False,
    )


def _write_json(asked: WinnableConfig, result: Estimate, path: Path) -> None:
    found = {
        "config": dataclasses.asdict(asked),
        "rules": dataclasses.asdict(asked.rules),
        "result": dataclasses.asdict(result),
        "versions": all_versions(),
    }
    path.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    print(f"json: {path}")


def _write_picture(asked: WinnableConfig, records: Sequence[DealVerdict], path: Path) -> None:
    """Share of all deals decided within a number of states, winnable and unwinnable apart."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    most = max(record.states for record in records)
    styles = {"all deals": "-", "winnable": "--", "unwinnable": ":"}
    for name, style in styles.items():
        states = sorted(
            max(record.states, 1)
            for record in records
            if record.verdict != "unknown" and name in ("all deals", record.verdict)
        )
        if states:
            total = len(records) if name == "all deals" else len(states)
            share = 100 * np.arange(1, len(states) + 1) / total
            axes.step(
                [*states, most],
                [*share, share[-1]],
                style,
                where="post",
                color="black",
                label=f"{name} ({total:,})",
            )
    axes.set_xscale("log")
    axes.set_xlabel("states visited")
    axes.set_ylabel("decided within so many states, %")
    axes.set_title(f"{asked.env}: {len(records):,} deals, all cards known")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"picture: {path}")


def _write_verdicts(asked: WinnableConfig, records: Sequence[DealVerdict], path: Path) -> None:
    packed = verdicts.Verdicts(
        np.array([verdicts.NAMES.index(record.verdict) for record in records]),
        np.array([record.states.bit_length() for record in records]),
    )
    try:
        verdicts.save(path, asked.suite, asked.options, packed)
    except ValueError as error:
        raise UserError(str(error)) from None
    print(f"verdicts: {path}")
