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
from klondike_env.checks import whole_from
from klondike_env.games.base import OWN_DECK
from klondike_env.games.klondike import kernels
from klondike_env.games.klondike.layout import STATE as GAME
from klondike_env.games.klondike.layout import encode_rules
from klondike_env.games.klondike.position import parse
from klondike_env.games.klondike.rules import KlondikeRules
from klondike_env.solvers.klondike import lines, plain, search
from klondike_env.solvers.klondike.compact import STATE, compact, every_table
from klondike_env.solvers.klondike.search import DRAWS_FIRST, HIGH_DRAWS_FIRST, HIGH_FIRST

MAX_STATES = 1_000_000_000
MAX_BYTES = 4 << 30
_DEPTH = 1_024  # moves of the longest line searched
_LINE = 8_192  # actions of the longest line written down
_FIRST_ENTRIES = 1 << 12
MIN_BYTES = 1 << 20
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
        max_bytes: memory for tables of states; give up when it does not do.
        on_progress: called some times a second with the states and seconds so far; returning False
            ends the search.

    Returns:
        The verdict.

    Raises:
        ValueError: the game or a limit is impossible; says why in one line.
    """
    rules = rules or KlondikeRules()
    max_states = whole_from("max_states", max_states, 1)
    max_bytes = whole_from("max_bytes", max_bytes, MIN_BYTES)
    if max_seconds is not None and not (isinstance(max_seconds, (int, float)) and max_seconds > 0):
        raise ValueError(f"max_seconds is a number above 0, not {max_seconds!r}")
    record = _as_record(game, rules)
    _compile(_needs_plain_search(rules), rules.allows_reach)
    start = last_call = time.perf_counter()
    with _Task(record, rules, max_states, max_bytes) as task:
        while task.run_slice():
            now = time.perf_counter()
            if max_seconds is not None and now >= start + max_seconds:
                task.reason = f"{max_seconds} seconds"
            elif on_progress is not None and now >= last_call + 0.1:
                last_call = now
                if on_progress(task.states, now - start) is False:
                    task.reason = "stopped"
            if task.reason:
                break
        return task.verdict(time.perf_counter() - start)


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
    count = whole_from("workers", workers or os.cpu_count() or 1, 1)
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
    if not isinstance(game, Iterable):
        raise ValueError(f"a game is a position or a deck of 52 cards, not {game!r}")
    games = np.zeros(1, dtype=GAME)
    decks = check_deck(game if isinstance(game, np.ndarray) else list(game))[None]
    rows, deals = np.zeros(1, dtype=np.int64), np.array([OWN_DECK])
    kernels.start(games, rows, deals, decks, encode_rules(rules, "turn"))
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
    game = parse({"foundations": dict.fromkeys("CDHS", 12), "rest": "stock"}, rules)
    with _Task(game, rules, MAX_STATES, MAX_BYTES) as task:
        while task.run_slice():
            pass
        task.verdict(0.0)


class _Scratch:
    """What a search works in. Kept from one to the next: making it costs more than most searches.

    A large table is not kept, so that no search leaves memory behind that the next may not need.
    """

    KEPT_BYTES = 1 << 26

    def __init__(self) -> None:
        self.states = np.zeros(_DEPTH, dtype=STATE)
        self.nodes = np.zeros(_DEPTH, dtype=search.NODE)
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


_idle: list[_Scratch] = []  # one for each search that was under way at the same time


class _Search:
    """One search, going on from where it was."""

    def __init__(self, scratch: _Scratch, max_bytes: int) -> None:
        self.scratch, self.max_bytes = scratch, max_bytes
        self.counts = np.zeros(4, dtype=np.int64)
        self.table = scratch.table(_FIRST_ENTRIES)
        self.status = search.PAUSED
        self.is_full = False

    @property
    def states(self) -> int:
        return int(self.counts[1])

    def run(self, budget: int) -> None:
        """Visit `budget` more states or fewer."""
        self.status = self._search(budget)
        if self.status == search.FULL:
            self.status = search.PAUSED
            if 3 * self.table.nbytes > self.max_bytes:  # the old and the new one
                self.is_full = True
                return
            larger = self.scratch.table(len(self.table))
            self._move_entries(self.table, larger)
            self.table = larger

    def _search(self, budget: int) -> int:
        raise NotImplementedError

    def _move_entries(self, old: np.ndarray, new: np.ndarray) -> None:
        raise NotImplementedError


class _CompactSearch(_Search):
    def __init__(
        self,
        game: np.ndarray,
        rules: KlondikeRules,
        scratch: _Scratch,
        max_bytes: int,
        order: int = 0,
    ) -> None:
        super().__init__(scratch, max_bytes)
        self.order = order
        start, self.deal = compact(game, encode_rules(rules, "turn"))
        self.every = _every(rules.draw_count)
        scratch.states[0] = start[0]
        if search.begin(scratch.states, scratch.nodes, self.deal, self.every):
            self.status = search.LOST

    def _search(self, budget: int) -> int:
        work = self.scratch
        return int(
            search.search(
                work.states,
                work.nodes,
                self.deal,
                self.every,
                self.table,
                self.counts,
                budget,
                self.order,
            )
        )

    def _move_entries(self, old: np.ndarray, new: np.ndarray) -> None:
        search.move_entries(old, new)


class _PlainSearch(_Search):
    def __init__(
        self, game: np.ndarray, rules: KlondikeRules, scratch: _Scratch, max_bytes: int
    ) -> None:
        super().__init__(scratch, max_bytes)
        self.terms = encode_rules(rules, "reach" if rules.allows_reach else "turn")
        _, self.deal = compact(game, self.terms)
        self.games = np.zeros(_DEPTH, dtype=GAME)
        self.games[0] = game[0]
        self.todo = np.zeros((_DEPTH, 5), dtype=np.uint64)
        self.tried = np.zeros(_DEPTH, dtype=np.int64)
        kernels.refresh(self.games[:1], self.terms)
        plain.begin(self.games, self.todo, self.terms)

    def _search(self, budget: int) -> int:
        return int(
            plain.search(
                self.games,
                self.todo,
                self.tried,
                self.deal,
                self.terms,
                self.table,
                self.counts,
                budget,
            )
        )

    def _move_entries(self, old: np.ndarray, new: np.ndarray) -> None:
        plain.move_entries(old, new)


class _Task:
    """Decides one game; a context manager that borrows what it works in.

    The search in one order is interrupted now and then, as it gets long:

    - to search games with easier rules, which take far fewer states: what cannot be won there
      cannot be won here;
    - to look for a win in other orders, the longer the longer it takes.
    """

    FIRST_LOOK = 1 << 15
    EASIER_STATES = 1 << 22
    OTHER_LOOKS = ((1 << 15, 1 << 20), (1 << 17, 1 << 24), (1 << 20, 1 << 27))
    """States of each other order, and of the first one until the next such look."""
    OTHER_ORDERS = (
        DRAWS_FIRST | HIGH_DRAWS_FIRST,
        HIGH_FIRST,
        DRAWS_FIRST,
        HIGH_FIRST | HIGH_DRAWS_FIRST,
        DRAWS_FIRST | HIGH_DRAWS_FIRST | HIGH_FIRST,
    )

    def __init__(
        self, game: np.ndarray, rules: KlondikeRules, max_states: int, max_bytes: int
    ) -> None:
        self.game, self.rules = game, rules
        self.max_states, self.max_bytes = max_states, max_bytes
        self.reason = ""
        self.is_lost = False
        self._winner: _Search | None = None
        self._spent = 0  # states of searches that are over
        self._borrowed: list[_Scratch] = []

    def __enter__(self) -> _Task:
        kind = _PlainSearch if _needs_plain_search(self.rules) else _CompactSearch
        # Two searches at most have a table at the same time.
        self._share = self.max_bytes // 2
        self._main: _Search = kind(self.game, self.rules, self._borrow(), self._share)
        self._running: _Search = self._main
        self._is_easier = False
        self._stages = self._plan()
        self._stage_end = next(self._stages)
        return self

    def __exit__(self, *_: object) -> None:
        _idle.extend(self._borrowed)

    def _borrow(self) -> _Scratch:
        try:
            scratch = _idle.pop()
        except IndexError:
            scratch = _Scratch()
        self._borrowed.append(scratch)
        return scratch

    def _plan(self) -> Iterator[int]:
        """Chooses the search that runs and yields up to how many states of it."""
        yield self.FIRST_LOOK
        scratch = self._borrow()
        for game, rules in _easier(self.game, self.rules):
            self._is_easier = True
            yield from self._turn_to(game, rules, scratch, self.EASIER_STATES)
        self._is_easier = False
        if isinstance(self._main, _CompactSearch):
            for states, main_states in self.OTHER_LOOKS:
                for order in self.OTHER_ORDERS:
                    yield from self._turn_to(self.game, self.rules, scratch, states, order)
                yield main_states
        yield self.max_states

    def _turn_to(
        self,
        game: np.ndarray,
        rules: KlondikeRules,
        scratch: _Scratch,
        states: int,
        order: int = 0,
    ) -> Iterator[int]:
        self._running = _CompactSearch(game, rules, scratch, self._share, order)
        yield states
        self._spent += self._running.states
        self._running = self._main

    @property
    def states(self) -> int:
        running = 0 if self._running is self._main else self._running.states
        return self._main.states + self._spent + running

    def run_slice(self) -> bool:
        """Search a little further. Returns whether there is more to search."""
        now = self._running
        budget = min(_SLICE, self._stage_end - now.states, self.max_states - self.states)
        if budget > 0 and now.status == search.PAUSED:
            now.run(budget)
        if now.status == search.LOST and not now.counts[3]:
            self.is_lost = True
            return False
        if now.status == search.WON and not self._is_easier:
            self._winner = now
            return False
        if now is self._main and now.status == search.LOST:
            self.reason = f"lines of {_DEPTH} moves"
        elif self.states >= self.max_states:
            self.reason = f"{self.max_states} states"
        elif now is self._main and now.is_full:
            self.reason = f"{self.max_bytes} bytes"
        elif now.status != search.PAUSED or now.is_full or now.states >= self._stage_end:
            self._stage_end = next(self._stages)
        return not self.reason

    def verdict(self, seconds: float) -> Verdict:
        """The verdict so far."""
        if self.is_lost:
            return Verdict("unwinnable", self.states, seconds)
        if self._winner is None:
            return Verdict("unknown", self.states, seconds, reason=self.reason)
        reach = self._line(self._winner, "reach") if self.rules.allows_reach else None
        return Verdict("winnable", self.states, seconds, self._line(self._winner, "turn"), reach)

    def _line(self, won: _Search, actions: str) -> tuple[int, ...]:
        terms, length = encode_rules(self.rules, actions), int(won.counts[0])
        found = np.empty(_LINE, dtype=np.int64)
        if not isinstance(won, _PlainSearch):
            nodes = won.scratch.nodes
            count = lines.write_line(self._fresh(terms), terms, nodes, length, found)
        elif actions == "turn" and self.rules.allows_reach:
            line = won.tried[:length]
            count = lines.write_turns(self._fresh(terms), terms, line, found)
        else:
            found, count = won.tried, length
        line = found[: max(count, 0)]
        if not lines.wins(self._fresh(terms), terms, line):
            raise AssertionError(f"a line of {length} moves does not win: please report this deal")
        return tuple(line.tolist())

    def _fresh(self, terms: np.ndarray) -> np.ndarray:
        games = self.game.copy()
        kernels.refresh(games, terms)
        return games


def _easier(game: np.ndarray, rules: KlondikeRules) -> Iterator[tuple[np.ndarray, KlondikeRules]]:
    """The game with easier rules: all of the stock at hand, then only the passes unlimited.

    Partial runs allow all that whole and same-suit runs do, and free aces all that forced ones do.
    """
    takes_back = rules.foundation_to_tableau
    unlimited = game.copy()
    unlimited["redeals_left"] = -1
    open_stock = unlimited.copy()
    open_stock["waste_size"] = 0
    is_plain = _needs_plain_search(rules)
    if is_plain or rules.draw_count > 1 or rules.passes is not None:
        yield open_stock, KlondikeRules(draw_count=1, foundation_to_tableau=takes_back)
    if rules.draw_count > 1 and (is_plain or rules.passes is not None):
        yield (
            unlimited,
            KlondikeRules(draw_count=rules.draw_count, foundation_to_tableau=takes_back),
        )
