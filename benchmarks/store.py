"""Finished games on disk, so that an interrupted comparison goes on where it stopped.

One append-only JSON-lines file for each agent on each environment, named by a hash of all that
determines the games. The first line says what that is; every further line is one game. A line that
was cut off half-way is skipped when reading, and its game is played again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path
from types import TracebackType
from typing import Any

from klondike_env.evaluation import GameRecord


@dataclasses.dataclass(frozen=True, kw_only=True)
class Matchup:
    """One agent on one environment: everything that determines how a given deal is played.

    The number of games, of processes and of games at a time are not here: they change no game.
    """

    env_id: str
    rules: dict[str, Any]
    step_limit: int | None
    agent: str  # "package.module:Class"
    actions: str
    seed: int
    suite: str
    versions: dict[str, str]
    code: str  # digest of the source files the games depend on

    @property
    def key(self) -> str:
        """A short hash of every field."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class GameStore:
    """The games of one matchup; a context manager that keeps its file open for appending."""

    def __init__(self, folder: Path, matchup: Matchup) -> None:
        self._matchup = matchup
        name = f"{matchup.env_id}.{matchup.agent.rpartition(':')[2]}.{matchup.key}.jsonl"
        self.path = folder / re.sub(r"[^\w.-]", "_", name)
        self.records: dict[int, GameRecord] = {}  # by deal

    def __enter__(self) -> GameStore:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            record = _read_record(line)
            if record is not None:
                self.records.setdefault(record.deal, record)
        self._file = self.path.open("a", encoding="utf-8")
        if not text:
            self._write({"matchup": dataclasses.asdict(self._matchup)})
        elif not text.endswith("\n"):
            self._file.write("\n")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, record: GameRecord) -> None:
        """Keep a finished game; it is on disk when this returns."""
        self.records[record.deal] = record
        self._write(dataclasses.asdict(record))

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def _read_record(line: str) -> GameRecord | None:
    try:
        values = json.loads(line)
        return None if "matchup" in values else GameRecord(**values)
    except (ValueError, TypeError):
        return None
