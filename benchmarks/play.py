"""Plays one agent's missing games, in one process or several, and hands each over as it ends."""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from typing import Any, cast

from agents import make_agent
from benchmarks.errors import AgentError, UserError
from klondike_env.evaluation import GameRecord, evaluate

# Enough that no worker waits long for the last one, few enough to fill batches.
CHUNKS_PER_WORKER = 4


@dataclass(frozen=True, kw_only=True)
class Job:
    """How to play: everything a worker process needs except the deals."""

    env_id: str
    agent: str
    rules: Any
    seed: int
    batch: int


def play(
    job: Job, deals: Sequence[int], *, workers: int, on_record: Callable[[GameRecord], None]
) -> None:
    """Play every deal once and call ``on_record`` here as each game ends, in no fixed order.

    A game depends on its deal and the seed only, so the records are the same for any ``workers``.

    Raises:
        AgentError: the agent raised, or chose an action it may not play.
    """
    if workers == 1 or len(deals) == 1:
        play_here(job, deals, on_record)
    else:
        _play_in_processes(job, deals, workers, on_record)


def play_here(job: Job, deals: Sequence[int], on_record: Callable[[GameRecord], None]) -> None:
    """Play in this process."""
    agent = _agent(job.agent, job.rules)
    evaluate(
        agent,
        job.env_id,
        deals,
        num_envs=min(job.batch, len(deals)),
        seed=job.seed,
        progress=on_record,
    )


@functools.lru_cache(maxsize=1)
def _agent(name: str, rules: Any) -> Any:
    # Kept between chunks: building an agent may load a network.
    return make_agent(name, rules)


def _play_in_processes(
    job: Job, deals: Sequence[int], workers: int, on_record: Callable[[GameRecord], None]
) -> None:
    # Spawned, since forking a process that runs threads (Numba, PyTorch) can hang.
    context = multiprocessing.get_context("spawn")
    size = math.ceil(len(deals) / (workers * CHUNKS_PER_WORKER))
    chunks = [deals[start : start + size] for start in range(0, len(deals), size)]
    tasks: Any = context.Queue()
    results: Any = context.Queue()
    for chunk in [*chunks, *[None] * workers]:
        tasks.put(chunk)
    processes = [
        context.Process(target=_work, args=(job, tasks, results), daemon=True)
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        missing = len(deals)
        while missing:
            result = _next_result(results, processes)
            if isinstance(result, Exception):
                raise result
            on_record(result)
            missing -= 1
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _next_result(results: Any, processes: Sequence[SpawnProcess]) -> GameRecord | Exception:
    while True:
        try:
            return cast(GameRecord | Exception, results.get(timeout=1))
        except queue.Empty:
            codes = [process.exitcode for process in processes if process.exitcode]
            if codes:
                return AgentError(f"a worker process died with exit code {codes[0]}")


def _work(job: Job, tasks: Any, results: Any) -> None:
    """A worker process: plays chunks until it is handed None."""
    # Ctrl-C reaches every process of the terminal; only the first one may react, and end the rest.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        for chunk in iter(tasks.get, None):
            play_here(job, chunk, results.put)
    except (AgentError, UserError) as error:
        results.put(error)
    except Exception as error:
        results.put(AgentError(f"a worker process failed: {type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however that came about."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
