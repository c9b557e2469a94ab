"""What a single and a vector environment have in common in being looked at."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from klondike_env.games.base import Game


class Rendered:
    """Draws the states [N] of an environment in its render mode; what draws is loaded at first use.

    Pictures mark the last move, so the states before it are kept, while a render mode needs them.
    """

    game: ClassVar[Game]
    render_mode: str | None
    _state: np.ndarray
    _before: np.ndarray | None = None
    _screen: Any = None

    def _remember_frame(self) -> None:
        """A step is about to be made."""
        if self.render_mode is not None:
            self._before = self._state.copy()

    def _forget_frame(self) -> None:
        """The states are of other games than before."""
        self._before = None
        self._show_frame()

    def _show_frame(self) -> None:
        if self.render_mode == "human":
            fps = self.metadata["render_fps"]  # type: ignore[attr-defined]
            self._the_screen().show(self._state, self._before, fps)

    def _frames(self) -> tuple[Any, ...] | None:
        """One frame for each of the states; None without a mode that returns any."""
        if self.render_mode is None:
            gym.logger.warn("render() shows nothing without a render_mode such as 'ansi'")
        if self.render_mode == "ansi":
            from klondike_env.rendering.text import board_text

            rows = range(len(self._state))
            return tuple(board_text(self.game.board_text(self._state[i : i + 1])) for i in rows)
        if self.render_mode == "rgb_array":
            frames: tuple[Any, ...] = self._the_screen().frames(self._state, self._before)
            return frames
        return None

    def _the_screen(self) -> Any:
        if self._screen is None:
            from klondike_env.rendering.screen import Screen

            self._screen = Screen(self.game)
        return self._screen

    def _close_screen(self) -> None:
        if self._screen is not None:
            self._screen.close()
