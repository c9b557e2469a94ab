"""Worlds: full positions that an observation leaves possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from klondike_env.cards import CARDS, FACE_DOWN, NUM_CARDS, NUM_RANKS, SUITS
from klondike_env.games.klondike.rules import KlondikeRules

_PARTS = ("tableau", "foundations", "waste", "stock", "redeals_left")


def determinize(
    observation: Mapping[str, np.ndarray], rules: KlondikeRules, rng: np.random.Generator
) -> dict[str, Any]:
    """A position that fits an observation, every such position as likely as any other.

    The cards that the player has not seen, in the tableau and in the stock, are put into the places
    where unseen cards lie in a uniformly random order. Nothing but the observation comes in.

    Args:
        observation: of one game, as a dict (`observation="dict"`).
        rules: of the game.
        rng: draws the order.

    Returns:
        A position for `reset(options={"position": ...})`, `solve` and so on. It has no score.

    Raises:
        ValueError: the observation is no dict of one game, or shows an impossible game.
    """
    if not isinstance(observation, Mapping) or not all(part in observation for part in _PARTS):
        raise ValueError(f"an observation is a dict with {', '.join(_PARTS)} (observation='dict')")
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is a numpy.random.Generator, not {rng!r}")
    tableau, waste, stock = (np.array(observation[part]) for part in ("tableau", "waste", "stock"))
    foundations = np.asarray(observation["foundations"])
    if tableau.ndim != 2 or waste.ndim != 1:
        raise ValueError(f"an observation of one game has a tableau of 2 axes, not {tableau.ndim}")
    if rules.cards_known:
        down = np.asarray(observation["face_down"])
    else:
        down = (tableau == FACE_DOWN).sum(axis=1)
    seen = {int(card) for part in (tableau, waste, stock) for card in part.ravel()}
    for suit in range(len(SUITS)):
        seen.update(NUM_RANKS * suit + rank + 1 for rank in range(int(foundations[suit])))
    unseen = [card for card in range(1, NUM_CARDS + 1) if card not in seen]
    places = [part == FACE_DOWN for part in (tableau, waste, stock)]
    hidden = sum(int(place.sum()) for place in places)
    if hidden != len(unseen):
        raise ValueError(f"an observation with {len(unseen)} cards unseen in {hidden} places")
    order = rng.permutation(np.array(unseen, dtype=tableau.dtype))
    for part, place in zip((tableau, waste, stock), places, strict=True):
        size = int(place.sum())
        part[place], order = order[:size], order[size:]

    piles = []
    for cards, count in zip(tableau, down, strict=True):
        texts = [CARDS[card - 1] for card in cards if card]
        hidden_part = "".join(f"({text})" for text in texts[:count])
        piles.append(" ".join(filter(None, [hidden_part, *texts[count:]])))
    redeals_left = int(np.asarray(observation["redeals_left"]).ravel()[0])
    return {
        "tableau": piles,
        "foundations": dict(zip(SUITS, foundations.tolist(), strict=True)),
        "stock": " ".join(CARDS[card - 1] for card in stock if card),
        "waste": " ".join(CARDS[card - 1] for card in waste if card),
        "redeals_left": None if redeals_left < 0 else redeals_left,
    }
