"""This library's own JSON: what ``klondike deal --json`` prints, or a deck or a position alone.

    {"deal": 7, "deck": [25, 0, ...], "position": {"tableau": ["KH", ...], ...}}
    [25, 0, ...]
    {"tableau": ["KH", ...], "stock": "5C 6D ...", ...}

Everything that a deck or a position says is kept, so a position is read as that, even an undealt
one: it has redeals left and a score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from klondike_env.cards import NUM_CARDS, check_deck, check_each_once
from klondike_env.formats.board import Deck, Game, Position, board_of
from klondike_env.formats.texts import content, load_json, naming

NAME = "klondike_env JSON"
FORM = "what `klondike deal --json` prints, 52 card numbers in deal order, or a position"

_WRAPPER = ("deal", "deck", "position")


def recognises(text: str) -> bool:
    """Whether the text begins as JSON does."""
    lines = content(text)
    return bool(lines) and lines[0].startswith(("{", "["))


@naming(NAME)
def read(text: str) -> Game:
    """The deck or the position of a JSON text; the deck if it has both.

    Of a position the cards are checked here; everything else when a game starts from it.

    Raises:
        ValueError: damaged JSON, not 52 cards each once, a position that is not the deck's, or
            neither of them.
    """
    value = load_json(text)
    if isinstance(value, list):
        return _read_deck(value)
    if isinstance(value, dict) and not value.keys().isdisjoint(_WRAPPER):
        others = [key for key in value if key not in _WRAPPER]
        if others:
            raise ValueError(f"it has {others[0]!r:.40}: only {', '.join(_WRAPPER)} go together")
        deck = _read_deck(value["deck"]) if "deck" in value else None
        position = _read_position(value["position"]) if "position" in value else None
        if deck is not None:
            found = None if position is None else board_of(position).deck()
            if position is not None and (found is None or (found != deck).any()):
                raise ValueError("its position is not that of its deck: one of them needed alone")
            return deck
        if position is not None:
            return position
        raise ValueError("it has a deal number only: a deck or a position needed")
    return _read_position(value)


@naming(NAME)
def write(game: Game) -> str:
    """The JSON text of a deck or a position.

    Raises:
        ValueError: not a deck or a position of 52 cards each once.
    """
    board_of(game)
    if isinstance(game, Mapping):
        return json.dumps(dict(game))
    return json.dumps({"deck": np.asarray(game).tolist()})


def _read_deck(value: object) -> Deck:
    if not isinstance(value, list) or not all(type(card) is int for card in value):
        raise ValueError(f"a deck is {NUM_CARDS} card numbers (0-{NUM_CARDS - 1}) in a list")
    wrong = [card for card in value if not 0 <= card < NUM_CARDS]
    if wrong:
        raise ValueError(f"{str(wrong[0])[:20]} is no card number: 0-{NUM_CARDS - 1} needed")
    check_each_once(value, "the deck")
    return check_deck(value)


def _read_position(value: object) -> Position:
    if not isinstance(value, dict) or value.keys().isdisjoint({"tableau", "rest"}):
        raise ValueError('a deck, or a position with the key "tableau", needed')
    board_of(value)
    return value
