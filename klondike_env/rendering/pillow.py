"""What pictures need of Pillow; importing this module says in one line if it is missing."""

from __future__ import annotations

import gymnasium as gym

try:
    from PIL import Image, ImageDraw, ImageFont
except ModuleNotFoundError as error:
    raise gym.error.DependencyNotInstalled(
        "pictures need Pillow: pip install 'klondike-env[render]'"
    ) from error

__all__ = ["Image", "ImageDraw", "ImageFont"]
