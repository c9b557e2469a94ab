"""Plays an agent over given deals: one record a game, and the win rate with its interval."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from klondike_env import deals as deal_numbers
from klondike_env import records as game_records
from klondike_env.checks import whole_from
from klondike_env.games.base import IllegalMoveError

TRUNCATED, UNFINISHED = game_records.TRUNCATED, game_records.UNFINISHED
"""Outcomes in a record of a game that the step limit ended, and of one that its agent gave up."""


class Agent(Protocol):
    """What `evaluate` plays. B is the number of games side by side.

    More members are used where an agent has them: `actions`, the action set it plays with (`turn`
    if it has none); `start_games(rows, seeds)` (int64[R], uint64[R]), which says that new games
    begin in these rows and gives each its own seed; `given_up()` (bool[B]), asked after `act`,
    which says what games it gives up: they end there, as losses; and `name`, which records call it
    by (its class if it has none). An agent that takes its randomness from those seeds plays each
    deal the same way whatever the number of games side by side.
    """

    def reset(self, num_envs: int, seed: int) -> None:
        """B games are to be played, from now on."""

    def act(self, observations: Any, action_masks: np.ndarray) -> np.ndarray:
        """Choose an action for each game: observations [B, ...] and int8[B, A] -> int64[B]."""


@dataclass(frozen=True)
class GameRecord:
    """One game of an evaluation.

    Attributes:
        deal: deal number.
        outcome: `won`, `stuck`, `truncated` by the step limit, or `unfinished`: the agent gave up.
        score: the game's score at its end.
        foundation_cards: cards on the foundations at its end.
        steps: actions played.
        seconds: wall time: of each batched step, an equal share for every game that was running.
    """

    deal: int
    outcome: str
    score: int
    foundation_cards: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """The records of an evaluation, in the order of the deals; every game counts.

    A game that is not won is a loss: a stuck or truncated one, or one given up.
    """

    env_id: str
    records: tuple[GameRecord, ...]
    confidence: float

    @property
    def games(self) -> int:
        return len(self.records)

    @property
    def wins(self) -> int:
        return sum(record.outcome == "won" for record in self.records)

    @property
    def win_rate(self) -> float:
        return self.wins / self.games

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson interval of the win rate."""
        return wilson_interval(self.wins, self.games, self.confidence)

    @property
    def truncated_rate(self) -> float:
        """Share of the games that the step limit ended."""
        return sum(record.outcome == TRUNCATED for record in self.records) / self.games

    @property
    def mean_score(self) -> float:
        return sum(record.score for record in self.records) / self.games

    @property
    def mean_foundation_cards(self) -> float:
        return sum(record.foundation_cards for record in self.records) / self.games

    @property
    def mean_steps(self) -> float:
        """Over all games, won or not."""
        return sum(record.steps for record in self.records) / self.games

    @property
    def mean_steps_of_wins(self) -> float | None:
        """Over the games that were won; None if none was."""
        steps = [record.steps for record in self.records if record.outcome == "won"]
        return sum(steps) / len(steps) if steps else None

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.env_id}: won {self.wins} of {self.games}, {self.win_rate:.1%}"
            f" [{low:.1%}, {high:.1%}] ({self.confidence:.0%} Wilson)"
        )


def wilson_interval(wins: int, games: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion (E. B. Wilson, JASA 22, 1927).

    Raises:
        ValueError: no games, wins out of range, or a confidence outside 0-1.
    """
    if games < 1 or not 0 <= wins <= games:
        raise ValueError(f"{wins} wins in {games} games: wins are 0 to games, games at least 1")
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, not {confidence!r}")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, spread = wins / games, z * z / games
    middle = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / games + spread / (4 * games)) / (1 + spread)
    # At the ends the formula gives 0 and 1 exactly; rounding must not leave the range.
    return (0.0 if wins == 0 else middle - half), (1.0 if wins == games else middle + half)


def game_seed(seed: int, deal: int) -> int:
    """Seed (64 bits) of an agent's randomness in one game.

    One-way, so that an agent cannot find the deal from it, and independent of the other deals.
    """
    digest = hashlib.blake2b(f"{seed}/{deal}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def evaluate(
    agent: Agent,
    env_id: str,
    deals: Iterable[int],
    *,
    num_envs: int = 256,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Callable[[GameRecord], None] | None = None,
    records: str | Path | Callable[[game_records.Record], None] | None = None,
    **options: Any,
) -> Evaluation:
    """Play every given deal exactly once.

    Args:
        agent: see `Agent`; it is given observations and action masks, nothing else.
        env_id: a registered id.
        deals: deal numbers, such as `deals.suite("test", 1000)`.
        num_envs: games played side by side; changes the speed, not the records.
        seed: of the agent's randomness.
        confidence: of the win rate's interval.
        progress: called with each record as its game ends.
        records: file that the games are written into with all their moves, in the order of `deals`
            (see `klondike_env.records`), or a function that is called with each as it ends.
        options: more keywords of `gymnasium.make_vec`, such as rule fields or `max_episode_steps`.

    Returns:
        One record a game in the order of `deals`, and the win rate with its interval.

    Raises:
        ValueError: no deals, a bad number or a bad option.
        IllegalMoveError: the agent played an illegal action; says in which deal.
    """
    if not isinstance(deals, Iterable):
        raise ValueError(f"deals are deal numbers, one or more, not {deals!r}")
    numbers = np.array([deal_numbers.check_number(deal) for deal in deals], dtype=np.int64)
    if not len(numbers):
        raise ValueError("no deals to play")
    num_envs = whole_from("num_envs", num_envs, 1)
    seed = whole_from("seed", seed, 0)
    wilson_interval(0, 1, confidence)
    num_envs = min(num_envs, len(numbers))
    options.setdefault("actions", getattr(agent, "actions", "turn"))
    if records is not None and options.get("illegal") == "ignore":
        raise ValueError("records hold legal moves only: illegal is 'raise' with them")
    env = gym.make_vec(
        env_id,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        autoreset_mode=AutoresetMode.DISABLED,
        **options,
    )
    recorder = None
    try:
        if records is not None:
            recorder = _Recorder(agent, env, env_id.rpartition(":")[2], seed, numbers, records)
        played = _play(agent, env, numbers, seed, progress, recorder)
    finally:
        env.close()
        if recorder is not None:
            recorder.close()
    return Evaluation(env_id, tuple(played), confidence)


class _Recorder:
    """Keeps the actions of the running games, and hands over the record of each as it ends."""

    def __init__(
        self,
        agent: Agent,
        env: Any,
        env_id: str,
        seed: int,
        numbers: np.ndarray,
        records: str | Path | Callable[[game_records.Record], None],
    ) -> None:
        name = f"{type(agent).__module__}:{type(agent).__qualname__}"
        base = env.unwrapped
        self._common: dict[str, Any] = {
            "env_id": env_id,
            "rules": base.rules,
            "actions": base.setup.actions,
            "step_limit": base.step_limit,
            "agent": getattr(agent, "name", name),
            "seed": seed,
            "versions": game_records.library_versions(),
        }
        self._numbers = numbers
        self._actions: list[list[int]] = [[] for _ in range(env.num_envs)]
        self._start_scores = [0] * env.num_envs
        self._waiting: dict[int, game_records.Record] = {}  # by place, until those before are done
        self._next_place = 0
        self._file = None
        if callable(records):
            self._hand_over = records
        else:
            self._file = Path(records).open("w", encoding="utf-8")  # noqa: SIM115

    def start(self, rows: np.ndarray, scores: np.ndarray) -> None:
        for row in rows.tolist():
            self._actions[row] = []
            self._start_scores[row] = int(scores[row])

    def add(self, actions: np.ndarray, is_running: np.ndarray) -> None:
        for row in np.flatnonzero(is_running).tolist():
            self._actions[row].append(int(actions[row]))

    def end(self, row: int, place: int) -> None:
        record = game_records.record_game(
            start={"deal": int(self._numbers[place])},
            moves=self._actions[row],
            start_score=self._start_scores[row],
            **self._common,
        )
        if self._file is None:
            self._hand_over(record)
            return
        self._waiting[place] = record
        while self._next_place in self._waiting:
            self._file.write(self._waiting.pop(self._next_place).to_line() + "\n")
            self._next_place += 1
        self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _play(
    agent: Agent,
    env: gym.vector.VectorEnv[Any, Any, Any],
    numbers: np.ndarray,
    seed: int,
    progress: Callable[[GameRecord], None] | None,
    recorder: _Recorder | None,
) -> list[GameRecord]:
    num_envs, games = env.num_envs, len(numbers)
    records: list[GameRecord | None] = [None] * games
    places = np.arange(num_envs)  # of each row's game in `numbers`
    steps = np.zeros(num_envs, dtype=np.int64)
    seconds = np.zeros(num_envs)
    is_running = np.ones(num_envs, dtype=np.bool_)
    next_place = num_envs
    none = np.zeros(num_envs, dtype=np.bool_)
    given_up: Callable[[], np.ndarray] = getattr(agent, "given_up", lambda: none)

    observations, infos = env.reset(options={"deal": numbers[places]})
    agent.reset(num_envs, seed)
    _start(agent, np.arange(num_envs), numbers, seed)
    if recorder is not None:
        recorder.start(np.arange(num_envs), infos["score"])
    while is_running.any():
        began = time.perf_counter()
        actions = agent.act(observations, infos["action_mask"])
        is_left = given_up() & is_running
        plays_on = is_running & ~is_left
        before = infos
        try:
            if plays_on.any():
                observations, _, terminated, truncated, infos = env.step(actions)
                is_over = (terminated | truncated | is_left) & is_running
            else:
                is_over = is_left
        except IllegalMoveError as error:
            raise IllegalMoveError(_name_deal(error, numbers, places)) from None
        seconds[is_running] += (time.perf_counter() - began) / is_running.sum()
        steps += plays_on
        if recorder is not None:
            recorder.add(actions, plays_on)
        ended = np.flatnonzero(is_over)
        for row in ended:
            # The batch has stepped a game given up along with the rest: what counts is before it.
            result = before if is_left[row] else infos
            record = GameRecord(
                deal=int(numbers[places[row]]),
                outcome=UNFINISHED if is_left[row] else result["outcome"][row] or TRUNCATED,
                score=int(result["score"][row]),
                foundation_cards=int(result["foundation_cards"][row]),
                steps=int(steps[row]),
                seconds=float(seconds[row]),
            )
            records[places[row]] = record
            if recorder is not None:
                recorder.end(int(row), int(places[row]))
            if progress is not None:
                progress(record)
        rows = ended[: games - next_place]
        is_running[ended[len(rows) :]] = False
        if len(rows):
            places[rows] = np.arange(next_place, next_place + len(rows))
            next_place += len(rows)
            steps[rows], seconds[rows] = 0, 0.0
            chosen = np.zeros(num_envs, dtype=np.bool_)
            chosen[rows] = True
            observations, infos = env.reset(options={"reset_mask": chosen, "deal": numbers[places]})
            _start(agent, rows, numbers[places[rows]], seed)
            if recorder is not None:
                recorder.start(rows, infos["score"])
    return [record for record in records if record is not None]


def _start(agent: Agent, rows: np.ndarray, numbers: Sequence[int] | np.ndarray, seed: int) -> None:
    start_games = getattr(agent, "start_games", None)
    if start_games is not None:
        seeds = [game_seed(seed, int(number)) for number in numbers[: len(rows)]]
        start_games(rows, np.array(seeds, dtype=np.uint64))


def _name_deal(error: IllegalMoveError, numbers: np.ndarray, places: np.ndarray) -> str:
    row, _, why = str(error).partition(": ")
    place = row.removeprefix("row ")
    return f"deal {numbers[places[int(place)]]}: {why}" if place.isdigit() else str(error)
