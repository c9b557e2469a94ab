"""Finished work on disk, so that what was interrupted goes on where it stopped.

One append-only JSON-lines file for each matchup of an agent with an environment (and for each
subject of another kind), named by a hash of all that determines the records. The first line says
what that is; every further line is one record, of one deal. A line that was cut off half-way is
skipped when reading, and its deal is done again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar


class Record(Protocol):
    """A dataclass that says something of one deal."""

    @property
    def deal(self) -> int:
        """Its number."""


class Subject(Protocol):
    """A dataclass of everything that determines the records of a file."""

    @property
    def label(self) -> str:
        """What the file's name begins with."""


AnyRecord = TypeVar("AnyRecord", bound=Record)


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
    def label(self) -> str:
        """Environment and agent."""
        return f"{self.env_id}.{self.agent.rpartition(':')[2]}"


def key_of(subject: Any) -> str:
    """A short hash of every field of a subject."""
    text = json.dumps(dataclasses.asdict(subject), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load(path: Path, record_type: type[AnyRecord]) -> dict[int, AnyRecord]:
    """The records of a file by deal, the latest one of each."""
    found: dict[int, AnyRecord] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = _read(line, record_type)
        if record is not None:
            found[record.deal] = record
    return found


def _read(line: str, record_type: Any) -> Any:
    """A line's record; None for the line that names the matchup and for one that was cut off."""
    try:
        values = json.loads(line)
        return None if "matchup" in values else record_type(**values)
    except (ValueError, TypeError):
        return None


class Store(Generic[AnyRecord]):
    """The records of one subject; a context manager that keeps its file open for appending."""

    def __init__(self, folder: Path, subject: Subject, record_type: type[AnyRecord]) -> None:
        self._subject: Any = subject
        self._record_type = record_type
        name = f"{subject.label}.{key_of(subject)}.jsonl"
        self.path = folder / re.sub(r"[^\w.-]", "_", name)
        self.records: dict[int, AnyRecord] = {}  # by deal

    def __enter__(self) -> Store[AnyRecord]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = ""
        if self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            self.records = load(self.path, self._record_type)
        self._file = self.path.open("a", encoding="utf-8")
        if not text:
            self._write({"matchup": dataclasses.asdict(self._subject)})
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

    def add(self, record: AnyRecord) -> None:
        """Keep a record; it is on disk when this returns."""
        self.records[record.deal] = record
        values: Any = record
        self._write(dataclasses.asdict(values))

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
