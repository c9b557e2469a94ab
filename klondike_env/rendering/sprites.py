"""The cards, backs and empty places of pictures, each drawn once in a size."""

from __future__ import annotations

import functools
from typing import Any

from klondike_env.games.base import UNSEEN
from klondike_env.rendering.pillow import Image, ImageDraw, ImageFont
from klondike_env.rendering.shapes import CARD_HEIGHT, RED, SUITS, is_face_up, outline

FELT, FELT_LIGHT = (20, 92, 72), (96, 158, 138)
PAPER, EDGE, BACK, BACK_LIGHT = (253, 252, 248), (148, 152, 158), (38, 70, 130), (103, 137, 196)
RED_INK, BLACK_INK = (200, 32, 46), (24, 27, 36)
KNOWN_TINT = 0.42  # how much of the back's colour a card shows that is known but lies face down

_FINE = 6  # drawn so many times larger, then scaled down: smooth edges


@functools.lru_cache(maxsize=8)
def sprites(card_width: float) -> Sprites:
    """The sprites of a size, which all pictures of that size share."""
    return Sprites(card_width)


class Sprites:
    """Cards and places of one size, by name: a card text of a pile, or ``empty `` and a sign.

    Attributes:
        size: width and height in pixels.
        radius: of the corners in pixels.
    """

    def __init__(self, card_width: float) -> None:
        self._card_width = card_width
        self.size = (round(card_width), round(card_width * CARD_HEIGHT))
        self.radius = max(2, round(card_width * 0.09))
        self._mask = self._rounded_mask()
        self._cut: dict[tuple[str, int | None], Any] = {}

    def paste(
        self, picture: Any, spot: tuple[int, int], name: str, height: int | None = None
    ) -> None:
        """Put a card or place on a picture, or as much of it from above as will show."""
        key = (name, height)
        if key not in self._cut:
            sprite = self._sprite(name)
            box = (0, 0, sprite.width, min(height or sprite.height, sprite.height))
            self._cut[key] = sprite.crop(box), self._mask.crop(box)
        sprite, mask = self._cut[key]
        picture.paste(sprite, spot, mask)

    @functools.lru_cache(maxsize=256)  # noqa: B019  (there are few of these objects)
    def _sprite(self, name: str) -> Any:
        return self._draw_sprite(name)

    def _rounded_mask(self) -> Any:
        width, height = self.size
        mask = Image.new("L", (width * _FINE, height * _FINE), 0)
        box = (0, 0, width * _FINE - 1, height * _FINE - 1)
        ImageDraw.Draw(mask).rounded_rectangle(box, radius=self.radius * _FINE, fill=255)
        return mask.resize((width, height), Image.Resampling.LANCZOS)

    def _draw_sprite(self, name: str) -> Any:
        width, height = (side * _FINE for side in self.size)
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
        return sprite.resize(self.size, Image.Resampling.LANCZOS)

    def _frame(self, draw: Any, size: tuple[int, int], colour: Any, thick: float) -> None:
        box = (0, 0, size[0] - 1, size[1] - 1)
        line = round(thick * _FINE)
        draw.rounded_rectangle(box, radius=self.radius * _FINE, outline=colour, width=line)

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
        radius = self.radius * _FINE * 0.7
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
