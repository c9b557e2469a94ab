"""Records of games: one JSON object a line, which can be played again and so verified.

    {"format": "klondike_env game", "version": 1, "env_id": "Klondike-Draw3-v0", "rules": {},
     "actions": "turn", "start": {"deal": 7}, "step_limit": 2000, "agent": "greedy", "seed": 0,
     "outcome": "won", "score": 1, "foundation_cards": 52, "steps": 3,
     "moves": ["draw", "W>T1", "T3>T5 x2"], "versions": {"klondike_env": "0.1.0", ...}}

=================  ================================================================================
format, version    what the line is, and of which version of this form: 1
env_id, rules      the id, and those options that differ from the id's rules
actions            the action set that the moves belong to
start              what `reset(options=...)` takes: `deal`, `deck` or `position`
start_score        only where rules let the score carry over from the game before: what it was
step_limit         steps after which the game is truncated, null for no limit
agent, seed        who played; the seed of its randomness or null
outcome            `won`, `stuck`, `truncated` or `unfinished`
score, ...         score and foundation cards at the end; steps, the number of moves
moves              each action in order, as text; `x2` tells how many cards a move takes if not one
versions           of what played
=================  ================================================================================

A record holds all cards of its game, hidden ones too, as a deal number does. Reading one builds
plain values only and runs nothing. A count such as ``x2`` may be left out by whoever writes a
record by hand; where it stands, it must be right.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from klondike_env.checks import check_choice, whole
from klondike_env.envs.registration import STEP_LIMIT
from klondike_env.games.base import Game

FORMAT = "klondike_env game"
VERSION = 1
TRUNCATED, UNFINISHED = "truncated", "unfinished"
OUTCOMES = ("won", "stuck", TRUNCATED, UNFINISHED)

_STARTS = ("deal", "deck", "position")
_COUNT = re.compile(r"x\d+$", re.IGNORECASE)


class RecordError(ValueError):
    """A record that is damaged, of an unknown version, or not what its moves lead to."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One game; the module's head describes the fields.

    `rules` holds only the options that differ from the rules of `env_id`.
    """

    env_id: str
    rules: Mapping[str, Any]
    actions: str
    start: Mapping[str, Any]
    step_limit: int | None
    agent: str
    seed: int | None
    outcome: str
    score: int
    foundation_cards: int
    moves: tuple[str, ...]
    versions: Mapping[str, str]
    start_score: int | None = None

    @property
    def title(self) -> str:
        """The start in words: ``deal 7``."""
        kind, value = next(iter(self.start.items()))
        return f"deal {value}" if kind == "deal" else f"a {kind} of its own"

    def to_line(self) -> str:
        """The record as one line of JSON, without the line's end."""
        values = {
            "format": FORMAT,
            "version": VERSION,
            "env_id": self.env_id,
            "rules": dict(self.rules),
            "actions": self.actions,
            "start": dict(self.start),
            "start_score": self.start_score,
            "step_limit": self.step_limit,
            "agent": self.agent,
            "seed": self.seed,
            "outcome": self.outcome,
            "score": self.score,
            "foundation_cards": self.foundation_cards,
            "steps": len(self.moves),
            "moves": list(self.moves),
            "versions": dict(self.versions),
        }
        if self.start_score is None:
            del values["start_score"]
        return json.dumps(values)


@dataclass(frozen=True)
class Replay:
    """A record played again.

    Attributes:
        record: what was played.
        game: the game's description.
        rules: its rules.
        states: the state at the start and after each move, each an array of one.
        moves: the text of each move, with counts.
    """

    record: Record
    game: Game
    rules: Any
    states: tuple[np.ndarray, ...]
    moves: tuple[str, ...]


def library_versions() -> dict[str, str]:
    """Versions of what could change a game: the library, random streams, the compiler."""
    import klondike_env

    libraries = ("gymnasium", "numpy", "numba")
    return {
        "klondike_env": klondike_env.__version__,
        **{name: metadata.version(name) for name in libraries},
    }


def record_game(
    env_id: str,
    start: Mapping[str, Any],
    moves: Iterable[str | int],
    *,
    rules: Any = None,
    actions: str = "turn",
    start_score: int | None = None,
    step_limit: int | None = STEP_LIMIT,
    agent: str = "",
    seed: int | None = None,
    versions: Mapping[str, str] | None = None,
) -> Record:
    """Make the record of a game by playing it.

    Args:
        env_id: a registered id.
        start: what `reset(options=...)` takes: `deal`, `deck` or `position`.
        moves: action ids or move texts, from the start on.
        rules: the rules, by default those of the id.
        actions: action set of the moves.
        start_score: where rules let the score carry over, what it was at the start.
        step_limit: steps after which the game is truncated; None for no limit.
        agent: who played.
        seed: of the agent's randomness.
        versions: of what played, by default those of the libraries in use.

    Raises:
        ValueError: no such id, a start that is none, or a move that is illegal, named.
    """
    preset = _preset(env_id)
    rules = preset if rules is None else rules
    if not isinstance(rules, type(preset)):
        raise ValueError(f"rules of {env_id} are a {type(preset).__name__}, not {rules!r}")
    if len(start) != 1 or next(iter(start)) not in _STARTS:
        raise ValueError(f"a game starts from one of {', '.join(_STARTS)}, not {dict(start)!r}")
    record = Record(
        env_id=env_id,
        rules=_differences(preset, rules),
        actions=actions,
        start=_plain(start),
        start_score=start_score if getattr(rules, "cumulative", False) else None,
        step_limit=step_limit,
        agent=agent,
        seed=seed,
        outcome=UNFINISHED,
        score=0,
        foundation_cards=0,
        moves=(),
        versions=library_versions() if versions is None else dict(versions),
    )
    played, result = _play(record, moves)
    return dataclasses.replace(record, moves=played.moves, **result)


def replay(record: Record) -> Replay:
    """Play a record again and verify it.

    Raises:
        RecordError: it cannot be played, or its moves lead to another result; names the first move
            that is wrong.
    """
    played, result = _play(record, record.moves)
    for name, value in result.items():
        claimed = getattr(record, name)
        if claimed != value:
            raise RecordError(
                f"{_last(record)} the game has {name} {value!r}; the record claims {claimed!r}"
            )
    return dataclasses.replace(played, record=record)


def write(path: str | Path, records: Iterable[Record], *, append: bool = False) -> None:
    """Write records into a file, one a line; with `append` behind those that are there."""
    with Path(path).open("a" if append else "w", encoding="utf-8") as file:
        for record in records:
            file.write(record.to_line() + "\n")
            file.flush()


def read(path: str | Path) -> Iterator[Record]:
    """The records of a file, in their order; `replay` verifies one.

    Raises:
        RecordError: the file cannot be read, or a line is no whole record; names the line.
    """
    name = str(path)
    try:
        with Path(path).open(encoding="utf-8") as file:
            number = 0
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield parse(line, f"{name}, line {number}")
            if not number:
                raise RecordError(f"{name} is empty: one record a line needed")
    except OSError as error:
        raise RecordError(f"{name!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RecordError(f"{name} is not UTF-8 text: records are JSON lines") from None


def parse(line: str, where: str = "the record") -> Record:
    """The record of one line.

    Raises:
        RecordError: damaged JSON, another format or version, or a value that is missing or wrong;
            begins with `where`.
    """
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deep")
        raise RecordError(f"{where}: no JSON, or cut off ({reason})") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise RecordError(f'{where}: no record of a game: "format": "{FORMAT}" needed')
    if values.get("version") != VERSION:
        raise RecordError(
            f"{where}: version {values.get('version')!r} of the form; this library reads {VERSION}"
        )
    try:
        return _checked(values)
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


# What each key holds, and how to tell.
def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


_KEYS: dict[str, tuple[Any, str]] = {
    "env_id": (lambda value: isinstance(value, str), "a text"),
    "rules": (lambda value: isinstance(value, dict), "an object"),
    "actions": (lambda value: isinstance(value, str), "a text"),
    "start": (
        lambda value: isinstance(value, dict) and len(value) == 1 and set(value) <= set(_STARTS),
        f"an object with one of {', '.join(_STARTS)}",
    ),
    "start_score": (lambda value: value is None or type(value) is int, "a whole number"),
    "step_limit": (
        lambda value: value is None or (_is_count(value) and value > 0),
        "a whole number from 1 on, or null",
    ),
    "agent": (lambda value: isinstance(value, str), "a text"),
    "seed": (lambda value: value is None or _is_count(value), "a whole number from 0 on, or null"),
    "outcome": (
        lambda value: isinstance(value, str) and value in OUTCOMES,
        f"one of {', '.join(OUTCOMES)}",
    ),
    "score": (lambda value: type(value) is int, "a whole number"),
    "foundation_cards": (_is_count, "a whole number from 0 on"),
    "steps": (_is_count, "a whole number from 0 on"),
    "moves": (
        lambda value: isinstance(value, list) and all(isinstance(move, str) for move in value),
        "a list of texts",
    ),
    "versions": (_is_texts, "an object of texts"),
}


def _checked(values: dict[str, Any]) -> Record:
    given = {key: value for key, value in values.items() if key not in ("format", "version")}
    for key in given:
        if key not in _KEYS:
            raise ValueError(f"no key {key!r:.40}: there are {', '.join(_KEYS)}")
    for key, (holds, form) in _KEYS.items():
        if key not in given and key != "start_score":
            raise ValueError(f"{key} is missing: {form} needed")
        if key in given and not holds(given[key]):
            raise ValueError(f"{key} is {form}, not {given[key]!r:.40}")
    moves, steps = tuple(given.pop("moves")), given.pop("steps")
    record = Record(moves=moves, **given)
    if len(moves) != steps:
        raise ValueError(f"cut off or tampered with: {_last(record)} there should be {steps} moves")
    return record


def _last(record: Record) -> str:
    if not record.moves:
        return "without a move"
    return f"after the last move ({len(record.moves)}, {record.moves[-1]!r})"


def _play(record: Record, moves: Iterable[str | int]) -> tuple[Replay, dict[str, Any]]:
    """The states and texts of moves, and outcome, score and foundation cards at their end."""
    env, info = _start(record)
    game: Game = env.game
    states, texts = [env.get_state()], []
    for number, move in enumerate(moves, start=1):
        name = f"move {number}, {move!r}:"
        if ended := _outcome(record, info, number - 1):
            raise RecordError(f"{name} the game had ended before, {ended}")
        try:
            action = game.parse_move(move, record.actions) if isinstance(move, str) else move
            _, _, _, _, info = env.step(action)
        except ValueError as error:
            raise RecordError(f"{name} {error}") from None
        text = game.move_text(states[-1], int(action), record.actions)
        if isinstance(move, str) and _COUNT.search(move) and _squeezed(move) != _squeezed(text):
            raise RecordError(f"{name} it is {text}")
        states.append(env.get_state())
        texts.append(text)
    result = {
        "outcome": _outcome(record, info, len(texts)) or UNFINISHED,
        "score": info["score"],
        "foundation_cards": info["foundation_cards"],
    }
    return Replay(record, game, env.rules, tuple(states), tuple(texts)), result


def _outcome(record: Record, info: Mapping[str, Any], steps: int) -> str:
    """How a game has ended after so many steps; empty while it goes on."""
    is_over = record.step_limit is not None and steps >= record.step_limit
    return info["outcome"] or (TRUNCATED if is_over else "")


def _squeezed(text: str) -> str:
    return re.sub(r"\s", "", text).upper()


def _start(record: Record) -> tuple[Any, dict[str, Any]]:
    """The environment of a record at the start of its game, and the info there."""
    try:
        preset = _preset(record.env_id)
        names = [field.name for field in dataclasses.fields(preset)]
        for name in record.rules:
            check_choice("an option", name, tuple(names))
        rules = dataclasses.replace(preset, **record.rules)
        env: Any = gym.make(
            record.env_id, rules=rules, actions=record.actions, disable_env_checker=True
        ).unwrapped
        _, info = env.reset(options=dict(record.start))
        if record.start_score is not None and record.start_score != info["score"]:
            if not getattr(rules, "cumulative", False):
                raise ValueError(
                    f"start_score is {info['score']} under these rules, not {record.start_score}"
                )
            position = {**env.position(), "score": record.start_score}
            _, info = env.reset(options={"position": position})
    except (ValueError, TypeError) as error:
        raise RecordError(str(error)) from None
    return env, info


def _preset(env_id: str) -> Any:
    """The rules of a registered id."""
    from klondike_env import ENV_IDS

    if env_id not in ENV_IDS:
        raise ValueError(f"no environment {env_id!r}: choose from {', '.join(ENV_IDS)}")
    return gym.make(env_id, disable_env_checker=True).get_wrapper_attr("rules")


def _differences(preset: Any, rules: Any) -> dict[str, Any]:
    fields = (field.name for field in dataclasses.fields(preset))
    return {
        name: getattr(rules, name)
        for name in fields
        if getattr(rules, name) != getattr(preset, name)
    }


def _plain(start: Mapping[str, Any]) -> dict[str, Any]:
    """A start of JSON's own values: no arrays or numbers of NumPy."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, str) or value is None:
            return value
        if isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim):
            return [plain(item) for item in value]
        number = whole(value)
        return value if number is None else number

    return {key: plain(value) for key, value in start.items()}
