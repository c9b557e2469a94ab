"""What a game supplies to the environments, and the words they share.

A game keeps each running deal in one record of a structured dtype and gives compiled functions that
work on arrays of records. The environments know nothing of a record beyond the `COMMON_FIELDS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

REWARDS = {
    "win": "1 on the step that wins, else 0",
    "score": "change of the game's score",
    "cards": "change of the number of foundation cards",
    "progress": "potential-based: change of (foundation cards - face-down cards), over 73",
}
"""The rewards an environment can pay. A kernel gets the place of the name in this table."""

OUTCOMES = ("", "won", "stuck")
"""Text of a record's `outcome`: still running, won, lost because nothing can move."""

OWN_DECK, NEXT_DEAL = -1, -2
"""In place of a deal number: a deck that was handed in, the next deal of the row's stream."""

COMMON_FIELDS = {
    "deal": "deal number, -1 for a deck or position that was handed in",
    "setup": "which rules and action set the record belongs to (envs.setup.Setup.key)",
    "stream": "state of the stream that the next deal number comes from",
    "score": "the game's score so far",
    "foundation_cards": "cards on the foundations",
    "outcome": "place in OUTCOMES",
    "steps": "environment steps of this game, ignored actions included",
    "has_ended": "1 once the game is terminated or truncated",
    "legal": "the legal actions, one bit each, action 0 the lowest bit of the first word",
}
"""Fields that every game's state record has, with these names."""


class IllegalMoveError(ValueError):
    """An action that the rules do not allow in the present state; says which and why."""


@dataclass(frozen=True)
class Field:
    """One array of an observation: values `low` ... `high`, for one environment of `shape`."""

    name: str
    shape: tuple[int, ...]
    dtype: type[np.signedinteger[Any]]
    low: int
    high: int
    meaning: str


@dataclass(frozen=True)
class Kernels:
    """A game's compiled functions. N is the number of environments, B of rows chosen among them.

    Attributes:
        start: (states[N], rows int64[B], deals int64[B], decks uint8[B, 52], rules): deal anew.
            A deal is a number, `OWN_DECK` or `NEXT_DEAL`; decks are read for `OWN_DECK` alone, and
            none need be there without it.
        refresh: (states[N], rules): recompute what follows from the cards of a position.
        find_illegal: (states[N], actions int64[N], num_actions, first_row, last_row) -> the first
            of the rows first_row ... last_row - 1 whose action is illegal, or -1.
        step: (states[N], actions int64[N], rules, step_limit, next_step_autoreset, reward,
            refuse_illegal, first_row, last_row, views, masks, rewards, terminated, truncated,
            facts) -> -1 after playing and observing rows first_row ... last_row - 1, or the first
            row whose action is illegal, with nothing played. A step_limit of 0 is none. Rows that
            have ended are dealt anew under next_step_autoreset and otherwise stay as they are.
        observe: (states[N], views, masks, facts): only observe.
        write_masks: (states[N], masks).

    `views` is a tuple with one array [N, *shape] for each of `Game.observation_fields`, or with a
    single one [N, numbers] for them all in a row; `masks` is int8[N, num_actions]; `facts` is
    int64[4, N]: deal, score, foundation cards, outcome.
    """

    start: Callable[..., None]
    refresh: Callable[..., None]
    find_illegal: Callable[..., int]
    step: Callable[..., int]
    observe: Callable[..., None]
    write_masks: Callable[..., None]


@dataclass(frozen=True)
class Pile:
    """Some cards of a board and where they lie.

    Attributes:
        name: short name, such as `T1`.
        label: name in words, such as `pile 1`.
        x: left edge of the pile, in card widths from the board's left edge.
        y: its upper edge, in card heights from the board's upper edge.
        cards: texts bottom to top: `KS` face up, `ks` face down but known, `##` never seen.
        fan: how the cards are spread: `down`, `right`, or empty for one upon the other.
        fanned: with `right`, how many of the top cards are spread.
        sign: what the empty place shows: a suit letter, `redeal`, `none` for a place that is used
            up, other text as it is, or nothing.
        has_count: whether the number of cards is shown.
    """

    name: str
    label: str
    x: float
    y: float
    cards: tuple[str, ...]
    fan: str = ""
    fanned: int = 1
    sign: str = ""
    has_count: bool = False


UNSEEN = "##"
"""A card of a `Pile` that the player has never seen."""


@dataclass(frozen=True)
class Board:
    """What is drawn of a state, by whatever draws.

    Attributes:
        width: in card widths.
        height: in card heights; piles that are too long for it are drawn closer.
        piles: the same ones in each state of a game, in the same order.
        counters: names and values of what is shown beside the cards.
    """

    width: float
    height: float
    piles: tuple[Pile, ...]
    counters: tuple[tuple[str, str], ...]

    def grown_since(self, before: Board) -> tuple[int, ...]:
        """How many cards lie on each pile that an earlier board had not there."""
        return tuple(
            max(0, len(pile.cards) - len(old.cards))
            for pile, old in zip(self.piles, before.piles, strict=True)
        )


@dataclass(frozen=True)
class Game:
    """A game on the common frame.

    Attributes:
        name: the game's name in prose.
        module: the module that holds this description as `GAME`: all that a copy or pickle keeps.
        rules_type: its frozen rules dataclass.
        presets: rules of each registered id.
        state_dtype: its state record.
        action_sets: number of actions of each action set by name; the first is the default.
        observation_fields: rules -> the arrays of an observation.
        encode_rules: (rules, action set) -> what the kernels take as `rules`.
        kernels: its compiled functions.
        parse_position: (position, rules, action set, score of the game before) -> states[1]; raises
            ValueError with the reason.
        format_position: (states[1], rules) -> position.
        explain_illegal: (states[1], action, action set) -> why the action is illegal, in one line.
        parse_move: (text, action set) -> action id; raises ValueError for a text that is no move.
        move_text: (states[1] before the move, action, action set) -> text of a legal move, with the
            number of cards where it is not one.
        board: (states[1], whether to show hidden cards) -> the board to draw, by default as its
            player sees it.
        board_text: states[1] -> the board as its player sees it, in ASCII.
    """

    name: str
    module: str
    rules_type: type[Any]
    presets: Mapping[str, Any]
    state_dtype: np.dtype[np.void]
    action_sets: Mapping[str, int]
    observation_fields: Callable[[Any], tuple[Field, ...]]
    encode_rules: Callable[[Any, str], np.ndarray]
    kernels: Kernels
    parse_position: Callable[[Mapping[str, Any], Any, str, int], np.ndarray]
    format_position: Callable[[np.ndarray, Any], dict[str, Any]]
    explain_illegal: Callable[[np.ndarray, int, str], str]
    parse_move: Callable[[str, str], int]
    move_text: Callable[[np.ndarray, int, str], str]
    board: Callable[[np.ndarray, bool], Board]
    board_text: Callable[[np.ndarray], str]

    def __reduce__(self) -> tuple[Callable[[str], Game], tuple[str]]:
        return _load_game, (self.module,)


def _load_game(module: str) -> Game:
    game: Game = importlib.import_module(module).GAME
    return game
