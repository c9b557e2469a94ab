"""Boards as pictures, drawn with Pillow; every card is drawn by us, with no file but this one."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium as gym
import numpy as np

from klondike_env.games.base import UNSEEN, Board, Pile
from klondike_env.rendering.shapes import (
    CARD_HEIGHT,
    FAN_RIGHT,
    RED,
    SUITS,
    is_face_up,
    outline,
    places,
)

try:
    from PIL import Image, ImageDraw, ImageFont
except ModuleNotFoundError as error:
    raise gym.error.DependencyNotInstalled(
        "pictures need Pillow: pip install 'klondike-env[render]'"
    ) from error

WIDTH = 640
"""Default width of a picture in pixels."""

FELT, FELT_LIGHT, FELT_DARK = (20, 92, 72), (96, 158, 138), (13, 66, 52)
PAPER, EDGE, BACK, BACK_LIGHT = (253, 252, 248), (148, 152, 158), (38, 70, 130), (103, 137, 196)
RED_INK, BLACK_INK, WHITE, MARK = (200, 32, 46), (24, 27, 36), (244, 249, 246), (255, 205, 60)
KNOWN_TINT = 0.42  # how much of the back's colour a card shows that is known but lies face down

_FINE = 6  # drawn so many times larger, then scaled down: smooth edges


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
        self._card_height = self._card_width * CARD_HEIGHT
        self._top = round(width * 0.062)
        self._thick = max(2, round(self._card_width / 24))  # of the mark around moved cards
        height = self._top + board.height * self._card_height + self._margin
        self.size = (width - width % 2, round(height / 2) * 2)  # video formats want even numbers
        self._sprite_size = (round(self._card_width), round(self._card_height))
        self._mask = self._rounded_mask()
        self._picture = Image.new("RGB", self.size, FELT)
        ImageDraw.Draw(self._picture).rectangle((0, 0, width, self._bar_height()), FELT_DARK)
        self._pixels = np.array(self._picture)
        self._drawn: list[Any] = [None] * (len(board.piles) + 1)
        self._sprites: dict[tuple[str, int | None], Any] = {}

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
            self._paste((left, upper), f"empty {pile.sign}")
        covered = len(spots) - pile.fanned if pile.fan == "right" else 0
        first = max(0, covered if pile.fan else len(spots) - 1)
        for i in range(first, len(spots)):
            shows = None
            if pile.fan == "down" and i + 1 < len(spots):
                shows = spots[i + 1][1] - spots[i][1] + 2 * self._radius()
            self._paste(spots[i], pile.cards[i], shows)
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

    def _paste(self, spot: tuple[int, int], name: str, height: int | None = None) -> None:
        """Put a card or an empty place on the picture, or as much of it from above as will show."""
        key = (name, height)
        if key not in self._sprites:
            sprite = self._sprite(name)
            box = (0, 0, sprite.width, min(height or sprite.height, sprite.height))
            self._sprites[key] = sprite.crop(box), self._mask.crop(box)
        sprite, mask = self._sprites[key]
        self._picture.paste(sprite, spot, mask)

    def _sprite(self, name: str) -> Any:
        if (name, None) not in self._sprites:
            self._sprites[name, None] = self._draw_sprite(name), self._mask
        return self._sprites[name, None][0]

    def _mark(self, draw: Any, spots: list[tuple[int, int]]) -> None:
        width, height = self._sprite_size
        (left, upper), (right, lower) = spots[0], spots[-1]
        thick = self._thick
        box = (left - thick, upper - thick, right + width + thick - 1, lower + height + thick - 1)
        draw.rounded_rectangle(box, radius=self._radius() + thick, outline=MARK, width=thick)

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

    def _radius(self) -> int:
        return max(2, round(self._card_width * 0.09))

    def _rounded_mask(self) -> Any:
        width, height = self._sprite_size
        mask = Image.new("L", (width * _FINE, height * _FINE), 0)
        box = (0, 0, width * _FINE - 1, height * _FINE - 1)
        ImageDraw.Draw(mask).rounded_rectangle(box, radius=self._radius() * _FINE, fill=255)
        return mask.resize((width, height), Image.Resampling.LANCZOS)

    def _draw_sprite(self, name: str) -> Any:
        width, height = (side * _FINE for side in self._sprite_size)
        sprite = Image.new("RGB", (width, height), PAPER)
        draw = ImageDraw.Draw(sprite)
        if name.startswith("empty "):
            self._draw_place(sprite, draw, name.removeprefix("empty "))
        elif name == UNSEEN:
            self._draw_back(draw, width, height)
        else:
            self._draw_face(sprite, draw, name.upper())
            if not is_face_up(name):
                tint = Image.new("RGB", sprite.size, BACK)
                sprite = Image.blend(sprite, tint, KNOWN_TINT)
        return sprite.resize(self._sprite_size, Image.Resampling.LANCZOS)

    def _frame(self, draw: Any, size: tuple[int, int], colour: Any, thick: float) -> None:
        box = (0, 0, size[0] - 1, size[1] - 1)
        line = round(thick * _FINE)
        draw.rounded_rectangle(box, radius=self._radius() * _FINE, outline=colour, width=line)

    def _draw_face(self, sprite: Any, draw: Any, card: str) -> None:
        width, height = sprite.size
        rank, suit = ("10" if card[0] == "T" else card[0]), card[1]
        ink = RED_INK if suit in RED else BLACK_INK
        self._frame(draw, sprite.size, EDGE, 1)
        font = ImageFont.load_default(width * 0.34)
        bold = max(1, round(width * 0.011))
        spot = (width * 0.08, height * 0.13)
        draw.text(spot, rank, font=font, fill=ink, anchor="lm", stroke_width=bold)
        _draw_suit(draw, suit, width * 0.8, height * 0.13, width * 0.25, ink)
        _draw_suit(draw, suit, width * 0.5, height * 0.62, width * 0.58, ink)

    def _draw_back(self, draw: Any, width: int, height: int) -> None:
        draw.rectangle((0, 0, width, height), PAPER)
        self._frame(draw, (width, height), EDGE, 1)
        inset = width * 0.06
        radius = self._radius() * _FINE * 0.7
        box = (inset, inset, width - inset, height - inset)
        draw.rounded_rectangle(box, radius=radius, fill=BACK)
        side = (width - 2 * inset) / 6
        half = side * 0.34
        for row in range(round((height - 2 * inset) / side * 2) - 1):
            for column in range(6 - row % 2):
                x = inset + side * (column + (1 if row % 2 else 0.5))
                y = inset + side * (row + 1) / 2
                points = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
                draw.polygon(points, fill=BACK_LIGHT)

    def _draw_place(self, sprite: Any, draw: Any, sign: str) -> None:
        width, height = sprite.size
        draw.rectangle((0, 0, width, height), FELT)
        self._frame(draw, sprite.size, FELT_LIGHT, max(1.5, self._card_width / 40))
        middle, size = (width / 2, height / 2), width * 0.42
        box = [*(side - size / 2 for side in middle), *(side + size / 2 for side in middle)]
        line = round(width * 0.06)
        if sign in SUITS:
            _draw_suit(draw, sign, *middle, width * 0.5, FELT_LIGHT)
        elif sign == "redeal":
            draw.arc(box, 300, 240, fill=FELT_LIGHT, width=line)
            x, y, tip = middle[0] + size * 0.22, middle[1] - size * 0.4, size * 0.24
            head = [(x - tip * 0.4, y - tip), (x + tip * 1.1, y), (x - tip * 0.5, y + tip * 0.8)]
            draw.polygon(head, fill=FELT_LIGHT)
        elif sign == "none":
            draw.line((box[0], box[1], box[2], box[3]), fill=FELT_LIGHT, width=line)
            draw.line((box[0], box[3], box[2], box[1]), fill=FELT_LIGHT, width=line)
        elif sign:
            font = ImageFont.load_default(width * 0.5)
            draw.text(middle, sign, font=font, fill=FELT_LIGHT, anchor="mm")


def _draw_suit(draw: Any, suit: str, x: float, y: float, size: float, ink: Any) -> None:
    """A suit of `size` pixels around (x, y)."""
    points = [
        (x + (px - 50) / 100 * size, y + (py - 50) / 100 * size) for px, py in outline(SUITS[suit])
    ]
    draw.polygon(points, fill=ink)


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
