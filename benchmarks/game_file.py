"""The games of a comparison with all their moves, in files of `klondike_env.records`.

As the store keeps results, these files keep games as they end: an interrupted comparison plays only
those that are missing. A file may hold the games of several matchups.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from benchmarks.errors import UserError
from benchmarks.store import Matchup
from klondike_env.records import Record, RecordError, parse


def path_for(asked: Path, matchup: Matchup) -> Path:
    """Where the games of a matchup go: into `asked` if it is a .jsonl file, else a file in it."""
    return asked if asked.suffix == ".jsonl" else asked / f"{matchup.label}.jsonl"


class GameFile:
    """The games of one agent on one environment; a context manager that appends to their file.

    Attributes:
        deals: deals whose games are there already.
    """

    def __init__(self, path: Path, agent: str, matchup: Matchup) -> None:
        self.path = path
        self._agent = agent
        self._matchup = matchup
        self.versions = {**matchup.versions, "code": matchup.code}
        self.deals: set[int] = set()

    def __enter__(self) -> GameFile:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self._lines() if self.path.exists() else []
        kept = [line for line in lines if self._keeps(line)]
        self._file = self.path.open("w" if len(kept) < len(lines) else "a", encoding="utf-8")
        if len(kept) < len(lines):
            self._file.writelines(kept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, record: Record) -> None:
        """Keep a game; it is on disk when this returns."""
        self._file.write(record.to_line() + "\n")
        self._file.flush()

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        except (OSError, UnicodeDecodeError):
            raise UserError(f"records: {self.path} is no file of records") from None

    def _keeps(self, line: str) -> bool:
        """Whether a line stays: games of others, and those that would be played the same again."""
        if not line.endswith("\n"):
            return False  # cut off
        try:
            record = parse(line)
        except RecordError as error:
            raise UserError(f"records: {self.path} is no file of records: {error}") from None
        if (record.env_id, record.agent) != (self._matchup.env_id, self._agent):
            return True
        is_current = (
            record.versions == self.versions
            and record.seed == self._matchup.seed
            and record.step_limit == self._matchup.step_limit
            and record.start.get("deal") not in self.deals
        )
        if is_current:
            self.deals.add(record.start["deal"])
        return is_current
