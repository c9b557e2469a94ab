"""Frames of the games of an environment, and the window that shows them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from klondike_env.games.base import Board, Game
from klondike_env.rendering.picture import WIDTH, Painter
from klondike_env.rendering.window import Window

WINDOW_GAMES = 9
"""So many games of a vector environment share its window, the first ones."""


class Screen:
    """Draws the states of some games; a copy or pickle of it starts afresh, without a window.

    Args:
        game: what is played.
    """

    def __init__(self, game: Game) -> None:
        self._game = game
        self._painters: list[Painter] = []
        self._window = Window(game.name)

    def __reduce__(self) -> tuple[Callable[[Game], Screen], tuple[Game]]:
        return Screen, (self._game,)

    def frames(
        self, states: np.ndarray, before: np.ndarray | None, width: int = WIDTH
    ) -> tuple[np.ndarray, ...]:
        """A picture of each of the states [N], uint8[height, width, 3].

        Args:
            states: what to draw, as the player sees it.
            before: the states [N] before the last step, whose moves are marked, or None.
        """
        if len(self._painters) < len(states):
            board = self._game.board(states[:1], False)
            missing = len(states) - len(self._painters)
            self._painters += [Painter(board, width) for _ in range(missing)]
        return tuple(
            painter.paint(
                self._game.board(states[row : row + 1], False), self._before(states, before, row)
            )
            for row, painter in zip(range(len(states)), self._painters, strict=False)
        )

    def show(self, states: np.ndarray, before: np.ndarray | None, fps: float) -> None:
        """Show the states [N] in the window, the first ones side by side if there are many."""
        states = states[:WINDOW_GAMES]
        columns = math.ceil(math.sqrt(len(states)))
        pictures = self.frames(states, before, round(WIDTH * 2 / (columns + 1)))
        blank = [np.zeros_like(pictures[0])] * (-len(pictures) % columns)
        every = [*pictures, *blank]
        rows = [np.hstack(every[i : i + columns]) for i in range(0, len(every), columns)]
        self._window.show(np.vstack(rows), fps)

    def close(self) -> None:
        """Close the window, if there is one."""
        self._window.close()

    def _before(self, states: np.ndarray, before: np.ndarray | None, row: int) -> Board | None:
        """The board before the last step, None where another game has begun since."""
        if before is None:
            return None
        same_game = before["deal"][row] == states["deal"][row]
        if not same_game or before["steps"][row] + 1 != states["steps"][row]:
            return None
        return self._game.board(before[row : row + 1], False)
