"""How a table looks in a terminal: a grid of styled characters, and which place lies where.

Colour is never alone in telling something: suits have their shapes, what is chosen is framed by
``▶ ◀``, places it may go to carry ``▼`` above them, a hint ``◆``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from klondike_env.cards import NUM_RANKS, SUITS
from klondike_env.play.table import FOUNDATIONS, PILES, STOCK, WASTE, Cards, Table

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SHAPES = dict(zip(SUITS, "♣♦♥♠", strict=True))

CARD_WIDTH, MARGIN = 7, 2
MIN_WIDTH, MIN_HEIGHT = 7 * CARD_WIDTH + 8 * MARGIN, 20

FELT = "on #14452f"
STYLES: Mapping[str, str] = {
    "felt": f"#d7e8dc {FELT}",
    "quiet": f"#7fae93 {FELT}",
    "label": f"bold #d7e8dc {FELT}",
    "cursor": f"bold #ffd75f {FELT}",
    "target": "bold #0b2a1c on #8fe3b0",
    "hint": "bold #2b1500 on #ffb454",
    "black": "bold #101418 on #f4f1e8",
    "red": "bold #c1121f on #f4f1e8",
    "edge": "#a8a294 on #f4f1e8",
    "black chosen": "bold #101418 on #ffe27a",
    "red chosen": "bold #b00d19 on #ffe27a",
    "edge chosen": "#a08a3c on #ffe27a",
    "black target": "bold #101418 on #bdf0cf",
    "red target": "bold #b00d19 on #bdf0cf",
    "edge target": "#6fa584 on #bdf0cf",
    "back": "#8fb4e8 on #2a4d8f",
    "back edge": "#6f93cc on #2a4d8f",
}
"""A style of Rich for each name that `Picture.rows` uses."""


@dataclass(frozen=True)
class Spot:
    """A place, and which of its cards from the bottom; None for the place as a whole."""

    place: str
    index: int | None = None


@dataclass(frozen=True)
class Marks:
    """What is marked on the table.

    Attributes:
        cursor: the place that the keyboard is at.
        chosen: the cards to be moved, as a place and the lowest card's index.
        targets: places where they may go.
        hint: source and target of the move that is suggested.
        can_redeal: whether the waste may be turned over.
    """

    cursor: str = ""
    chosen: Spot | None = None
    targets: frozenset[str] = frozenset()
    hint: tuple[str, ...] = ()
    can_redeal: bool = False


Row = list[tuple[str, str]]
"""Pieces of text with their styles, left to right."""


@dataclass
class Picture:
    """A drawn table.

    Attributes:
        width, height: in characters.
        spots: what lies where: (x, y) -> spot; nothing where only felt shows.
    """

    width: int
    height: int
    spots: dict[tuple[int, int], Spot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cells = [[(" ", "felt")] * self.width for _ in range(self.height)]

    def write(self, x: int, y: int, text: str, style: str, spot: Spot | None = None) -> None:
        """Put text somewhere; what falls outside is cut off."""
        for place, letter in enumerate(text, start=x):
            if 0 <= place < self.width and 0 <= y < self.height:
                self._cells[y][place] = (letter, style)
                if spot is not None:
                    self.spots[place, y] = spot

    @property
    def rows(self) -> list[Row]:
        return [
            [("".join(letter for letter, _ in piece), style) for style, piece in pieces]
            for pieces in (
                [(style, list(piece)) for style, piece in groupby(row, key=lambda cell: cell[1])]
                for row in self._cells
            )
        ]

    @property
    def text(self) -> str:
        """The picture without styles."""
        return "\n".join("".join(letter for letter, _ in row).rstrip() for row in self._cells)


def card_name(card: int) -> str:
    """A card as people write it: ``10♥``."""
    suit, rank = divmod(card, NUM_RANKS)
    return RANKS[rank] + SHAPES[SUITS[suit]]


def draw(table: Table, width: int, height: int, marks: Marks | None = None) -> Picture:
    """Draw a table into a space of `width` x `height` characters."""
    return _Drawing(table, width, height, marks or Marks()).draw()


class _Drawing:
    def __init__(self, table: Table, width: int, height: int, marks: Marks) -> None:
        self.table, self.marks = table, marks
        self.picture = Picture(width, height)
        self.card_height = 3 if height < 27 else 4 if height < 34 else 5
        gap = max(1, min(4, (width - 2 * MARGIN - 7 * CARD_WIDTH) // 6))
        left = max(MARGIN, (width - 7 * CARD_WIDTH - 6 * gap) // 2)
        self.columns = [left + i * (CARD_WIDTH + gap) for i in range(7)]

    def draw(self) -> Picture:
        top = 1
        self._draw_stock(self.columns[0], top)
        self._draw_waste(self.columns[1], top)
        for place, x in zip(FOUNDATIONS, self.columns[3:], strict=True):
            self._label(place, x, top - 1, place)
            self._draw_foundation(place, x, top)
        row = top + self.card_height
        for place, x in zip(PILES, self.columns, strict=True):
            self._label(place, x, row, place[1:])
            self._draw_pile(place, x, row + 1)
        return self.picture

    def _label(self, place: str, x: int, y: int, text: str) -> None:
        """A place's key above it, with the marks of the place."""
        marks = self.marks
        style = "label"
        if place in marks.hint:
            text, style = f"◆ {text} ◆", "hint"
        elif place in marks.targets:
            text, style = f"▼ {text} ▼", "target"
        if place == marks.cursor:
            text, style = f"▶{text:^5}◀", style if style != "label" else "cursor"
        self.picture.write(x, y, f"{text:^{CARD_WIDTH}}", style, Spot(place))

    def _draw_stock(self, x: int, y: int) -> None:
        count = len(self.table.cards[STOCK])
        self._label(STOCK, x, y - 1, "d")
        if count:
            self._draw_back(x, y, self.card_height, Spot(STOCK))
            self.picture.write(x + 1, y + 1, f"{count:^{CARD_WIDTH - 2}}", "back", Spot(STOCK))
            return
        self._draw_space(STOCK, x, y, "↻" if self.marks.can_redeal else "✕")

    def _draw_waste(self, x: int, y: int) -> None:
        """The waste as a fan: its last cards, each but the top one as far as its corner."""
        cards = self.table.run(WASTE)
        self._label(WASTE, x, y - 1, "w")
        if not cards:
            self._draw_space(WASTE, x, y, "")
            return
        step = 4
        room = self.columns[3] - 1 - x - CARD_WIDTH
        shown = min(len(cards), 1 + room // step, 3)
        for place in range(len(cards) - shown, len(cards)):
            is_top = place == len(cards) - 1
            tone = self._tone(WASTE, place, is_top)
            self._draw_face(x, y, self.card_height, cards[place], tone, Spot(WASTE), is_top)
            x += step
        under = len(cards) - shown
        if under:
            self.picture.write(x + CARD_WIDTH - step, y + 1, f"+{under}", "quiet")

    def _draw_foundation(self, place: str, x: int, y: int) -> None:
        cards = self.table.run(place)
        if not cards:
            self._draw_space(place, x, y, SHAPES[place])
            return
        tone = self._tone(place, len(cards) - 1, True)
        self._draw_face(x, y, self.card_height, cards[-1], tone, Spot(place))

    def _draw_pile(self, place: str, x: int, y: int) -> None:
        cards, down = self.table.cards[place], self.table.face_down[place]
        if not cards:
            self._draw_space(place, x, y, "")
            return
        room = self.picture.height - y
        rows = down
        over = rows + len(cards) - down - 1 + self.card_height - room
        if over > 0 and down:  # too tall: some of the face-down cards share a row
            rows = max(1, rows - over)
        for row in range(rows):
            self._draw_back(x, y + row, 1, Spot(place))
            if rows < down and row == rows - 1:
                self.picture.write(x, y + row, f"{'x' + str(down):^{CARD_WIDTH}}", "back")
            elif rows == down:
                self._write_known(x, y + row, cards[row])
        y += rows
        for index in range(down, len(cards)):
            is_top = index == len(cards) - 1
            height = min(self.card_height, max(1, self.picture.height - y)) if is_top else 1
            card = cards[index]
            if card is not None:
                tone = self._tone(place, index, is_top)
                self._draw_face(x, y, height, card, tone, Spot(place, index))
            y += 1

    def _write_known(self, x: int, y: int, card: int | None) -> None:
        if card is not None:  # all cards are known
            self.picture.write(x + 1, y, f"({card_name(card)})", "back")

    def _tone(self, place: str, index: int, is_top: bool) -> str:
        chosen = self.marks.chosen
        if chosen is not None and chosen.place == place and index >= (chosen.index or 0):
            return " chosen" if place in PILES or is_top else ""
        return " target" if is_top and place in self.marks.targets else ""

    def _draw_face(
        self, x: int, y: int, height: int, card: int, tone: str, spot: Spot, is_top: bool = True
    ) -> None:
        """A card face up; of a height of 1 only its upper edge."""
        style = ("red" if card // NUM_RANKS in (1, 2) else "black") + tone
        edge = "edge" + tone
        name = card_name(card)
        self.picture.write(x, y, "▔" * CARD_WIDTH, edge, spot)
        self.picture.write(x + 1, y, name, style, spot)
        for row in range(1, height):
            self.picture.write(x, y + row, " " * CARD_WIDTH, edge, spot)
        if height >= 3 and is_top:
            self.picture.write(x + CARD_WIDTH // 2, y + height // 2, name[-1], style, spot)
            right = x + CARD_WIDTH - 1 - len(name)
            self.picture.write(right, y + height - 1, name, style, spot)

    def _draw_back(self, x: int, y: int, height: int, spot: Spot) -> None:
        for row in range(height):
            filling = "▔" * CARD_WIDTH if row == 0 else "░" * CARD_WIDTH
            self.picture.write(x, y + row, filling, "back edge", spot)

    def _draw_space(self, place: str, x: int, y: int, sign: str) -> None:
        style = "target" if place in self.marks.targets else "quiet"
        inside = CARD_WIDTH - 2
        lines = [f"╭{'╌' * inside}╮", f"╰{'╌' * inside}╯"]
        middle = [f"╎{' ' * inside}╎"] * (self.card_height - 2)
        middle[(len(middle) - 1) // 2] = f"╎{sign:^{inside}}╎"
        for row, line in enumerate([lines[0], *middle, lines[1]]):
            self.picture.write(x, y + row, line, style, Spot(place))


def known(cards: Cards) -> str:
    """Cards as text, ``··`` for one that has not been seen."""
    return " ".join("··" if card is None else card_name(card) for card in cards)
