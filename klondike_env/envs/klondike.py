"""Klondike's environments: `KlondikeEnv` and `KlondikeVectorEnv`."""

from __future__ import annotations

from klondike_env.envs.solitaire import SolitaireEnv
from klondike_env.envs.vector import SolitaireVectorEnv
from klondike_env.games.klondike.game import GAME


class KlondikeEnv(SolitaireEnv):
    """TODO"""

    game = GAME
    default_rules = "Klondike-Draw3-v0"


class KlondikeVectorEnv(SolitaireVectorEnv):
    """Many Klondike games in one compiled call."""

    game = GAME
    default_rules = "Klondike-Draw3-v0"
