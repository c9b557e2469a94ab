"""The suits as outlines, drawn alike by pictures and pages, and how the cards of a pile spread."""

from __future__ import annotations

import re
from collections.abc import Sequence

from klondike_env.games.base import UNSEEN, Pile

SUITS = {
    "C": "M50 5C62 5 71 14 71 25C71 31 69 36 65 40C68 39 71 38 74 38C86 38 95 47 95 58"
    "C95 70 86 79 75 79C66 79 59 75 55 69C56 80 59 90 66 96L34 96C41 90 44 80 45 69"
    "C41 75 34 79 25 79C14 79 5 70 5 58C5 47 14 38 26 38C29 38 32 39 35 40C31 36 29 31 29 25"
    "C29 14 38 5 50 5Z",
    "D": "M50 3C58 21 71 38 87 50C71 62 58 79 50 97C42 79 29 62 13 50C29 38 42 21 50 3Z",
    "H": "M50 94C40 80 6 60 6 32C6 16 17 7 29 7C39 7 47 13 50 24C53 13 61 7 71 7C83 7 94 16 94 32"
    "C94 60 60 80 50 94Z",
    "S": "M50 4C58 22 93 38 93 62C93 76 83 83 73 83C65 83 58 79 54 73C55 82 59 90 66 96L34 96"
    "C41 90 45 82 46 73C42 79 35 83 27 83C17 83 7 76 7 62C7 38 42 22 50 4Z",
}
"""SVG paths in a square of 100."""

RED = "DH"

CARD_HEIGHT = 1.4
"""Height of a card in card widths."""
FAN_UP, FAN_KNOWN, FAN_UNSEEN, FAN_RIGHT = 0.27, 0.23, 0.12, 0.37
"""How much of a covered card shows: face up, known but face down and never seen in card heights,
aside in card widths."""


def is_face_up(card: str) -> bool:
    """Whether a card text of a pile lies face up: ``KS``, not ``ks`` or ``##``."""
    return card != UNSEEN and card[1].isupper()


def outline(path: str, steps: int = 12) -> list[tuple[float, float]]:
    """The points of a path of M, L, C and Z, curves cut into `steps` lines."""
    points: list[tuple[float, float]] = []
    for letter, numbers in re.findall(r"([MLC])([^MLCZ]*)", path):
        values = [float(number) for number in numbers.split()]
        pairs = list(zip(values[::2], values[1::2], strict=True))
        if letter != "C":
            points += pairs
            continue
        curve = [points[-1], *pairs]
        for step in range(1, steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x = sum(weight * point[0] for weight, point in zip(weights, curve, strict=True))
            y = sum(weight * point[1] for weight, point in zip(weights, curve, strict=True))
            points.append((x, y))
    return points


def places(pile: Pile, board_height: float) -> Sequence[tuple[float, float]]:
    """Where each card of a pile lies, in card widths and card heights from the board's corner."""
    count = len(pile.cards)
    if pile.fan == "right":
        covered = max(0, count - pile.fanned)
        return [(pile.x + FAN_RIGHT * max(0, i - covered), pile.y) for i in range(count)]
    if pile.fan != "down" or count < 2:
        return [(pile.x, pile.y)] * count
    shows = [_shows(card) for card in pile.cards[:-1]]
    room = board_height - pile.y - 1
    scale = min(1.0, room / sum(shows))
    spots, y = [], pile.y
    for show in (*shows, 0.0):
        spots.append((pile.x, y))
        y += scale * show
    return spots


def _shows(card: str) -> float:
    if card == UNSEEN:
        return FAN_UNSEEN
    return FAN_UP if is_face_up(card) else FAN_KNOWN
