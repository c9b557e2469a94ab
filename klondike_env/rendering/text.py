"""Boards as text: plain ASCII, in colours where the output is a terminal that has them."""

from __future__ import annotations

import os
import re
import sys

_CARD = re.compile(r"\(?\b[A2-9TJQK]([CDHS])\b\)?|##")
_RED, _BOLD, _DIM, _END = "\033[31m", "\033[1m", "\033[2m", "\033[0m"


def has_colours() -> bool:
    """Whether standard output is a terminal with colours.

    `NO_COLOR` switches them off, `FORCE_COLOR` on, whatever the output is.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def coloured(text: str) -> str:
    """A board in text with its cards in colours: hearts and diamonds red, hidden cards dim."""

    def paint(match: re.Match[str]) -> str:
        card = match[0]
        if card == "##":
            style = _DIM
        elif card[0] == "(":
            style = _DIM + (_RED if match[1] in "DH" else "")
        else:
            style = _RED if match[1] in "DH" else _BOLD
        return f"{style}{card}{_END}"

    return _CARD.sub(paint, text)


def board_text(text: str) -> str:
    """A board in text as standard output can show it."""
    return coloured(text) if has_colours() else text
