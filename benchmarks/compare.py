"""``python -m benchmarks compare``: agents on the same deals, resumable, with paired tests."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from agents import make_agent
from benchmarks import config, page, report
from benchmarks.errors import UserError
from benchmarks.game_file import GameFile, path_for
from benchmarks.play import Job, Players
from benchmarks.provenance import all_versions, code_digest, game_versions
from benchmarks.statistics import Pairing, Summary, pair, summarize
from benchmarks.store import Matchup, Store
from klondike_env import ENV_IDS, deals, verdicts
from klondike_env.evaluation import GameRecord
from klondike_env.records import Record


@dataclass(frozen=True, kw_only=True)
class CompareConfig:
    """Play agents on the same deals and compare their win rates.

    Finished games are kept in the output folder as they end: an interrupted comparison goes on from
    there when the same command is given again, and asking for more games plays only the new ones.
    """

    env: list[str] = config.option([], "environment ids")
    agents: list[str] = config.option(
        [], "agents by name or as package.module:Class; the others are tested against the first"
    )
    games: int = config.option(1000, "deals that each agent plays, from the start of the suite")
    suite: str = config.option("test", f"deal suite: {', '.join(deals.SUITES)}")
    seed: int = config.option(
        0, "seed of the agents' own random choices; the deals don't depend on it"
    )
    workers: int = config.option(1, "processes that play; changes no game")
    batch: int = config.option(256, "games played at a time in one process; changes no game")
    confidence: float = config.option(0.95, "confidence of the intervals")
    output: str = config.option("results", "folder that keeps the finished games")
    json: str | None = config.option(None, "write results, configuration and versions to this file")
    csv: str | None = config.option(None, "write one line per agent to this file")
    picture: str | None = config.option(None, "draw win rates with intervals into this PNG file")
    html: str | None = config.option(
        None, "write a page with tables, plots, sample games and the configuration to this file"
    )
    records: str | None = config.option(
        None,
        "keep the games with all their moves: in this .jsonl file, or a folder for one file each",
    )

    def __post_init__(self) -> None:
        """Refuse values that no comparison can be made of."""
        for name in ("env", "agents"):
            values = getattr(self, name)
            if not values:
                raise UserError(f"{name} is missing: name at least one with --{name}")
            repeated = sorted({value for value in values if values.count(value) > 1})
            if repeated:
                raise UserError(f"{name} names {repeated[0]!r} more than once")
        for name in ("games", "workers", "batch"):
            if not (getattr(self, name) or 0) >= 1:
                raise UserError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**63:
            raise UserError(f"seed must be from 0 to 2**63 - 1, not {self.seed}")
        if not 0 < self.confidence < 1:
            raise UserError(f"confidence must lie between 0 and 1, not {self.confidence}")
        if self.suite not in deals.SUITES:
            raise UserError(f"unknown suite {self.suite!r}; suites: {', '.join(deals.SUITES)}")
        if self.games > len(deals.SUITES[self.suite]):
            raise UserError(f"games must be at most {len(deals.SUITES[self.suite]):,}, the suite's")


@dataclass(frozen=True, kw_only=True)
class AgentResult:
    """One agent on one environment; ``pairing`` is None for the first agent.

    ``win_rate_of_winnable`` is the share it won of the deals that can be won at all, None where
    they are not known.
    """

    agent: str
    actions: str
    summary: Summary
    pairing: Pairing | None
    win_rate_of_winnable: float | None
    games_file: str


@dataclass(frozen=True, kw_only=True)
class EnvironmentResult:
    """All agents on one environment.

    ``all_cards_known`` marks thoughtful play; ``winnable`` says how many of the deals can be won
    with all cards known, None where there are no verdicts for these deals and rules.
    """

    env_id: str
    rules: dict[str, Any]
    all_cards_known: bool
    step_limit: int | None
    suite: str
    first_deal: int
    games: int
    winnable: int | None
    agents: list[AgentResult]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a whole run found, with what it takes to repeat it."""

    config: CompareConfig
    versions: dict[str, str]
    environments: list[EnvironmentResult]


def main(argv: Sequence[str]) -> None:
    """Run the command: play, print the tables and write the files that were asked for."""
    asked = config.parse(CompareConfig, argv, prog="python -m benchmarks compare")
    writers = {
        "json": report.write_json,
        "csv": report.write_csv,
        "picture": report.write_picture,
        "html": page.write_html,
    }
    files = {name: Path(getattr(asked, name)) for name in writers if getattr(asked, name)}
    for name, path in files.items():
        config.prepare_file(name, path)
    config.prepare_file("output", Path(asked.output) / "games.jsonl")
    if asked.records is not None:
        is_file = Path(asked.records).suffix == ".jsonl"
        config.prepare_file("records", Path(asked.records) / ("" if is_file else "games.jsonl"))
    comparison = run(asked)
    report.print_tables(comparison, Console())
    for name, path in files.items():
        writers[name](comparison, path)
        print(f"{name}: {path}")
    if asked.records is not None:
        print(f"records: {asked.records}")


def run(asked: CompareConfig) -> Comparison:
    """Play what is missing and summarize. Every name is checked before the first game is played.

    Raises:
        UserError: an unknown environment or agent, or an agent that can't play the environment.
        AgentError: an agent raised, or chose an action it may not play.
        KeyboardInterrupt: with a message that says where the finished games are.
    """
    sys.path.insert(
        0, ""
    )  # package.module:Class may name a module of the folder we are called from
    arenas = [_Arena.of(env_id) for env_id in asked.env]
    contests = [[_Contest.of(asked, arena, name) for name in asked.agents] for arena in arenas]
    wanted = deals.suite(asked.suite, asked.games)
    environments = []
    with Players(asked.workers) as players, progress_bar() as progress:
        for arena, row in zip(arenas, contests, strict=True):
            records = [_play_missing(asked, contest, wanted, players, progress) for contest in row]
            environments.append(_result(asked, arena, row, wanted, records))
    return Comparison(config=asked, versions=all_versions(), environments=environments)


@dataclass(frozen=True)
class _Arena:
    """An environment id looked up: its rules and step limit."""

    env_id: str
    rules: Any
    step_limit: int | None

    @property
    def cards_known(self) -> bool:
        """Whether this is thoughtful play."""
        return bool(getattr(self.rules, "cards_known", False))

    @staticmethod
    def of(env_id: str) -> _Arena:
        if env_id not in ENV_IDS:
            raise UserError(f"unknown environment {env_id!r}; environments: {', '.join(ENV_IDS)}")
        env = gym.make(env_id)
        rules = env.get_wrapper_attr("rules")
        env.close()
        return _Arena(env_id, rules, gym.spec(env_id).max_episode_steps)


@dataclass(frozen=True)
class _Contest:
    """One agent on one environment: how to play it and what its games are kept under."""

    name: str
    job: Job
    matchup: Matchup

    @staticmethod
    def of(asked: CompareConfig, arena: _Arena, name: str) -> _Contest:
        try:
            agent = make_agent(name, arena.rules)
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from None
        except Exception as error:  # whatever importing or building a user's own class may raise
            message = " ".join(f"{type(error).__name__}: {error}".split())
            raise UserError(f"agent {name!r} can't be made: {message}") from None
        kind = type(agent)
        actions = getattr(agent, "actions", "turn")
        try:
            gym.make(arena.env_id, actions=actions).close()
        except ValueError as error:
            raise UserError(f"agent {name!r} can't play {arena.env_id}: {error}") from None
        return _Contest(
            name,
            Job(
                env_id=arena.env_id,
                agent=name,
                rules=arena.rules,
                seed=asked.seed,
                batch=asked.batch,
                records=asked.records is not None,
            ),
            Matchup(
                env_id=arena.env_id,
                rules=dataclasses.asdict(arena.rules),
                step_limit=arena.step_limit,
                agent=f"{kind.__module__}:{kind.__qualname__}",
                actions=actions,
                seed=asked.seed,
                suite=asked.suite,
                versions=game_versions(),
                code=code_digest(kind),
            ),
        )


def _play_missing(
    asked: CompareConfig,
    contest: _Contest,
    wanted: range,
    players: Players,
    progress: Progress,
) -> list[GameRecord]:
    """The records of the wanted deals, in their order; plays those that the store lacks."""
    store = Store(Path(asked.output), contest.matchup, GameRecord)
    with store, contextlib.ExitStack() as stack:
        missing = [deal for deal in wanted if deal not in store.records]
        games: GameFile | None = None
        if asked.records is not None:
            path = path_for(Path(asked.records), contest.matchup)
            games = stack.enter_context(GameFile(path, contest.name, contest.matchup))
            missing = [d for d in wanted if d not in store.records or d not in games.deals]
        description = f"{contest.name} on {contest.job.env_id}"
        task = progress.add_task(
            description,
            total=len(wanted),
            completed=len(wanted) - len(missing),
        )

        def keep(record: GameRecord | Record) -> None:
            if isinstance(record, GameRecord):
                store.add(record)
                progress.advance(task)
            elif games is not None:
                games.add(dataclasses.replace(record, versions=games.versions))

        try:
            if missing:
                players.play(contest.job, missing, keep)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"finished games are kept in {asked.output}; the same command goes on from there"
            ) from None
        if progress.disable:  # no terminal to draw a bar on
            print(f"{description}: {len(missing):,} games played", file=sys.stderr)
        return [store.records[deal] for deal in wanted]


def _result(
    asked: CompareConfig,
    arena: _Arena,
    contests: list[_Contest],
    wanted: range,
    records: list[list[GameRecord]],
) -> EnvironmentResult:
    winnable = _count_winnable(asked, arena)
    results = [
        AgentResult(
            agent=contest.name,
            actions=contest.matchup.actions,
            summary=summarize(own, asked.confidence),
            pairing=pair(records[0], own, asked.confidence) if place else None,
            win_rate_of_winnable=_wins(own) / winnable if winnable else None,
            games_file=str(Store(Path(asked.output), contest.matchup, GameRecord).path),
        )
        for place, (contest, own) in enumerate(zip(contests, records, strict=True))
    ]
    return EnvironmentResult(
        env_id=arena.env_id,
        rules=dataclasses.asdict(arena.rules),
        all_cards_known=arena.cards_known,
        step_limit=arena.step_limit,
        suite=asked.suite,
        first_deal=wanted[0],
        games=len(wanted),
        winnable=winnable,
        agents=results,
    )


def _wins(records: list[GameRecord]) -> int:
    return sum(record.outcome == "won" for record in records)


def _count_winnable(asked: CompareConfig, arena: _Arena) -> int | None:
    """How many of the deals can be won, None unless all of them are decided for these rules."""
    try:
        known = verdicts.load(asked.suite, arena.rules).verdict[: asked.games]
    except ValueError:
        return None
    if len(known) < asked.games or (known == verdicts.UNDECIDED).any():
        return None
    return int((known == verdicts.WINNABLE).sum())


def progress_bar() -> Progress:
    """A bar on the terminal; none where there is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
