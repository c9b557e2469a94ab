"""`guide`: the strongest fast player of single moves. Scores each legal move and plays the best.

The score is linear in the features of `agents.features`, and `agents.train_guide` finds the
weights; `agents.chooser` keeps it from going in circles. It is deterministic: of equal moves it
plays the one with the lowest id.

Which weights play which rules: `reach` where going through the stock is free, else `turn`; those of
draw 1 for draw 1, those of draw 3 for every other draw count.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from agents.base import best_actions
from agents.chooser import LinearChooser
from agents.features import FEATURES
from klondike_env.games.klondike.rules import KlondikeRules

WEIGHTS = Path(__file__).parent / "weights"


class Guide(LinearChooser):
    """The trained linear chooser.

    Args:
        rules: the rules of the game.

    Raises:
        ValueError: the weights file of these rules does not fit the features.
    """

    def __init__(self, rules: KlondikeRules | None = None) -> None:
        rules = KlondikeRules() if rules is None else rules
        super().__init__(load_weights(weights_file(rules)), rules)


def weights_name(rules: KlondikeRules) -> str:
    """Which weights play these rules, such as ``reach-draw1`` or ``turn-draw3``."""
    return f"{best_actions(rules)}-draw{1 if rules.draw_count == 1 else 3}"


def weights_file(rules: KlondikeRules) -> Path:
    """The file of these weights."""
    return WEIGHTS / f"guide-{weights_name(rules)}.json"


def load_weights(path: Path) -> np.ndarray:
    """Weights of a file as float32[F].

    Raises:
        ValueError: the file does not name exactly the present features, in order.
    """
    weights = json.loads(path.read_text(encoding="utf-8"))["weights"]
    if tuple(weights) != FEATURES:
        changed = sorted(set(weights) ^ set(FEATURES))
        what = ", ".join(changed) if changed else "their order"
        raise ValueError(f"{path.name} was trained on other features ({what}): train it again")
    return np.array(list(weights.values()), dtype=np.float32)
