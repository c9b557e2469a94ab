"""A window that shows pictures, by pygame."""

from __future__ import annotations

import os
import warnings
from typing import Any

import gymnasium as gym
import numpy as np


class Window:
    """One window; it opens with the first picture and stays closed once its user has closed it."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._pygame: Any = None
        self._screen: Any = None
        self._clock: Any = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        return self._screen is not None

    def show(self, pixels: np.ndarray, fps: float) -> None:
        """Show a picture, uint8[height, width, 3], and wait as long as `fps` asks for."""
        if self._is_closed:
            return
        if not self.is_open:
            self._open((pixels.shape[1], pixels.shape[0]))
        pygame = self._pygame
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            return
        self._screen.blit(pygame.surfarray.make_surface(pixels.swapaxes(0, 1)), (0, 0))
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Close the window, if it is open, for good."""
        if self.is_open:
            self._pygame.display.quit()
            self._pygame.quit()
            self._screen = None
        self._is_closed = True

    def _open(self, size: tuple[int, int]) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its own use of setuptools
                import pygame
        except ModuleNotFoundError as error:
            raise gym.error.DependencyNotInstalled(
                "render_mode='human' needs pygame: pip install 'klondike-env[render]'"
            ) from error
        self._pygame = pygame
        pygame.display.init()
        pygame.display.set_caption(self._title)
        self._screen = pygame.display.set_mode(size)
        self._clock = pygame.time.Clock()
