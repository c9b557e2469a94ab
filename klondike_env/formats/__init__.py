"""Deals and positions as texts of other programs, one module a format.

Each module has `read(text)`, `write(game)` and `recognises(text)`. A game is a *deck* (uint8[52] in
deal order) or a *position* (the dict that `env.reset(options={"position": ...})` takes); reading
gives a deck when nothing has been played yet.
"""

from __future__ import annotations

from typing import Protocol

from klondike_env.formats import klondike_solver, lonelybot, native, pysol, solvitaire
from klondike_env.formats.board import Deck, Game, Position, board_of, deck_of
from klondike_env.formats.texts import content

__all__ = [
    "FORMATS",
    "Deck",
    "Format",
    "Game",
    "Position",
    "read",
    "to_deck",
    "to_position",
    "write",
]


class Format(Protocol):
    """What the module of a format has."""

    NAME: str
    FORM: str

    def recognises(self, text: str) -> bool:
        """Whether a text is meant to be of this format, be it right or wrong."""

    def read(self, text: str) -> Game:
        """The game of a text; a `ValueError` of one line says what is wrong with it."""

    def write(self, game: Game) -> str:
        """The text of a game; a `ValueError` of one line says what it cannot hold."""


FORMATS: dict[str, Format] = {
    "solvitaire": solvitaire,
    "json": native,
    "pysol": pysol,
    "klondike-solver": klondike_solver,
    "lonelybot": lonelybot,
}
"""Every format by name, in the order in which they are tried on a text."""


def read(text: str) -> Game:
    """The game of a text in any of the formats; CRLF and a byte-order mark do no harm.

    Args:
        text: what a file holds.

    Returns:
        A deck, uint8[52], if nothing has been played yet, else a position. A position of the
        library's own JSON stays one in any case.

    Raises:
        ValueError: in one line, the format recognised, what is wrong and what is allowed, or that
            none was recognised.
    """
    for module in FORMATS.values():
        if module.recognises(text):
            return module.read(text)
    lines = content(text)
    found = f"a text that begins {lines[0][:20]!r}" if lines else "an empty text"
    forms = "; ".join(f"{module.NAME} ({module.FORM})" for module in FORMATS.values())
    raise ValueError(f"{found} is of no known format: {forms}")


def write(game: Game, name: str) -> str:
    """The text of a deck or a position in a format of `FORMATS`.

    Raises:
        ValueError: no such format, or it cannot hold the game.
    """
    if name not in FORMATS:
        raise ValueError(f"no format {name!r}: choose from {', '.join(FORMATS)}")
    return FORMATS[name].write(game)


def to_position(game: Game) -> Position:
    """The position of a deck: the deal laid out; a position's cards, without passes and score.

    Raises:
        ValueError: not 52 cards, each once.
    """
    return board_of(game).position()


def to_deck(game: Game) -> Deck:
    """The deck of a position in which nothing has been played.

    Raises:
        ValueError: cards have been moved or drawn since the deal.
    """
    return deck_of(game)
