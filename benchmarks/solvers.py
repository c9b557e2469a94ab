"""``python -m benchmarks solvers``: deals decided per second, beside pyksolve where installed."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import config
from benchmarks.compare import progress_bar
from benchmarks.errors import UserError
from klondike_env import deals as deal_numbers
from klondike_env.formats import klondike_solver
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules
from klondike_env.solvers.klondike import solve

PYKSOLVE_STATES = 100_000
ENVS = ("Klondike-Draw3-v0", "Klondike-Draw1-v0")

Solve = Callable[[Any], str]  # deck -> winnable, unwinnable or unknown


@dataclass(frozen=True, kw_only=True)
class SolversConfig:
    """Deals decided per second by this solver and by pyksolve, on the same deals in turn."""

    env: list[str] = config.option(list(ENVS), f"environment ids: {', '.join(ENVS)}")
    deals: int = config.option(100, "deals of the validation suite, from its start")

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        for env_id in self.env:
            if env_id not in ENVS:
                raise UserError(
                    f"no rules of {env_id!r} in pyksolve: choose from {', '.join(ENVS)}"
                )
        if not 1 <= self.deals <= deal_numbers.SUITE_SIZE:
            raise UserError(f"deals must be 1 or more, not {self.deals}")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One solver's time over all deals; one thread."""

    solver: str
    verdicts: tuple[str, ...]
    seconds: float
    longest: float

    @property
    def decided(self) -> int:
        return sum(verdict != "unknown" for verdict in self.verdicts)

    @property
    def rate(self) -> float:
        """Deals decided per second."""
        return self.decided / self.seconds


def main(argv: Sequence[str]) -> None:
    """Run the command and print a table for each environment."""
    asked = config.parse(SolversConfig, argv, prog="python -m benchmarks solvers")
    for env_id in asked.env:
        _print(env_id, measure(env_id, asked.deals), asked.deals)


def measure(env_id: str, count: int) -> list[Row]:
    """Solve the deals with each solver in turn.

    Raises:
        AssertionError: two solvers contradict each other on a deal.
    """
    rules = PRESETS[env_id]
    solvers: dict[str, Solve] = {"klondike_env": lambda deck: solve(deck, rules).verdict}
    try:
        module = importlib.import_module("pyksolve.solver")
    except ImportError:
        print("skipped: pyksolve is not installed (pip install pyksolve)", file=sys.stderr)
    else:
        solvers[f"pyksolve, {PYKSOLVE_STATES:,} states"] = _pyksolve(module, rules)
    numbers = deal_numbers.suite("validation", count)
    decks = [deal_numbers.deck(number) for number in numbers]
    times: dict[str, list[float]] = {name: [] for name in solvers}
    found: dict[str, list[str]] = {name: [] for name in solvers}
    solvers["klondike_env"](decks[0])  # compiles
    with progress_bar() as progress:
        for number, deck in zip(progress.track(numbers, description=env_id), decks, strict=True):
            for name, decide in solvers.items():
                start = time.perf_counter()
                found[name].append(decide(deck))
                times[name].append(time.perf_counter() - start)
            said = {verdicts[-1] for verdicts in found.values()} - {"unknown"}
            if len(said) > 1:
                raise AssertionError(f"deal {number}: one solver has a win, another shows none")
    return [
        Row(
            solver=name,
            verdicts=tuple(found[name]),
            seconds=sum(times[name]),
            longest=max(times[name]),
        )
        for name in solvers
    ]


def _pyksolve(module: Any, rules: KlondikeRules) -> Solve:
    names = {
        module.SolveResult.SolvedMinimal: "winnable",
        module.SolveResult.SolvedMayNotBeMinimal: "winnable",
        module.SolveResult.Impossible: "unwinnable",
    }

    def decide(deck: Any) -> str:
        game = module.Solitaire()
        game.draw_count = rules.draw_count
        game.load_solitaire(klondike_solver.write(deck))
        game.reset_game()
        return names.get(game.solve_fast(max_closed_count=PYKSOLVE_STATES), "unknown")

    return decide


def _print(env_id: str, rows: list[Row], count: int) -> None:
    console = Console()
    console.print(
        f"\n[bold]{env_id}: {count:,} deals of suite validation, all cards known,"
        " one thread[/bold]",
        highlight=False,
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("solver")
    for heading in ("decided", "seconds", "longest", "decided/s", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.solver,
            f"{row.decided:,}",
            f"{row.seconds:.2f}",
            f"{row.longest:.2f}",
            f"{row.rate:,.1f}",
            f"{rows[0].rate / row.rate:.1f}" if row.decided else "-",
        )
    console.print(table)
    console.print(
        "Ratio: how many times as many deals klondike_env decides per second.",
        style="dim",
        highlight=False,
    )
