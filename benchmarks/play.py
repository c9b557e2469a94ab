"""Plays an agent's missing games, in one process or several, and hands each over as it ends."""

from __future__ import annotations

import contextlib
import functools
import math
import multiprocessing
import os
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import gymnasium as gym
import numpy as np

from agents import make_agent
from benchmarks.errors import AgentError
from klondike_env import IllegalMoveError
from klondike_env.evaluation import GameRecord, evaluate, game_seed
from klondike_env.records import Record

# Enough that no worker waits long for the last one, few enough to fill batches.
CHUNKS_PER_WORKER = 4
# Of games that are played one at a time.
GAMES_OF_A_CHUNK = 4

OnRecord = Callable[[GameRecord | Record], None]
"""Takes the result of each game; before it the game with its moves, where a job records them."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """How to play: everything a worker process needs except the deals."""

    env_id: str
    agent: str
    rules: Any
    seed: int
    batch: int
    records: bool = False  # whether to hand over the games with their moves too


class Players:
    """Plays jobs in this process, or in worker processes that start with the first job.

    A game depends on its deal and the seed only, so the records do not depend on ``workers``. A
    context manager: leaving it ends the workers, whatever they are doing.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._processes: list[SpawnProcess] = []
        # Spawned, since forking a process that runs threads (Numba, PyTorch) can hang.
        self._context = multiprocessing.get_context("spawn")

    def __enter__(self) -> Players:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            process.terminate()
        if self._processes:
            self._tasks.cancel_join_thread()  # else leaving waits for tasks that no one takes
        for process in self._processes:
            process.join()

    def play(self, job: Job, deals: Sequence[int], on_record: OnRecord) -> None:
        """Play every deal once and call ``on_record`` here as each game ends, in no fixed order.

        Raises:
            AgentError: the agent raised, or chose an action it may not play.
        """
        if self._workers == 1:
            play_here(job, deals, on_record)
            return
        # Compiles once, so that the workers find the compiled functions on disk.
        plays_alone = _plays_alone(_agent(job))
        self._start()
        size = math.ceil(len(deals) / (self._workers * CHUNKS_PER_WORKER))
        if plays_alone:
            size = min(size, GAMES_OF_A_CHUNK)
        for start in range(0, len(deals), size):
            self._tasks.put((job, deals[start : start + size]))
        for _ in range(len(deals) * (2 if job.records else 1)):
            result = self._next_result()
            if isinstance(result, Exception):
                raise result
            on_record(result)

    def _start(self) -> None:
        if self._processes:
            return
        self._tasks: Any = self._context.Queue()
        self._results: Any = self._context.Queue()
        for _ in range(self._workers):
            arguments = (self._tasks, self._results)
            process = self._context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            self._processes.append(process)

    def _next_result(self) -> GameRecord | Record | Exception:
        while True:
            try:
                return cast(GameRecord | Record | Exception, self._results.get(timeout=1))
            except queue.Empty:
                codes = [process.exitcode for process in self._processes if process.exitcode]
                if codes:
                    return AgentError(f"a worker process died with exit code {codes[0]}")


def play_here(job: Job, deals: Sequence[int], on_record: OnRecord) -> None:
    """Play in this process."""
    agent = _agent(job)
    guarded = _Guarded(agent, job, deals)
    try:
        evaluate(
            guarded,
            job.env_id,
            deals,
            num_envs=1 if _plays_alone(agent) else min(job.batch, len(deals)),
            seed=job.seed,
            progress=on_record,
            records=on_record if job.records else None,
        )
    except IllegalMoveError as error:
        raise AgentError(f"agent {job.agent} played an illegal action: {error}") from None


def _plays_alone(agent: Any) -> bool:
    """Whether an agent thinks so long that a batch would only blur the seconds of its games."""
    return bool(getattr(agent, "plays_alone", False))


class _Guarded:
    """An agent whose errors say which agent it was, what it was playing, and where it broke."""

    def __init__(self, agent: Any, job: Job, deals: Sequence[int]) -> None:
        self.actions = getattr(agent, "actions", "turn")
        self.name = job.agent
        self._agent = agent
        self._job = job
        self._deals = deals
        self._seeds = np.zeros(0, dtype=np.uint64)

    def reset(self, num_envs: int, seed: int) -> None:
        self._seeds = np.zeros(num_envs, dtype=np.uint64)
        self._call("reset", num_envs, seed)

    def start_games(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self._seeds[rows] = seeds
        if hasattr(self._agent, "start_games"):
            self._call("start_games", rows, seeds)

    def act(self, observations: Any, action_masks: np.ndarray) -> Any:
        return self._call("act", observations, action_masks)

    def given_up(self) -> Any:
        if hasattr(self._agent, "given_up"):
            return self._call("given_up")
        return np.zeros(len(self._seeds), dtype=np.bool_)

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._agent, method)(*arguments)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            message = " ".join(f"{type(error).__name__}: {error}".split())
            raise AgentError(
                f"agent {self._job.agent} raised in {method}, {self._running()}: {message} "
                f"({Path(frame.filename).name}, line {frame.lineno})"
            ) from error

    def _running(self) -> str:
        """The deals on the table, a few of them by number."""
        deal_of = {game_seed(self._job.seed, deal): deal for deal in self._deals}
        running = [deal_of[seed] for seed in self._seeds.tolist() if seed in deal_of]
        if len(running) == 1:
            return f"deal {running[0]}"
        named = ", ".join(map(str, running[:3]))
        more = f" and {len(running) - 3} more, --batch 1 tells which" if len(running) > 3 else ""
        return f"one of deals {named}{more}"


@functools.lru_cache(maxsize=1)
def _agent(job: Job) -> Any:
    # Kept between chunks: building an agent may load a network.
    _warm_up(job)
    return make_agent(job.agent, job.rules)


def _warm_up(job: Job) -> None:
    """Make a few moves of no account, so that the games' seconds hold no compiling."""
    # What goes wrong here goes wrong again in the games, where it can be told what was played.
    with contextlib.suppress(Exception):
        agent = make_agent(job.agent, job.rules)
        envs = gym.make_vec(
            job.env_id,
            num_envs=2,
            vectorization_mode="vector_entry_point",
            actions=getattr(agent, "actions", "turn"),
        )
        observations, infos = envs.reset(seed=0)
        agent.reset(2, 0)
        for _ in range(3):
            actions = agent.act(observations, infos["action_mask"])
            observations, _, _, _, infos = envs.step(actions)
        envs.close()


def _work(tasks: Any, results: Any) -> None:
    """A worker process: plays what it is handed until it is ended."""
    # Ctrl-C reaches every process of the terminal; only the first one may react, and end the rest.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        job, deals = tasks.get()
        try:
            play_here(job, deals, results.put)
        except AgentError as error:
            results.put(error)
        except Exception as error:
            results.put(AgentError(f"a worker process failed: {type(error).__name__}: {error}"))


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however that came about."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
