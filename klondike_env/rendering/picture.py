"""Boards as pictures, drawn with Pillow; every card is drawn by us, with no file but this one."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from klondike_env.games.base import Board, Pile
from klondike_env.rendering.pillow import Image, ImageDraw, ImageFont
from klondike_env.rendering.shapes import CARD_HEIGHT, FAN_RIGHT, places
from klondike_env.rendering.sprites import FELT, sprites

WIDTH = 640
"""Default width of a picture in pixels."""

FELT_DARK, WHITE, MARK = (13, 66, 52), (244, 249, 246), (255, 205, 60)


class Painter:
    """Draws boards of one size, each card once, and of each board only what differs from the last.

    Piles must not overlap.

    Args:
        board: any board of the game.
        width: of a picture in pixels, 200 or more.
    """

    def __init__(self, board: Board, width: int = WIDTH) -> None:
        self._margin = round(width * 0.025)
        self._card_width = (width - 2 * self._margin) / board.width
        self._sprites = sprites(self._card_width)
        self._card_height = self._card_width * CARD_HEIGHT
        self._top = round(width * 0.062)
        self._thick = max(2, round(self._card_width / 24))  # of the mark around moved cards
        height = self._top + board.height * self._card_height + self._margin
        self.size = (width - width % 2, round(height / 2) * 2)  # video formats want even numbers
        self._picture = Image.new("RGB", self.size, FELT)
        ImageDraw.Draw(self._picture).rectangle((0, 0, width, self._bar_height()), FELT_DARK)
        self._pixels = np.array(self._picture)
        self._drawn: list[Any] = [None] * (len(board.piles) + 1)

    def paint(self, board: Board, before: Board | None = None) -> np.ndarray:
        """The picture of a board, uint8[height, width, 3].

        Args:
            board: what to draw.
            before: the board before the last move, to mark what the move brought.
        """
        if self._drawn[-1] != board.counters:
            self._drawn[-1] = board.counters
            self._write_counters(board)
        grown = board.grown_since(before) if before else (0,) * len(board.piles)
        for i, (pile, new) in enumerate(zip(board.piles, grown, strict=True)):
            if self._drawn[i] != (pile, new):
                self._drawn[i] = (pile, new)
                self._draw_pile(pile, new, board.height)
        return self._pixels.copy()

    def _draw_pile(self, pile: Pile, new: int, board_height: float) -> None:
        left, upper = self._pixel(pile.x, pile.y)
        aside = (pile.fanned - 1) * FAN_RIGHT if pile.fan == "right" else 0.0
        lower_edge = board_height if pile.fan == "down" else pile.y + 1
        right, lower = self._pixel(pile.x + aside + 1, lower_edge)
        edge = self._thick + 1
        box = (left - edge, upper - edge, right + edge, lower + edge)
        draw = ImageDraw.Draw(self._picture)
        draw.rectangle(box, FELT)
        spots = [self._pixel(x, y) for x, y in places(pile, board_height)]
        if not spots:
            self._sprites.paste(self._picture, (left, upper), f"empty {pile.sign}")
        covered = len(spots) - pile.fanned if pile.fan == "right" else 0
        first = max(0, covered if pile.fan else len(spots) - 1)
        for i in range(first, len(spots)):
            shows = None
            if pile.fan == "down" and i + 1 < len(spots):
                shows = spots[i + 1][1] - spots[i][1] + 2 * self._sprites.radius
            self._sprites.paste(self._picture, spots[i], pile.cards[i], shows)
        if spots and new:
            self._mark(draw, spots[-new:] if pile.fan == "down" else spots[-1:])
        if spots and pile.has_count:
            self._write_count(pile)
        self._show(box)

    def _show(self, box: tuple[int, int, int, int]) -> None:
        """Copy a box of the picture, both corners in it, to the pixels that are handed out."""
        left, upper, right, lower = box
        right, lower = min(right + 1, self.size[0]), min(lower + 1, self.size[1])
        part = self._picture.crop((left, upper, right, lower))
        self._pixels[upper:lower, left:right] = np.asarray(part)

    def _bar_height(self) -> int:
        return self._top - self._margin // 2

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        return (
            round(self._margin + x * self._card_width),
            round(self._top + y * self._card_height),
        )

    def _mark(self, draw: Any, spots: list[tuple[int, int]]) -> None:
        width, height = self._sprites.size
        (left, upper), (right, lower) = spots[0], spots[-1]
        thick = self._thick
        box = (left - thick, upper - thick, right + width + thick - 1, lower + height + thick - 1)
        draw.rounded_rectangle(box, radius=self._sprites.radius + thick, outline=MARK, width=thick)

    def _write_counters(self, board: Board) -> None:
        bar = self._bar_height()
        ImageDraw.Draw(self._picture).rectangle((0, 0, self.size[0], bar), FELT_DARK)
        height = round(self._top * 0.42)
        rows = [
            [_label(text, height, WHITE, FELT_DARK) for text in (f"{name} ", *_parts(value))]
            for name, value in board.counters
        ]
        widths = [sum(label.width for label in row) for row in rows]
        gap = (self.size[0] - 2 * self._margin - sum(widths)) / max(1, len(rows) - 1)
        start = float(self._margin)
        for row, width in zip(rows, widths, strict=True):
            x = round(start)
            for label in row:
                self._picture.paste(label, (x, (bar - label.height) // 2))
                x += label.width
            start += width + gap
        self._show((0, 0, self.size[0], bar))

    def _write_count(self, pile: Pile) -> None:
        """How many cards a pile has, in a badge at its lower edge."""
        height = round(self._card_width * 0.17)
        label = _label(f" {len(pile.cards)} ", height, WHITE, FELT_DARK)
        x, y = self._pixel(pile.x, pile.y + 1)
        self._picture.paste(label, (x + 2, y - label.height - 2))


def _parts(value: str) -> tuple[str, ...]:
    """A counter's value in parts that come again and again: numbers in digits, words whole."""
    return (value,) if value.isalpha() else tuple(value)


@functools.lru_cache(maxsize=1024)
def _label(text: str, height: int, ink: Any, ground: Any) -> Any:
    """A line of text on its ground."""
    fine = 4
    font = ImageFont.load_default(height * fine)
    label = Image.new("RGB", (round(font.getlength(text)), round(height * fine * 1.3)), ground)
    spot = (0, label.height / 2)
    ImageDraw.Draw(label).text(spot, text, font=font, fill=ink, anchor="lm", stroke_width=1)
    size = (max(1, round(label.width / fine)), max(1, label.height // fine))
    return label.resize(size, Image.Resampling.LANCZOS)
