"""Helper threads that share the rows of a batch with the thread that calls."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

PARTS = 2  # for each thread: one that is held up leaves what remains to the others


def share_rows(call: Callable[[int, int], int], count: int, num_threads: int) -> int:
    """Call `call(first, last)` on ranges that make up rows 0 ... `count` - 1, in any order.

    Returns the lowest row that a call refused; a call returns such a row, or -1.
    """
    size = max(1, -(-count // (PARTS * num_threads)))
    firsts = iter(range(0, count, size))

    def work() -> list[int]:
        return [call(first, min(first + size, count)) for first in firsts]

    helpers = [_helpers(num_threads).submit(work) for _ in range(num_threads - 1)]
    results = work()
    for helper in helpers:
        if not helper.cancel():  # one that has not begun finds no row left
            results += helper.result()
    return min((row for row in results if row >= 0), default=-1)


@functools.cache
def _helpers(num_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(num_threads - 1)


if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_helpers.cache_clear)
