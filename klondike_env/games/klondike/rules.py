"""The options of Klondike and the named rule sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from klondike_env.checks import check_choice, whole

RunMoves = Literal["partial", "whole", "same_suit"]
Scoring = Literal["win", "standard", "vegas"]

RUN_MOVES: tuple[str, ...] = get_args(RunMoves)
SCORINGS: tuple[str, ...] = get_args(Scoring)

MAX_PASSES = 32_767  # an observation shows the redeals left as int16


_UNLIMITED, _WINDOWS = "None for unlimited", "None for the Windows convention"
_NUMBERS = {  # lowest, highest, what None means if it is allowed
    "draw_count": (1, 24, ""),
    "passes": (1, MAX_PASSES, _UNLIMITED),
    "stake": (0, 1_000_000, ""),
    "free_redeals": (0, 1_000_000, _WINDOWS),
    "redeal_penalty": (0, 1_000_000, _WINDOWS),
    "seconds_per_move": (0, 3_600, ""),
}
_FLAGS = ("foundation_to_tableau", "forced_aces", "cards_known", "cumulative")


def _whole_between(name: str, value: object, low: int, high: int, none: str) -> int | None:
    if none and value is None:
        return None
    number = whole(value)
    if number is None or not low <= number <= high:
        also = f" or {none}" if none else ""
        raise ValueError(f"{name} is a whole number from {low} to {high}{also}, not {value!r}")
    return number


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is True or False, not {value!r}")
    return bool(value)


@dataclass(frozen=True)
class KlondikeRules:
    """One set of Klondike rules; any field is also a keyword of `gymnasium.make`.

    Attributes:
        draw_count: cards turned from stock to waste by one draw, 1-24.
        passes: trips through the stock (redeals + 1), None for unlimited.
        run_moves: which face-up cards move together between piles. `partial`: any tail of the run;
            `whole`: all the pile's face-up cards or none; `same_suit`: several cards only if all
            are of one suit, which under alternating colours leaves single cards.
        foundation_to_tableau: whether a card may be taken back from a foundation.
        forced_aces: while an ace can go to its foundation, only such plays are legal.
        cards_known: thoughtful play, every card visible.
        scoring: `win` (1 for a win), `standard` (Windows points, never below 0), `vegas` (dollars).
        stake: vegas: dollars paid for the deck; 52 in one source, 50 in another.
        cumulative: vegas: the bank carries over from game to game, until `reset(seed=...)`.
        free_redeals: standard: redeals before the penalty starts. None: as Windows, 0 for draw 1
            and 3 for other draw counts.
        redeal_penalty: standard: points lost at each later redeal. None: as Windows, 100 for draw 1
            and 20 for other draw counts.
        seconds_per_move: standard: simulated seconds that each move takes; 0 is an untimed game. A
            timed game loses 2 points for every 10 seconds and, if it took more than 30 seconds,
            earns 700,000 divided by the seconds when won.

    Raises:
        ValueError: a value that the option does not have.
    """

    draw_count: int = 3
    passes: int | None = None
    run_moves: RunMoves = "partial"
    foundation_to_tableau: bool = True
    forced_aces: bool = False
    cards_known: bool = False
    scoring: Scoring = "win"
    stake: int = 52
    cumulative: bool = False
    free_redeals: int | None = None
    redeal_penalty: int | None = None
    seconds_per_move: int = 0

    def __post_init__(self) -> None:
        # Numbers and flags of NumPy become Python's: the same rules have the same text.
        for name, bounds in _NUMBERS.items():
            self._set(name, _whole_between(name, getattr(self, name), *bounds))
        for name in _FLAGS:
            self._set(name, _flag(name, getattr(self, name)))
        check_choice("run_moves", self.run_moves, RUN_MOVES)
        check_choice("scoring", self.scoring, SCORINGS)
        if self.cumulative and self.scoring != "vegas":
            raise ValueError(f"cumulative needs scoring 'vegas', not {self.scoring!r}")
        if self.seconds_per_move and self.scoring != "standard":
            raise ValueError(f"seconds_per_move needs scoring 'standard', not {self.scoring!r}")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the way into a frozen dataclass

    @property
    def redeal_terms(self) -> tuple[int, int]:
        """Free redeals and the penalty of each later one, the Windows convention filled in."""
        if self.scoring != "standard":
            return 0, 0
        free, penalty = (0, 100) if self.draw_count == 1 else (3, 20)
        return (
            free if self.free_redeals is None else self.free_redeals,
            penalty if self.redeal_penalty is None else self.redeal_penalty,
        )

    @property
    def allows_reach(self) -> bool:
        """Whether looking through the stock is free, so that `reach` plays the same game."""
        return self.passes is None and self.redeal_terms[1] == 0 and self.seconds_per_move == 0

    @property
    def start_score(self) -> int:
        """Score of a fresh deal, the carried-over bank apart."""
        return -self.stake if self.scoring == "vegas" else 0


PRESETS = {
    "Klondike-Draw3-v0": KlondikeRules(),
    "Klondike-Draw1-v0": KlondikeRules(draw_count=1),
    "Klondike-Draw3-Pass3-v0": KlondikeRules(passes=3),
    "Klondike-Draw1-Pass3-v0": KlondikeRules(draw_count=1, passes=3),
    "Klondike-Draw3-Pass1-v0": KlondikeRules(passes=1),
    "Klondike-Draw1-Pass1-v0": KlondikeRules(draw_count=1, passes=1),
    "Klondike-Vegas-v0": KlondikeRules(draw_count=1, passes=1, scoring="vegas"),
    "Klondike-Vegas50-v0": KlondikeRules(draw_count=1, passes=1, scoring="vegas", stake=50),
    "Klondike-VegasDraw3-v0": KlondikeRules(passes=3, scoring="vegas"),
    "Klondike-Windows-Draw1-v0": KlondikeRules(draw_count=1, scoring="standard"),
    "Klondike-Windows-Draw3-v0": KlondikeRules(scoring="standard"),
    "Klondike-Bicycle-v0": KlondikeRules(
        run_moves="whole", forced_aces=True, foundation_to_tableau=False
    ),
    "Klondike-Strict-v0": KlondikeRules(
        passes=3, run_moves="same_suit", foundation_to_tableau=False
    ),
    "Klondike-Thoughtful-Draw3-v0": KlondikeRules(cards_known=True),
    "Klondike-Thoughtful-Draw1-v0": KlondikeRules(draw_count=1, cards_known=True),
}
"""The rules of each registered id."""
