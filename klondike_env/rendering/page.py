"""Replays as one HTML file that needs no network and no other file.

The page holds what it shows and nothing else: in the player's view no card that the player never
saw is anywhere in it, unless all cards were asked for. A game that starts from a deal number names
it, and whoever knows the number can deal it again.
"""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from klondike_env.games.base import Board
from klondike_env.rendering.shapes import FAN_KNOWN, FAN_RIGHT, FAN_UNSEEN, FAN_UP, SUITS

if TYPE_CHECKING:
    from klondike_env.records import Replay


def replay_page(
    replays: Sequence[Replay], *, all_cards: bool = False, title: str = "Replay"
) -> str:
    """The text of a page on which games are replayed.

    A link to it may end in ``#game=3&move=120``, counted from 1, to open there.

    Args:
        replays: of one or more records, as `records.replay` makes them, all of one kind of game.
        all_cards: whether the page can also show the cards that the player has not seen; without
            it they are not in the page.
        title: of the page.

    Raises:
        ValueError: no game.
    """
    if not replays:
        raise ValueError("no game to show: one or more needed")
    first = _boards(replays[0], False)[0]
    data = {
        "width": round(first.width, 4),
        "height": first.height,
        "fan": {
            "up": FAN_UP,
            "known": FAN_KNOWN,
            "unseen": FAN_UNSEEN,
            "right": FAN_RIGHT,
        },
        "counters": [name for name, _ in first.counters],
        "piles": [
            {
                "name": pile.name,
                "label": pile.label[0].upper() + pile.label[1:],
                "x": round(pile.x, 4),
                "y": pile.y,
                "fan": pile.fan,
                "fanned": pile.fanned,
                "count": pile.has_count,
            }
            for pile in first.piles
        ],
        "games": [_game(replay, all_cards) for replay in replays],
    }
    parts = {
        "TITLE": html.escape(title),
        "STYLE": _file("page.css"),
        "SYMBOLS": "".join(
            f'<symbol id="suit-{suit}" viewBox="0 0 100 100"><path d="{path}"/></symbol>'
            for suit, path in SUITS.items()
        ),
        "DATA": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "SCRIPT": _file("page.js"),
    }
    page = _file("page.html")
    for name, part in parts.items():
        page = page.replace(f"%{name}%", part)
    return page


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8").strip()


def _boards(replay: Replay, all_cards: bool) -> list[Board]:
    return [replay.game.board(state, all_cards) for state in replay.states]


def _game(replay: Replay, all_cards: bool) -> dict[str, Any]:
    record = replay.record
    name = " \u00b7 ".join(filter(None, [record.title, record.agent]))
    rules = ", ".join(f"{option} {value}" for option, value in record.rules.items())
    game = {
        "name": name,
        "title": " \u00b7 ".join(
            filter(None, [record.env_id, rules, name, f"{record.outcome}, score {record.score}"])
        ),
        "outcome": record.outcome,
        "score": record.score,
        "moves": replay.moves,
        "player": _view(_boards(replay, False)),
    }
    if all_cards:
        game["all"] = _view(_boards(replay, True))
    return game


def _view(boards: Sequence[Board]) -> dict[str, Any]:
    """The first board, and what differs in each later one (page.js puts it together again)."""
    first = boards[0]
    changes = [_changes(before, board) for before, board in itertools.pairwise(boards)]
    return {
        "first": {
            "piles": ["".join(pile.cards) for pile in first.piles],
            "signs": [pile.sign for pile in first.piles],
            "counters": [value for _, value in first.counters],
        },
        "changes": changes,
    }


def _changes(before: Board, board: Board) -> list[Any]:
    piles = []
    for i, (old, new) in enumerate(zip(before.piles, board.piles, strict=True)):
        if old.cards != new.cards:
            stay = 0
            while stay < min(len(old.cards), len(new.cards)) and old.cards[stay] == new.cards[stay]:
                stay += 1
            piles.append([i, stay, "".join(new.cards[stay:])])
    counters = {
        str(i): value
        for i, ((_, old_value), (_, value)) in enumerate(
            zip(before.counters, board.counters, strict=True)
        )
        if value != old_value
    }
    signs = [pile.sign for pile in board.piles]
    same_signs = signs == [pile.sign for pile in before.piles]
    return [piles, counters] if same_signs else [piles, counters, signs]
