"""Helper threads that share the rows of a batch with the thread that calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

PARTS = 4  # for each thread: one that is held up leaves what remains to the others


def share_rows(call: Callable[[int, int], int], count: int, num_threads: int) -> int:
    """Call `call(first, last)` on ranges that make up rows 0 ... `count` - 1, in any order.

    Returns the lowest row that a call refused; a call returns such a row, or -1.
    """
    size = max(1, -(-count // (PARTS * num_threads)))
    firsts = iter(range(0, count, size))

    def work() -> list[int]:
        return [call(first, min(first + size, count)) for first in firsts]

    helpers = [_idle_helper() for _ in range(num_threads - 1)]
    for helper in helpers:
        helper.begin(work)
    results = work()
    for helper in helpers:
        results += helper.finish()
        _idle.append(helper)
    return min((row for row in results if row >= 0), default=-1)


class _Helper:
    """A thread that waits for work.

    A hand-over takes two locks and no more, since calls last about a millisecond: a future of a
    `ThreadPoolExecutor` costs a good part of what a second thread gains.
    """

    def __init__(self) -> None:
        self._start, self._end = threading.Lock(), threading.Lock()
        self._start.acquire()
        self._end.acquire()
        self._error: BaseException | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self, work: Callable[[], list[int]]) -> None:
        self._work = work
        self._start.release()

    def finish(self) -> list[int]:
        """What the work returned; raises what it raised."""
        self._end.acquire()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._results

    def _run(self) -> None:
        while True:
            self._start.acquire()
            try:
                self._results = self._work()
            except BaseException as error:
                self._error = error
            del self._work  # and the arrays that it holds
            self._end.release()


_idle: list[_Helper] = []


def _idle_helper() -> _Helper:
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_idle.clear)
