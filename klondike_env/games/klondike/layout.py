"""How a Klondike deal lies in memory: the state record, the rules record, the observation.

The record starts with what a player sees, in the form an observation has, so that observing is
mostly a copy. Hidden cards live apart in `hidden`. Waste and stock are one row of cards, the talon:
the waste bottom to top, then the stock in draw order. A draw moves their border, a redeal puts it
back to 0, so the order of a redeal needs no code.
"""

from __future__ import annotations

import numpy as np

from klondike_env.cards import FACE_DOWN, NUM_CARDS
from klondike_env.checks import check_choice
from klondike_env.games.base import Field
from klondike_env.games.klondike.rules import RUN_MOVES, SCORINGS, KlondikeRules

PILES, SUITS = 7, 4
MAX_HIDDEN = 6
MAX_HEIGHT = MAX_HIDDEN + 13  # a run from king to ace over them
TALON = 24

STATE = np.dtype(
    [
        # What the player sees: card + 1, 0 where nothing lies, 53 face down.
        ("tableau", "u1", (PILES * MAX_HEIGHT,)),  # pile i from i * MAX_HEIGHT on, bottom to top
        ("foundations", "u1", (SUITS,)),  # cards up
        ("talon", "u1", (2 * TALON,)),  # card + 1, zeros behind the last card
        # What the player does not see.
        ("hidden", "u1", (PILES * MAX_HIDDEN,)),  # the face-down cards + 1, bottom to top
        # Counts.
        ("height", "u1", (PILES,)),
        ("face_down", "u1", (PILES,)),
        ("waste_size", "u1"),
        ("talon_size", "u1"),
        ("unseen", "u1"),  # stock cards never turned yet: the last ones of the talon
        ("foundation_cards", "u1"),
        ("face_down_cards", "u1"),
        ("outcome", "u1"),
        ("has_ended", "u1"),
        # Derived from the piles, kept for the legal moves (see kernels.py, "Fitting").
        ("accepts", "u4", (PILES,)),
        ("movable", "u4", (PILES,)),
        ("any_accepts", "u4"),  # all of `accepts` together
        ("reserved", "u4"),  # always 0: copies leave the bytes of unnamed gaps undefined
        ("legal", "u8", (5,)),
        ("redeals_left", "i4"),  # -1 unlimited
        ("redeals", "i4"),
        ("moves", "i4"),
        ("steps", "i4"),
        ("score", "i8"),
        ("deal", "i8"),
        ("setup", "u8"),
        ("stream", "u8"),
    ],
    align=True,
)
"""The state of one game."""

RULES = np.dtype(
    [
        (name, "i4")
        for name in (
            "draw_count",
            "redeals",  # -1 unlimited
            "run_moves",  # place in RUN_MOVES
            "foundation_to_tableau",
            "forced_aces",
            "cards_known",
            "scoring",  # place in SCORINGS
            "start_score",
            "cumulative",
            "free_redeals",
            "redeal_penalty",
            "seconds_per_move",
            "is_reach",
        )
    ]
)
"""The rules as the kernels read them."""

PROGRESS_SCALE = 1.0 / (NUM_CARDS + 21)
"""A deal starts with 0 foundation cards and 21 face down and is won with 52 and 0."""


def encode_rules(rules: KlondikeRules, actions: str) -> np.ndarray:
    """The rules record, as an array of one: what kernels take as `rules`.

    Raises:
        ValueError: the action set does not exist or does not fit the rules.
    """
    check_choice("actions", actions, tuple(ACTION_SETS))
    if actions == "reach" and not rules.allows_reach:
        raise ValueError(
            "actions='reach' plays draws and redeals for free: it needs unlimited passes, no redeal"
            " penalty and no seconds_per_move"
        )
    free_redeals, redeal_penalty = rules.redeal_terms
    record = (
        rules.draw_count,
        -1 if rules.passes is None else rules.passes - 1,
        RUN_MOVES.index(rules.run_moves),
        rules.foundation_to_tableau,
        rules.forced_aces,
        rules.cards_known,
        SCORINGS.index(rules.scoring),
        rules.start_score,
        rules.cumulative,
        free_redeals,
        redeal_penalty,
        rules.seconds_per_move,
        actions == "reach",
    )
    return np.array([record], dtype=RULES)


# Action ids. Both sets end with the same 77 board moves: pile to foundation, pile to pile,
# foundation to pile.
BOARD_MOVES = PILES + PILES * (PILES - 1) + SUITS * PILES
TURN_WASTE, TURN_BOARD = 2, 10
REACH_BOARD = TALON * (PILES + 1)
TURN_ACTIONS = TURN_BOARD + BOARD_MOVES
REACH_ACTIONS = REACH_BOARD + BOARD_MOVES
ACTION_SETS = {"turn": TURN_ACTIONS, "reach": REACH_ACTIONS}


def observation_fields(rules: KlondikeRules) -> tuple[Field, ...]:
    """The arrays of an observation under these rules."""
    shown = "0 nothing, 1-52 card + 1, 53 face down"
    fields: tuple[Field, ...] = (
        Field(
            "tableau", (PILES, MAX_HEIGHT), np.int8, 0, FACE_DOWN, f"piles bottom to top: {shown}"
        ),
        Field("foundations", (SUITS,), np.int8, 0, 13, "cards up in each suit"),
        Field("waste", (TALON,), np.int8, 0, FACE_DOWN, "bottom to top: 0 nothing, 1-52 card + 1"),
        Field("stock", (TALON,), np.int8, 0, FACE_DOWN, f"in draw order: {shown}"),
        Field("redeals_left", (1,), np.int16, -1, 32_767, "-1 unlimited"),
    )
    if rules.cards_known:
        # Every card shows, so which of them lie face down must be told apart.
        fields += (
            Field("face_down", (PILES,), np.int8, 0, MAX_HIDDEN, "face-down cards of each pile"),
        )
    return fields
