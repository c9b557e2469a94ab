"""Verdicts on Klondike deals and positions, with winning lines."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from klondike_env.cards import check_deck
from klondike_env.games.klondike import kernels
from klondike_env.games.klondike.layout import STATE as GAME
from klondike_env.games.klondike.layout import encode_rules
from klondike_env.games.klondike.position import parse
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import lines, plain, search
from klondike_env.solvers.klondike.compact import STATE, compact, every_table

MAX_STATES = 1_000_000_000
MAX_BYTES = 2 << 30
_DEPTH = 1_024  # moves of the longest line searched
_LINE = 8_192  # actions of the longest line written down
_FIRST_ENTRIES = 1 << 12
_SLICE = 1 << 17  # states searched between two looks at the clock


@dataclass(frozen=True)
class Verdict:
    """What the solver found.

    Attributes:
        verdict: `winnable`, `unwinnable`, or `unknown` when a limit was reached first.
        states: states visited.
        seconds: time it took.
        turn: a winning line as actions of the `turn` set, empty unless winnable.
        reach: the same as actions of the `reach` set, None where the rules do not allow it.
        reason: which limit was reached, if unknown.
    """

    verdict: Literal["winnable", "unwinnable", "unknown"]
    states: int
    seconds: float
    turn: tuple[int, ...] = ()
    reach: tuple[int, ...] | None = None
    reason: str = ""


def solve(
    game: Mapping[str, Any] | Iterable[int],
    rules: KlondikeRules | None = None,
    *,
    max_states: int = MAX_STATES,
    max_seconds: float | None = None,
    max_bytes: int = MAX_BYTES,
    on_progress: Callable[[int, float], bool] | None = None,
) -> Verdict:
    """Decide whether a game can be won when all cards are known, and how.

    `unwinnable` comes from an exhaustive search only; a winning line has been replayed by the
    game's own kernels. Rules with partial runs and without forced aces are searched as compact
    states, others by a plain search that takes longer.

    Args:
        game: a position (see `klondike_env.games.klondike.position`) or a deck of 52 cards in deal
            order.
        rules: the rules, by default those of `Klondike-Draw3-v0`; a position's `redeals_left` says
            how many of the passes are left.
        max_states: give up after so many states.
        max_seconds: give up after so many seconds.
        max_bytes: memory for the table of states; give up when it does not do.
        on_progress: called some times a second with the states and seconds so far; returning False
            ends the search.

    Returns:
        The verdict.

    Raises:
        ValueError: the game or a limit is impossible; says why in one line.
    """
    rules = rules or KlondikeRules()
    if max_states < 1:
        raise ValueError(f"max_states is a whole number above 0, not {max_states!r}")
    if max_seconds is not None and not max_seconds > 0:
        raise ValueError(f"max_seconds is a number above 0, not {max_seconds!r}")
    if max_bytes < 16 * _FIRST_ENTRIES:
        raise ValueError(f"max_bytes is at least {16 * _FIRST_ENTRIES}, not {max_bytes!r}")
    record = _as_record(game, rules)
    _compile(_needs_plain_search(rules), rules.allows_reach)
    start = time.perf_counter()
    scratch = _idle.pop() if _idle else _Scratch()
    try:
        task = _Task(record, rules, scratch, max_states, max_bytes)
        last_call = start
        status = task.run()
        while status == search.PAUSED:
            now = time.perf_counter()
            if task.states >= max_states:
                task.reason = f"{max_states} states"
            elif max_seconds is not None and now >= start + max_seconds:
                task.reason = f"{max_seconds} seconds"
            elif on_progress is not None and now >= last_call + 0.1:
                last_call = now
                if on_progress(task.states, now - start) is False:
                    task.reason = "stopped"
            if task.reason:
                break
            status = task.run()
        return task.verdict(status, time.perf_counter() - start)
    finally:
        _idle.append(scratch)


def solve_many(
    games: Iterable[Mapping[str, Any] | Iterable[int]],
    rules: KlondikeRules | None = None,
    *,
    workers: int | None = None,
    **limits: Any,
) -> Iterator[tuple[int, Verdict]]:
    """Decide many games side by side in threads; the search holds no lock.

    Args:
        games: positions or decks; read as they are needed.
        rules: the rules of all of them.
        workers: threads, by default one a core.
        **limits: `max_states`, `max_seconds`, `max_bytes` of each game.

    Yields:
        The place of a game in `games` and its verdict, as they are found.
    """
    count = workers or os.cpu_count() or 1
    stopped = threading.Event()
    numbered = enumerate(games)
    with ThreadPoolExecutor(count) as pool:
        running: dict[Future[Verdict], int] = {}
        try:
            while True:
                for place, game in numbered:
                    task = pool.submit(
                        solve,
                        game,
                        rules,
                        on_progress=lambda *_: not stopped.is_set(),
                        **limits,
                    )
                    running[task] = place
                    if len(running) >= 2 * count:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for task in done:
                    yield running.pop(task), task.result()
        finally:
            stopped.set()


def _as_record(game: Mapping[str, Any] | Iterable[int], rules: KlondikeRules) -> np.ndarray:
    if isinstance(game, Mapping):
        return parse(game, rules)
    games = np.zeros(1, dtype=GAME)
    decks = check_deck(game if isinstance(game, np.ndarray) else list(game))[None]
    none = np.zeros(1, dtype=np.int64)
    kernels.start(games, none, decks, none, encode_rules(rules, "turn"))
    return games


@functools.cache
def _every(draw_count: int) -> np.ndarray:
    return every_table(draw_count)


def _needs_plain_search(rules: KlondikeRules) -> bool:
    return rules.run_moves != "partial" or rules.forced_aces


@functools.cache
def _compile(is_plain: bool, allows_reach: bool) -> None:
    """Solve something trivial, so that no time limit is spent on compiling."""
    rules = KlondikeRules(forced_aces=is_plain, passes=None if allows_reach else 1)
    position = {"foundations": dict.fromkeys("CDHS", 12), "rest": "stock"}
    task = _Task(parse(position, rules), rules, _Scratch(), 1 << 20, MAX_BYTES)
    task.verdict(task.run(), 0.0)


class _Scratch:
    """What a search works in. Kept from one to the next: making it costs more than most searches.

    A large table is not kept, so that no search leaves memory behind that the next may not need.
    """

    KEPT_BYTES = 1 << 26

    def __init__(self) -> None:
        self.states = np.zeros(_DEPTH, dtype=STATE)
        self.nodes = np.zeros(_DEPTH, dtype=search.NODE)
        self.actions = np.zeros(_LINE, dtype=np.int64)
        self._tables: dict[int, np.ndarray] = {}

    def table(self, entries: int) -> np.ndarray:
        """An empty table for so many entries, which the next call for as many takes back."""
        if entries not in self._tables:
            table = np.zeros(2 * entries, dtype=np.uint64)
            if table.nbytes > self.KEPT_BYTES:
                return table
            self._tables[entries] = table
        self._tables[entries][:] = 0
        return self._tables[entries]


_idle: list[_Scratch] = []  # one for each search that ran at the same time


class _Task:
    """One search, going on from where it was."""

    def __init__(
        self,
        game: np.ndarray,
        rules: KlondikeRules,
        scratch: _Scratch,
        max_states: int,
        max_bytes: int,
    ) -> None:
        self.game, self.rules, self.scratch = game, rules, scratch
        self.max_states, self.max_bytes = max_states, max_bytes
        self.counts = np.zeros(4, dtype=np.int64)
        self.reason = ""
        self.table = scratch.table(_FIRST_ENTRIES)
        start, self.deal = compact(game, rules)
        self.is_plain = _needs_plain_search(rules)
        self.is_lost = False
        self.every = _every(rules.draw_count)
        if self.is_plain:
            self.terms = encode_rules(rules, "reach" if rules.allows_reach else "turn")
            self.games = np.zeros(_DEPTH, dtype=GAME)
            self.games[0] = game[0]
            self.todo = np.zeros((_DEPTH, 5), dtype=np.uint64)
            self.tried = np.zeros(_DEPTH, dtype=np.int64)
            kernels.refresh(self.games[:1], self.terms)
            plain.begin(self.games, self.todo, self.terms)
        else:
            scratch.states[0] = start[0]
            self.is_lost = bool(search.begin(scratch.states, scratch.nodes, self.deal, self.every))

    @property
    def states(self) -> int:
        return int(self.counts[1])

    def run(self) -> int:
        """Search a slice further."""
        if self.is_lost:
            return search.LOST
        budget = min(_SLICE, self.max_states - self.states)
        if self.is_plain:
            status = plain.search(
                self.games,
                self.todo,
                self.tried,
                self.deal,
                self.terms,
                self.table,
                self.counts,
                budget,
            )
        else:
            status = search.search(
                self.scratch.states,
                self.scratch.nodes,
                self.deal,
                self.every,
                self.table,
                self.counts,
                budget,
            )
        if status == search.FULL:
            self._grow()
            return search.PAUSED
        return int(status)

    def _grow(self) -> None:
        if 3 * self.table.nbytes > self.max_bytes:  # the old and the new one
            self.reason = f"{self.max_bytes} bytes"
            return
        larger = self.scratch.table(len(self.table))
        (plain if self.is_plain else search).move_entries(self.table, larger)
        self.table = larger

    def verdict(self, status: int, seconds: float) -> Verdict:
        if status == search.LOST and not self.counts[3]:
            return Verdict("unwinnable", self.states, seconds)
        if status != search.WON:
            reason = self.reason or f"lines of {_DEPTH} moves"
            return Verdict("unknown", self.states, seconds, reason=reason)
        turn, reach = self._lines()
        return Verdict("winnable", self.states, seconds, turn, reach)

    def _lines(self) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        reach = self._line("reach") if self.rules.allows_reach else None
        return self._line("turn"), reach

    def _line(self, actions: str) -> tuple[int, ...]:
        terms, length, room = encode_rules(self.rules, actions), int(self.counts[0]), _LINE
        found = np.empty(room, dtype=np.int64)
        if not self.is_plain:
            count = lines.write_line(self._fresh(terms), terms, self.scratch.nodes, length, found)
        elif actions == "turn" and self.rules.allows_reach:
            count = lines.write_turns(self._fresh(terms), terms, self.tried[:length], found)
        else:
            found, count = self.tried, length
        line = found[: max(count, 0)]
        if not lines.wins(self._fresh(terms), terms, line):
            raise AssertionError(f"a line of {length} moves does not win: please report this deal")
        return tuple(line.tolist())

    def _fresh(self, terms: np.ndarray) -> np.ndarray:
        games = self.game.copy()
        kernels.refresh(games, terms)
        return games
