"""A few games of each agent, played once more with all their moves, for the report page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.errors import AgentError
from benchmarks.play import Job, play_here
from klondike_env.evaluation import GameRecord
from klondike_env.records import Record

REASONS = ("first deal", "shortest win", "closest loss", "loss with fewest cards up")


def choose(games: Sequence[GameRecord]) -> dict[str, GameRecord]:
    """Games worth a look, each named by why; a game is chosen once."""
    won = [game for game in games if game.outcome == "won"]
    lost = [game for game in games if game.outcome != "won"]
    found: dict[str, GameRecord | None] = {
        REASONS[0]: games[0],
        REASONS[1]: min(won, key=lambda game: game.steps, default=None),
        REASONS[2]: max(lost, key=lambda game: (game.foundation_cards, -game.steps), default=None),
        REASONS[3]: min(lost, key=lambda game: (game.foundation_cards, game.steps), default=None),
    }
    chosen: dict[str, GameRecord] = {}
    for reason, game in found.items():
        if game is not None and game not in chosen.values():
            chosen[reason] = game
    return chosen


def play_again(job: Job, games: Sequence[GameRecord]) -> list[Record]:
    """The games with their moves.

    Raises:
        AgentError: the agent raised, or played a game another way than before.
    """
    records: dict[int, Record] = {}

    def keep(record: GameRecord | Record) -> None:
        if isinstance(record, Record):
            records[record.start["deal"]] = record

    play_here(job, [game.deal for game in games], keep)
    for game in games:
        record = records[game.deal]
        if (record.outcome, len(record.moves)) != (game.outcome, game.steps):
            raise AgentError(
                f"agent {job.agent} played deal {game.deal} another way than before:"
                f" {record.outcome} after {len(record.moves)} moves, not {game.outcome} after"
                f" {game.steps}; its choices may only depend on what it sees and its seeds"
            )
    return [records[game.deal] for game in games]
