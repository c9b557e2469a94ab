"""The table as a widget: draws a picture and tells which place was pressed."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from klondike_env.play.picture import MIN_HEIGHT, MIN_WIDTH, STYLES, Marks, Picture, Spot, draw
from klondike_env.play.table import Table

_STYLES: Mapping[str, Style] = {name: Style.parse(text) for name, text in STYLES.items()}


class Board(Widget, can_focus=False):
    """Shows a table."""

    DEFAULT_CSS = f"""
    Board {{
        width: 1fr;
        height: 1fr;
        min-width: {MIN_WIDTH};
        min-height: {MIN_HEIGHT};
    }}
    """

    class Pressed(Message):
        """The mouse was pressed on a spot, `times` times in a row."""

        def __init__(self, spot: Spot | None, times: int) -> None:
            super().__init__()
            self.spot = spot
            self.times = times

    class Dropped(Message):
        """The mouse was pressed on one place and let go on another."""

        def __init__(self, spot: Spot) -> None:
            super().__init__()
            self.spot = spot

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._marks = Marks()
        self._picture: Picture | None = None
        self._pressed_at: Spot | None = None

    def show(self, table: Table, marks: Marks) -> None:
        """Draw another table or other marks."""
        self._table, self._marks, self._picture = table, marks, None
        self.refresh()

    @property
    def picture(self) -> Picture:
        """What is drawn, in the widget's present size."""
        width, height = self.size
        if self._picture is None or (self._picture.width, self._picture.height) != (width, height):
            self._picture = draw(self._table, width, height, self._marks)
            self._strips = [
                Strip([Segment(text, _STYLES[style]) for text, style in row], width)
                for row in self._picture.rows
            ]
        return self._picture

    def render_line(self, y: int) -> Strip:
        """One row of the picture."""
        return self._strips[y] if y < self.picture.height else Strip.blank(self.size.width)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        self._pressed_at = self.picture.spots.get((event.x, event.y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        spot, start = self.picture.spots.get((event.x, event.y)), self._pressed_at
        self._pressed_at = None
        if start is not None and spot is not None and spot.place != start.place:
            self.post_message(self.Pressed(start, 1))
            self.post_message(self.Dropped(spot))

    def on_click(self, event: events.Click) -> None:
        spot = self.picture.spots.get((event.x, event.y))
        self.post_message(self.Pressed(spot, event.chain))
