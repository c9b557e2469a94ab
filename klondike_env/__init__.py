"""Klondike solitaire for reinforcement learning: exact rules, compiled, on Gymnasium.

Importing this package registers the ids (`klondike_env.ENV_IDS`) and loads nothing heavy; the rest
comes with its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from klondike_env.envs.registration import register_all
from klondike_env.games.base import IllegalMoveError
from klondike_env.games.klondike.rules import PRESETS, KlondikeRules

if TYPE_CHECKING:
    from klondike_env import deals
    from klondike_env.evaluation import evaluate
    from klondike_env.games.klondike.determinize import determinize
    from klondike_env.sampling import sample_actions

__version__ = "0.1.0"

__all__ = [
    "ENV_IDS",
    "IllegalMoveError",
    "KlondikeRules",
    "__version__",
    "deals",
    "determinize",
    "evaluate",
    "sample_actions",
]

ENV_IDS = tuple(PRESETS)
"""Every registered id."""

register_all()

# What needs the compiler is imported when it is first asked for.
_LAZY = {
    "determinize": "klondike_env.games.klondike.determinize",
    "evaluate": "klondike_env.evaluation",
    "sample_actions": "klondike_env.sampling",
}


def __getattr__(name: str) -> Any:
    if name == "deals":
        return importlib.import_module("klondike_env.deals")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
