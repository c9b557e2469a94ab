"""Keeps the games that a person plays as records in a file, and takes the last one up again."""

from __future__ import annotations

import os
from pathlib import Path

from klondike_env import records
from klondike_env.games.klondike.moves import parse_move
from klondike_env.play.session import Session


def default_file() -> Path:
    """Where games are kept unless another file is named."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "klondike_env" / "play.jsonl"


class Keeper:
    """A file of records, one line for each game of this sitting behind those it held before.

    Raises:
        ValueError: the file holds something else, or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: list[str] = []
        if path.exists() and path.stat().st_size:
            self._lines = [record.to_line() for record in records.read(path)]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            raise ValueError(f"games cannot be kept in {path}: {error.strerror}") from None
        self._line = len(self._lines)  # of the game in progress

    def resume(self) -> Session:
        """The last game of the file as it was left; it takes its record's place when kept again.

        Raises:
            ValueError: there is none, it is damaged, or its moves are of another action set.
        """
        if not self._lines:
            raise ValueError(f"{self.path} holds no game to resume")
        where = f"{self.path}, line {len(self._lines)}"
        record = records.parse(self._lines[-1], where)
        if record.actions != "turn":
            raise ValueError(f"{where}: its moves are of the set {record.actions!r}, not 'turn'")
        try:
            records.replay(record)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        self._line = len(self._lines) - 1
        session = Session(record.env_id, record.start, options=record.rules)
        for move in record.moves:
            session.play(parse_move(move), record.agent)
        return session

    def keep(self, session: Session) -> bool:
        """Write a game's record; False if there was no move to write."""
        if not session.actions:
            return False
        self._lines[self._line :] = [session.record().to_line()]
        # Written beside and then put in place, so that no kill leaves half a file.
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
        beside.replace(self.path)
        return True

    def next_game(self) -> None:
        """The game in progress is over: the next one gets a line of its own."""
        self._line = len(self._lines)
